#include "event_columns.h"

#include "../selection.h"
#include "../string_builder.h"
#include "../vocabulary.h"
#include "kinds.h"

#include <stdio.h>

/* ---- What is said ------------------------------------------------------------------------------------------------ */

static const char *event_state(const struct kt_event *event)
{
    if (event->flags & KT_EVENT_UNCLOSED)
        return "unclosed";
    if (event->flags & KT_EVENT_UNMATCHED)
        return "unmatched";
    return event->flags & KT_EVENT_SUPERSEDED ? "superseded" : NULL;
}

static bool has_duration(const struct kt_event *event)
{
    const uint8_t kind = event->site->kind;
    return (kind == KTRACE_KIND_PUSH || kind == KTRACE_KIND_START) && kt_range_is_closed(event);
}

static int64_t duration_ps(const struct ktrace_trace *trace, const struct kt_wave *wave, const struct kt_event *event)
{
    const uint64_t ps = kt_range_ps(trace, wave, event);
    return ps > INT64_MAX ? INT64_MAX : (int64_t)ps;
}

static int place_text(char text[64], const struct ktrace_trace *trace, const struct kt_wave *wave)
{
    kt_vocabulary_of(trace->snapshot->arch)->place(text, 64, wave->place);
    return (int)strlen(text);
}

static int workgroup_columns(const struct kt_wave *wave)
{
    int columns = 6; /* (, , ) */
    for (int i = 0; i < 3; i++)
        columns += kt_uint_columns(wave->workgroup[i]);
    return columns;
}

/* Names as a terminal may see them. Most need no change, and millions are asked for. */
static bool is_plain(const char *name)
{
    for (; *name; name++)
        if (*name < 0x20 || *name > 0x7E)
            return false;
    return true;
}

static int visible_columns(const char *name)
{
    if (is_plain(name))
        return (int)strlen(name);
    struct kt_string visible = KT_STRING_INIT;
    kt_string_append_visible(&visible, name);
    const int columns = (int)kt_utf8_columns(kt_string_text(&visible));
    kt_string_destroy(&visible);
    return columns;
}

static void put_visible(struct kt_text_sink *out, const char *name)
{
    if (is_plain(name)) {
        kt_text(out, name);
        return;
    }
    struct kt_string visible = KT_STRING_INIT;
    kt_string_append_visible(&visible, name);
    kt_text(out, kt_string_text(&visible));
    kt_string_destroy(&visible);
}

/* ---- Widths ------------------------------------------------------------------------------------------------------ */

static void widen(int *width, int columns)
{
    if (columns > *width)
        *width = columns;
}

void event_widths_begin(struct event_widths *widths, const struct ktrace_trace *trace)
{
    *widths = (struct event_widths){.time = 7, /* as wide as their titles */
                                    .duration = 11,
                                    .launch = 6,
                                    .wave = 4,
                                    .lane = 4,
                                    .kernel = trace->kernel_count > 1 ? 6 : 0,
                                    .device = trace->snapshot->device_count > 1 ? 6 : 0,
                                    .place = 2,
                                    .workgroup = 9,
                                    .name = 4};
}

void event_widths_wave(struct event_widths *widths, const struct ktrace_trace *trace, const struct kt_wave *wave)
{
    char place[64];
    widen(&widths->launch, 1 + kt_uint_columns(wave->launch));
    widen(&widths->wave, kt_uint_columns(wave->wave));
    widen(&widths->place, place_text(place, trace, wave));
    widen(&widths->workgroup, workgroup_columns(wave));
    if (widths->device)
        widen(&widths->device, visible_columns(trace->devices[trace->launches[wave->launch].device].number));
    if (widths->kernel)
        widen(&widths->kernel, visible_columns(trace->kernels[trace->launches[wave->launch].kernel].name));
}

void event_widths_event(struct event_widths *widths, const struct ktrace_trace *trace, const struct kt_wave *wave,
                        const struct kt_event *event)
{
    const char *state = event_state(event);
    widen(&widths->time, kt_decimal_columns(event->time_ps, 3));
    if (has_duration(event))
        widen(&widths->duration, kt_decimal_columns(duration_ps(trace, wave, event), 3));
    widen(&widths->name, visible_columns(cli_site_name(kt_event_name_site(trace, wave, event))) +
                             (state ? (int)strlen(state) + 3 : 0));
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static void put_left(struct kt_text_sink *out, const char *text, int width)
{
    kt_text_spaces(out, 2);
    put_visible(out, text);
    const int columns = visible_columns(text);
    kt_text_spaces(out, (size_t)(width > columns ? width - columns : 0));
}

static void put_right(struct kt_text_sink *out, const char *text, int width)
{
    const int columns = visible_columns(text);
    kt_text_spaces(out, 2 + (size_t)(width > columns ? width - columns : 0));
    put_visible(out, text);
}

static void put_uint(struct kt_text_sink *out, uint64_t number, int width)
{
    const int columns = kt_uint_columns(number);
    kt_text_spaces(out, 2 + (size_t)(width > columns ? width - columns : 0));
    kt_text_uint(out, number);
}

static void put_ns(struct kt_text_sink *out, int64_t ps, int width)
{
    const int columns = kt_decimal_columns(ps, 3);
    kt_text_spaces(out, 2 + (size_t)(width > columns ? width - columns : 0));
    kt_text_decimal(out, ps, 3);
}

void event_table_titles(struct kt_text_sink *out, const struct ktrace_trace *trace, const struct event_widths *widths)
{
    const uint32_t arch = trace->snapshot->arch;
    kt_text_style(out, KT_STYLE_TITLE);
    put_right(out, "time ns", widths->time);
    put_right(out, "duration ns", widths->duration);
    put_left(out, "launch", widths->launch);
    if (widths->kernel)
        put_left(out, "kernel", widths->kernel);
    if (widths->device)
        put_right(out, "device", widths->device);
    put_left(out, arch == KTRACE_ARCH_NVIDIA ? "SM" : arch == KTRACE_ARCH_AMDGCN ? "CU" : "on", widths->place);
    put_left(out, "workgroup", widths->workgroup);
    put_right(out, "wave", widths->wave);
    put_right(out, "lane", widths->lane);
    put_left(out, "kind", 5);
    put_left(out, "name", widths->name);
    kt_text(out, "  payload");
    kt_text_style(out, KT_STYLE_PLAIN);
    kt_text_char(out, '\n');
}

void event_table_line(struct kt_text_sink *out, const struct ktrace_trace *trace, const struct event_widths *widths,
                      const struct kt_wave *wave, const struct kt_event *event)
{
    const struct kt_launch *launch = &trace->launches[wave->launch];
    const char *name = cli_site_name(kt_event_name_site(trace, wave, event)), *state = event_state(event);
    char place[64];
    put_ns(out, event->time_ps, widths->time);
    if (has_duration(event))
        put_ns(out, duration_ps(trace, wave, event), widths->duration);
    else
        kt_text_spaces(out, 2 + (size_t)widths->duration);
    kt_text(out, "  #");
    kt_text_uint(out, wave->launch);
    kt_text_spaces(out, (size_t)(widths->launch - 1 - kt_uint_columns(wave->launch)));
    if (widths->kernel)
        put_left(out, trace->kernels[launch->kernel].name, widths->kernel);
    if (widths->device)
        put_right(out, trace->devices[launch->device].number, widths->device);
    place_text(place, trace, wave);
    put_left(out, place, widths->place);
    kt_text(out, "  (");
    for (int i = 0; i < 3; i++) {
        kt_text_uint(out, wave->workgroup[i]);
        kt_text(out, i < 2 ? ", " : ")");
    }
    kt_text_spaces(out, (size_t)(widths->workgroup - workgroup_columns(wave)));
    put_uint(out, wave->wave, widths->wave);
    put_uint(out, event->lane, widths->lane);
    put_left(out, cli_kind_name(event->site->kind), 5);
    kt_text_spaces(out, 2);
    put_visible(out, name);
    if (state) {
        kt_text_style(out, KT_STYLE_WARNING);
        kt_text(out, " (");
        kt_text(out, state);
        kt_text(out, ")");
        kt_text_style(out, KT_STYLE_PLAIN);
    }
    if (event->flags & KT_EVENT_PAYLOAD) {
        const int columns = visible_columns(name) + (state ? (int)strlen(state) + 3 : 0);
        kt_text_spaces(out, 2 + (size_t)(widths->name > columns ? widths->name - columns : 0));
        kt_text_payload_short(out, event->site->payload_type, event->payload);
    }
    kt_text_char(out, '\n');
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

void event_csv_titles(struct kt_text_sink *out)
{
    kt_text(out, "time_ps,duration_ps,launch_id,kernel,device,place,workgroup_x,workgroup_y,workgroup_z,wave,lane,kind,"
                 "name,payload_type,payload,state,file,line\n");
}

static void csv_uint(struct kt_text_sink *out, uint64_t number)
{
    kt_text_char(out, ',');
    kt_text_uint(out, number);
}

static void csv_text(struct kt_text_sink *out, const char *text)
{
    kt_text_char(out, ',');
    kt_text_csv(out, text);
}

void event_csv_line(struct kt_text_sink *out, const struct ktrace_trace *trace, const struct kt_wave *wave,
                    const struct kt_event *event)
{
    const struct kt_launch *launch = &trace->launches[wave->launch];
    const char *state = event_state(event);
    kt_text_int(out, event->time_ps);
    kt_text_char(out, ',');
    if (has_duration(event))
        kt_text_int(out, duration_ps(trace, wave, event));
    csv_uint(out, wave->launch);
    csv_text(out, trace->kernels[launch->kernel].name);
    csv_uint(out, launch->device);
    csv_uint(out, wave->place);
    for (int i = 0; i < 3; i++)
        csv_uint(out, wave->workgroup[i]);
    csv_uint(out, wave->wave);
    csv_uint(out, event->lane);
    csv_text(out, cli_kind_name(event->site->kind));
    csv_text(out, kt_event_name_site(trace, wave, event)->name);
    kt_text_char(out, ',');
    if (event->flags & KT_EVENT_PAYLOAD) {
        kt_text(out, cli_payload_name(event->site->payload_type));
        kt_text_char(out, ',');
        kt_text_payload(out, event->site->payload_type, event->payload);
    } else {
        kt_text_char(out, ',');
    }
    kt_text_char(out, ',');
    kt_text(out, state ? state : "");
    if (cli_site_has_place(event->site)) {
        csv_text(out, event->site->file);
        csv_uint(out, event->site->line);
    } else {
        kt_text(out, ",,");
    }
    kt_text_char(out, '\n');
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_uint(struct kt_text_sink *out, const char *key, uint64_t number)
{
    kt_text(out, key);
    kt_text_uint(out, number);
}

static void json_text(struct kt_text_sink *out, const char *key, const char *text)
{
    kt_text(out, key);
    kt_text_json(out, text);
}

void event_json_line(struct kt_text_sink *out, const struct ktrace_trace *trace, const struct kt_wave *wave,
                     const struct kt_event *event)
{
    const struct kt_launch *launch = &trace->launches[wave->launch];
    const char *state = event_state(event), *name = kt_event_name_site(trace, wave, event)->name;
    kt_text(out, "{\"time_ps\":");
    kt_text_int(out, event->time_ps);
    if (has_duration(event)) {
        kt_text(out, ",\"duration_ps\":");
        kt_text_int(out, duration_ps(trace, wave, event));
    }
    json_uint(out, ",\"launch_id\":", wave->launch);
    json_text(out, ",\"kernel\":", trace->kernels[launch->kernel].name);
    json_uint(out, ",\"device\":", launch->device);
    json_uint(out, ",\"place\":", wave->place);
    json_uint(out, ",\"workgroup\":[", wave->workgroup[0]);
    json_uint(out, ",", wave->workgroup[1]);
    json_uint(out, ",", wave->workgroup[2]);
    json_uint(out, "],\"wave\":", wave->wave);
    json_uint(out, ",\"lane\":", event->lane);
    json_text(out, ",\"kind\":", cli_kind_name(event->site->kind));
    if (*name)
        json_text(out, ",\"name\":", name);
    if (event->flags & KT_EVENT_PAYLOAD) {
        json_text(out, ",\"payload_type\":", cli_payload_name(event->site->payload_type));
        kt_text(out, ",\"payload\":");
        kt_text_payload_json(out, event->site->payload_type, event->payload);
    }
    if (state)
        json_text(out, ",\"state\":", state);
    if (cli_site_has_place(event->site)) {
        json_text(out, ",\"file\":", event->site->file);
        json_uint(out, ",\"line\":", event->site->line);
    }
    kt_text(out, "}\n");
}
