/* What goes into the page: which waves and ranges, how ranges nest, histograms, base64. The page itself is looked at by page.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/report_histogram.h"
#include "synthetic.h"

#include "build_snapshot.h"
#include "export/sink.h"

#include <stdlib.h>
#include <string.h>

static struct ktrace_trace *trace_of(struct kt_snapshot *snapshot)
{
    struct ktrace_trace *trace;
    assert_int_equal(kt_trace_from_snapshot(&trace, snapshot), 0);
    return trace;
}

static struct ktrace_trace *synthetic(uint32_t waves, uint32_t launches)
{
    return trace_of(
        synthetic_snapshot(&(struct synthetic){.kernel = "gemm", .waves = waves, .launches = launches, .seed = 5}));
}

static uint64_t column(const struct kt_report_detail *detail, enum kt_report_column which, uint64_t index)
{
    const size_t bytes = kt_report_column_kinds[which].bytes;
    const uint8_t *at = (const uint8_t *)detail->columns[which].text + bytes * index;
    uint64_t value = 0;
    assert_true((index + 1) * bytes <= detail->columns[which].length);
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* Columns are as long as is said, waves' ranges add up, launches follow each other. */
static void assert_consistent(const struct kt_report_detail *detail)
{
    uint64_t waves = 0, ranges = 0, busy = 0;
    for (uint64_t i = 0; i < detail->launch_count; i++) {
        const struct kt_report_launch *launch = &detail->launches[i];
        uint64_t own = 0;
        assert_int_equal(launch->first_wave, waves);
        assert_int_equal(launch->first_range, ranges);
        assert_int_equal(launch->first_busy, busy);
        for (uint64_t w = 0; w < launch->wave_count; w++) {
            own += column(detail, KT_REPORT_WAVE_RANGES, waves + w);
            assert_true(column(detail, KT_REPORT_WAVE_PLACE, waves + w) < detail->place_count);
        }
        assert_int_equal(own, launch->range_count);
        waves += launch->wave_count;
        ranges += launch->range_count;
        busy += launch->busy_count;
    }
    assert_int_equal(detail->waves, waves);
    assert_int_equal(detail->ranges, ranges);
    for (int i = 0; i < KT_REPORT_COLUMNS; i++) {
        const uint64_t rows = i < KT_REPORT_RANGE_BEGIN ? waves : i < KT_REPORT_BUSY_PLACE ? ranges : busy;
        assert_int_equal(detail->columns[i].length, rows * kt_report_column_kinds[i].bytes);
    }
}

static void assert_with_ranges(const struct kt_report_detail *detail, const struct kt_report_launch *launch,
                               uint64_t wave)
{
    assert_true(wave < launch->wave_count);
    assert_false(column(detail, KT_REPORT_WAVE_FLAGS, launch->first_wave + wave) & KT_REPORT_WAVE_WITHOUT);
    assert_true(column(detail, KT_REPORT_WAVE_RANGES, launch->first_wave + wave) > 0);
}

/* The longest of all waves, and the last to end, whatever else is left out. */
static void assert_critical(const struct kt_report_detail *detail, const struct ktrace_trace *trace)
{
    for (uint64_t i = 0; i < detail->launch_count; i++) {
        const struct kt_report_launch *out = &detail->launches[i];
        const struct kt_launch *launch = &trace->launches[out->index];
        int64_t longest_ps = 0;
        for (uint64_t w = 0; w < launch->wave_count; w++) {
            const struct kt_wave *wave = &trace->waves[launch->first_wave + w];
            longest_ps = wave->end_ps - wave->begin_ps > longest_ps ? wave->end_ps - wave->begin_ps : longest_ps;
        }
        assert_true(out->max_ps == (double)longest_ps);
        for (uint32_t c = 0; c < out->longest_count; c++) {
            assert_with_ranges(detail, out, out->longest[c]);
            assert_with_ranges(detail, out, out->last[c]);
        }
        const uint64_t first = out->first_wave + out->longest[0], last = out->first_wave + out->last[0];
        const uint64_t ticks = column(detail, KT_REPORT_WAVE_END, first) - column(detail, KT_REPORT_WAVE_BEGIN, first);
        assert_true(llabs((int64_t)ticks * out->tick_ps - longest_ps) <= 2 * out->tick_ps);
        const int64_t end_ps = (int64_t)column(detail, KT_REPORT_WAVE_END, last) * out->tick_ps;
        assert_true(llabs(end_ps - (launch->end_ps - launch->begin_ps)) <= out->tick_ps);
    }
}

static void everything_where_it_fits(void **state)
{
    (void)state;
    struct ktrace_trace *trace = synthetic(1000, 3);
    struct kt_report_detail detail;
    assert_int_equal(kt_report_detail_make(&detail, trace), 0);
    assert_consistent(&detail);
    assert_critical(&detail, trace);
    assert_int_equal(detail.waves, trace->wave_count);
    assert_int_equal(detail.ranges, detail.range_total);
    assert_int_equal(detail.range_total, 12 * 1000); /* prologue, mainloop, eight tiles, mark, epilogue */
    kt_report_detail_free(&detail);
    ktrace_trace_destroy(trace);
}

static void too_many_waves(void **state)
{
    (void)state;
    struct ktrace_trace *trace = synthetic(230000, 2);
    struct kt_report_detail detail;
    assert_int_equal(kt_report_detail_make(&detail, trace), 0);
    assert_consistent(&detail);
    assert_critical(&detail, trace);
    const uint64_t critical = 2 * KT_REPORT_CRITICAL * detail.launch_count;
    assert_in_range(detail.waves, KT_REPORT_WAVES, KT_REPORT_WAVES + critical);
    assert_in_range(detail.ranges, KT_REPORT_RANGES / 4, KT_REPORT_RANGES);
    kt_report_detail_free(&detail);
    ktrace_trace_destroy(trace);
}

static void too_many_launches(void **state)
{
    (void)state;
    struct ktrace_trace *trace = synthetic(2400, 300);
    struct kt_report_detail detail;
    assert_int_equal(kt_report_detail_make(&detail, trace), 0);
    assert_consistent(&detail);
    assert_int_equal(detail.launch_count, KT_REPORT_LAUNCHES);
    /* In their order, and none that was left out is longer. */
    int64_t shortest_ps = INT64_MAX;
    uint64_t longer = 0;
    for (uint64_t i = 0; i < detail.launch_count; i++) {
        const int64_t duration_ps = kt_launch_duration_ps(&trace->launches[detail.launches[i].index]);
        shortest_ps = duration_ps < shortest_ps ? duration_ps : shortest_ps;
        assert_true(i == 0 || detail.launches[i - 1].index < detail.launches[i].index);
    }
    for (uint64_t i = 0; i < trace->launch_count; i++)
        longer += kt_launch_duration_ps(&trace->launches[i]) > shortest_ps;
    assert_true(longer < KT_REPORT_LAUNCHES);
    kt_report_detail_free(&detail);
    ktrace_trace_destroy(trace);
}

/* One wave with more ranges than a page has: its first ones. */
static void one_wave_with_everything(void **state)
{
    (void)state;
    struct build *build = build_begin(1 << 20, 16);
    const uint32_t module = build_module(build, 0x140);
    const uint32_t kernel = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "long");
    const uint32_t push = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "turn");
    const uint32_t pop = build_site(build, module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "");
    const uint32_t wave = build_wave(build, &(struct build_wave){.kernel = kernel, .start_clock = 1000});
    uint64_t clock = 1000;
    for (int i = 0; i < 450000; i++) {
        build_event(build, wave, 0, clock += 4, push);
        build_event(build, wave, 0, clock += 4, pop);
    }
    build_end(build, wave, clock + 4);
    struct ktrace_trace *trace = trace_of(build_finish(build));
    struct kt_report_detail detail;
    assert_int_equal(kt_report_detail_make(&detail, trace), 0);
    assert_consistent(&detail);
    assert_true(column(&detail, KT_REPORT_WAVE_FLAGS, 0) & KT_REPORT_WAVE_CUT);
    assert_in_range(detail.ranges, 1000, KT_REPORT_RANGES);
    kt_report_detail_free(&detail);
    ktrace_trace_destroy(trace);
}

/* outer { inner { } a mark } token, token: what overlaps has tracks of its own. */
static void how_ranges_nest(void **state)
{
    (void)state;
    struct build *build = build_begin(64, 16);
    const uint32_t module = build_module(build, 0x140);
    const uint32_t kernel = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "nest");
    const uint32_t outer = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "outer");
    const uint32_t inner = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "inner");
    const uint32_t pop = build_site(build, module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "");
    const uint32_t mark = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "mark");
    const uint32_t start = build_site(build, module, KTRACE_KIND_START, KTRACE_PAYLOAD_NONE, "token");
    const uint32_t stop = build_site(build, module, KTRACE_KIND_STOP, KTRACE_PAYLOAD_NONE, "");
    const uint32_t wave = build_wave(build, &(struct build_wave){.kernel = kernel, .start_clock = 1000});
    build_event(build, wave, 0, 1100, outer);
    build_event(build, wave, 0, 1200, inner);
    build_event(build, wave, 0, 1300, pop);
    build_event(build, wave, 0, 1400, mark);
    build_event(build, wave, 0, 1500, pop);
    const uint32_t first = build_event(build, wave, 0, 1600, start);
    const uint32_t second = build_event(build, wave, 0, 1700, start);
    build_stop(build, wave, 0, 1800, stop, first);
    build_stop(build, wave, 0, 1900, stop, second);
    build_event(build, wave, 0, 2000, outer); /* stays open */
    build_event(build, wave, 0, 2100, mark);
    build_end(build, wave, 2200);
    struct ktrace_trace *trace = trace_of(build_finish(build));
    struct kt_report_range *ranges = NULL;
    size_t capacity = 0;
    assert_int_equal(kt_report_ranges(&ranges, &capacity, trace, &trace->waves[0]), 7);
    static const struct {
        const char *name;
        int64_t length_ns;
        int shape;
    } expected[] = {{"outer", 200, 0},
                    {"inner", 50, 1},
                    {"mark", 0, 1},
                    {"token", 100, KT_REPORT_CHILD | 1},
                    {"token", 100, KT_REPORT_CHILD | 2},
                    {"outer", 50, KT_REPORT_UNCLOSED},
                    {"mark", 0, 1}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_string_equal(trace->phases[ranges[i].phase].name, expected[i].name);
        assert_true(llabs(ranges[i].end_ps - ranges[i].begin_ps - 1000 * expected[i].length_ns) < 1000);
        assert_int_equal(ranges[i].shape, expected[i].shape);
    }
    free(ranges);
    ktrace_trace_destroy(trace);
}

static void histograms_count_everything(void **state)
{
    (void)state;
    struct ktrace_trace *traces[] = {synthetic(500, 2), trace_of(build_example(5, 3, 4)), trace_of(build_two_devices()),
                                     trace_of(build_nothing())};
    for (size_t t = 0; t < sizeof traces / sizeof *traces; t++) {
        struct kt_report_histogram *histograms;
        assert_int_equal(kt_report_histograms(&histograms, traces[t]), 0);
        for (uint32_t i = 0; i < traces[t]->phase_count; i++) {
            uint64_t sum = 0;
            for (size_t bin = 0; bin < KT_REPORT_BINS; bin++)
                sum += histograms[i].counts[bin];
            const struct ktrace_phase_info *phase = &traces[t]->statistics[i];
            assert_int_equal(sum, phase->kind == KTRACE_KIND_MARK ? 0 : phase->count);
            assert_true(sum == 0 || histograms[i].counts[0] > 0); /* the shortest */
        }
        free(histograms);
        ktrace_trace_destroy(traces[t]);
    }
}

/* RFC 4648, section 10. */
static void base64(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct kt_string text = KT_STRING_INIT;
        kt_report_append_base64(&text, pairs[i][0], strlen(pairs[i][0]));
        assert_string_equal(kt_string_text(&text), pairs[i][1]);
        kt_string_destroy(&text);
    }
}

/* No name ends the script element, or begins a comment in it. */
static void names_are_harmless(void **state)
{
    (void)state;
    struct ktrace_trace *trace = trace_of(synthetic_snapshot(
        &(struct synthetic){.kernel = "</script><!-- ktrace:data --><script>", .waves = 4, .launches = 1}));
    struct kt_memory_sink memory;
    kt_memory_sink_init(&memory);
    assert_int_equal(kt_report_write(&memory.sink, trace), 0);
    struct kt_string page = KT_STRING_INIT;
    kt_string_append_bytes(&page, memory.buffer.data, memory.buffer.bytes);
    size_t ends = 0, markers = 0;
    for (const char *at = kt_string_text(&page); (at = strstr(at, "</script>")); at++)
        ends++;
    for (const char *at = kt_string_text(&page); (at = strstr(at, "<!--")); at++)
        markers++;
    assert_int_equal(ends, 2);
    assert_int_equal(markers, 0);
    assert_non_null(strstr(kt_string_text(&page), "\\u003c/script>\\u003c!-- ktrace:data -->"));
    kt_string_destroy(&page);
    kt_pb_destroy(&memory.buffer);
    ktrace_trace_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_where_it_fits),
        cmocka_unit_test(too_many_waves),
        cmocka_unit_test(too_many_launches),
        cmocka_unit_test(one_wave_with_everything),
        cmocka_unit_test(how_ranges_nest),
        cmocka_unit_test(histograms_count_everything),
        cmocka_unit_test(base64),
        cmocka_unit_test(names_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
