/* The rank-sum test, the shift and Holm's method against values from elsewhere: scipy 1.17.1's mannwhitneyu and
 * permutation_test, numpy's median of all differences, and an enumeration of all choices of ranks in Python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/diff.h"

#include <math.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fmax(1e-3, fabs(expected))))
        fail_msg("%.17g instead of %.17g", value, expected);
}

static void assert_test(const double *a, size_t count_a, const double *b, size_t count_b, double u, double p,
                        bool exact)
{
    struct diff_rank_test test, swapped;
    assert_int_equal(diff_rank_test(&test, a, count_a, b, count_b), 0);
    assert_int_equal(diff_rank_test(&swapped, b, count_b, a, count_a), 0);
    assert_close(test.u, u);
    assert_close(test.superiority, u / (double)(count_a * count_b));
    assert_close(test.p, p);
    assert_int_equal(test.exact, exact);
    assert_close(swapped.p, p);
    assert_close(swapped.u, (double)(count_a * count_b) - u);
}

/* The example of Hollander and Wolfe's "Nonparametric Statistical Methods", permeability of membranes, which R's wilcox.test
 * has too (there one-sided: 0.1272). */
static void exact_without_ties(void **state)
{
    (void)state;
    const double a[] = {0.73, 0.80, 0.83, 1.04, 1.38, 1.45, 1.46, 1.64, 1.89, 1.91},
                 b[] = {0.74, 0.88, 0.90, 1.15, 1.21};
    assert_test(a, COUNT(a), b, COUNT(b), 15, 0.2544122544122544, true);
    assert_close(diff_shift(a, COUNT(a), b, COUNT(b)), -0.305);
}

static void exact_with_ties(void **state)
{
    (void)state;
    const double a[] = {10, 12, 12, 15, 18}, b[] = {12, 18, 20, 20, 25, 30};
    assert_test(a, COUNT(a), b, COUNT(b), 26.5, 0.047619047619047616, true);
    assert_close(diff_shift(a, COUNT(a), b, COUNT(b)), 8);
}

static void the_largest_exact_one(void **state)
{
    (void)state;
    double a[25], b[25];
    for (int i = 0; i < 25; i++) {
        a[i] = 2 * i;
        b[i] = 2 * i + 11;
    }
    assert_test(a, 25, b, 25, 435, 0.01698221635350756, true);
    assert_close(diff_shift(a, 25, b, 25), 11);
}

static void approximate_without_ties(void **state)
{
    (void)state;
    double a[60], b[50];
    for (int i = 0; i < 60; i++)
        a[i] = i + i * i % 7 / 8.0;
    for (int i = 0; i < 50; i++)
        b[i] = i * 1.1 + 8;
    assert_test(a, 60, b, 50, 1756, 0.1250869655992931, false);
    assert_close(diff_shift(a, 60, b, 50), 5.2);
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void approximate_with_ties(void **state)
{
    (void)state;
    double a[200], b[150];
    for (int i = 0; i < 200; i++)
        a[i] = i % 9;
    for (int i = 0; i < 150; i++)
        b[i] = i % 10 + (i % 3 == 0);
    qsort(a, 200, sizeof *a, by_value);
    qsort(b, 150, sizeof *b, by_value);
    assert_test(a, 200, b, 150, 17547.5, 0.006270113402863225, false);
    assert_close(diff_shift(a, 200, b, 150), 1);
}

static void equal_samples(void **state)
{
    (void)state;
    double same[100];
    for (int i = 0; i < 100; i++)
        same[i] = 7;
    for (size_t count = 4; count <= 100; count += 12) {
        assert_test(same, count, same, count, (double)(count * count) / 2, 1, 2 * count <= DIFF_EXACT_MOST);
        assert_close(diff_shift(same, count, same, count), 0);
    }
}

/* 4 and 4: 2 of 70 ways; 3 and 3: 2 of 20. */
static void what_few_can_show(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    assert_close(diff_rank_test_least_p(4, 4), 2.0 / 70);
    assert_close(diff_rank_test_least_p(3, 3), 0.1);
    assert_test(a, 4, b, 4, 16, 2.0 / 70, true);
}

static void holm(void **state)
{
    (void)state;
    double p[] = {0.01, 0.04, 0.03, 0.005, 0.5}, all_large[] = {0.6, 0.7};
    const double expected[] = {0.04, 0.09, 0.09, 0.025, 0.5};
    assert_int_equal(diff_holm(p, COUNT(p)), 0);
    for (size_t i = 0; i < COUNT(p); i++)
        assert_close(p[i], expected[i]);
    assert_int_equal(diff_holm(all_large, 2), 0);
    assert_close(all_large[0], 1);
    assert_close(all_large[1], 1);
    assert_int_equal(diff_holm(p, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_without_ties),    cmocka_unit_test(exact_with_ties),
        cmocka_unit_test(the_largest_exact_one), cmocka_unit_test(approximate_without_ties),
        cmocka_unit_test(approximate_with_ties), cmocka_unit_test(equal_samples),
        cmocka_unit_test(what_few_can_show),     cmocka_unit_test(holm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
