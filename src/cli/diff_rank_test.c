/* diff_rank_test.c - do two samples differ, by how much, and is that chance.
 *
 * H. B. Mann, D. R. Whitney, "On a test of whether one of two random variables is stochastically larger than the other",
 * Annals of Mathematical Statistics 18 (1947); J. L. Hodges, E. L. Lehmann, "Estimates of location based on rank tests",
 * ibid. 34 (1963); S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6
 * (1979).
 */
#include "diff.h"

#include "../array.h"

#include <math.h>

/* ---- Ranks ------------------------------------------------------------------------------------------------------ */

/* A walk over both samples in rising order, one group of equal values at a time. */
struct group {
    size_t first; /* rank of the group's first, from 0 */
    size_t of_a, of_b;
};

static bool next_group(struct group *group, const double *a, size_t count_a, const double *b, size_t count_b,
                       size_t *at_a, size_t *at_b)
{
    if (*at_a == count_a && *at_b == count_b)
        return false;
    const double value = *at_b == count_b || (*at_a < count_a && a[*at_a] <= b[*at_b]) ? a[*at_a] : b[*at_b];
    *group = (struct group){.first = *at_a + *at_b};
    for (; *at_a < count_a && a[*at_a] == value; ++*at_a)
        group->of_a++;
    for (; *at_b < count_b && b[*at_b] == value; ++*at_b)
        group->of_b++;
    return true;
}

/* Twice the rank, from 1, that each of a group gets: the mean of theirs. Twice, so that it is whole. */
static size_t double_midrank(const struct group *group)
{
    return 2 * group->first + group->of_a + group->of_b + 1;
}

/* ---- The exact distribution -------------------------------------------------------------------------------------- */

/* In how many ways can `chosen` of the ranks have each sum? Whole numbers below 2^53, as there are 50 ranks at most. The ranks are
 * those with ties as they are, so the test is the exact permutation test, with ties or without. */
static int exact_p(double *p, const size_t *double_ranks, size_t ranks, size_t chosen, size_t double_sum)
{
    size_t largest = 0;
    for (size_t i = 0; i < ranks; i++)
        largest += double_ranks[i];
    const size_t columns = largest + 1;
    double *ways = kt_array_new_zeroed((chosen + 1) * columns, sizeof *ways);
    if (!ways)
        return -1;
    ways[0] = 1;
    for (size_t i = 0; i < ranks; i++)
        for (size_t k = i + 1 < chosen ? i + 1 : chosen; k > 0; k--)
            for (size_t sum = double_ranks[i]; sum < columns; sum++)
                ways[k * columns + sum] += ways[(k - 1) * columns + sum - double_ranks[i]];
    double all = 0, at_most = 0, at_least = 0;
    for (size_t sum = 0; sum < columns; sum++) {
        const double here = ways[chosen * columns + sum];
        all += here;
        at_most += sum <= double_sum ? here : 0;
        at_least += sum >= double_sum ? here : 0;
    }
    free(ways);
    *p = fmin(1, 2 * fmin(at_most, at_least) / all);
    return 0;
}

static int test_exactly(double *p, const double *a, size_t count_a, const double *b, size_t count_b)
{
    size_t double_ranks[DIFF_EXACT_MOST], used = 0, at_a = 0, at_b = 0, double_sum = 0;
    for (struct group group; next_group(&group, a, count_a, b, count_b, &at_a, &at_b);) {
        const size_t rank = double_midrank(&group);
        for (size_t i = 0; i < group.of_a + group.of_b; i++)
            double_ranks[used++] = rank;
        double_sum += rank * (count_a <= count_b ? group.of_a : group.of_b);
    }
    return exact_p(p, double_ranks, used, count_a <= count_b ? count_a : count_b, double_sum);
}

/* ---- The normal approximation ------------------------------------------------------------------------------------ */

/* With the correction for continuity, and with that of the variance for ties: the sum of t^3 - t over groups of t. */
static double approximate_p(double u, double count_a, double count_b, double ties)
{
    const double all = count_a + count_b, mean = count_a * count_b / 2;
    const double variance = count_a * count_b / 12 * (all + 1 - ties / (all * (all - 1)));
    const double distance = fabs(u - mean) - 0.5;
    if (distance <= 0 || variance <= 0)
        return 1;
    return erfc(distance / sqrt(variance) / sqrt(2));
}

int diff_rank_test(struct diff_rank_test *out, const double *a, size_t count_a, const double *b, size_t count_b)
{
    double u = 0, ties = 0, below_a = 0;
    size_t at_a = 0, at_b = 0;
    for (struct group group; next_group(&group, a, count_a, b, count_b, &at_a, &at_b);) {
        const double size = (double)(group.of_a + group.of_b);
        u += (double)group.of_b * (below_a + (double)group.of_a / 2);
        below_a += (double)group.of_a;
        ties += size * size * size - size;
    }
    *out = (struct diff_rank_test){.u = u, .superiority = u / ((double)count_a * (double)count_b)};
    out->exact = count_a + count_b <= DIFF_EXACT_MOST;
    if (out->exact)
        return test_exactly(&out->p, a, count_a, b, count_b);
    out->p = approximate_p(u, (double)count_a, (double)count_b, ties);
    return 0;
}

double diff_rank_test_least_p(size_t count_a, size_t count_b)
{
    const double a = (double)count_a, b = (double)count_b;
    return 2 * exp(lgamma(a + 1) + lgamma(b + 1) - lgamma(a + b + 1));
}

/* ---- How much ---------------------------------------------------------------------------------------------------- */

/* How many pairs have b - a <= shift. */
static double pairs_within(double shift, const double *a, size_t count_a, const double *b, size_t count_b)
{
    double pairs = 0;
    size_t within = 0;
    for (size_t i = 0; i < count_a; i++) {
        while (within < count_b && b[within] - a[i] <= shift)
            within++;
        pairs += (double)within;
    }
    return pairs;
}

/* The least b - a with at least `rank` pairs up to it. There are too many pairs to write them down: bisection for the value. */
static double difference_of_rank(double rank, const double *a, size_t count_a, const double *b, size_t count_b)
{
    double low = b[0] - a[count_a - 1], high = b[count_b - 1] - a[0];
    if (pairs_within(low, a, count_a, b, count_b) >= rank)
        return low;
    for (double middle = low + (high - low) / 2; middle > low && middle < high; middle = low + (high - low) / 2) {
        if (pairs_within(middle, a, count_a, b, count_b) >= rank)
            high = middle;
        else
            low = middle;
    }
    return high;
}

double diff_shift(const double *a, size_t count_a, const double *b, size_t count_b)
{
    const double pairs = (double)count_a * (double)count_b;
    const double lower = difference_of_rank(floor((pairs + 1) / 2), a, count_a, b, count_b);
    if (fmod(pairs, 2) == 1)
        return lower;
    const double upper = difference_of_rank(pairs / 2 + 1, a, count_a, b, count_b);
    return lower + (upper - lower) / 2;
}

/* ---- Many tests -------------------------------------------------------------------------------------------------- */

static int by_pointed_value(const void *left, const void *right)
{
    const double *const *a = left, *const *b = right;
    return **a != **b ? (**a > **b) - (**a < **b) : (*a > *b) - (*a < *b);
}

int diff_holm(double *p, size_t count)
{
    double **order = kt_array_new(count, sizeof *order);
    if (!order)
        return -1;
    for (size_t i = 0; i < count; i++)
        order[i] = &p[i];
    qsort(order, count, sizeof *order, by_pointed_value);
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmin(1, fmax(largest, *order[i] * (double)(count - i)));
        *order[i] = largest;
    }
    free(order);
    return 0;
}
