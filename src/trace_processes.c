/* What the processes of a trace, and its devices, are called, and what relates them. */
#include "array.h"
#include "string_builder.h"
#include "trace.h"

#include <inttypes.h>

/* ---- Labels ------------------------------------------------------------------------------------------------------- */

/* From what is nicest to what tells all apart. */
enum form { BY_LABEL, WITH_HOST, WITH_PID, WITH_BOTH, WITH_INDEX, FORMS };

static int write_label(char **out, const struct kt_snapshot *snapshot, uint32_t index, enum form form)
{
    const struct kt_process *process = &snapshot->processes[index];
    const int with_pid = (form == WITH_PID || form == WITH_BOTH) && *process->label && process->pid;
    struct kt_string text = KT_STRING_INIT;
    if (*process->label)
        kt_string_append(&text, process->label);
    else if (process->pid)
        kt_string_printf(&text, "pid %" PRIu32, process->pid);
    else
        kt_string_printf(&text, "process %" PRIu32, index + 1);
    if ((form == WITH_HOST || form == WITH_BOTH) && *process->host) {
        kt_string_append(&text, " on ");
        kt_string_append(&text, process->host);
    }
    if (with_pid)
        kt_string_printf(&text, " (pid %" PRIu32 ")", process->pid);
    if (form == WITH_INDEX)
        kt_string_printf(&text, " (%" PRIu32 ")", index + 1);
    return kt_string_take(out, &text);
}

static void free_labels(char **labels, uint32_t count)
{
    for (uint32_t i = 0; labels && i < count; i++)
        free(labels[i]);
    free(labels);
}

static int write_labels(char ***out, const struct kt_snapshot *snapshot, enum form form)
{
    char **labels = kt_array_new_zeroed(snapshot->process_count, sizeof *labels);
    int status = labels ? 0 : KTRACE_ERROR_MEMORY;
    for (uint32_t i = 0; i < snapshot->process_count && status == 0; i++)
        status = write_label(&labels[i], snapshot, i, form);
    if (status < 0)
        free_labels(labels, snapshot->process_count);
    else
        *out = labels;
    return status;
}

static int take_copy(char **out, const char *text)
{
    *out = strdup(text);
    return *out ? 0 : kt_fail_memory(strlen(text) + 1);
}

/* No other that is called like `index` has its label in `labels`. */
static int tells_apart(char *const *plain, char *const *labels, uint32_t index, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (i != index && strcmp(plain[i], plain[index]) == 0 && strcmp(labels[i], labels[index]) == 0)
            return 0;
    return 1;
}

/* Each process has the first form in which no other that is called alike has the same. */
static int label_processes(struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    const uint32_t count = snapshot->process_count;
    char **plain = NULL;
    int status = write_labels(&plain, snapshot, BY_LABEL);
    for (int form = BY_LABEL; form < FORMS && status == 0; form++) {
        char **labels = NULL;
        status = write_labels(&labels, snapshot, (enum form)form);
        for (uint32_t i = 0; i < count && status == 0; i++)
            if (!trace->processes[i].label && (form == WITH_INDEX || tells_apart(plain, labels, i, count)))
                status = take_copy(&trace->processes[i].label, labels[i]);
        free_labels(labels, count);
    }
    free_labels(plain, count);
    return status;
}

static int label_device(struct ktrace_trace *trace, uint32_t index)
{
    const struct kt_device *device = &trace->snapshot->devices[index];
    struct kt_trace_device *more = &trace->devices[index];
    struct kt_string number = KT_STRING_INIT, words = KT_STRING_INIT, label = KT_STRING_INIT;
    if (trace->snapshot->process_count > 1) {
        const char *process = trace->processes[device->process].label;
        kt_string_printf(&number, "%s #%" PRIu32, process, device->ordinal);
        kt_string_printf(&words, "%s #%" PRIu32, process, device->ordinal);
        kt_string_printf(&label, "%s: %s #%" PRIu32, process, device->name, device->ordinal);
    } else {
        kt_string_printf(&number, "%" PRIu32, device->ordinal);
        kt_string_printf(&words, "device %" PRIu32, device->ordinal);
        kt_string_printf(&label, "device %" PRIu32 ": %s", device->ordinal, device->name);
    }
    kt_id_text(more->uuid, device->identity.uuid);
    int status = kt_string_take(&more->number, &number);
    const int words_status = kt_string_take(&more->words, &words), label_status = kt_string_take(&more->label, &label);
    return status < 0 ? status : words_status < 0 ? words_status : label_status;
}

/* ---- Relations ---------------------------------------------------------------------------------------------------- */

/* A device of both with waves has one clock. */
static int share_clock(const struct ktrace_trace *trace, uint32_t a, uint32_t b)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    for (uint32_t i = 0; i < snapshot->device_count; i++)
        for (uint32_t k = 0; k < snapshot->device_count && snapshot->devices[i].process == a; k++)
            if (snapshot->devices[k].process == b && trace->devices[i].clock == trace->devices[k].clock &&
                trace->devices[i].wave_count && trace->devices[k].wave_count)
                return 1;
    return 0;
}

/* A device of it has waves, and times that compare. */
static int is_related(const struct ktrace_trace *trace, uint32_t process)
{
    for (uint32_t i = 0; i < trace->snapshot->device_count; i++)
        if (trace->snapshot->devices[i].process == process && trace->devices[i].wave_count && trace->devices[i].related)
            return 1;
    return 0;
}

static enum ktrace_relation relation_of(const struct ktrace_trace *trace, uint32_t index)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    if (snapshot->wave_count == 0)
        return index == 0 ? KTRACE_RELATION_SELF : KTRACE_RELATION_NONE;
    const uint32_t first = snapshot->devices[trace->timeline_device].process;
    const struct kt_process *process = &snapshot->processes[index], *reference = &snapshot->processes[first];
    if (index == first)
        return KTRACE_RELATION_SELF;
    if (process->timeline != reference->timeline)
        return KTRACE_RELATION_PLACED;
    if (!is_related(trace, index))
        return KTRACE_RELATION_NONE;
    if (share_clock(trace, first, index))
        return KTRACE_RELATION_DEVICE;
    return *process->boot && strcmp(process->boot, reference->boot) == 0 ? KTRACE_RELATION_HOST
                                                                         : KTRACE_RELATION_REALTIME;
}

/* ---- All of it ---------------------------------------------------------------------------------------------------- */

static void count_up(struct ktrace_trace *trace)
{
    for (uint32_t i = 0; i < trace->snapshot->device_count; i++) {
        const struct kt_device *device = &trace->snapshot->devices[i];
        const struct kt_trace_device *more = &trace->devices[i];
        struct kt_trace_process *process = &trace->processes[device->process];
        process->device_count++;
        process->launch_count += more->launch_count;
        process->wave_count += more->wave_count;
        process->event_count += more->event_count;
        process->waves_dropped += device->waves_dropped;
        process->waves_filtered += device->waves_filtered;
    }
}

int kt_make_processes(struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    trace->processes = kt_array_new_zeroed(snapshot->process_count, sizeof *trace->processes);
    int status = trace->processes ? label_processes(trace) : KTRACE_ERROR_MEMORY;
    for (uint32_t i = 0; i < snapshot->device_count && status == 0; i++)
        status = label_device(trace, i);
    if (status < 0)
        return status;
    count_up(trace);
    for (uint32_t i = 0; i < snapshot->process_count; i++)
        trace->processes[i].relation = relation_of(trace, i);
    return 0;
}

void kt_free_processes(struct ktrace_trace *trace)
{
    for (uint32_t i = 0; trace->devices && i < trace->snapshot->device_count; i++) {
        free(trace->devices[i].number);
        free(trace->devices[i].words);
        free(trace->devices[i].label);
    }
    for (uint32_t i = 0; trace->processes && i < trace->snapshot->process_count; i++)
        free(trace->processes[i].label);
    free(trace->processes);
}
