/* report_data.c - what the page's scripts read: the numbers that are few as JSON, those that are many as columns. */
#include "report_histogram.h"

#include "../summary.h"
#include "../vocabulary.h"

#include <stdlib.h>

static void append_words(struct kt_json *json, const struct ktrace_trace *trace)
{
    const struct kt_vocabulary *words = kt_vocabulary_of(trace->snapshot->arch);
    kt_json_key(json, "words");
    kt_json_open(json, '{');
    kt_json_string(json, "workgroup", words->workgroup);
    kt_json_string(json, "wave", words->wave);
    kt_json_string(json, "waves", words->waves);
    kt_json_string(json, "places", words->places);
    kt_json_close(json, '}');
}

/* How much of the trace is in the page. */
static void append_extent(struct kt_json *json, const struct ktrace_trace *trace, const struct kt_report_detail *detail)
{
    kt_json_key(json, "extent");
    kt_json_open(json, '{');
    kt_json_count(json, "launches", detail->launch_count);
    kt_json_count(json, "launches_of", trace->launch_count);
    kt_json_count(json, "waves", detail->waves);
    kt_json_count(json, "waves_of", trace->wave_count);
    kt_json_count(json, "ranges", detail->ranges);
    kt_json_count(json, "ranges_of", detail->range_total);
    kt_json_close(json, '}');
}

static int append_phases(struct kt_json *json, const struct ktrace_trace *trace)
{
    struct kt_report_histogram *histograms;
    const int status = kt_report_histograms(&histograms, trace);
    if (status < 0)
        return status;
    kt_json_key(json, "phases");
    kt_json_open(json, '[');
    for (uint32_t i = 0; i < trace->phase_count; i++) {
        kt_json_separate(json);
        kt_json_open(json, '{');
        kt_json_phase(json, &trace->statistics[i]);
        kt_json_real(json, "low_ns", histograms[i].low_ns);
        kt_json_real(json, "high_ns", histograms[i].high_ns);
        kt_json_count(json, "logarithmic", histograms[i].logarithmic);
        kt_json_key(json, "bins");
        kt_json_open(json, '[');
        for (size_t bin = 0; bin < KT_REPORT_BINS; bin++) {
            kt_json_separate(json);
            kt_string_printf(json->text, "%llu", (unsigned long long)histograms[i].counts[bin]);
        }
        kt_json_close(json, ']');
        kt_json_close(json, '}');
    }
    kt_json_close(json, ']');
    free(histograms);
    return 0;
}

static void append_places(struct kt_json *json, const struct ktrace_trace *trace, const struct kt_report_detail *detail)
{
    const struct kt_vocabulary *words = kt_vocabulary_of(trace->snapshot->arch);
    char name[64];
    kt_json_key(json, "places");
    kt_json_open(json, '[');
    for (size_t i = 0; i < detail->place_count; i++) {
        words->place(name, sizeof name, detail->places[i].place);
        kt_json_separate(json);
        kt_json_open(json, '{');
        kt_json_string(json, "name", name);
        kt_json_count(json, "id", detail->places[i].place);
        kt_json_count(json, "device", detail->places[i].device);
        kt_json_close(json, '}');
    }
    kt_json_close(json, ']');
}

static void append_waves(struct kt_json *json, const char *name, const uint64_t *waves, uint32_t count)
{
    kt_json_key(json, name);
    kt_json_open(json, '[');
    for (uint32_t i = 0; i < count; i++) {
        kt_json_separate(json);
        kt_string_printf(json->text, "%llu", (unsigned long long)waves[i]);
    }
    kt_json_close(json, ']');
}

static int append_launch(struct kt_json *json, const struct ktrace_trace *trace, const struct kt_report_launch *launch)
{
    struct ktrace_launch_info info = {.struct_size = sizeof info};
    const int status = ktrace_trace_launch(&info, trace, launch->index);
    if (status < 0)
        return status;
    kt_json_separate(json);
    kt_json_open(json, '{');
    kt_json_count(json, "launch_id", launch->index);
    kt_json_count(json, "device", info.device);
    kt_json_launch(json, &info, trace->snapshot->arch);
    kt_json_integer(json, "tick_ps", launch->tick_ps);
    kt_json_count(json, "first_wave", launch->first_wave);
    kt_json_count(json, "waves_here", launch->wave_count);
    kt_json_count(json, "first_range", launch->first_range);
    kt_json_count(json, "ranges_here", launch->range_count);
    kt_json_count(json, "first_busy", launch->first_busy);
    kt_json_count(json, "busy_places", launch->busy_count);
    kt_json_real(json, "wave_mean_ps", launch->mean_ps);
    kt_json_real(json, "wave_p50_ps", launch->p50_ps);
    kt_json_real(json, "wave_max_ps", launch->max_ps);
    kt_json_real(json, "tail_ps", launch->tail_ps);
    kt_json_real(json, "busy_mean_ps", launch->busy_mean_ps);
    kt_json_real(json, "busy_max_ps", launch->busy_max_ps);
    append_waves(json, "longest", launch->longest, launch->longest_count);
    append_waves(json, "last", launch->last, launch->last_count);
    kt_json_close(json, '}');
    return 0;
}

static int append_launches(struct kt_json *json, const struct ktrace_trace *trace,
                           const struct kt_report_detail *detail)
{
    int status = 0;
    kt_json_key(json, "launches");
    kt_json_open(json, '[');
    for (uint64_t i = 0; status == 0 && i < detail->launch_count; i++)
        status = append_launch(json, trace, &detail->launches[i]);
    kt_json_close(json, ']');
    return status;
}

static void append_columns(struct kt_json *json, const struct kt_report_detail *detail)
{
    kt_json_key(json, "columns");
    kt_json_open(json, '{');
    for (int i = 0; i < KT_REPORT_COLUMNS; i++) {
        kt_json_key(json, kt_report_column_kinds[i].name);
        kt_json_open(json, '{');
        kt_json_count(json, "bytes", kt_report_column_kinds[i].bytes);
        kt_json_key(json, "base64");
        kt_string_append_char(json->text, '"');
        kt_report_append_base64(json->text, kt_string_text(&detail->columns[i]), detail->columns[i].length);
        kt_string_append_char(json->text, '"');
        json->text->failed |= detail->columns[i].failed;
        kt_json_close(json, '}');
    }
    kt_json_close(json, '}');
}

int kt_report_append_data(struct kt_string *out, const struct ktrace_trace *trace,
                          const struct kt_report_detail *detail)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    struct kt_json json = kt_json_of(out);
    int status = ktrace_trace_get_info(&info, trace);
    if (status < 0)
        return status;
    kt_json_open(&json, '{');
    kt_json_key(&json, "info");
    kt_json_open(&json, '{');
    kt_json_trace_info(&json, &info);
    kt_json_close(&json, '}');
    kt_json_string(&json, "version", ktrace_version());
    kt_json_string(&json, "cause", trace->snapshot->warning);
    kt_json_string(&json, "clock_warning", trace->clock_warning);
    append_words(&json, trace);
    append_extent(&json, trace, detail);
    status = kt_json_devices(&json, trace);
    if (status == 0)
        status = append_phases(&json, trace);
    append_places(&json, trace, detail);
    if (status == 0)
        status = append_launches(&json, trace, detail);
    append_columns(&json, detail);
    kt_json_close(&json, '}');
    return status;
}
