/* What looks show, on recordings of kernels that hung on an H200: groups of waves, how long ago, and what came since. */
#include "cli/watch_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PEEK KT_TEST_DATA "/h200/peek/"

static struct ktrace_trace *load(const char *path)
{
    struct ktrace_trace *trace;
    if (ktrace_trace_load(&trace, path) < 0)
        fail_msg("%s", ktrace_last_error());
    return trace;
}

static struct watch_view view_of(const struct ktrace_trace *trace, const struct watch_history *history,
                                 uint32_t capture, uint64_t now_ns)
{
    struct watch_view view;
    const struct kt_watch_answer facts = {.capture = capture, .now_ns = now_ns};
    assert_int_equal(watch_view_make(&view, history, trace, &facts), KTRACE_OK);
    return view;
}

/* The view of a file as the look at `now_ns`, which is then the look before. */
static struct watch_view look(struct watch_history *history, const char *path, uint32_t capture, uint64_t now_ns)
{
    const struct kt_watch_answer facts = {.capture = capture, .now_ns = now_ns};
    struct ktrace_trace *trace = load(path);
    const struct watch_view view = view_of(trace, history, capture, now_ns);
    assert_int_equal(watch_history_keep(history, trace, &view, &facts), KTRACE_OK);
    return view;
}

static void assert_ranges(const struct watch_ranges *ranges, size_t count, const struct watch_range *expected)
{
    uint64_t numbers = 0;
    assert_int_equal(ranges->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ranges->ranges[i].first, expected[i].first);
        assert_int_equal(ranges->ranges[i].last, expected[i].last);
        numbers += expected[i].last - expected[i].first + 1;
    }
    assert_int_equal(ranges->numbers, numbers);
}

static void test_groups(void **state)
{
    (void)state;
    const struct watch_history none = {.trace = NULL};
    struct ktrace_trace *trace = load(PEEK "peek_at_some.ktrace");
    struct watch_view view = view_of(trace, &none, 0, 0);
    assert_int_equal(view.launch_count, 1);
    assert_int_equal(view.group_count, 1);
    assert_int_equal(view.inside, 4);
    const struct watch_group *group = &view.groups[0];
    assert_int_equal(group->waves, 4);
    assert_int_equal(group->open_count, 1);
    assert_string_equal(group->open[0]->site->name, "body");
    assert_true(group->payload.is_there && group->payload.first == 1 && group->payload.last == 7);
    assert_false(group->last_payload.is_there); /* it is the range's */
    assert_ranges(&group->workgroups, 4, (struct watch_range[]){{1, 1}, {3, 3}, {5, 5}, {7, 7}});
    assert_ranges(&group->numbers, 1, (struct watch_range[]){{0, 0}});
    assert_true(group->oldest_ps <= group->newest_ps);
    assert_int_equal(view.newest_ps, trace->duration_ps);
    assert_false(view.now_known); /* this file does not say when it was taken */
    assert_true(watch_age_ns(&view, group->oldest_ps) < 0);
    watch_view_free(&view);
    ktrace_trace_destroy(trace);
}

/* By the one anchor that the recording has, 5 s behind the trace's beginning. */
static void test_age(void **state)
{
    (void)state;
    const struct watch_history none = {.trace = NULL};
    struct ktrace_trace *trace = load(PEEK "peek_at_some.ktrace");
    const struct kt_host_anchor *anchor = &trace->snapshot->devices[0].anchors[0];
    assert_int_equal(trace->snapshot->devices[0].anchor_count, 1);
    trace->snapshot->taken_ns =
        trace->origin_ns + 5000000000 - anchor->device_ns + anchor->host_before_ns; /* and up to its width later */
    const double width_ns = (double)(anchor->host_after_ns - anchor->host_before_ns);
    struct watch_view view = view_of(trace, &none, 0, 0);
    assert_true(view.now_known);
    const double age_ns = watch_age_ns(&view, 0);
    if (age_ns > 5e9 + 1 || age_ns < 5e9 - width_ns - 1)
        fail_msg("an age of %f ns", age_ns);
    assert_true(watch_age_ns(&view, 1000000) < age_ns - 999);
    assert_true(watch_age_ns(&view, INT64_MAX) == 0); /* nothing is ahead of now */
    watch_view_free(&view);
    ktrace_trace_destroy(trace);
}

/* The same launch hung, still hung, and ended; then another capture. */
static void test_from_look_to_look(void **state)
{
    (void)state;
    struct watch_history history = {.trace = NULL};
    struct watch_view view = look(&history, PEEK "peek_into_open_ranges.ktrace", 1, 1000);
    assert_false(view.has_previous);
    assert_true(view.launches[0].unchanged_ns < 0);
    assert_true(view.kernels[0].events_since < 0);
    watch_view_free(&view);

    view = look(&history, PEEK "peek_into_open_ranges_2.ktrace", 1, 3000);
    assert_true(view.has_previous && !view.began_anew && !view.at_least);
    assert_true(view.since_ns == 2000);
    assert_int_equal(view.events_since, 0);
    assert_int_equal(view.finished_since, 0);
    assert_true(view.launches[0].unchanged_ns == 2000);
    watch_view_free(&view);

    view = look(&history, PEEK "peek_into_open_ranges_2.ktrace", 1, 4000);
    assert_true(view.launches[0].unchanged_ns == 3000); /* since the first */
    watch_view_free(&view);

    view = look(&history, PEEK "peek_into_open_ranges_3.ktrace", 1, 9000);
    assert_int_equal(view.launch_count, 0);
    assert_int_equal(view.inside, 0);
    assert_int_equal(view.events_since, view.trace->event_count - 42);
    assert_int_equal(view.kernels[0].events_since, view.events_since);
    assert_int_equal(view.finished_since, 1);
    watch_view_free(&view);

    view = look(&history, PEEK "peek_at_some.ktrace", 2, 10000);
    assert_true(view.began_anew && view.at_least);
    assert_true(view.phases_since[0] < 0);
    watch_view_free(&view);
    watch_history_free(&history);
}

/* Of a ring that has wrapped, counts say little: what is newer than all of the look before is counted. */
static void test_wrapped(void **state)
{
    (void)state;
    struct watch_history history = {.trace = NULL};
    struct watch_view view = look(&history, PEEK "peek_at_a_wrapped_ring.ktrace", 1, 1000);
    assert_true(view.groups[0].cut);
    assert_true(view.groups[0].last_payload.is_there && view.groups[0].last_payload.first == 999);
    watch_view_free(&view);
    view = look(&history, PEEK "peek_at_a_wrapped_ring.ktrace", 1, 2000);
    assert_true(view.at_least && !view.began_anew);
    assert_int_equal(view.events_since, 0);
    assert_true(view.launches[0].unchanged_ns == 1000);
    watch_view_free(&view);
    watch_history_free(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_from_look_to_look),
        cmocka_unit_test(test_wrapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
