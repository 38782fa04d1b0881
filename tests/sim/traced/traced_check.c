/* traced_check.c - what a trace says, against what every wave noted. */
#include <math.h>

#include "traced.h"

static void read_notes(struct traced *t, size_t first, size_t count)
{
    int current;
    ok(hipGetDevice(&current));
    for (int i = 0; i < MAX_DEVICES; i++)
        if (t->modules[i]) {
            ok(hipSetDevice(i));
            ok(hipDeviceSynchronize());
        }
    ok(hipSetDevice(current));
    for (size_t i = first; i < first + count; i++) {
        struct launched *l = &t->launched[i];
        ok(hipMemcpy(l->noted, l->log, l->waves * sizeof *l->noted, hipMemcpyDeviceToHost));
        for (uint32_t wave = 0; wave < l->waves; wave++)
            assert_int_equal(l->noted[wave].is_there, 1);
    }
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

struct wanted {
    uint32_t kind;
    const char *name;
    int64_t payload;
    int has_payload;
    uint32_t partner;
};

static uint32_t events_of_kernel(const struct launched *l)
{
    if (!strcmp(l->kernel, "work"))
        return (uint32_t)l->n + 2;
    return !strcmp(l->kernel, "other") ? 2 * (uint32_t)l->n + 2 : 2;
}

/* The events of kernels_truth.c, in order. */
static struct wanted wanted_of(const struct launched *l, const struct truth *wave, uint32_t i)
{
    const uint32_t last = events_of_kernel(l) - 1;
    if (!strcmp(l->kernel, "work")) {
        if (i == 0)
            return (struct wanted){KTRACE_KIND_PUSH, "body", l->n, 1, last};
        if (i == last)
            return (struct wanted){KTRACE_KIND_POP, "", 0, 0, 0};
        return (struct wanted){KTRACE_KIND_MARK, "step", (int64_t)i - 1, 1, KTRACE_NO_INDEX};
    }
    if (!strcmp(l->kernel, "meets"))
        return i == 0 ? (struct wanted){KTRACE_KIND_MARK, "arrived", wave->workgroup[0], 1, KTRACE_NO_INDEX}
                      : (struct wanted){KTRACE_KIND_MARK, "met", l->n, 1, KTRACE_NO_INDEX};
    assert_string_equal(l->kernel, "other");
    if (i == 0)
        return (struct wanted){KTRACE_KIND_START, "body", 0, 0, last};
    if (i == last)
        return (struct wanted){KTRACE_KIND_STOP, "body", 0, 0, 0};
    return i % 2 ? (struct wanted){KTRACE_KIND_PUSH, "body", (int64_t)i / 2, 1, i + 1}
                 : (struct wanted){KTRACE_KIND_POP, "", 0, 0, i - 1};
}

static void check_event(const struct launched *l, const struct truth *wave, uint32_t i,
                        const struct ktrace_event_info *event)
{
    const struct wanted wanted = wanted_of(l, wave, i);
    assert_int_equal(event->kind, wanted.kind);
    assert_string_equal(event->name, wanted.name);
    assert_int_equal(event->partner, wanted.partner);
    if (wanted.has_payload) {
        const int is_unsigned = !strcmp(event->name, "arrived");
        assert_int_equal(event->payload_type, is_unsigned ? KTRACE_PAYLOAD_UINT32 : KTRACE_PAYLOAD_INT32);
        assert_true((int64_t)event->payload == wanted.payload);
    } else {
        assert_int_equal(event->payload_type, KTRACE_PAYLOAD_NONE);
    }
    assert_in_range(event->clock_ticks, wave->begun, i + 1 == events_of_kernel(l) ? wave->after : wave->ending);
    if (event->kind != KTRACE_KIND_POP && event->kind != KTRACE_KIND_STOP)
        assert_non_null(strstr(event->file, "kernels_truth.c"));
}

/* ---- Waves and launches ------------------------------------------------------------------------------------------ */

/* 100 MHz: 10 ns a tick. */
static void check_time(const struct ktrace_trace_info *info, int64_t ps, unsigned long long from, unsigned long long to)
{
    assert_int_equal(ps % 10000, 0);
    assert_in_range(info->origin_ns + (uint64_t)(ps / 1000), 10 * from, 10 * to);
}

static void check_wave(const struct ktrace_trace *trace, const struct ktrace_trace_info *info, uint64_t index,
                       const struct launched *l, const struct truth *noted)
{
    const struct ktrace_wave_info wave = wave_of(trace, index);
    assert_int_equal(device_of(trace, wave.device).ordinal, l->device);
    assert_int_equal(wave.place, noted->xcc_id << 16 | (noted->hw_id & 0x7F00));
    assert_int_equal(wave.lane_count, noted->lanes);
    assert_int_equal(wave.events, events_of_kernel(l));
    assert_int_equal(wave.slots_lost, 0);
    assert_int_equal(wave.unfinished, 0);
    check_time(info, wave.begin_ps, noted->before, noted->begun);
    check_time(info, wave.end_ps, noted->ending, noted->after);
    int64_t before = wave.begin_ps;
    for (uint32_t i = 0; i < wave.events; i++) {
        const struct ktrace_event_info event = event_of(trace, index, i);
        check_event(l, noted, i, &event);
        assert_true(event.time_ps >= before);
        assert_true(info->origin_ns * 1000 + (uint64_t)event.time_ps == event.clock_ticks * 10000);
        before = event.time_ps;
    }
    assert_true(wave.end_ps >= before);
}

static struct launched *find_launch(struct traced *t, size_t first, size_t count, const struct ktrace_launch_info *info)
{
    struct launched *found = NULL;
    for (size_t i = first; i < first + count; i++)
        if (t->launched[i].noted[0].queue == info->queue && t->launched[i].noted[0].dispatch == info->grid_id) {
            assert_null(found);
            found = &t->launched[i];
        }
    if (!found)
        fail_msg("the trace has a launch of %s, dispatch %llu of queue %llx, that is none of ours", info->kernel,
                 (unsigned long long)info->grid_id, (unsigned long long)info->queue);
    return found;
}

static const struct truth *find_wave(const struct launched *l, const struct ktrace_wave_info *wave, uint8_t *is_seen)
{
    assert_true(wave->workgroup[0] < l->grid.x && wave->workgroup[1] < l->grid.y && wave->workgroup[2] < l->grid.z);
    assert_true(wave->wave < waves_a_workgroup(l));
    const uint32_t workgroup = wave->workgroup[0] + l->grid.x * (wave->workgroup[1] + l->grid.y * wave->workgroup[2]);
    const uint32_t at = workgroup * waves_a_workgroup(l) + wave->wave;
    assert_false(is_seen[at]);
    is_seen[at] = 1;
    return &l->noted[at];
}

/* One launch of the trace, whose waves begin at `*wave`. Returns how many of its waves were turned away. */
static uint64_t check_launch(const struct ktrace_trace *trace, const struct ktrace_trace_info *info, uint64_t index,
                             struct launched *l, wave_test *pass, const void *closure)
{
    const struct ktrace_launch_info launch = launch_of(trace, index);
    uint8_t *is_seen = calloc(l->waves, 1);
    uint64_t waves = 0;
    int64_t begin_ps = INT64_MAX, end_ps = INT64_MIN;
    assert_non_null(is_seen);
    assert_string_equal(launch.kernel, l->kernel);
    assert_int_equal(device_of(trace, launch.device).ordinal, l->device);
    assert_int_equal(launch.occurrence, 0); /* AMD: every replay has a dispatch of its own */
    assert_memory_equal(launch.grid, &l->grid, sizeof launch.grid);
    assert_memory_equal(launch.block, &l->block, sizeof launch.block);
    assert_int_equal(launch.waves_launched, l->waves);
    assert_int_equal(launch.slots_lost, 0);
    for (uint64_t i = 0; i < info->waves; i++) {
        const struct ktrace_wave_info wave = wave_of(trace, i);
        if (wave.launch != index)
            continue;
        const struct truth *noted = find_wave(l, &wave, is_seen);
        check_wave(trace, info, i, l, noted);
        begin_ps = wave.begin_ps < begin_ps ? wave.begin_ps : begin_ps;
        end_ps = wave.end_ps > end_ps ? wave.end_ps : end_ps;
        waves++;
    }
    for (uint32_t i = 0; i < l->waves; i++) {
        const struct truth *noted = &l->noted[i];
        assert_int_equal(noted->queue, launch.queue);
        assert_int_equal(noted->dispatch, launch.grid_id);
        assert_int_equal(is_seen[i], !pass || pass(l, noted, closure));
    }
    free(is_seen);
    assert_int_equal(launch.waves, waves);
    assert_int_equal(launch.events, waves * events_of_kernel(l));
    assert_true(launch.begin_ps == begin_ps && launch.end_ps == end_ps);
    return l->waves - waves;
}

/* ---- Phases ------------------------------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static double nearest_rank(const int64_t *sorted, uint64_t count, uint64_t percent)
{
    return (double)sorted[(count * percent + 99) / 100 - 1] / 1000;
}

/* A phase against the events of its kernel, in one launch or, with KTRACE_NO_INDEX, in all. */
static void check_phase(const struct ktrace_trace *trace, uint64_t launch, const struct ktrace_phase_info *phase)
{
    const struct ktrace_trace_info info = info_of(trace);
    int64_t *durations = calloc(info.events + 1, sizeof *durations), total = 0;
    uint64_t count = 0;
    assert_non_null(durations);
    for (uint64_t i = 0; i < info.waves; i++) {
        const struct ktrace_wave_info wave = wave_of(trace, i);
        if ((launch != KTRACE_NO_INDEX && wave.launch != launch) ||
            strcmp(launch_of(trace, wave.launch).kernel, phase->kernel) != 0)
            continue;
        for (uint32_t k = 0; k < wave.events; k++) {
            const struct ktrace_event_info event = event_of(trace, i, k);
            if (event.kind != phase->kind || strcmp(event.name, phase->name) != 0)
                continue;
            if (event.kind != KTRACE_KIND_MARK)
                durations[count] = event_of(trace, i, event.partner).time_ps - event.time_ps;
            total += durations[count++];
        }
    }
    assert_int_equal(phase->count, count);
    assert_true(count > 0);
    assert_int_equal(phase->unclosed, 0);
    qsort(durations, count, sizeof *durations, by_size);
    assert_true(phase->min_ns == (double)durations[0] / 1000 && phase->max_ns == (double)durations[count - 1] / 1000);
    assert_true(phase->p50_ns == nearest_rank(durations, count, 50));
    assert_true(phase->p90_ns == nearest_rank(durations, count, 90));
    assert_true(phase->p99_ns == nearest_rank(durations, count, 99));
    assert_true(fabs(phase->total_ns - (double)total / 1000) < 1e-6 * (1 + (double)total / 1000));
    assert_true(fabs(phase->mean_ns - phase->total_ns / (double)count) < 1e-6 * (1 + phase->mean_ns));
    free(durations);
}

/* How many phases a kernel of kernels_truth.c has. */
static uint64_t phases_of(const struct ktrace_launch_info *launch)
{
    const uint64_t each = launch->events / launch->waves;
    return !strcmp(launch->kernel, "meets") || each > 2 ? 2 : 1;
}

static void check_phases(const struct ktrace_trace *trace)
{
    for (uint64_t i = 0; i < ktrace_trace_phase_count(trace); i++) {
        struct ktrace_phase_info phase = {.struct_size = sizeof phase};
        must(ktrace_trace_phase(&phase, trace, i));
        check_phase(trace, KTRACE_NO_INDEX, &phase);
    }
    for (uint64_t launch = 0; launch < info_of(trace).launches; launch++) {
        const struct ktrace_launch_info info = launch_of(trace, launch);
        uint64_t count;
        must(ktrace_trace_launch_phase_count(&count, trace, launch));
        assert_int_equal(count, phases_of(&info));
        for (uint64_t i = 0; i < count; i++) {
            struct ktrace_phase_info phase = {.struct_size = sizeof phase};
            must(ktrace_trace_launch_phase(&phase, trace, launch, i));
            assert_string_equal(phase.kernel, info.kernel);
            check_phase(trace, launch, &phase);
        }
    }
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

static void check_devices(const struct ktrace_trace *trace)
{
    const struct ktrace_trace_info info = info_of(trace);
    uint64_t waves = 0, launches = 0, events = 0, filtered = 0, places = 0;
    for (uint64_t i = 0; i < info.devices; i++) {
        const struct ktrace_device_info device = device_of(trace, i);
        uint64_t waves_here = 0, launches_here = 0, events_here = 0;
        for (uint64_t k = 0; k < info.launches; k++) {
            const struct ktrace_launch_info launch = launch_of(trace, k);
            if (launch.device != i)
                continue;
            launches_here++;
            waves_here += launch.waves;
            events_here += launch.events;
        }
        assert_int_equal(device.launches, launches_here);
        assert_int_equal(device.waves, waves_here);
        assert_int_equal(device.events, events_here);
        assert_int_equal(device.waves_dropped, 0);
        assert_non_null(strstr(device.name, "simulated"));
        assert_true(device.clock_uncertainty_ns == 0 && device.clock_contradiction_ns == 0);
        launches += launches_here;
        waves += waves_here;
        events += events_here;
        filtered += device.waves_filtered;
        places += device.places;
    }
    assert_int_equal(info.launches, launches);
    assert_int_equal(info.waves, waves);
    assert_int_equal(info.events, events);
    assert_int_equal(info.waves_filtered, filtered);
    assert_int_equal(info.places, places);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

void check_passing(struct traced *t, size_t first, size_t count, const struct ktrace_trace *trace, wave_test *pass,
                   const void *closure)
{
    read_notes(t, first, count);
    const struct ktrace_trace_info info = info_of(trace);
    struct launched *matched[MAX_LAUNCHES];
    uint64_t events = 0, turned_away = 0;
    int64_t before = INT64_MIN;
    assert_true(info.launches <= count);
    for (uint64_t i = 0; i < info.launches; i++) {
        const struct ktrace_launch_info launch = launch_of(trace, i);
        matched[i] = find_launch(t, first, count, &launch);
        for (uint64_t k = 0; k < i; k++)
            assert_ptr_not_equal(matched[k], matched[i]);
        turned_away += check_launch(trace, &info, i, matched[i], pass, closure);
        assert_true(launch.begin_ps >= before);
        before = launch.begin_ps;
        events += launch.events;
    }
    /* A launch of which no wave passed is not in the trace. */
    for (size_t i = first; i < first + count; i++) {
        int is_there = 0;
        for (uint64_t k = 0; k < info.launches; k++)
            is_there |= matched[k] == &t->launched[i];
        for (uint32_t k = 0; !is_there && k < t->launched[i].waves; k++)
            assert_false(!pass || pass(&t->launched[i], &t->launched[i].noted[k], closure));
        turned_away += is_there ? 0 : t->launched[i].waves;
    }
    assert_int_equal(info.events, events);
    assert_int_equal(info.waves_filtered, turned_away);
    assert_int_equal(info.waves_dropped, 0);
    assert_int_equal(info.waves_unfinished, 0);
    assert_int_equal(info.slots_lost, 0);
    assert_int_equal(info.ranges_unclosed, 0);
    assert_int_equal(info.ends_unmatched, 0);
    assert_int_equal(info.slots_corrupt, 0);
    assert_int_equal(info.clocks_ambiguous, 0);
    assert_int_equal(info.simulated, 1);
    check_devices(trace);
    check_phases(trace);
}

void check_launches(struct traced *t, size_t first, size_t count, const struct ktrace_trace *trace)
{
    assert_int_equal(info_of(trace).launches, count);
    assert_string_equal(ktrace_trace_warning(trace), "");
    check_passing(t, first, count, trace, NULL, NULL);
}

static void check_part(struct traced *t, size_t first, size_t count, const struct ktrace_trace *trace,
                       uint8_t *const *is_seen)
{
    const struct ktrace_trace_info info = info_of(trace);
    assert_int_equal(info.slots_corrupt, 0);
    assert_int_equal(info.waves_unfinished, 0);
    assert_int_equal(info.waves_dropped, 0);
    for (uint64_t i = 0; i < info.waves; i++) {
        const struct ktrace_wave_info wave = wave_of(trace, i);
        const struct ktrace_launch_info launch = launch_of(trace, wave.launch);
        struct launched *l = find_launch(t, first, count, &launch);
        assert_string_equal(launch.kernel, l->kernel);
        check_wave(trace, &info, i, l, find_wave(l, &wave, is_seen[l - t->launched]));
    }
}

void check_parts(struct traced *t, size_t first, size_t count, struct ktrace_trace *const *traces, size_t trace_count)
{
    static uint8_t *is_seen[MAX_LAUNCHES];
    read_notes(t, first, count);
    for (size_t i = first; i < first + count; i++) {
        is_seen[i] = calloc(t->launched[i].waves, 1);
        assert_non_null(is_seen[i]);
    }
    for (size_t i = 0; i < trace_count; i++)
        check_part(t, first, count, traces[i], is_seen);
    for (size_t i = first; i < first + count; i++) {
        for (uint32_t wave = 0; wave < t->launched[i].waves; wave++)
            assert_int_equal(is_seen[i][wave], 1);
        free(is_seen[i]);
    }
}
