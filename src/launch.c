#include "launch.h"

#include "array.h"
#include "check.h"
#include "clock.h"

/* A wave while it is sorted. */
struct key {
    uint64_t unit;        /* wave of the grid: ordered by workgroup z, y, x, wave */
    uint64_t start;       /* wall time */
    uint32_t wave;        /* index into snapshot->waves */
    uint32_t group;       /* equal identity */
    uint32_t unit_number; /* units of a group counted from 0 */
    uint32_t launch;
};

/* Consecutive waves of equal identity: mostly a whole launch. */
struct run {
    const struct ktrace_wave_header *header;
    uint32_t first_wave;
    uint32_t group;
};

#define ORDER(a, b) \
    if ((a) != (b)) \
    return (a) < (b) ? -1 : 1

/* ---- Groups: waves of equal identity ---------------------------------------------------------------------------- */

static int compare_identity(const struct ktrace_wave_header *a, const struct ktrace_wave_header *b)
{
    ORDER(a->grid_id, b->grid_id);
    ORDER(a->module, b->module);
    ORDER(a->kernel_site, b->kernel_site);
    for (int i = 0; i < 3; i++) {
        ORDER(a->grid[i], b->grid[i]);
        ORDER(a->block[i], b->block[i]);
    }
    ORDER(a->arch, b->arch);
    if (a->arch == KTRACE_ARCH_AMDGCN) /* elsewhere the field was reserved */
        ORDER(a->queue, b->queue);
    return 0;
}

static int by_identity(const void *a, const void *b)
{
    const struct run *left = a, *right = b;
    int order = compare_identity(left->header, right->header);
    return order ? order : (left->first_wave > right->first_wave) - (left->first_wave < right->first_wave);
}

static int by_first_wave(const void *a, const void *b)
{
    const struct run *left = a, *right = b;
    return (left->first_wave > right->first_wave) - (left->first_wave < right->first_wave);
}

static size_t find_runs(struct run *runs, const struct kt_snapshot *snapshot)
{
    size_t count = 0;
    for (uint32_t i = 0; i < snapshot->wave_count; i++)
        if (i == 0 || compare_identity(&snapshot->waves[i - 1], &snapshot->waves[i]) != 0)
            runs[count++] = (struct run){.header = &snapshot->waves[i], .first_wave = i};
    qsort(runs, count, sizeof *runs, by_identity);
    for (size_t i = 1; i < count; i++)
        runs[i].group = runs[i - 1].group + (compare_identity(runs[i - 1].header, runs[i].header) != 0);
    qsort(runs, count, sizeof *runs, by_first_wave);
    return count;
}

static uint64_t unit_of(const struct ktrace_wave_header *header)
{
    uint64_t workgroup = header->workgroup[0] +
                         header->grid[0] * (header->workgroup[1] + (uint64_t)header->grid[1] * header->workgroup[2]);
    return workgroup * kt_waves_per_workgroup(header) + header->wave;
}

static int make_keys(struct key *keys, const struct kt_snapshot *snapshot)
{
    struct run *runs = kt_array_new(snapshot->wave_count, sizeof *runs);
    if (!runs)
        return KTRACE_ERROR_MEMORY;
    size_t run_count = find_runs(runs, snapshot), run = 0;
    for (uint32_t i = 0; i < snapshot->wave_count; i++) {
        const struct ktrace_wave_header *header = &snapshot->waves[i];
        if (run + 1 < run_count && runs[run + 1].first_wave == i)
            run++;
        keys[i] =
            (struct key){.unit = unit_of(header), .start = header->start_wall_ns, .wave = i, .group = runs[run].group};
    }
    free(runs);
    return 0;
}

/* ---- Launches: groups split where a unit repeats ---------------------------------------------------------------- */

static int by_unit(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    ORDER(left->group, right->group);
    ORDER(left->unit, right->unit);
    ORDER(left->start, right->start);
    ORDER(left->wave, right->wave);
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    ORDER(left->start, right->start);
    ORDER(left->wave, right->wave);
    return 0;
}

/* Number the launches of a group's `count` keys, sorted by unit, from `launch` on. `last_launch` is scratch with room for
 * 1 + a launch for each unit. Returns the next launch. */
static uint32_t split_group(struct key *keys, size_t count, uint32_t launch, uint32_t *last_launch)
{
    uint32_t units = 1, seen;
    keys[0].unit_number = 0;
    for (size_t i = 1; i < count; i++) {
        units += keys[i - 1].unit != keys[i].unit;
        keys[i].unit_number = units - 1;
    }
    if (units != count)
        qsort(keys, count, sizeof *keys, by_start);
    memset(last_launch, 0, units * sizeof *last_launch);
    for (size_t i = 0; i < count; i++) {
        seen = last_launch[keys[i].unit_number];
        if (seen == launch + 1)
            launch++;
        keys[i].launch = launch;
        last_launch[keys[i].unit_number] = launch + 1;
    }
    return launch + 1;
}

static int split_groups(uint32_t *launch_count, struct key *keys, size_t count)
{
    uint32_t *last_launch = kt_array_new(count, sizeof *last_launch);
    if (!last_launch)
        return KTRACE_ERROR_MEMORY;
    qsort(keys, count, sizeof *keys, by_unit);
    *launch_count = 0;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && keys[end].group == keys[first].group;)
            end++;
        *launch_count = split_group(keys + first, end - first, *launch_count, last_launch);
    }
    free(last_launch);
    return 0;
}

/* ---- Order ------------------------------------------------------------------------------------------------------ */

/* A launch before it has its place. */
struct draft {
    int64_t begin_ps;
    uint32_t first_wave; /* lowest index into snapshot->waves */
    uint32_t occurrence;
    uint32_t number; /* before they are ordered by time */
    uint32_t group;
};

static int64_t wave_ps(const struct ktrace_trace *trace, const struct ktrace_wave_header *header, uint64_t clock_ticks)
{
    const uint32_t device = kt_snapshot_device_of(trace->snapshot, header);
    const struct kt_place_clock *clock = kt_clock_of_place(trace, device, header->place);
    return clock ? kt_clock_to_ps(trace, clock, clock_ticks) : 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct draft *left = a, *right = b;
    ORDER(left->begin_ps, right->begin_ps);
    ORDER(left->group, right->group);
    ORDER(left->occurrence, right->occurrence);
    return 0;
}

/* Keys of one group are together, with its launches numbered in a row. */
static void draft_launches(struct draft *drafts, uint32_t launch_count, const struct ktrace_trace *trace,
                           const struct key *keys, size_t count)
{
    uint32_t group_first = 0;
    for (uint32_t i = 0; i < launch_count; i++)
        drafts[i] = (struct draft){.begin_ps = INT64_MAX, .first_wave = UINT32_MAX, .number = i};
    for (size_t i = 0; i < count; i++) {
        struct draft *draft = &drafts[keys[i].launch];
        const struct ktrace_wave_header *header = &trace->snapshot->waves[keys[i].wave];
        int64_t begin_ps = wave_ps(trace, header, header->start_clock_ticks);
        draft->begin_ps = begin_ps < draft->begin_ps ? begin_ps : draft->begin_ps;
        draft->first_wave = keys[i].wave < draft->first_wave ? keys[i].wave : draft->first_wave;
        draft->group = keys[i].group;
    }
    for (uint32_t i = 0; i < launch_count; i++) {
        group_first = i && drafts[i].group == drafts[i - 1].group ? group_first : i;
        drafts[i].occurrence = i - group_first;
    }
    qsort(drafts, launch_count, sizeof *drafts, by_begin);
}

static void make_launch(struct kt_launch *launch, const struct draft *draft, const struct kt_snapshot *snapshot)
{
    const struct ktrace_wave_header *header = &snapshot->waves[draft->first_wave];
    *launch = (struct kt_launch){.device = kt_snapshot_device_of(snapshot, header),
                                 .occurrence = draft->occurrence,
                                 .grid_id = header->grid_id,
                                 .queue = header->arch == KTRACE_ARCH_AMDGCN ? header->queue : 0,
                                 .begin_ps = draft->begin_ps,
                                 .end_ps = draft->begin_ps,
                                 .waves_launched = kt_waves_of_grid(header)};
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = header->grid[i];
        launch->block[i] = header->block[i];
    }
}

/* ---- Kernels ---------------------------------------------------------------------------------------------------- */

static const struct kt_site *kernel_site(const struct kt_module *module, const struct ktrace_wave_header *header)
{
    int wide = header->kernel_site > 0xFFFF;
    const struct kt_site *site = NULL;
    if (module && header->arch == KTRACE_ARCH_AMDGCN)
        site = kt_module_indexed_site(module, header->control_offset, header->kernel_site);
    else if (module)
        site = kt_module_site(module, header->control_offset, header->kernel_site, wide);
    return site && site->kind == KTRACE_KIND_KERNEL ? site : NULL;
}

/* The kernel's number, found by its name: `numbers` has 1 + that for each name id, and for the unknown kernel at the end. */
static uint32_t number_kernel(struct ktrace_trace *trace, uint32_t *numbers, const struct kt_site_index *sites,
                              const struct ktrace_wave_header *header)
{
    const struct kt_module *module = kt_snapshot_module(trace->snapshot, header->module);
    const struct kt_site *site = kernel_site(module, header);
    uint32_t name = sites->name_count;
    if (site)
        name = sites->name_ids[sites->first_site[module - trace->snapshot->modules] + (site - module->sites)];
    if (!numbers[name]) {
        trace->kernels[trace->kernel_count].name = site ? site->name : "(unknown kernel)";
        numbers[name] = ++trace->kernel_count;
    }
    return numbers[name] - 1;
}

static int make_kernels(struct ktrace_trace *trace, const struct draft *drafts, const struct kt_site_index *sites)
{
    size_t names = (size_t)sites->name_count + 1;
    uint32_t *numbers = kt_array_new_zeroed(names, sizeof *numbers);
    trace->kernels = kt_array_new(trace->launch_count < names ? trace->launch_count : names, sizeof *trace->kernels);
    if (numbers && trace->kernels)
        for (uint64_t i = 0; i < trace->launch_count; i++)
            trace->launches[i].kernel =
                number_kernel(trace, numbers, sites, &trace->snapshot->waves[drafts[i].first_wave]);
    int status = numbers && trace->kernels ? 0 : KTRACE_ERROR_MEMORY;
    free(numbers);
    return status;
}

/* ---- Waves ------------------------------------------------------------------------------------------------------ */

/* An order that is already that of the trace but for `place`, which has taken the room of `start`. */
static int by_launch_place(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    ORDER(left->launch, right->launch);
    ORDER(left->start, right->start);
    ORDER(left->unit, right->unit);
    ORDER(left->wave, right->wave);
    return 0;
}

static void make_wave(struct kt_wave *wave, const struct ktrace_trace *trace, const struct key *key)
{
    const struct ktrace_wave_header *header = &trace->snapshot->waves[key->wave];
    *wave = (struct kt_wave){.snapshot_wave = key->wave,
                             .begin_ps = wave_ps(trace, header, header->start_clock_ticks),
                             .start_clock_ticks = header->start_clock_ticks,
                             .launch = key->launch,
                             .wave = header->wave,
                             .place = header->place,
                             .lane_count = header->lane_count,
                             .unfinished = header->end_wall_ns == 0};
    wave->end_ps = wave->begin_ps;
    if (!wave->unfinished) {
        int64_t end_ps = wave_ps(trace, header, header->end_clock_ticks);
        wave->end_ps = end_ps > wave->begin_ps ? end_ps : wave->begin_ps;
    }
    for (int i = 0; i < 3; i++)
        wave->workgroup[i] = header->workgroup[i];
}

static int make_waves(struct ktrace_trace *trace, struct key *keys, const struct draft *drafts)
{
    uint32_t *order = kt_array_new(trace->launch_count, sizeof *order);
    trace->waves = kt_array_new(trace->snapshot->wave_count, sizeof *trace->waves);
    if (!order || !trace->waves) {
        free(order);
        return KTRACE_ERROR_MEMORY;
    }
    for (uint32_t i = 0; i < trace->launch_count; i++)
        order[drafts[i].number] = i;
    for (uint64_t i = 0; i < trace->wave_count; i++) {
        keys[i].launch = order[keys[i].launch];
        keys[i].start = trace->snapshot->waves[keys[i].wave].place;
    }
    free(order);
    qsort(keys, trace->wave_count, sizeof *keys, by_launch_place);
    for (uint64_t i = 0; i < trace->wave_count; i++) {
        struct kt_launch *launch = &trace->launches[keys[i].launch];
        make_wave(&trace->waves[i], trace, &keys[i]);
        if (launch->wave_count++ == 0)
            launch->first_wave = i;
    }
    return 0;
}

static int make_launches(struct ktrace_trace *trace, struct key *keys, const struct kt_site_index *sites)
{
    uint32_t launch_count;
    if (make_keys(keys, trace->snapshot) < 0 || split_groups(&launch_count, keys, trace->wave_count) < 0)
        return KTRACE_ERROR_MEMORY;
    struct draft *drafts = kt_array_new(launch_count, sizeof *drafts);
    trace->launches = drafts ? kt_array_new(launch_count, sizeof *trace->launches) : NULL;
    int status = KTRACE_ERROR_MEMORY;
    if (trace->launches) {
        trace->launch_count = launch_count;
        draft_launches(drafts, launch_count, trace, keys, trace->wave_count);
        for (uint32_t i = 0; i < launch_count; i++)
            make_launch(&trace->launches[i], &drafts[i], trace->snapshot);
        status = make_kernels(trace, drafts, sites);
        if (status == 0)
            status = make_waves(trace, keys, drafts);
    }
    free(drafts);
    return status;
}

int kt_make_launches(struct ktrace_trace *trace, const struct kt_site_index *sites)
{
    struct key *keys = kt_array_new(trace->snapshot->wave_count, sizeof *keys);
    if (!keys)
        return KTRACE_ERROR_MEMORY;
    trace->wave_count = trace->snapshot->wave_count;
    int status = make_launches(trace, keys, sites);
    free(keys);
    return status;
}

void kt_finish_launches(struct ktrace_trace *trace)
{
    for (uint64_t i = 0; i < trace->wave_count; i++) {
        const struct kt_wave *wave = &trace->waves[i];
        struct kt_launch *launch = &trace->launches[wave->launch];
        launch->end_ps = wave->end_ps > launch->end_ps ? wave->end_ps : launch->end_ps;
        launch->event_count += wave->event_count;
        launch->slots_lost += wave->slots_lost;
    }
    for (uint64_t i = 0; i < trace->launch_count; i++) {
        const struct kt_launch *launch = &trace->launches[i];
        struct kt_trace_device *device = &trace->devices[launch->device];
        device->launch_count++;
        device->wave_count += launch->wave_count;
        device->event_count += launch->event_count;
    }
}
