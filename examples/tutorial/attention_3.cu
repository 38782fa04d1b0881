/* attention_3 - that has the numbers of the next pages before it needs them. docs/tutorial.md */
#include "attention_problem.cuh"

struct step_3 {
    using page_numbers = attention::a_line_ahead;
    static constexpr int stages = 8;

    __device__ static void publish(uint32_t full)
    {
        arrive_after_copies(full);
    }
    static std::vector<int> order(const std::vector<int> &lengths)
    {
        return attention::as_they_came(lengths);
    }
};

int main(int argc, char **argv)
{
    return attention_main<step_3>("attention_3", argc, argv);
}
