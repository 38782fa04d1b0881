#include "merge.h"

#include "array.h"
#include "clock.h"

/* ---- What a body has ---------------------------------------------------------------------------------------------- */

static int has_waves(const struct kt_merge *merge, uint32_t body)
{
    for (uint64_t i = 0; i < merge->count; i++)
        if (merge->bodies[i] == body && kt_merge_snapshot(merge, i)->wave_count)
            return 1;
    return 0;
}

/* A device that recorded waves beside readings of the host's clock. */
static int has_anchors(const struct kt_merge *merge, uint32_t body)
{
    for (uint64_t i = 0; i < merge->count; i++) {
        const struct ktrace_trace *trace = merge->traces[i];
        for (uint32_t k = 0; k < trace->snapshot->device_count && merge->bodies[i] == body; k++)
            if (trace->devices[k].wave_count && trace->snapshot->devices[k].anchor_count)
                return 1;
    }
    return 0;
}

static int share_device(const struct ktrace_trace *a, const struct ktrace_trace *b)
{
    for (uint32_t i = 0; i < a->snapshot->device_count; i++)
        for (uint32_t k = 0; k < b->snapshot->device_count; k++) {
            const struct kt_device *one = &a->snapshot->devices[i], *other = &b->snapshot->devices[k];
            const char *boot = a->snapshot->processes[one->process].boot;
            if (a->devices[i].wave_count && b->devices[k].wave_count && kt_id_is_known(one->identity.uuid) && *boot &&
                memcmp(one->identity.uuid, other->identity.uuid, KT_ID_BYTES) == 0 &&
                strcmp(boot, b->snapshot->processes[other->process].boot) == 0)
                return 1;
        }
    return 0;
}

/* Some trace of the body, and one before it, of another body, recorded one physical device. */
static int shares_device(const struct kt_merge *merge, uint32_t body, uint64_t *with)
{
    for (uint64_t i = 0; i < merge->count; i++)
        for (uint64_t k = 0; k < merge->count && merge->bodies[i] == body; k++)
            if (merge->bodies[k] < body && share_device(merge->traces[i], merge->traces[k])) {
                *with = k;
                return 1;
            }
    return 0;
}

/* ---- A host's clock that somebody set ----------------------------------------------------------------------------- */

/* What to add to the times of `process` so that they are of the host's clock as it was for `reference`, which ran under the same
 * kernel: 0 where both readings may be of a clock that nobody set. */
static int set_meanwhile(int64_t *shift_ns, uint32_t *uncertainty_ns, const struct kt_process *process,
                         const struct kt_process *reference)
{
    struct kt_clock_distance own, other;
    if (!*process->boot || strcmp(process->boot, reference->boot) != 0 || !kt_process_clock_distance(&own, process) ||
        !kt_process_clock_distance(&other, reference))
        return 0;
    int64_t low_ns, high_ns;
    if (__builtin_sub_overflow(other.low_ns, own.high_ns, &low_ns) ||
        __builtin_sub_overflow(other.high_ns, own.low_ns, &high_ns) || low_ns > high_ns ||
        low_ns < -KT_HOST_SHIFT_MAX_NS || high_ns > KT_HOST_SHIFT_MAX_NS)
        return 0;
    if (low_ns > 0 || high_ns < 0) {
        *shift_ns = low_ns + (high_ns - low_ns) / 2;
        const int64_t half_ns = (high_ns - low_ns + 1) / 2;
        *uncertainty_ns = half_ns < UINT32_MAX ? (uint32_t)half_ns : UINT32_MAX;
    }
    return 1;
}

/* By the first pair of a process of the body and one of a body before it that ran under one kernel. */
static void follow_host(struct kt_merge *merge, uint32_t body)
{
    for (uint32_t i = 0; i < merge->process_count; i++)
        for (uint32_t k = 0; k < merge->process_count && merge->all[i].body == body; k++) {
            const struct kt_merge_process *process = &merge->all[i], *reference = &merge->all[k];
            int64_t shift_ns = 0;
            uint32_t uncertainty_ns = 0;
            if (reference->body >= body || !set_meanwhile(&shift_ns, &uncertainty_ns, process->first, reference->first))
                continue;
            const int64_t by_ns = shift_ns + reference->host_shift_ns - process->host_shift_ns;
            for (uint32_t m = 0; m < merge->process_count; m++)
                if (merge->all[m].body == body) {
                    merge->all[m].host_shift_ns = (int64_t)((uint64_t)merge->all[m].host_shift_ns + (uint64_t)by_ns);
                    if (uncertainty_ns > merge->all[m].host_shift_uncertainty_ns)
                        merge->all[m].host_shift_uncertainty_ns = uncertainty_ns;
                }
            return;
        }
}

/* ---- By clocks ---------------------------------------------------------------------------------------------------- */

static int fail_unrelated(const struct kt_merge *merge, uint32_t body, int lacks_anchors)
{
    const struct kt_snapshot *snapshot = kt_merge_snapshot(merge, body);
    const char *why = snapshot->flags & KT_SNAPSHOT_SIMULATED ? "each process that is simulated has a time of its own"
                      : lacks_anchors ? "the host's clock was not read together with its device's"
                                      : "those before it have no reading of the host's clock";
    return kt_fail(
        KTRACE_ERROR_ARGUMENT,
        "nothing relates the times of %s to those of the traces before it: %s. Ask for the alignment \"start\" "
        "(--align start, KTRACE_ALIGN_START), which lets all begin together, and move them by offsets",
        kt_merge_words(merge, body), why);
}

static int check_timelines(const struct kt_merge *merge)
{
    for (uint64_t i = 1; i < merge->count; i++)
        if (kt_merge_snapshot(merge, i)->timeline_count > 1)
            return kt_fail(
                KTRACE_ERROR_ARGUMENT,
                "%s was merged by where its traces start, which no clock can be related to: name it first, ask "
                "for the alignment \"start\" (--align start, KTRACE_ALIGN_START), or merge what it was made of",
                kt_merge_words(merge, i));
    return 0;
}

static int relate_body(struct kt_merge *merge, uint32_t body, int *waves, int *anchors)
{
    const int own_waves = has_waves(merge, body), own_anchors = has_anchors(merge, body);
    const int simulated = (kt_merge_snapshot(merge, body)->flags & KT_SNAPSHOT_SIMULATED) != 0;
    const int64_t offset_ns = kt_merge_offset_ns(merge, body);
    uint64_t with = 0;
    const int by_device = !simulated && shares_device(merge, body, &with);
    if (own_waves && *waves && !by_device && (simulated || !own_anchors || !*anchors))
        return fail_unrelated(merge, body, !own_anchors);
    if (by_device && offset_ns != kt_merge_offset_ns(merge, with))
        return kt_fail(
            KTRACE_ERROR_ARGUMENT,
            "%s recorded the same device as %s, whose clock relates them: an offset between them is not possible "
            "unless the alignment \"start\" is asked for (--align start, KTRACE_ALIGN_START)",
            kt_merge_words(merge, body), kt_merge_words(merge, with));
    *waves |= own_waves;
    *anchors |= own_anchors;
    return 0;
}

/* Last of all: what follows a host follows its clock, not what is moved. */
static int add_offset(const struct kt_merge *merge, struct kt_merge_process *process)
{
    process->host_shift_ns += kt_merge_offset_ns(merge, process->body);
    if (process->host_shift_ns < -KT_HOST_SHIFT_MAX_NS || process->host_shift_ns > KT_HOST_SHIFT_MAX_NS)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "the host's clock of %s would be moved by more than 73 years",
                       kt_merge_words(merge, process->body));
    return 0;
}

static int relate_by_clocks(struct kt_merge *merge)
{
    const struct kt_snapshot *first = kt_merge_snapshot(merge, 0);
    int waves = 0, anchors = 0;
    int status = check_timelines(merge);
    for (uint32_t i = 0; i < merge->count && status == 0; i++)
        if (merge->bodies[i] == i) {
            status = relate_body(merge, i, &waves, &anchors);
            if (status == 0 && i)
                follow_host(merge, i);
        }
    for (uint32_t i = 0; i < merge->process_count && status == 0; i++) {
        struct kt_merge_process *process = &merge->all[i];
        process->timeline = process->body ? 0 : process->first->timeline;
    }
    for (uint32_t i = 0; i < merge->process_count && status == 0; i++)
        status = add_offset(merge, &merge->all[i]);
    merge->timeline_count = first->timeline_count;
    memcpy(merge->timeline_begins_ns, first->timeline_begins_ns,
           first->timeline_count * sizeof *first->timeline_begins_ns);
    return status;
}

/* ---- By starts ---------------------------------------------------------------------------------------------------- */

/* The timelines of each body's first trace, laid beside those of the others. */
static int lay_beside(struct kt_merge *merge)
{
    for (uint32_t i = 0; i < merge->count; i++) {
        const struct kt_snapshot *snapshot = kt_merge_snapshot(merge, i);
        const uint32_t before = merge->timeline_count;
        if (merge->bodies[i] != i)
            continue;
        for (uint32_t t = 0; t < snapshot->timeline_count; t++) {
            const int64_t begin_ns =
                snapshot->timeline_begins_ns[t] + kt_merge_offset_ns(merge, i) - kt_merge_offset_ns(merge, 0);
            if (begin_ns < -KT_TRACE_SPAN_NS || begin_ns > KT_TRACE_SPAN_NS)
                return kt_fail(KTRACE_ERROR_ARGUMENT, "%s would lie more than 40 days from trace 1",
                               kt_merge_words(merge, i));
            merge->timeline_begins_ns[merge->timeline_count++] = begin_ns;
        }
        for (uint32_t k = 0; k < merge->process_count; k++)
            if (merge->all[k].body == i)
                merge->all[k].timeline = before + merge->all[k].first->timeline;
    }
    return 0;
}

/* Of a body of several traces there is one. */
static int check_bodies(const struct kt_merge *merge)
{
    for (uint64_t i = 1; i < merge->count; i++) {
        const uint32_t body = merge->bodies[i];
        if (body != i &&
            (kt_merge_snapshot(merge, i)->timeline_count > 1 || kt_merge_snapshot(merge, body)->timeline_count > 1))
            return kt_fail(
                KTRACE_ERROR_ARGUMENT,
                "%s and %s have a process in common, and one was merged by where its traces start: merge what it "
                "was made of",
                kt_merge_words(merge, body), kt_merge_words(merge, i));
    }
    return 0;
}

static int check_offsets(const struct kt_merge *merge)
{
    for (uint64_t i = 0; i < merge->count; i++) {
        const int64_t offset_ns = kt_merge_offset_ns(merge, i);
        if (offset_ns < -KT_TRACE_SPAN_NS / 4 || offset_ns > KT_TRACE_SPAN_NS / 4)
            return kt_fail(KTRACE_ERROR_ARGUMENT, "%s cannot be moved by %lld ns: 10 days are the most",
                           kt_merge_words(merge, i), (long long)offset_ns);
        if (offset_ns != kt_merge_offset_ns(merge, merge->bodies[i]))
            return kt_fail(
                KTRACE_ERROR_ARGUMENT,
                "%s and %s are of one process, whose times cannot be moved by two offsets: give both the same",
                kt_merge_words(merge, merge->bodies[i]), kt_merge_words(merge, i));
    }
    return 0;
}

int kt_merge_relate(struct kt_merge *merge)
{
    uint64_t timelines = 0;
    for (uint64_t i = 0; i < merge->count; i++)
        timelines += kt_merge_snapshot(merge, i)->timeline_count;
    merge->timeline_begins_ns = kt_array_new_zeroed((size_t)timelines, sizeof *merge->timeline_begins_ns);
    if (!merge->timeline_begins_ns)
        return KTRACE_ERROR_MEMORY;
    int status = check_offsets(merge);
    if (status == 0 && merge->options.align == KTRACE_ALIGN_HOST)
        return relate_by_clocks(merge);
    if (status == 0)
        status = check_bodies(merge);
    return status < 0 ? status : lay_beside(merge);
}
