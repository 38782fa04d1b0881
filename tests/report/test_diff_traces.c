/* Whole traces: what is found of a change, and that nothing is found where there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/diff.h"
#include "synthetic.h"

#include "build_snapshot.h"
#include "trace.h"

#include <math.h>
#include <string.h>

static struct ktrace_trace *trace_of(struct kt_snapshot *snapshot)
{
    struct ktrace_trace *trace;
    assert_int_equal(kt_trace_from_snapshot(&trace, snapshot), 0);
    return trace;
}

static struct ktrace_trace *synthetic(uint32_t waves, uint32_t launches, double percent, uint32_t seed)
{
    return trace_of(synthetic_snapshot(
        &(struct synthetic){.kernel = "gemm", .waves = waves, .launches = launches, .percent = percent, .seed = seed}));
}

static void compare(struct diff *diff, const struct ktrace_trace *a, const struct ktrace_trace *b, enum diff_unit unit)
{
    *diff = (struct diff){.path = {"a", "b"}, .trace = {a, b}, .options = {unit, 0.05, 1}};
    assert_int_equal(diff_make(diff), 0);
}

static const struct diff_row *row_of(const struct diff *diff, const char *name)
{
    for (size_t i = 0; i < diff->row_count; i++)
        if (strcmp(diff->rows[i].name, name) == 0)
            return &diff->rows[i];
    fail_msg("there is no row '%s'", name);
    return NULL;
}

/* Count and durations are those of the summary. */
static void assert_as_in_summary(const struct ktrace_trace *trace)
{
    struct diff diff;
    compare(&diff, trace, trace, DIFF_WAVES);
    for (uint64_t i = 0; trace->snapshot->device_count == 1 && i < ktrace_trace_phase_count(trace); i++) {
        struct ktrace_phase_info info = {.struct_size = sizeof info};
        assert_int_equal(ktrace_trace_phase(&info, trace, i), 0);
        bool found = false;
        for (size_t r = 0; r < diff.row_count; r++) {
            const struct diff_row *row = &diff.rows[r];
            if (row->kind != info.kind || strcmp(row->name, info.name) != 0 || strcmp(row->kernel, info.kernel) != 0)
                continue;
            found = true;
            for (int side = 0; side < DIFF_SIDES; side++) {
                const struct diff_sample *sample = row->sample[side];
                assert_int_equal(sample->count, info.count);
                assert_int_equal(sample->unclosed, info.unclosed);
                assert_true(sample->p50_ns == info.p50_ns && sample->p90_ns == info.p90_ns);
                assert_true(sample->p99_ns == info.p99_ns);
                assert_true(fabs(sample->total_ns - info.total_ns) <= 1e-12 * info.total_ns);
                assert_true(fabs(sample->mean_ns - info.mean_ns) <= 1e-12 * info.mean_ns);
            }
        }
        assert_true(found);
    }
    assert_int_equal(diff.changed, 0);
    assert_int_equal(diff.counts_differ, 0);
    for (size_t r = 0; r < diff.row_count; r++) {
        assert_true(!diff.rows[r].tested || (diff.rows[r].test.p == 1 && diff.rows[r].adjusted_p == 1));
        assert_true(diff.rows[r].shift_ns == 0);
    }
    diff_destroy(&diff);
}

/* The same trace twice is no change, whatever is in it. */
static void a_trace_against_itself(void **state)
{
    (void)state;
    struct ktrace_trace *traces[] = {synthetic(1, 1, 0, 1),        synthetic(6, 1, 0, 2),
                                     synthetic(40, 3, 0, 3),       synthetic(900, 4, 0, 4),
                                     trace_of(build_nothing()),    trace_of(build_example(5, 3, 4)),
                                     trace_of(build_two_devices())};
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        assert_as_in_summary(traces[i]);
        ktrace_trace_destroy(traces[i]);
    }
}

/* Other random numbers, the same distribution. With 5 % of error in each of 40 comparisons, six or more that err have a
 * probability of 1.4 %, and the seeds are fixed; waves differ by more than their mean does, so that --min-effect spares most. */
static void the_same_kernel_again(void **state)
{
    (void)state;
    size_t wrong = 0;
    for (uint32_t seed = 0; seed < 40; seed++) {
        struct ktrace_trace *a = synthetic(24, 1, 0, 1000 + seed), *b = synthetic(24, 1, 0, 2000 + seed);
        struct diff diff = {.trace = {a, b}, .options = {DIFF_WAVES, 0.05, 0}};
        assert_int_equal(diff_make(&diff), 0);
        wrong += diff.changed > 0;
        diff_destroy(&diff);
        ktrace_trace_destroy(a);
        ktrace_trace_destroy(b);
    }
    assert_true(wrong < 6);
}

static void ten_percent_are_found(void **state)
{
    (void)state;
    static const uint32_t waves[] = {12, 40, 400};
    for (size_t i = 0; i < sizeof waves / sizeof *waves; i++) {
        struct ktrace_trace *a = synthetic(waves[i], 1, 0, 11), *b = synthetic(waves[i], 1, 10, 12);
        struct diff slower, faster;
        compare(&slower, a, b, DIFF_WAVES);
        compare(&faster, b, a, DIFF_WAVES);
        /* What took the most time is first, and of what did not change nothing is said. */
        assert_string_equal(slower.rows[0].name, "mainloop");
        assert_int_equal(slower.changed, 2);
        assert_int_equal(row_of(&slower, "mainloop")->verdict, DIFF_SLOWER);
        assert_int_equal(row_of(&slower, "k tile")->verdict, DIFF_SLOWER);
        assert_int_equal(row_of(&slower, "prologue")->verdict, DIFF_SAME);
        assert_int_equal(row_of(&slower, "stored")->verdict, DIFF_COUNTED);
        assert_int_equal(row_of(&faster, "mainloop")->verdict, DIFF_FASTER);
        assert_true(fabs(row_of(&slower, "k tile")->shift_percent - 10) < 2);
        assert_true(row_of(&slower, "k tile")->shift_ns == -row_of(&faster, "k tile")->shift_ns);
        diff_destroy(&slower);
        diff_destroy(&faster);
        ktrace_trace_destroy(a);
        ktrace_trace_destroy(b);
    }
}

static void launches_as_observations(void **state)
{
    (void)state;
    struct ktrace_trace *a = synthetic(320, 8, 0, 21), *b = synthetic(320, 8, 10, 22), *few = synthetic(320, 3, 10, 23);
    struct diff diff;
    compare(&diff, a, b, DIFF_LAUNCHES);
    assert_int_equal(row_of(&diff, "mainloop")->sample[DIFF_A]->observation_count, 8);
    assert_int_equal(row_of(&diff, "mainloop")->verdict, DIFF_SLOWER);
    diff_destroy(&diff);
    compare(&diff, a, few, DIFF_LAUNCHES);
    assert_int_equal(row_of(&diff, "mainloop")->verdict, DIFF_TOO_FEW);
    diff_destroy(&diff);
    ktrace_trace_destroy(a);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(few);
}

static void one_side_only_and_too_few(void **state)
{
    (void)state;
    struct ktrace_trace *a = synthetic(3, 1, 0, 1);
    struct ktrace_trace *b =
        trace_of(synthetic_snapshot(&(struct synthetic){.kernel = "gemm", .waves = 40, .launches = 1, .quiet = 1}));
    struct diff diff;
    compare(&diff, a, b, DIFF_WAVES);
    assert_int_equal(row_of(&diff, "epilogue")->verdict, DIFF_ONLY_A);
    assert_null(row_of(&diff, "epilogue")->sample[DIFF_B]);
    assert_int_equal(row_of(&diff, "stored")->verdict, DIFF_ONLY_A);
    assert_int_equal(row_of(&diff, "mainloop")->verdict, DIFF_TOO_FEW);
    assert_false(row_of(&diff, "mainloop")->tested);
    assert_int_equal(diff.changed, 2);
    assert_int_equal(diff.counts_differ, 3); /* prologue, mainloop, k tile */
    diff_destroy(&diff);
    compare(&diff, b, a, DIFF_WAVES);
    assert_int_equal(row_of(&diff, "epilogue")->verdict, DIFF_ONLY_B);
    diff_destroy(&diff);
    ktrace_trace_destroy(a);
    ktrace_trace_destroy(b);
}

/* ---- Conditions --------------------------------------------------------------------------------------------------- */

static void assert_parsed(const char *text, const char *kernel, const char *phase, enum diff_quantity quantity,
                          enum diff_operator relation, enum diff_measure measure, double limit)
{
    struct diff_condition condition;
    struct kt_string why = KT_STRING_INIT;
    if (diff_condition_parse(&condition, text, &why) < 0)
        fail_msg("%s", kt_string_text(&why));
    if (kernel)
        assert_string_equal(condition.kernel, kernel);
    else
        assert_null(condition.kernel);
    assert_string_equal(condition.phase, phase);
    assert_int_equal(condition.quantity, quantity);
    assert_int_equal(condition.relation, relation);
    assert_int_equal(condition.measure, measure);
    assert_true(condition.limit == limit);
    diff_condition_free(&condition);
}

static void conditions_parse(void **state)
{
    (void)state;
    assert_parsed("mainloop p50 > +3%", NULL, "mainloop", DIFF_P50, DIFF_GREATER, DIFF_CHANGE_PERCENT, 3);
    assert_parsed("mainloop p50>3%", NULL, "mainloop", DIFF_P50, DIFF_GREATER, DIFF_CHANGE_PERCENT, 3);
    assert_parsed(" gemm/mainloop  mean >= +200 ns ", "gemm", "mainloop", DIFF_MEAN, DIFF_GREATER_EQUAL, DIFF_CHANGE,
                  200);
    assert_parsed("a p90 < -1.5%", NULL, "a", DIFF_P90, DIFF_LESS, DIFF_CHANGE_PERCENT, -1.5);
    assert_parsed("a p99 <= 12us", NULL, "a", DIFF_P99, DIFF_LESS_EQUAL, DIFF_VALUE, 12000);
    assert_parsed("a total > 2ms", NULL, "a", DIFF_TOTAL, DIFF_GREATER, DIFF_VALUE, 2e6);
    assert_parsed("a total > 1s", NULL, "a", DIFF_TOTAL, DIFF_GREATER, DIFF_VALUE, 1e9);
    assert_parsed("a count > +0", NULL, "a", DIFF_COUNT, DIFF_GREATER, DIFF_CHANGE, 0);
    assert_parsed("a count < 64", NULL, "a", DIFF_COUNT, DIFF_LESS, DIFF_VALUE, 64);
    assert_parsed("'k tile' p50 > 1%", NULL, "k tile", DIFF_P50, DIFF_GREATER, DIFF_CHANGE_PERCENT, 1);
    assert_parsed("\"a/b\"/'it\\'s' p50 > 1%", "a/b", "it's", DIFF_P50, DIFF_GREATER, DIFF_CHANGE_PERCENT, 1);
    assert_parsed("p50 p50 > 1%", NULL, "p50", DIFF_P50, DIFF_GREATER, DIFF_CHANGE_PERCENT, 1);
}

static void conditions_that_are_malformed(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        " ",
                                        "a",
                                        "a p50",
                                        "a p50 >",
                                        "a p50 > x",
                                        "a p50 > 3",
                                        "a p50 > 3m",
                                        "a p50 > +-3%",
                                        "a p50 > 3%%",
                                        "a p50 > 3% b",
                                        "a p50 > 0x3%",
                                        "a p50 > 1e3%",
                                        "a p50 > 1.2.3%",
                                        "a p50 > .%",
                                        "a p50 > inf%",
                                        "a p51 > 3%",
                                        "a p500 > 3%",
                                        "a p50 == 3%",
                                        "a p50 => 3%",
                                        "a p50 != 3%",
                                        "a count > 3ns",
                                        "/a p50 > 3%",
                                        "a/ p50 > 3%",
                                        "a/b/c p50 > 3%",
                                        "'a p50 > 3%",
                                        "'' p50 > 3%",
                                        "k tile p50 > 3%"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct diff_condition condition;
        struct kt_string why = KT_STRING_INIT;
        if (diff_condition_parse(&condition, texts[i], &why) == 0)
            fail_msg("taken: %s", texts[i]);
        assert_non_null(strstr(kt_string_text(&why), texts[i])); /* it is quoted */
        diff_condition_free(&condition);
        kt_string_destroy(&why);
    }
}

/* 1 it holds, 0 it does not, -1 it cannot be said. */
static int outcome(const struct diff *diff, const char *text)
{
    struct diff_condition condition;
    struct kt_string why = KT_STRING_INIT;
    assert_int_equal(diff_condition_parse(&condition, text, &why), 0);
    const int status = diff_condition_evaluate(&condition, diff, &why);
    diff_condition_free(&condition);
    kt_string_destroy(&why);
    return status < 0 ? -1 : condition.holds;
}

static void conditions_hold(void **state)
{
    (void)state;
    struct ktrace_trace *a = synthetic(40, 1, 0, 1), *b = synthetic(40, 1, 10, 1);
    struct ktrace_trace *quiet = trace_of(
        synthetic_snapshot(&(struct synthetic){.kernel = "gemm", .waves = 40, .launches = 1, .seed = 1, .quiet = 1}));
    struct diff diff;
    compare(&diff, a, b, DIFF_WAVES);
    assert_int_equal(outcome(&diff, "mainloop p50 > +3%"), 1);
    assert_int_equal(outcome(&diff, "gemm/mainloop p50 > +3%"), 1);
    assert_int_equal(outcome(&diff, "mainloop p50 > +12%"), 0);
    assert_int_equal(outcome(&diff, "mainloop p50 < +12%"), 1);
    assert_int_equal(outcome(&diff, "mainloop mean >= +1ns"), 1);
    assert_int_equal(outcome(&diff, "mainloop mean > 1ms"), 0);
    assert_int_equal(outcome(&diff, "mainloop p99 > 500ns"), 1);
    assert_int_equal(outcome(&diff, "prologue total <= 0%"), 1);
    assert_int_equal(outcome(&diff, "stored count > +0"), 0);
    assert_int_equal(outcome(&diff, "stored count >= 40"), 1);
    assert_int_equal(outcome(&diff, "stored p50 > 1%"), -1);
    assert_int_equal(outcome(&diff, "nothing p50 > 1%"), -1);
    assert_int_equal(outcome(&diff, "reduce/mainloop p50 > 1%"), -1);
    diff_destroy(&diff);
    compare(&diff, a, quiet, DIFF_WAVES);
    assert_int_equal(outcome(&diff, "epilogue p50 > 1%"), -1);
    assert_int_equal(outcome(&diff, "stored count > 1%"), -1);
    diff_destroy(&diff);
    ktrace_trace_destroy(a);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(quiet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_against_itself),    cmocka_unit_test(the_same_kernel_again),
        cmocka_unit_test(ten_percent_are_found),     cmocka_unit_test(launches_as_observations),
        cmocka_unit_test(one_side_only_and_too_few), cmocka_unit_test(conditions_parse),
        cmocka_unit_test(conditions_hold),           cmocka_unit_test(conditions_that_are_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
