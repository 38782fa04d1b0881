/* attention_0 - the kernel as the tutorial finds it: a producer wave that copies, four waves that compute. docs/tutorial.md */
#include "attention_problem.cuh"

struct step_0 {
    using page_numbers = attention::one_by_one;
    static constexpr int stages = 8;

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
    return attention_main<step_0>("attention_0", argc, argv);
}
