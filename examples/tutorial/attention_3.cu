/* attention_3 - that takes long sequences first. docs/tutorial.md */
#include "attention_problem.cuh"

struct step_3 {
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
    return attention_main<step_3>("attention_3", argc, argv);
}
