/* attention_1 - with a ring of twice the size: what one tries first. docs/tutorial.md */
#include "attention_problem.cuh"

struct step_1 {
    using page_numbers = attention::one_by_one;
    static constexpr int stages = 16;

    __device__ static void publish(uint32_t full)
    {
        wait_for_copies();
        arrive(full);
    }
    static std::vector<int> order(const std::vector<int> &lengths)
    {
        return attention::as_they_came(lengths);
    }
};

int main(int argc, char **argv)
{
    return attention_main<step_1>("attention_1", argc, argv);
}
