#include "watch_output.h"

#include "../json.h"
#include "../summary.h"
#include "kinds.h"

#include <string.h>

typedef struct kt_json json;

static void real_or_null(json *out, const char *name, double value)
{
    if (value < 0)
        kt_json_null(out, name);
    else
        kt_json_real(out, name, value);
}

static void count_or_null(json *out, const char *name, int64_t value)
{
    if (value < 0)
        kt_json_null(out, name);
    else
        kt_json_integer(out, name, value);
}

static void flag(json *out, const char *name, bool value)
{
    kt_json_key(out, name);
    kt_string_append(out->text, value ? "true" : "false");
}

/* Pairs of first and last. */
static void ranges(json *out, const char *name, const struct watch_ranges *ranges)
{
    kt_json_key(out, name);
    kt_json_open(out, '[');
    for (size_t i = 0; i < ranges->count; i++) {
        kt_json_separate(out);
        kt_string_printf(out->text, "[%llu, %llu]", (unsigned long long)ranges->ranges[i].first,
                         (unsigned long long)ranges->ranges[i].last);
    }
    kt_json_close(out, ']');
}

static void payload(json *out, const struct watch_payload *payload)
{
    if (!payload->is_there)
        return;
    kt_json_key(out, "payload_first");
    watch_append_payload_json(out->text, payload->type, payload->first);
    kt_json_key(out, "payload_last");
    watch_append_payload_json(out->text, payload->type, payload->last);
}

static void group(json *out, const struct watch_view *view, const struct watch_group *group)
{
    kt_json_separate(out);
    kt_json_open(out, '{');
    kt_json_count(out, "waves", group->waves);
    kt_json_key(out, "open_ranges");
    kt_json_open(out, '[');
    for (uint32_t i = 0; i < group->open_count; i++) {
        kt_json_separate(out);
        kt_json_open(out, '{');
        kt_json_string(out, "name", group->open[i]->site->name);
        kt_json_string(out, "kind", kt_phase_kind_name(group->open[i]->site->kind));
        if (i + 1 == group->open_count)
            payload(out, &group->payload);
        kt_json_close(out, '}');
    }
    kt_json_close(out, ']');
    flag(out, "open_ranges_cut", group->cut);
    if (group->last) {
        kt_json_key(out, "last_event");
        kt_json_open(out, '{');
        kt_json_string(out, "name", group->last->name);
        kt_json_string(out, "kind", group->last_is_end ? "end" : cli_kind_name(group->last->kind));
        payload(out, &group->last_payload);
        kt_json_close(out, '}');
    } else {
        kt_json_null(out, "last_event");
    }
    kt_json_integer(out, "oldest_ps", group->oldest_ps);
    kt_json_integer(out, "newest_ps", group->newest_ps);
    real_or_null(out, "oldest_age_ns", watch_age_ns(view, group->oldest_ps));
    real_or_null(out, "newest_age_ns", watch_age_ns(view, group->newest_ps));
    ranges(out, "workgroups", &group->workgroups);
    ranges(out, "wave_numbers", &group->numbers);
    ranges(out, "places", &group->places);
    kt_json_close(out, '}');
}

static void launch(json *out, const struct watch_view *view, const struct watch_launch *open)
{
    const struct ktrace_trace *trace = view->trace;
    const struct kt_launch *launch = &trace->launches[open->launch];
    kt_json_separate(out);
    kt_json_open(out, '{');
    kt_json_count(out, "launch_id", open->launch);
    kt_json_string(out, "kernel", trace->kernels[launch->kernel].name);
    kt_json_count(out, "device", trace->snapshot->devices[launch->device].ordinal);
    kt_json_count(out, "grid_id", launch->grid_id);
    kt_json_count(out, "occurrence", launch->occurrence);
    kt_json_dimensions(out, "grid", launch->grid);
    kt_json_dimensions(out, "block", launch->block);
    kt_json_count(out, "waves_launched", launch->waves_launched);
    kt_json_count(out, "waves_started", launch->wave_count);
    kt_json_count(out, "waves_finished", launch->wave_count - open->inside);
    kt_json_count(out, "waves_inside", open->inside);
    kt_json_integer(out, "last_event_ps", open->last_ps);
    real_or_null(out, "last_event_age_ns", watch_age_ns(view, open->last_ps));
    real_or_null(out, "unchanged_ns", open->unchanged_ns);
    kt_json_key(out, "groups");
    kt_json_open(out, '[');
    for (size_t i = 0; i < open->group_count; i++)
        group(out, view, &view->groups[open->first_group + i]);
    kt_json_close(out, ']');
    kt_json_close(out, '}');
}

static void kernels(json *out, const struct watch_view *view)
{
    kt_json_key(out, "kernels");
    kt_json_open(out, '[');
    for (uint32_t i = 0; i < view->trace->kernel_count; i++) {
        const struct watch_kernel *kernel = &view->kernels[i];
        kt_json_separate(out);
        kt_json_open(out, '{');
        kt_json_string(out, "kernel", view->trace->kernels[i].name);
        kt_json_count(out, "launches", kernel->launches);
        kt_json_count(out, "running", kernel->running);
        kt_json_count(out, "waves", kernel->waves);
        kt_json_count(out, "inside", kernel->inside);
        kt_json_count(out, "events", kernel->events);
        count_or_null(out, "events_since", kernel->events_since);
        kt_json_close(out, '}');
    }
    kt_json_close(out, ']');
    kt_json_key(out, "phases");
    kt_json_open(out, '[');
    for (uint32_t i = 0; i < view->trace->phase_count; i++) {
        kt_json_separate(out);
        kt_json_open(out, '{');
        kt_json_phase(out, &view->trace->statistics[i]);
        count_or_null(out, "count_since", view->phases_since[i]);
        kt_json_close(out, '}');
    }
    kt_json_close(out, ']');
}

static void since(json *out, const struct watch_view *view)
{
    if (!view->has_previous) {
        kt_json_null(out, "since_previous");
        return;
    }
    kt_json_key(out, "since_previous");
    kt_json_open(out, '{');
    kt_json_real(out, "ns", view->since_ns);
    kt_json_count(out, "events", view->events_since);
    flag(out, "at_least", view->at_least);
    flag(out, "began_anew", view->began_anew);
    count_or_null(out, "launches_finished", view->at_least ? -1 : (int64_t)view->finished_since);
    kt_json_close(out, '}');
}

static void subject_members(json *out, const struct watch_subject *subject)
{
    kt_json_count(out, "look", subject->look);
    if (!subject->pid) {
        kt_json_string(out, "file", subject->name);
        return;
    }
    kt_json_count(out, "pid", (uint64_t)subject->pid);
    kt_json_string(out, "program", subject->arguments);
    flag(out, "process_wide", subject->flags & KT_WATCH_PROCESS_WIDE);
}

/* Breaks of lines are between members only: in strings they are escaped. */
static void append_as_line(struct kt_string *out, const struct kt_string *lines)
{
    out->failed |= lines->failed;
    for (const char *at = kt_string_text(lines); *at;) {
        const size_t length = strcspn(at, "\n");
        kt_string_append_bytes(out, at, length);
        at += length;
        const size_t between = strspn(at, "\n ");
        kt_string_append(out, between && length && at[-1] == ',' ? " " : "");
        at += between;
    }
    kt_string_append(out, "\n");
}

void watch_append_json(struct kt_string *out, const struct watch_view *view, const struct watch_subject *subject)
{
    const struct ktrace_trace *trace = view->trace;
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    struct kt_string lines = KT_STRING_INIT;
    json json = kt_json_of(&lines);
    ktrace_trace_get_info(&info, trace);
    kt_json_open(&json, '{');
    subject_members(&json, subject);
    kt_json_key(&json, "info");
    kt_json_open(&json, '{');
    kt_json_trace_info(&json, &info);
    kt_json_close(&json, '}');
    kt_json_string(&json, "warning", trace->warning);
    if (trace->snapshot->taken_ns)
        kt_json_count(&json, "taken_ns", trace->snapshot->taken_ns);
    else
        kt_json_null(&json, "taken_ns");
    if (trace->wave_count)
        real_or_null(&json, "last_event_age_ns", watch_age_ns(view, view->newest_ps));
    else
        kt_json_null(&json, "last_event_age_ns");
    kt_json_count(&json, "launches_running", view->launch_count);
    kt_json_count(&json, "waves_inside", view->inside);
    since(&json, view);
    kt_json_key(&json, "running");
    kt_json_open(&json, '[');
    for (size_t i = 0; i < view->launch_count; i++)
        launch(&json, view, &view->launches[i]);
    kt_json_close(&json, ']');
    kernels(&json, view);
    kt_json_close(&json, '}');
    append_as_line(out, &lines);
    kt_string_destroy(&lines);
}
