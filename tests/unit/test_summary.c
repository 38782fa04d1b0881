#include "summary.h"

#include "build_snapshot.h"
#include "string_builder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Helpers ------------------------------------------------------------------------------------------------------- */

static struct ktrace_trace *trace_of(struct kt_snapshot *snapshot)
{
    struct ktrace_trace *trace;
    assert_int_equal(kt_trace_from_snapshot(&trace, snapshot), 0);
    return trace;
}

static struct kt_site *find_site(struct ktrace_trace *trace, const char *name)
{
    for (uint64_t m = 0; m < trace->snapshot->module_count; m++) {
        struct kt_module *module = &trace->snapshot->modules[m];
        for (uint32_t i = 0; i < module->site_count; i++)
            if (strcmp(module->sites[i].name, name) == 0)
                return &module->sites[i];
    }
    fail_msg("no site %s", name);
    return NULL;
}

static struct ktrace_phase_info phase_named(const struct ktrace_trace *trace, const char *name)
{
    struct ktrace_phase_info info = {.struct_size = sizeof info};
    for (uint64_t i = 0; i < ktrace_trace_phase_count(trace); i++) {
        assert_int_equal(ktrace_trace_phase(&info, trace, i), 0);
        if (strcmp(info.name, name) == 0)
            return info;
    }
    fail_msg("no phase %s", name);
    return info;
}

/* One wave with `count` ranges "work", closed in a row, and a mark after each. */
static struct ktrace_trace *trace_of_ranges(uint32_t count)
{
    struct build *build = build_begin(65536, 16);
    uint32_t module = build_module(build, 0x140);
    uint32_t kernel = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "kernel");
    uint32_t push = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "work");
    uint32_t pop = build_site(build, module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "");
    uint32_t mark = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "point");
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = kernel, .start_clock = 1000});
    for (uint32_t i = 0; i < count; i++) {
        build_event(build, wave, 0, 1100 + i * 100, push);
        build_event(build, wave, 0, 1150 + i * 100, pop);
        build_event(build, wave, 0, 1160 + i * 100, mark);
    }
    build_end(build, wave, 2000 + count * 100);
    return trace_of(build_finish(build));
}

/* Give the i-th range "work" this duration, and summarize again. */
static void set_durations(struct ktrace_trace *trace, const uint64_t *durations_ps, uint32_t count)
{
    uint32_t range = 0;
    for (uint64_t i = 0; i < trace->event_count; i++) {
        struct kt_event *event = &trace->events[i];
        if (event->site->kind == KTRACE_KIND_PUSH)
            trace->events[event->partner].time_ps = event->time_ps + (int64_t)durations_ps[range++];
    }
    assert_int_equal(range, count);
    free(trace->statistics);
    assert_int_equal(kt_summarize(trace), 0);
}

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The definition, word for word: the smallest value such that at least p percent of all are not above it. */
static double nearest_rank_ns(const uint64_t *sorted, uint32_t count, uint32_t percent)
{
    for (uint32_t i = 0; i < count; i++)
        if ((uint64_t)(i + 1) * 100 >= (uint64_t)count * percent)
            return (double)sorted[i] / 1000;
    return NAN;
}

static void assert_statistics(const struct ktrace_phase_info *info, uint64_t *durations_ps, uint32_t count)
{
    double total_ps = 0;
    for (uint32_t i = 0; i < count; i++)
        total_ps += (double)durations_ps[i];
    qsort(durations_ps, count, sizeof *durations_ps, compare_u64);
    assert_int_equal(info->count, count);
    assert_int_equal(info->unclosed, 0);
    assert_true(fabs(info->total_ns - total_ps / 1000) <= total_ps * 1e-15);
    assert_true(fabs(info->mean_ns - total_ps / 1000 / count) <= total_ps * 1e-15);
    assert_true(info->min_ns == (double)durations_ps[0] / 1000);
    assert_true(info->p50_ns == nearest_rank_ns(durations_ps, count, 50));
    assert_true(info->p90_ns == nearest_rank_ns(durations_ps, count, 90));
    assert_true(info->p99_ns == nearest_rank_ns(durations_ps, count, 99));
    assert_true(info->max_ns == (double)durations_ps[count - 1] / 1000);
}

/* ---- Statistics ---------------------------------------------------------------------------------------------------- */

static void known_statistics(void **state)
{
    (void)state;
    uint64_t durations_ps[200];
    struct ktrace_trace *trace = trace_of_ranges(200);
    for (uint32_t i = 0; i < 200; i++)
        durations_ps[i] = 1000 * (200 - i); /* 1 to 200 ns, falling */
    set_durations(trace, durations_ps, 200);
    struct ktrace_phase_info work = phase_named(trace, "work"), point = phase_named(trace, "point");
    assert_string_equal(work.kernel, "kernel");
    assert_int_equal(work.kind, KTRACE_KIND_PUSH);
    assert_int_equal(work.count, 200);
    assert_true(work.total_ns == 20100 && work.mean_ns == 100.5 && work.min_ns == 1 && work.max_ns == 200);
    assert_true(work.p50_ns == 100 && work.p90_ns == 180 && work.p99_ns == 198);
    assert_int_equal(point.kind, KTRACE_KIND_MARK);
    assert_int_equal(point.count, 200);
    assert_true(point.total_ns == 0 && point.max_ns == 0);
    ktrace_trace_destroy(trace);
}

/* Against the definition, for every small count, and for values that use every byte that a duration can have. */
static void random_statistics(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (uint32_t count = 1; count < 330; count += count < 110 ? 1 : 37) {
        uint64_t *durations_ps = calloc(count, sizeof *durations_ps);
        struct ktrace_trace *trace = trace_of_ranges(count);
        for (unsigned bits = 1; bits < 56; bits += 9) {
            for (uint32_t i = 0; i < count; i++) {
                random = random * 1664525u + 1013904223u;
                durations_ps[i] = ((uint64_t)random << 24 ^ random) & ((UINT64_C(1) << bits) - 1);
            }
            set_durations(trace, durations_ps, count);
            struct ktrace_phase_info work = phase_named(trace, "work");
            assert_statistics(&work, durations_ps, count);
        }
        ktrace_trace_destroy(trace);
        free(durations_ps);
    }
}

/* Every range and mark of a capture with something of everything is counted once, in the phase of its kernel and name. */
static void counts_everything(void **state)
{
    (void)state;
    struct ktrace_trace *trace = trace_of(build_example(3, 4, 5));
    uint64_t closed = 0, marks = 0, unclosed = 0, counted = 0, counted_unclosed = 0;
    for (uint64_t i = 0; i < trace->event_count; i++) {
        const struct kt_event *event = &trace->events[i];
        int begin = event->site->kind == KTRACE_KIND_PUSH || event->site->kind == KTRACE_KIND_START;
        marks += event->site->kind == KTRACE_KIND_MARK;
        if (begin && (event->flags & KT_EVENT_UNCLOSED))
            unclosed++;
        else if (begin)
            closed++;
    }
    for (uint64_t i = 0; i < ktrace_trace_phase_count(trace); i++) {
        struct ktrace_phase_info info = {.struct_size = sizeof info};
        assert_int_equal(ktrace_trace_phase(&info, trace, i), 0);
        assert_true(info.count + info.unclosed > 0);
        counted += info.count;
        counted_unclosed += info.unclosed;
        if (info.kind == KTRACE_KIND_MARK || info.count == 0)
            continue;
        assert_true(info.min_ns <= info.p50_ns && info.p50_ns <= info.p90_ns);
        assert_true(info.p90_ns <= info.p99_ns && info.p99_ns <= info.max_ns);
        assert_true(info.min_ns <= info.mean_ns && info.mean_ns <= info.max_ns);
    }
    assert_true(unclosed > 0 && marks > 0);
    assert_int_equal(counted, closed + marks);
    assert_int_equal(counted_unclosed, unclosed);
    assert_int_equal(counted_unclosed, trace->ranges_unclosed);
    ktrace_trace_destroy(trace);
}

static void phase_sizes_and_errors(void **state)
{
    (void)state;
    struct ktrace_trace *trace = trace_of_ranges(3);
    struct {
        struct ktrace_phase_info info;
        char newer[16];
    } larger;
    memset(&larger, 0xAA, sizeof larger);
    larger.info.struct_size = sizeof larger;
    assert_int_equal(ktrace_trace_phase(&larger.info, trace, 0), 0);
    assert_int_equal(larger.info.struct_size, sizeof larger);
    assert_string_equal(larger.info.name, "work");
    for (size_t i = 0; i < sizeof larger.newer; i++)
        assert_int_equal(larger.newer[i], 0);

    struct ktrace_phase_info shorter;
    memset(&shorter, 0xAA, sizeof shorter);
    shorter.struct_size = offsetof(struct ktrace_phase_info, kind);
    assert_int_equal(ktrace_trace_phase(&shorter, trace, 0), 0);
    assert_string_equal(shorter.name, "work");
    assert_int_equal(shorter.kind, 0xAAAAAAAA);

    assert_int_equal(ktrace_trace_phase(&larger.info, trace, 2), KTRACE_ERROR_NOT_FOUND);
    shorter.struct_size = 0;
    assert_int_equal(ktrace_trace_phase(&shorter, trace, 0), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_phase(NULL, trace, 0), KTRACE_ERROR_ARGUMENT);
    ktrace_trace_destroy(trace);
}

/* ---- Text ---------------------------------------------------------------------------------------------------------- */

static char *text_of(const struct ktrace_trace *trace)
{
    char *text;
    assert_int_equal(ktrace_trace_summary_text(&text, trace), 0);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void assert_has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" is in:\n%s", part, text);
}

static void text_of_known_trace(void **state)
{
    (void)state;
    const uint64_t durations_ps[4] = {16000, 1234567, 99999000, 2500000000000};
    struct ktrace_trace *trace = trace_of_ranges(4);
    set_durations(trace, durations_ps, 4);
    char *text = text_of(trace);
    assert_has(text, "kernel: 1 launch, 1 of 1 wave, 12 events\n"
                     "  phase  kind   count   total      mean       min      p50     p90     p99     max\n"
                     "  work   range      4  2.50 s  625.0 ms  16.00 ns  1.23 us  2.50 s  2.50 s  2.50 s\n"
                     "  point  mark       4\n"
                     "\n"
                     "totals are sums over waves, which run side by side\n");
    assert_has(text, "waves     1 recorded of 1 launched\n");
    assert_has(text, "fits all anchors\n");
    assert_has_not(text, "not whole");
    free(text);
    ktrace_trace_destroy(trace);
}

/* No counter that is not zero is left out, and none that is zero is named. */
static void text_names_losses(void **state)
{
    (void)state;
    struct ktrace_trace *trace = trace_of_ranges(3);
    uint64_t *counters[] = {&trace->snapshot->waves_dropped, &trace->snapshot->waves_filtered,
                            &trace->waves_unfinished,        &trace->slots_lost,
                            &trace->ranges_unclosed,         &trace->ends_unmatched,
                            &trace->slots_corrupt,           &trace->clocks_ambiguous};
    const char *names[] = {"waves dropped",   "waves filtered", "waves unfinished", "slots lost",
                           "ranges unclosed", "ends unmatched", "slots corrupt",    "ambiguous clocks"};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        *counters[i] = 1234567 + i;
        char *text = text_of(trace), number[32];
        snprintf(number, sizeof number, "  1,234,56%zu ", 7 + i);
        if (i < 3)
            assert_has(text, number);
        assert_has(text, "not whole\n");
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            if (j == i)
                assert_has(text, names[j]);
            else
                assert_has_not(text, names[j]);
        }
        free(text);
        *counters[i] = 0;
    }
    ktrace_trace_destroy(trace);
}

static void text_shows_unclosed_and_warning(void **state)
{
    (void)state;
    struct ktrace_trace *trace = trace_of(build_example(2, 2, 3));
    char *text = text_of(trace);
    assert_has(text, "  unclosed\n");
    assert_has(text, "ranges unclosed");
    assert_has(text, "  1 wave unfinished: ");
    free(text);
    free(trace->snapshot->warning);
    trace->snapshot->warning = strdup("no traced kernel was launched");
    text = text_of(trace);
    assert_has(text, "\n  no traced kernel was launched\n");
    free(text);
    ktrace_trace_destroy(trace);
}

/* A name from a file must not steer the terminal. */
static void text_of_hostile_names(void **state)
{
    (void)state;
    struct ktrace_trace *trace = trace_of_ranges(1);
    memcpy(find_site(trace, "work")->name, "w\x1B[k", 4);
    memcpy(find_site(trace, "kernel")->name, "ke\nnel", 6);
    char *text = text_of(trace);
    assert_has(text, "ke\\x0Anel: 1 launch");
    assert_has(text, "w\\x1B[k");
    assert_null(strchr(text, 0x1B));
    free(text);
    ktrace_trace_destroy(trace);
}

static void text_of_nothing(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = build_nothing();
    snapshot->arch = KTRACE_ARCH_NVIDIA;
    struct ktrace_trace *trace = trace_of(snapshot);
    char *text = text_of(trace);
    assert_has(text, "waves     0 recorded of 0 launched\n");
    assert_has(text, "no anchors\n");
    free(text);
    assert_int_equal(ktrace_trace_phase_count(trace), 0);
    assert_int_equal(ktrace_trace_summary_text(NULL, trace), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_summary_json(&text, NULL), KTRACE_ERROR_ARGUMENT);
    ktrace_trace_destroy(trace);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

/* A strict reader: returns what is behind one value, or fails. */
static const char *skip_space(const char *at)
{
    return at + strspn(at, " \n");
}

static const char *read_string(const char *at)
{
    assert_int_equal(*at++, '"');
    while (*at != '"') {
        size_t length = kt_utf8_length(at);
        assert_true(length > 0 && (unsigned char)*at >= 0x20);
        if (*at == '\\') {
            assert_non_null(strchr("\"\\bfnrtu", at[1]));
            length = 2;
        }
        at += length;
    }
    return at + 1;
}

static const char *read_value(const char *at)
{
    char *end;
    at = skip_space(at);
    if (*at == '"')
        return read_string(at);
    if (strncmp(at, "null", 4) == 0)
        return at + 4;
    if (*at != '{' && *at != '[') {
        strtod(at, &end);
        assert_true(end > at);
        return end;
    }
    char closing = *at == '{' ? '}' : ']';
    at = skip_space(at + 1);
    if (*at == closing)
        return at + 1;
    for (;; at++) {
        if (closing == '}') {
            at = skip_space(read_string(skip_space(at)));
            assert_int_equal(*at++, ':');
        }
        at = skip_space(read_value(at));
        if (*at == closing)
            return at + 1;
        assert_int_equal(*at, ',');
    }
}

static char *json_of(const struct ktrace_trace *trace)
{
    char *json;
    assert_int_equal(ktrace_trace_summary_json(&json, trace), 0);
    assert_int_equal(*skip_space(read_value(json)), '\0');
    return json;
}

static void json_is_whole(void **state)
{
    (void)state;
    struct ktrace_trace *trace = trace_of(build_example(3, 4, 5));
    trace->snapshot->waves_dropped = UINT64_C(18446744073709551615);
    char *json = json_of(trace);
    const char *keys[] = {"info",           "name",           "device",           "arch",           "places",
                          "origin_ns",      "duration_ps",    "launches",         "waves",          "events",
                          "waves_dropped",  "waves_filtered", "waves_unfinished", "slots_lost",     "ranges_unclosed",
                          "ends_unmatched", "slots_corrupt",  "clocks_ambiguous", "clock_hz",       "clock_residual_ns",
                          "warning",        "kernel",         "grid_id",          "occurrence",     "grid",
                          "block",          "begin_ps",       "end_ps",           "waves_launched", "phases",
                          "kind",           "count",          "unclosed",         "total_ns",       "mean_ns",
                          "min_ns",         "p50_ns",         "p90_ns",           "p99_ns",         "max_ns"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%s\": ", keys[i]);
        assert_has(json, quoted);
    }
    assert_has(json, "\"waves_dropped\": 18446744073709551615,");
    assert_has(json, "\"kind\": \"mark\",");
    assert_has(json, "\"kind\": \"range\",");
    assert_has(json, "\"kind\": \"token\",");
    free(json);
    ktrace_trace_destroy(trace);
}

static void json_of_hostile_names(void **state)
{
    (void)state;
    struct ktrace_trace *trace = trace_of_ranges(2);
    memcpy(find_site(trace, "work")->name, "\"\\\x01\xFF", 4);
    char *json = json_of(trace);
    assert_has(json, "\"name\": \"\\\"\\\\\\u0001\xEF\xBF\xBD\"");
    assert_has(json, "\"total_ns\": null"); /* of the mark */
    free(json);
    ktrace_trace_destroy(trace);
}

static void json_of_nothing(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = build_nothing();
    snapshot->arch = KTRACE_ARCH_NVIDIA;
    struct ktrace_trace *trace = trace_of(snapshot);
    char *json = json_of(trace);
    assert_has(json, "\"launches\": [],\n  \"phases\": []\n}\n");
    free(json);
    ktrace_trace_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_statistics),
        cmocka_unit_test(random_statistics),
        cmocka_unit_test(counts_everything),
        cmocka_unit_test(phase_sizes_and_errors),
        cmocka_unit_test(text_of_known_trace),
        cmocka_unit_test(text_names_losses),
        cmocka_unit_test(text_shows_unclosed_and_warning),
        cmocka_unit_test(text_of_hostile_names),
        cmocka_unit_test(text_of_nothing),
        cmocka_unit_test(json_is_whole),
        cmocka_unit_test(json_of_hostile_names),
        cmocka_unit_test(json_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
