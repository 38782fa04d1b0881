/* attention_4 - that takes long sequences first. docs/tutorial.md */
#include "attention_problem.cuh"

struct step_4 {
    using page_numbers = attention::a_line_ahead;
    static constexpr int stages = 8;

    __device__ static void publish(uint32_t full)
    {
        arrive_after_copies(full);
    }
    static std::vector<int> order(const std::vector<int> &lengths)
    {
        std::vector<int> order = attention::as_they_came(lengths);
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return lengths[a] > lengths[b]; });
        return order;
    }
};

int main(int argc, char **argv)
{
    return attention_main<step_4>("attention_4", argc, argv);
}
