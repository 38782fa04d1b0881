/* Events read many at once: the same as one at a time, whatever part is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ktrace/ktrace.h"

static const char *const recordings[] = {
    "h200/example_divergence",
    "h200/graph/graph_and_plain_launches",
    "h200/payloads/payloads_on_ranges",
    "sim/example_divergence",
    "sim/peek_open_ranges",
    "format/two_devices",
};
enum { RECORDINGS = sizeof recordings / sizeof recordings[0] };

static struct ktrace_trace *load(const char *name)
{
    char path[512];
    struct ktrace_trace *trace = NULL;
    snprintf(path, sizeof path, "%s/%s.ktrace", KT_TEST_DATA, name);
    if (ktrace_trace_load(&trace, path) < 0)
        fail_msg("%s", ktrace_last_error());
    return trace;
}

static struct ktrace_trace_info info_of(const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_get_info(&info, trace), 0);
    assert_true(info.events > 0);
    return info;
}

static struct ktrace_event_record *read_all(const struct ktrace_trace *trace, uint64_t count)
{
    struct ktrace_event_record *records = calloc(count, sizeof *records);
    assert_non_null(records);
    assert_int_equal(ktrace_trace_event_records(records, sizeof *records, trace, 0, count), 0);
    return records;
}

static void same_event(const struct ktrace_event_record *record, const struct ktrace_event_info *event)
{
    assert_int_equal(record->time_ps, event->time_ps);
    assert_int_equal(record->clock_ticks, event->clock_ticks);
    assert_int_equal(record->payload, event->payload);
    assert_string_equal(record->name, event->name);
    assert_string_equal(record->file, event->file);
    assert_int_equal(record->line, event->line);
    assert_int_equal(record->kind, event->kind);
    assert_int_equal(record->lane, event->lane);
    assert_int_equal(record->partner, event->partner);
    assert_int_equal(record->payload_type, event->payload_type);
}

/* In the order of waves, and of events in each. */
static void as_one_by_one(void **state)
{
    (void)state;
    for (int i = 0; i < RECORDINGS; i++) {
        struct ktrace_trace *trace = load(recordings[i]);
        const struct ktrace_trace_info info = info_of(trace);
        struct ktrace_event_record *records = read_all(trace, info.events);
        uint64_t at = 0;
        for (uint64_t w = 0; w < info.waves; w++) {
            struct ktrace_wave_info wave = {.struct_size = sizeof wave};
            assert_int_equal(ktrace_trace_wave(&wave, trace, w), 0);
            for (uint32_t e = 0; e < wave.events; e++, at++) {
                struct ktrace_event_info event = {.struct_size = sizeof event};
                assert_int_equal(ktrace_trace_event(&event, trace, w, e), 0);
                same_event(&records[at], &event);
                assert_int_equal(records[at].wave, w);
                assert_int_equal(records[at].launch, wave.launch);
            }
        }
        assert_int_equal(at, info.events);
        free(records);
        ktrace_trace_destroy(trace);
    }
}

/* Parts that begin and end within waves, and nothing beside them is written. */
static void parts(void **state)
{
    (void)state;
    struct ktrace_trace *trace = load("h200/example_divergence");
    const uint64_t events = info_of(trace).events;
    struct ktrace_event_record *all = read_all(trace, events), *part = calloc(events + 1, sizeof *part);
    assert_non_null(part);
    for (uint64_t first = 0; first <= events; first += 7) {
        const uint64_t count = first * 3 % (events - first + 1);
        memset(part, 0xA5, (events + 1) * sizeof *part);
        assert_int_equal(ktrace_trace_event_records(part, sizeof *part, trace, first, count), 0);
        assert_memory_equal(part, all + first, count * sizeof *part);
        for (size_t i = 0; i < sizeof *part; i++)
            assert_int_equal(((unsigned char *)(part + count))[i], 0xA5);
    }
    assert_int_equal(ktrace_trace_event_records(NULL, sizeof *part, trace, events, 0), 0);
    free(part);
    free(all);
    ktrace_trace_destroy(trace);
}

/* A caller that was compiled with a shorter struct, and one with a longer. */
static void other_versions(void **state)
{
    (void)state;
    enum { SHORT = offsetof(struct ktrace_event_record, name), LONG = sizeof(struct ktrace_event_record) + 16 };
    struct ktrace_trace *trace = load("sim/example_divergence");
    const uint64_t events = info_of(trace).events;
    struct ktrace_event_record *all = read_all(trace, events);
    static const char zeros[16];
    char *out = malloc(events * LONG);
    assert_non_null(out);
    memset(out, 0xA5, events * LONG);
    assert_int_equal(ktrace_trace_event_records((void *)out, SHORT, trace, 0, events), 0);
    for (uint64_t i = 0; i < events; i++)
        assert_memory_equal(out + i * SHORT, &all[i], SHORT);
    assert_int_equal(ktrace_trace_event_records((void *)out, LONG, trace, 0, events), 0);
    for (uint64_t i = 0; i < events; i++) {
        assert_memory_equal(out + i * LONG, &all[i], sizeof *all);
        assert_memory_equal(out + i * LONG + sizeof *all, zeros, sizeof zeros);
    }
    free(out);
    free(all);
    ktrace_trace_destroy(trace);
}

static void refused(void **state)
{
    (void)state;
    struct ktrace_trace *trace = load("sim/example_divergence");
    const uint64_t events = info_of(trace).events;
    struct ktrace_event_record record = {.time_ps = 42};
    char wanted[128];
    const struct {
        uint64_t first, count;
    } outside[] = {{events, 1}, {0, events + 1}, {1, events}, {UINT64_MAX, 1}, {1, UINT64_MAX}, {UINT64_MAX, 0}};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        assert_int_equal(ktrace_trace_event_records(&record, sizeof record, trace, outside[i].first, outside[i].count),
                         KTRACE_ERROR_NOT_FOUND);
        snprintf(wanted, sizeof wanted, "%llu events from event %llu on are not there: the trace has %llu",
                 (unsigned long long)outside[i].count, (unsigned long long)outside[i].first,
                 (unsigned long long)events);
        assert_string_equal(ktrace_last_error(), wanted);
    }
    static const size_t sizes[] = {0, 4, 68};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(ktrace_trace_event_records(&record, sizes[i], trace, 0, 1), KTRACE_ERROR_ARGUMENT);
        assert_non_null(strstr(ktrace_last_error(), "set it to sizeof(struct ktrace_event_record)"));
    }
    assert_int_equal(ktrace_trace_event_records(NULL, sizeof record, trace, 0, 1), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_event_records(&record, sizeof record, NULL, 0, 0), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(record.time_ps, 42);
    ktrace_trace_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_one_by_one),
        cmocka_unit_test(parts),
        cmocka_unit_test(other_versions),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
