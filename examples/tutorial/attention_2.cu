/* attention_2 - whose producer starts the next copies while these are under way. docs/tutorial.md */
#include "attention_problem.cuh"

struct step_2 {
    using page_numbers = attention::one_by_one;
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
    return attention_main<step_2>("attention_2", argc, argv);
}
