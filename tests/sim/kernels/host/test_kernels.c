/* test_kernels library code-object c|hip [filter] - runs every case on one code object. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#define TEST(name) {#name, check_##name, NULL, harness_end_case, NULL},
static const struct CMUnitTest c_cases[] = {
#define CASE(name) TEST(name)
#define HIP_CASE(name)
#include "cases.inc"
#undef HIP_CASE
};
static const struct CMUnitTest hip_cases[] = {
#define HIP_CASE(name) TEST(name)
#include "cases.inc"
};

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 5 || (strcmp(argv[3], "c") != 0 && strcmp(argv[3], "hip") != 0)) {
        fprintf(stderr, "usage: test_kernels libktrace_sim.so code-object c|hip [filter]\n");
        return 2;
    }
    if (harness_open(argv[1], argv[2]) != 0)
        return 1;
    if (argc > 4)
        cmocka_set_test_filter(argv[4]);
    int failed = strcmp(argv[3], "c") == 0 ? cmocka_run_group_tests(c_cases, NULL, NULL)
                                           : cmocka_run_group_tests(hip_cases, NULL, NULL);
    harness_close();
    return failed != 0;
}
