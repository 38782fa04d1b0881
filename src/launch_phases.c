#include "launch_phases.h"

#include "array.h"
#include "phase.h"
#include "summary.h"

static int occurs(const struct ktrace_phase_info *info)
{
    return info->count > 0 || info->unclosed > 0;
}

static struct kt_launch_phases *make(const struct ktrace_trace *trace, const struct kt_launch *launch)
{
    struct kt_launch_phases *made = NULL;
    size_t count = 0;
    uint32_t first, all_count;
    kt_phases_of_kernel(&first, &all_count, trace, launch->kernel);
    struct ktrace_phase_info *all = kt_array_new(all_count, sizeof *all);
    if (!all || kt_summarize_launch(all, trace, launch) < 0) {
        free(all);
        return NULL;
    }
    for (uint32_t i = 0; i < all_count; i++)
        if (occurs(&all[i]))
            all[count++] = all[i];
    made = kt_array_new(1, sizeof *made + count * sizeof *all);
    if (made) {
        made->count = count;
        memcpy(made->phases, all, count * sizeof *all);
    }
    free(all);
    return made;
}

/* The trace is immutable but for this memory of what was asked. The first of several threads wins; the others take its. */
static struct kt_launch_phases **entry_of(const struct ktrace_trace *trace, uint64_t launch)
{
    struct kt_launch_phases ***field = &((struct ktrace_trace *)trace)->launch_phases;
    struct kt_launch_phases **there = __atomic_load_n(field, __ATOMIC_ACQUIRE);
    if (there)
        return &there[launch];
    struct kt_launch_phases **made = kt_array_new_zeroed((size_t)trace->launch_count, sizeof *made);
    if (!made)
        return NULL;
    if (__atomic_compare_exchange_n(field, &there, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return &made[launch];
    free(made);
    return &there[launch];
}

const struct kt_launch_phases *kt_launch_phases(const struct ktrace_trace *trace, uint64_t launch)
{
    struct kt_launch_phases **entry = entry_of(trace, launch);
    struct kt_launch_phases *there = entry ? __atomic_load_n(entry, __ATOMIC_ACQUIRE) : NULL;
    if (!entry || there)
        return there;
    struct kt_launch_phases *made = make(trace, &trace->launches[launch]);
    if (!made || __atomic_compare_exchange_n(entry, &there, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    free(made);
    return there;
}

void kt_launch_phases_destroy(struct ktrace_trace *trace)
{
    for (uint64_t i = 0; trace->launch_phases && i < trace->launch_count; i++)
        free(trace->launch_phases[i]);
    free(trace->launch_phases);
}

/* ---- Public ----------------------------------------------------------------------------------------------------- */

static int phases_of(const struct kt_launch_phases **out, const struct ktrace_trace *trace, uint64_t launch)
{
    if (launch >= trace->launch_count)
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "launch %llu is not there: the trace has %llu",
                       (unsigned long long)launch, (unsigned long long)trace->launch_count);
    *out = kt_launch_phases(trace, launch);
    return *out ? KTRACE_OK : KTRACE_ERROR_MEMORY;
}

int ktrace_trace_launch_phase_count(uint64_t *out, const struct ktrace_trace *trace, uint64_t launch)
{
    const struct kt_launch_phases *phases = NULL;
    if (!out || !trace)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_launch_phase_count: an argument is NULL");
    const int status = phases_of(&phases, trace, launch);
    if (status == KTRACE_OK)
        *out = phases->count;
    return status;
}

int ktrace_trace_launch_phase(struct ktrace_phase_info *out, const struct ktrace_trace *trace, uint64_t launch,
                              uint64_t index)
{
    const struct kt_launch_phases *phases = NULL;
    if (!out || !trace)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_launch_phase: an argument is NULL");
    const int status = phases_of(&phases, trace, launch);
    if (status < 0)
        return status;
    if (index >= phases->count)
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "there is no phase %llu: launch %llu has %llu",
                       (unsigned long long)index, (unsigned long long)launch, (unsigned long long)phases->count);
    return kt_answer_phase(out, &phases->phases[index], "ktrace_trace_launch_phase");
}
