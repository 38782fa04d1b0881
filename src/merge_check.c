#include "merge.h"

#include "array.h"

#define ORDER(a, b) \
    if ((a) != (b)) \
    return (a) < (b) ? -1 : 1

/* ---- Kinds -------------------------------------------------------------------------------------------------------- */

static const char *kind_of(const struct kt_snapshot *snapshot)
{
    return snapshot->arch == KTRACE_ARCH_NVIDIA   ? "of CUDA"
           : snapshot->arch == KTRACE_ARCH_AMDGCN ? "of HIP"
                                                  : "of a host";
}

static int check_kinds(const struct kt_merge *merge)
{
    const struct kt_snapshot *first = kt_merge_snapshot(merge, 0);
    for (uint64_t i = 1; i < merge->count; i++) {
        const struct kt_snapshot *other = kt_merge_snapshot(merge, i);
        if (other->arch != first->arch)
            return kt_fail(KTRACE_ERROR_ARGUMENT,
                           "%s is %s and %s %s: a trace is of one kind of device; merge each kind for itself",
                           kt_merge_words(merge, 0), kind_of(first), kt_merge_words(merge, i), kind_of(other));
        if ((other->flags ^ first->flags) & KT_SNAPSHOT_SIMULATED)
            return kt_fail(KTRACE_ERROR_ARGUMENT,
                           "%s is of simulated time and %s was recorded on a device: their times are not of one kind",
                           kt_merge_words(merge, first->flags & KT_SNAPSHOT_SIMULATED ? 0 : i),
                           kt_merge_words(merge, first->flags & KT_SNAPSHOT_SIMULATED ? i : 0));
    }
    return 0;
}

/* ---- Nothing twice ------------------------------------------------------------------------------------------------ */

static int fail_twice(const struct kt_merge *merge, uint64_t a, uint64_t b, const char *what)
{
    return kt_fail(KTRACE_ERROR_ARGUMENT, "%s and %s %s: merge one of them only, as nothing is counted twice",
                   kt_merge_words(merge, a), kt_merge_words(merge, b), what);
}

static int check_pair(const struct kt_merge *merge, uint64_t a, uint64_t b)
{
    const struct kt_snapshot *one = kt_merge_snapshot(merge, a), *other = kt_merge_snapshot(merge, b);
    if (one == other)
        return fail_twice(merge, a, b, "are one trace");
    for (uint32_t i = 0; i < one->process_count; i++)
        for (uint32_t k = 0; k < other->process_count; k++) {
            if (!kt_process_is_same(&one->processes[i], &other->processes[k]))
                continue;
            const int overlap = kt_process_reads_overlap(&one->processes[i], &other->processes[k]);
            if (overlap)
                return overlap < 0 ? overlap
                                   : fail_twice(merge, a, b,
                                                "have the same read of one capture, or one and a look at what it read");
        }
    return 0;
}

static int check_reads(const struct kt_merge *merge)
{
    int status = 0;
    for (uint64_t a = 0; a < merge->count && status == 0; a++)
        for (uint64_t b = a + 1; b < merge->count && status == 0; b++)
            status = check_pair(merge, a, b);
    return status;
}

/* A wave, and the trace that it is of. */
struct wave {
    const struct ktrace_wave_header *header;
    uint32_t trace;
};

/* No two waves of one device begin on one clock, in one place and slot of it; devices that are not known are told apart by the
 * rest. */
static int by_begin(const void *left, const void *right)
{
    const struct ktrace_wave_header *a = ((const struct wave *)left)->header, *b = ((const struct wave *)right)->header;
    ORDER(a->start_wall_ns, b->start_wall_ns);
    ORDER(a->start_clock_ticks, b->start_clock_ticks);
    ORDER(a->place, b->place);
    ORDER(a->hardware_slot, b->hardware_slot);
    ORDER(a->grid_id, b->grid_id);
    ORDER(a->wave, b->wave);
    for (int i = 0; i < 3; i++)
        ORDER(a->workgroup[i], b->workgroup[i]);
    return 0;
}

static int is_unknown(const struct kt_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->process_count; i++)
        if (!kt_id_is_known(snapshot->processes[i].id))
            return 1;
    return 0;
}

/* What does not say which process it is of may be any other's: then waves tell. */
static int check_waves(const struct kt_merge *merge)
{
    uint64_t count = 0, unknown = 0;
    int status = 0;
    for (uint64_t i = 0; i < merge->count; i++) {
        count += kt_merge_snapshot(merge, i)->wave_count;
        unknown += (uint64_t)is_unknown(kt_merge_snapshot(merge, i));
    }
    if (unknown == 0 || count == 0)
        return 0;
    struct wave *waves = kt_array_new((size_t)count, sizeof *waves);
    if (!waves)
        return KTRACE_ERROR_MEMORY;
    count = 0;
    for (uint64_t i = 0; i < merge->count; i++)
        for (uint64_t k = 0; k < kt_merge_snapshot(merge, i)->wave_count; k++)
            waves[count++] = (struct wave){&kt_merge_snapshot(merge, i)->waves[k], (uint32_t)i};
    qsort(waves, (size_t)count, sizeof *waves, by_begin);
    for (uint64_t i = 1; i < count && status == 0; i++) {
        const uint32_t a = waves[i - 1].trace, b = waves[i].trace;
        if (a != b && by_begin(&waves[i - 1], &waves[i]) == 0 &&
            (is_unknown(kt_merge_snapshot(merge, a)) || is_unknown(kt_merge_snapshot(merge, b))))
            status = fail_twice(merge, a < b ? a : b, a < b ? b : a,
                                "have the same wave, and do not both say which process they are of");
    }
    free(waves);
    return status;
}

int kt_merge_check(const struct kt_merge *merge)
{
    int status = check_kinds(merge);
    if (status == 0)
        status = check_reads(merge);
    return status < 0 ? status : check_waves(merge);
}
