#include "merge.h"

#include "array.h"
#include "check.h"
#include "options.h"
#include "string_builder.h"

#include <stdio.h>

const char *kt_merge_words(const struct kt_merge *merge, uint64_t trace)
{
    static _Thread_local char texts[2][128];
    static _Thread_local unsigned turn;
    char *text = texts[turn++ % 2];
    const struct kt_snapshot *snapshot = kt_merge_snapshot(merge, trace);
    const char *label = snapshot->process_count == 1 ? snapshot->processes[0].label : "";
    snprintf(text, sizeof texts[0], "trace %llu (%.40s%s%.40s)", (unsigned long long)trace + 1, snapshot->name,
             *label ? ", " : "", label);
    return text;
}

/* ---- Options ------------------------------------------------------------------------------------------------------ */

static int read_options(struct ktrace_merge_options *out, const struct ktrace_merge_options *given)
{
    const struct ktrace_merge_options defaults = KTRACE_MERGE_OPTIONS_INIT;
    *out = defaults;
    return kt_options_read(out, sizeof *out, given, "ktrace_merge_options");
}

static int is_given(const char *text)
{
    return text && *text;
}

static int check_options(const struct kt_merge *merge)
{
    const struct ktrace_merge_options *options = &merge->options;
    if (options->align != KTRACE_ALIGN_HOST && options->align != KTRACE_ALIGN_START)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_merge_options.align is %d, which is no enum ktrace_merge_align",
                       options->align);
    if (options->labels && options->label_count != merge->count)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "there are %llu labels for %llu traces",
                       (unsigned long long)options->label_count, (unsigned long long)merge->count);
    if (options->offsets_ns && options->offset_count != merge->count)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "there are %llu offsets for %llu traces",
                       (unsigned long long)options->offset_count, (unsigned long long)merge->count);
    for (uint64_t i = 0; options->labels && i < merge->count; i++)
        if (is_given(options->labels[i]) && kt_merge_snapshot(merge, i)->process_count > 1)
            return kt_fail(KTRACE_ERROR_ARGUMENT, "%s is of %u processes, which cannot all be called \"%s\"",
                           kt_merge_words(merge, i), kt_merge_snapshot(merge, i)->process_count, options->labels[i]);
    return 0;
}

/* ---- Processes ---------------------------------------------------------------------------------------------------- */

/* Captures of one process whose rings differ are kept apart, as what decodes them does. */
static int is_same(const struct kt_process *a, const struct kt_process *b)
{
    return kt_process_is_same(a, b) && a->main_ring_slots == b->main_ring_slots &&
           a->lane_ring_slots == b->lane_ring_slots;
}

/* The body that trace `i` is of becomes that of trace `k`, too. */
static void unite(struct kt_merge *merge, uint32_t i, uint32_t k)
{
    const uint32_t a = merge->bodies[i], b = merge->bodies[k], least = a < b ? a : b, most = a < b ? b : a;
    for (uint64_t m = 0; m < merge->count; m++)
        if (merge->bodies[m] == most)
            merge->bodies[m] = least;
}

static int find_processes(struct kt_merge *merge)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < merge->count; i++)
        most += kt_merge_snapshot(merge, i)->process_count;
    merge->all = kt_array_new_zeroed((size_t)most, sizeof *merge->all);
    uint32_t *traces = kt_array_new((size_t)most, sizeof *traces); /* the first that has each */
    if (!merge->all || !traces) {
        free(traces);
        return KTRACE_ERROR_MEMORY;
    }
    for (uint32_t i = 0; i < merge->count; i++) {
        const struct kt_snapshot *snapshot = kt_merge_snapshot(merge, i);
        merge->bodies[i] = i;
        for (uint32_t p = 0; p < snapshot->process_count; p++) {
            uint32_t index = merge->process_count;
            for (uint32_t k = 0; k < merge->process_count; k++) {
                if (kt_process_is_same(merge->all[k].first, &snapshot->processes[p]))
                    unite(merge, i, traces[k]);
                if (index == merge->process_count && is_same(merge->all[k].first, &snapshot->processes[p]))
                    index = k;
            }
            if (index == merge->process_count) {
                traces[index] = i;
                merge->all[merge->process_count++] = (struct kt_merge_process){
                    .first = &snapshot->processes[p],
                    .host_shift_ns = snapshot->processes[p].host_shift_ns,
                    .host_shift_uncertainty_ns = snapshot->processes[p].host_shift_uncertainty_ns};
            }
            merge->processes[i][p] = index;
        }
    }
    for (uint32_t k = 0; k < merge->process_count; k++)
        merge->all[k].body = merge->bodies[traces[k]];
    free(traces);
    if (merge->process_count > KT_DEVICES_MAX)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "%u processes cannot be one trace: %u are the most", merge->process_count,
                       KT_DEVICES_MAX);
    return 0;
}

/* A process has one name, whichever of its traces is given it. */
static int check_labels(const struct kt_merge *merge)
{
    const char *const *labels = merge->options.labels;
    for (uint64_t i = 0; labels && i < merge->count; i++)
        for (uint64_t k = i + 1; k < merge->count && is_given(labels[i]); k++)
            if (is_given(labels[k]) && merge->processes[i][0] == merge->processes[k][0] &&
                strcmp(labels[i], labels[k]) != 0)
                return kt_fail(KTRACE_ERROR_ARGUMENT,
                               "%s and %s are of one process, which cannot be called \"%s\" and \"%s\"",
                               kt_merge_words(merge, i), kt_merge_words(merge, k), labels[i], labels[k]);
    return 0;
}

/* ---- Modules ------------------------------------------------------------------------------------------------------ */

/* Whose module is not there, of a trace of one device: they get one without sites, or several devices would not be told apart. */
static int lacks_module(const struct kt_snapshot *snapshot)
{
    for (uint64_t i = 0; i < snapshot->wave_count; i++)
        if (!kt_snapshot_module(snapshot, snapshot->waves[i].module))
            return 1;
    return 0;
}

static uint32_t process_of_module(const struct kt_snapshot *snapshot, const struct kt_module *module)
{
    return snapshot->devices[module->device].process;
}

static int fail_numbers(void)
{
    return kt_fail(KTRACE_ERROR_ARGUMENT, "the modules of these traces are too many to be numbered");
}

static int number_modules(struct kt_merge *merge)
{
    uint64_t next = 0;
    for (uint64_t i = 0; i < merge->count; i++) {
        const struct kt_snapshot *snapshot = kt_merge_snapshot(merge, i);
        for (uint64_t m = 0; m < snapshot->module_count; m++) {
            const uint32_t of = process_of_module(snapshot, &snapshot->modules[m]);
            struct kt_merge_process *process = &merge->all[merge->processes[i][of]];
            const uint32_t number = snapshot->modules[m].number - snapshot->processes[of].first_module;
            if (number == UINT32_MAX)
                return fail_numbers();
            process->modules = number >= process->modules ? number + 1 : process->modules;
        }
    }
    for (uint32_t k = 0; k < merge->process_count; k++) {
        merge->all[k].first_module = (uint32_t)next;
        next += (uint64_t)merge->all[k].modules + 1; /* the last one is for waves whose module is not there */
        if (next > UINT32_MAX)
            return fail_numbers();
    }
    return 0;
}

static int add_missing_module(struct kt_snapshot *copy, uint32_t number)
{
    struct kt_module *modules = realloc(copy->modules, ((size_t)copy->module_count + 1) * sizeof *modules);
    if (!modules)
        return kt_fail_memory(((size_t)copy->module_count + 1) * sizeof *modules);
    copy->modules = modules;
    modules[copy->module_count] =
        (struct kt_module){.number = number, .sites = kt_array_new(1, sizeof(struct kt_site))};
    return modules[copy->module_count++].sites ? 0 : KTRACE_ERROR_MEMORY;
}

static int by_number(const void *left, const void *right)
{
    const struct kt_module *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

/* Gives the modules of a copy of trace `i`, and its waves, the numbers that they have in the whole. */
static int renumber(struct kt_snapshot *copy, const struct kt_merge *merge, uint64_t i)
{
    const struct kt_snapshot *snapshot = kt_merge_snapshot(merge, i);
    const uint32_t *processes = merge->processes[i];
    const struct kt_merge_process *only = &merge->all[processes[0]];
    const uint32_t missing = only->first_module + only->modules;
    for (uint64_t w = 0; w < copy->wave_count; w++) {
        const struct kt_module *module = kt_snapshot_module(snapshot, snapshot->waves[w].module);
        const uint32_t of = module ? process_of_module(snapshot, module) : 0;
        copy->waves[w].module =
            module ? module->number - snapshot->processes[of].first_module + merge->all[processes[of]].first_module
                   : missing;
    }
    for (uint64_t m = 0; m < copy->module_count; m++) {
        const uint32_t of = process_of_module(snapshot, &snapshot->modules[m]);
        copy->modules[m].number += merge->all[processes[of]].first_module - snapshot->processes[of].first_module;
    }
    if (copy->module_count)
        qsort(copy->modules, (size_t)copy->module_count, sizeof *copy->modules, by_number);
    return lacks_module(snapshot) ? add_missing_module(copy, missing) : 0;
}

/* ---- The snapshot of all ------------------------------------------------------------------------------------------ */

/* Of each trace that has one, under its process's name: also of those that recorded nothing, as the others do not say so. */
static int write_warning(char **out, const struct kt_merge *merge)
{
    struct kt_string text = KT_STRING_INIT;
    for (uint64_t i = 0; i < merge->count; i++) {
        const struct kt_snapshot *snapshot = kt_merge_snapshot(merge, i);
        const char *label = merge->options.labels && is_given(merge->options.labels[i]) ? merge->options.labels[i]
                            : snapshot->process_count == 1                              ? snapshot->processes[0].label
                                                                                        : "";
        if (!*snapshot->warning)
            continue;
        kt_string_append(&text, text.length ? "; " : "");
        if (merge->process_count > 1 && snapshot->process_count == 1) {
            if (*label)
                kt_string_printf(&text, "%s: ", label);
            else
                kt_string_printf(&text, "trace %llu: ", (unsigned long long)i + 1);
        }
        kt_string_append(&text, snapshot->warning);
    }
    return kt_string_take(out, &text);
}

static int replace(char **to, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return kt_fail_memory(strlen(text) + 1);
    free(*to);
    *to = copy;
    return 0;
}

static int add_trace(struct kt_snapshot **sum, const struct kt_merge *merge, uint64_t i)
{
    struct kt_snapshot *copy = NULL;
    int status = kt_snapshot_copy(&copy, kt_merge_snapshot(merge, i));
    if (status == 0)
        status = renumber(copy, merge, i);
    if (status == 0 && !*sum)
        *sum = copy;
    else if (status == 0)
        status = kt_snapshot_append_processes(*sum, copy, merge->processes[i]);
    if (status < 0)
        kt_snapshot_destroy(copy);
    return status;
}

static int set_timelines(struct kt_snapshot *sum, const struct kt_merge *merge)
{
    int64_t *begins_ns = kt_array_new(merge->timeline_count, sizeof *begins_ns);
    if (!begins_ns)
        return KTRACE_ERROR_MEMORY;
    memcpy(begins_ns, merge->timeline_begins_ns, merge->timeline_count * sizeof *begins_ns);
    free(sum->timeline_begins_ns);
    sum->timeline_begins_ns = begins_ns;
    sum->timeline_count = merge->timeline_count;
    for (uint32_t k = 0; k < sum->process_count; k++) {
        struct kt_process *process = &sum->processes[k];
        process->first_module = merge->all[k].first_module;
        process->timeline = merge->all[k].timeline;
        process->host_shift_ns = merge->all[k].host_shift_ns;
        process->host_shift_uncertainty_ns = merge->all[k].host_shift_uncertainty_ns;
    }
    return 0;
}

static int set_texts(struct kt_snapshot *sum, const struct kt_merge *merge)
{
    const struct ktrace_merge_options *options = &merge->options;
    char *warning = NULL;
    int status = write_warning(&warning, merge);
    if (status < 0)
        return status;
    free(sum->warning);
    sum->warning = warning;
    if (is_given(options->name))
        status = replace(&sum->name, options->name);
    for (uint64_t i = 0; options->labels && i < merge->count && status == 0; i++)
        if (is_given(options->labels[i]))
            status = replace(&sum->processes[merge->processes[i][0]].label, options->labels[i]);
    return status;
}

static int make_snapshot(struct kt_snapshot **out, const struct kt_merge *merge)
{
    struct kt_snapshot *sum = NULL;
    int status = 0;
    for (uint64_t i = 0; i < merge->count && status == 0; i++)
        status = add_trace(&sum, merge, i);
    if (status == 0 && sum->device_count > KT_DEVICES_MAX)
        status = kt_fail(KTRACE_ERROR_ARGUMENT, "%u devices cannot be one trace: %u are the most", sum->device_count,
                         KT_DEVICES_MAX);
    if (status == 0)
        status = set_timelines(sum, merge);
    if (status == 0)
        status = set_texts(sum, merge);
    if (status < 0)
        kt_snapshot_destroy(sum);
    else
        *out = sum;
    return status;
}

/* ---- All of it ---------------------------------------------------------------------------------------------------- */

static int check_counts(const struct kt_merge *merge)
{
    uint64_t waves = 0, dropped = 0, filtered = 0, regions = 0;
    for (uint64_t i = 0; i < merge->count; i++) {
        const struct kt_snapshot *snapshot = kt_merge_snapshot(merge, i);
        waves += snapshot->wave_count;
        if (__builtin_add_overflow(dropped, snapshot->waves_dropped, &dropped) ||
            __builtin_add_overflow(filtered, snapshot->waves_filtered, &filtered) ||
            __builtin_add_overflow(regions, snapshot->regions, &regions))
            return kt_fail(KTRACE_ERROR_ARGUMENT, "what is counted in these traces is 2^64 or more");
    }
    if (waves >= UINT32_MAX)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "%llu waves are too many for one trace: 2^32 - 2 are the most",
                       (unsigned long long)waves);
    return 0;
}

static int make_room(struct kt_merge *merge)
{
    merge->bodies = kt_array_new((size_t)merge->count, sizeof *merge->bodies);
    merge->processes = kt_array_new_zeroed((size_t)merge->count, sizeof *merge->processes);
    if (!merge->bodies || !merge->processes)
        return KTRACE_ERROR_MEMORY;
    for (uint64_t i = 0; i < merge->count; i++) {
        merge->processes[i] = kt_array_new(kt_merge_snapshot(merge, i)->process_count, sizeof **merge->processes);
        if (!merge->processes[i])
            return KTRACE_ERROR_MEMORY;
    }
    return 0;
}

static void release(struct kt_merge *merge)
{
    for (uint64_t i = 0; merge->processes && i < merge->count; i++)
        free(merge->processes[i]);
    free(merge->processes);
    free(merge->bodies);
    free(merge->all);
    free(merge->timeline_begins_ns);
}

static int prepare(struct kt_merge *merge)
{
    int status = check_options(merge);
    if (status == 0)
        status = check_counts(merge);
    if (status == 0)
        status = make_room(merge);
    if (status == 0)
        status = kt_merge_check(merge);
    if (status == 0)
        status = find_processes(merge);
    if (status == 0)
        status = check_labels(merge);
    if (status == 0)
        status = number_modules(merge);
    return status < 0 ? status : kt_merge_relate(merge);
}

int ktrace_trace_merge(struct ktrace_trace **out, const struct ktrace_trace *const *traces, uint64_t count,
                       const struct ktrace_merge_options *options)
{
    struct kt_merge merge = {.traces = traces, .count = count};
    struct kt_snapshot *sum = NULL;
    if (!out || !traces || count == 0)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_merge: %s", !out ? "`out` is NULL" : "there is no trace");
    for (uint64_t i = 0; i < count; i++)
        if (!traces[i])
            return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_merge: trace %llu is NULL", (unsigned long long)i + 1);
    int status = read_options(&merge.options, options);
    if (status == 0)
        status = prepare(&merge);
    if (status == 0)
        status = make_snapshot(&sum, &merge);
    release(&merge);
    return status < 0 ? status : kt_trace_from_snapshot(out, sum);
}
