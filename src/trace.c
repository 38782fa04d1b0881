#include "trace.h"

#include "array.h"
#include "check.h"
#include "clock.h"
#include "decode.h"
#include "launch.h"
#include "launch_phases.h"
#include "pair.h"
#include "phase.h"
#include "string_builder.h"
#include "summary.h"

#include <sys/mman.h>

/* ---- Making a trace --------------------------------------------------------------------------------------------- */

struct maker {
    struct ktrace_trace *trace;
    struct kt_site_index *sites;
    struct kt_decoder decoder;
    struct kt_pairer pairer;
    struct kt_phase_notes notes;
    uint64_t *first_ring; /* of each wave of the snapshot, and one more */
};

static int begin(struct maker *maker)
{
    const struct kt_snapshot *snapshot = maker->trace->snapshot;
    uint64_t ring = 0, room = 0;
    maker->sites = kt_site_index_new(snapshot);
    maker->first_ring = kt_array_new(snapshot->wave_count + 1, sizeof *maker->first_ring);
    if (!maker->sites || !maker->first_ring)
        return KTRACE_ERROR_MEMORY;
    maker->trace->halves = kt_site_index_take_halves(maker->sites, &maker->trace->half_count);
    for (uint64_t wave = 0; wave <= snapshot->wave_count; wave++) {
        while (ring < snapshot->ring_count && snapshot->rings[ring].wave < wave)
            room += snapshot->rings[ring++].slot_count;
        maker->first_ring[wave] = ring;
    }
    maker->decoder.snapshot = snapshot;
    maker->decoder.sites = maker->sites;
    /* what is not needed goes back in the end */
    room *= kt_decode_events_a_slot(maker->sites);
    maker->trace->events = kt_array_new(room, sizeof *maker->trace->events);
    if (!maker->trace->events)
        return KTRACE_ERROR_MEMORY;
    /* faulting in small pages is the larger part of decoding a large trace; advice may fail */
    uintptr_t page = 0xFFF, first = ((uintptr_t)maker->trace->events + page) & ~page;
    uintptr_t end = (uintptr_t)(maker->trace->events + room) & ~page;
    if (end > first)
        madvise((void *)first, end - first, MADV_HUGEPAGE);
    return 0;
}

static int make_wave(struct maker *maker, struct kt_wave *wave)
{
    struct ktrace_trace *trace = maker->trace;
    struct kt_event *events = trace->events + trace->event_count;
    const uint64_t *first_ring = &maker->first_ring[wave->snapshot_wave];
    uint32_t kernel = trace->launches[wave->launch].kernel;
    struct kt_decoded_wave decoded;
    struct kt_paired_wave paired;
    size_t ring_count = first_ring[1] - first_ring[0];
    const struct kt_ring *rings = ring_count ? trace->snapshot->rings + first_ring[0] : NULL;
    int status = kt_decode_wave(&decoded, events, &maker->decoder, trace, wave->snapshot_wave, rings, ring_count);
    if (status == 0)
        status =
            kt_pair_wave(&paired, &maker->pairer, events, maker->decoder.tokens, decoded.event_count, maker->sites);
    if (status == 0)
        status = kt_phases_note(&maker->notes, maker->sites, kernel, events, decoded.event_count);
    if (status < 0)
        return status;

    wave->first_event = trace->event_count;
    wave->event_count = decoded.event_count;
    wave->slots_lost = decoded.slots_lost;
    wave->track_count = paired.track_count;
    wave->unfinished = decoded.unfinished;
    if (decoded.event_count && events[decoded.event_count - 1].time_ps > wave->end_ps)
        wave->end_ps = events[decoded.event_count - 1].time_ps;
    trace->event_count += decoded.event_count;
    trace->duration_ps = wave->end_ps > trace->duration_ps ? wave->end_ps : trace->duration_ps;
    trace->waves_unfinished += decoded.unfinished;
    trace->slots_lost += decoded.slots_lost;
    trace->slots_corrupt += decoded.slots_corrupt;
    trace->clocks_ambiguous += decoded.ambiguous;
    trace->ranges_unclosed += paired.ranges_unclosed;
    trace->ends_unmatched += paired.ends_unmatched;
    return 0;
}

static int make_events(struct maker *maker)
{
    struct ktrace_trace *trace = maker->trace;
    int status = begin(maker);
    if (status == 0)
        status = kt_make_launches(trace, maker->sites);
    for (uint64_t i = 0; i < trace->wave_count && status == 0; i++)
        status = make_wave(maker, &trace->waves[i]);
    if (status < 0)
        return status;
    void *fitted = realloc(trace->events, (trace->event_count ? trace->event_count : 1) * sizeof *trace->events);
    trace->events = fitted ? fitted : trace->events;
    kt_finish_launches(trace);
    return kt_phases_make(trace, &maker->notes, maker->sites);
}

static void release(struct maker *maker)
{
    kt_phases_release(&maker->notes);
    kt_pairer_release(&maker->pairer);
    kt_decoder_release(&maker->decoder);
    kt_site_index_destroy(maker->sites);
    free(maker->first_ring);
    free(maker);
}

/* "2 x NVIDIA H200", or "NVIDIA H200, NVIDIA L4". */
static int make_device_names(struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    int equal = 1;
    if (snapshot->device_count == 1)
        return 0;
    for (uint32_t i = 1; i < snapshot->device_count; i++)
        equal &= strcmp(snapshot->devices[0].name, snapshot->devices[i].name) == 0;
    struct kt_string names = KT_STRING_INIT;
    if (equal)
        kt_string_printf(&names, "%u x %s", snapshot->device_count, snapshot->devices[0].name);
    for (uint32_t i = 0; i < snapshot->device_count && !equal; i++)
        kt_string_printf(&names, "%s%s", i ? ", " : "", snapshot->devices[i].name);
    return kt_string_take(&trace->device_names, &names);
}

/* ---- Traces ----------------------------------------------------------------------------------------------------- */

int kt_trace_from_snapshot(struct ktrace_trace **out, struct kt_snapshot *snapshot)
{
    struct ktrace_trace *trace = kt_array_new_zeroed(1, sizeof *trace);
    struct maker *maker = kt_array_new_zeroed(1, sizeof *maker);
    int status = kt_check_snapshot(snapshot);
    if (!trace || !maker) {
        kt_snapshot_destroy(snapshot);
        free(trace);
        free(maker);
        return kt_fail_memory(sizeof *trace + sizeof *maker);
    }
    maker->trace = trace;
    trace->snapshot = snapshot;
    if (status == 0)
        status = kt_clock_fit(trace);
    if (status == 0)
        status = make_events(maker);
    if (status == 0)
        status = make_device_names(trace);
    if (status == 0)
        status = kt_make_processes(trace);
    if (status == 0)
        status = kt_make_warning(trace);
    if (status == 0)
        status = kt_summarize(trace);
    release(maker);
    if (status < 0)
        ktrace_trace_destroy(trace);
    else
        *out = trace;
    return status < 0 ? status : 0;
}

struct ktrace_trace *kt_trace_retain(const struct ktrace_trace *trace)
{
    struct ktrace_trace *counted = (struct ktrace_trace *)trace; /* the count is no part of what is immutable */
    __atomic_fetch_add(&counted->more_references, 1, __ATOMIC_RELAXED);
    return counted;
}

void ktrace_trace_destroy(struct ktrace_trace *trace)
{
    if (!trace || __atomic_fetch_sub(&trace->more_references, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    kt_launch_phases_destroy(trace);
    kt_phase_index_destroy(trace->phase_index);
    free(trace->warning);
    free(trace->statistics);
    free(trace->knots);
    free(trace->place_clocks);
    free(trace->device_names);
    kt_free_processes(trace);
    free(trace->devices);
    free(trace->events);
    free(trace->halves);
    free(trace->waves);
    free(trace->launches);
    free(trace->phases);
    free(trace->kernels);
    kt_snapshot_destroy(trace->snapshot);
    free(trace);
}

/* ---- Accessors -------------------------------------------------------------------------------------------------- */

/* Give a caller that was compiled with another version the fields that both know. `out` begins with its struct_size. */
static int answer(void *out, void *full, size_t full_bytes)
{
    size_t bytes;
    memcpy(&bytes, out, sizeof bytes);
    if (bytes < sizeof bytes)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "struct_size is %zu: set it to the size of the struct", bytes);
    memcpy(full, &bytes, sizeof bytes);
    if (bytes > full_bytes)
        memset((char *)out + full_bytes, 0, bytes - full_bytes);
    memcpy(out, full, bytes < full_bytes ? bytes : full_bytes);
    return 0;
}

static int not_found(const char *what, uint64_t index, uint64_t count)
{
    return kt_fail(KTRACE_ERROR_NOT_FOUND, "%s %llu is not there: the trace has %llu", what, (unsigned long long)index,
                   (unsigned long long)count);
}

static int no_argument(const char *function)
{
    return kt_fail(KTRACE_ERROR_ARGUMENT, "%s: an argument is NULL", function);
}

int ktrace_trace_get_info(struct ktrace_trace_info *out, const struct ktrace_trace *trace)
{
    if (!out || !trace)
        return no_argument("ktrace_trace_info");
    const struct kt_snapshot *snapshot = trace->snapshot;
    uint32_t places = 0;
    for (uint32_t i = 0; i < snapshot->device_count; i++)
        places += snapshot->devices[i].places;
    struct ktrace_trace_info info = {.name = snapshot->name,
                                     .device = kt_trace_device_names(trace),
                                     .arch = snapshot->arch,
                                     .places = places,
                                     .origin_ns = trace->origin_ns,
                                     .duration_ps = trace->duration_ps,
                                     .launches = trace->launch_count,
                                     .waves = trace->wave_count,
                                     .events = trace->event_count,
                                     .waves_dropped = snapshot->waves_dropped,
                                     .waves_filtered = snapshot->waves_filtered,
                                     .waves_unfinished = trace->waves_unfinished,
                                     .slots_lost = trace->slots_lost,
                                     .ranges_unclosed = trace->ranges_unclosed,
                                     .ends_unmatched = trace->ends_unmatched,
                                     .slots_corrupt = trace->slots_corrupt,
                                     .clocks_ambiguous = trace->clocks_ambiguous,
                                     .clock_hz = trace->clock_hz,
                                     .clock_residual_ns = trace->clock_residual_ns,
                                     .simulated = (snapshot->flags & KT_SNAPSHOT_SIMULATED) != 0,
                                     .devices = snapshot->device_count,
                                     .processes = snapshot->process_count};
    return answer(out, &info, sizeof info);
}

int ktrace_trace_device(struct ktrace_device_info *out, const struct ktrace_trace *trace, uint64_t index)
{
    if (!out || !trace)
        return no_argument("ktrace_trace_device");
    if (index >= trace->snapshot->device_count)
        return not_found("device", index, trace->snapshot->device_count);
    const struct kt_device *device = &trace->snapshot->devices[index];
    const struct kt_trace_device *more = &trace->devices[index];
    struct ktrace_device_info info = {.name = device->name,
                                      .ordinal = device->ordinal,
                                      .places = device->places,
                                      .launches = more->launch_count,
                                      .waves = more->wave_count,
                                      .events = more->event_count,
                                      .waves_dropped = device->waves_dropped,
                                      .waves_filtered = device->waves_filtered,
                                      .clock_offset_ns = more->host_offset_ns,
                                      .clock_uncertainty_ns = more->uncertainty_ns,
                                      .clock_residual_ns = more->residual_ns,
                                      .clock_contradiction_ns = more->contradiction_ns,
                                      .process = device->process,
                                      .label = more->label,
                                      .uuid = more->uuid,
                                      .pci_bus_id = device->identity.pci_bus_id};
    return answer(out, &info, sizeof info);
}

int ktrace_trace_process(struct ktrace_process_info *out, const struct ktrace_trace *trace, uint64_t index)
{
    if (!out || !trace)
        return no_argument("ktrace_trace_process");
    if (index >= trace->snapshot->process_count)
        return not_found("process", index, trace->snapshot->process_count);
    const struct kt_process *process = &trace->snapshot->processes[index];
    const struct kt_trace_process *more = &trace->processes[index];
    struct ktrace_process_info info = {.label = more->label,
                                       .host = process->host,
                                       .boot = process->boot,
                                       .program = process->program,
                                       .version = process->version,
                                       .filter = process->read_count ? process->reads[0].filter : "",
                                       .pid = process->pid,
                                       .devices = more->device_count,
                                       .launches = more->launch_count,
                                       .waves = more->wave_count,
                                       .events = more->event_count,
                                       .waves_dropped = more->waves_dropped,
                                       .waves_filtered = more->waves_filtered,
                                       .relation = (int)more->relation,
                                       .shift_ns = process->timeline
                                                       ? trace->snapshot->timeline_begins_ns[process->timeline]
                                                       : process->host_shift_ns};
    return answer(out, &info, sizeof info);
}

int ktrace_trace_launch(struct ktrace_launch_info *out, const struct ktrace_trace *trace, uint64_t index)
{
    if (!out || !trace)
        return no_argument("ktrace_trace_launch");
    if (index >= trace->launch_count)
        return not_found("launch", index, trace->launch_count);
    const struct kt_launch *launch = &trace->launches[index];
    struct ktrace_launch_info info = {.kernel = trace->kernels[launch->kernel].name,
                                      .grid_id = launch->grid_id,
                                      .queue = launch->queue,
                                      .device = launch->device,
                                      .occurrence = launch->occurrence,
                                      .begin_ps = launch->begin_ps,
                                      .end_ps = launch->end_ps,
                                      .waves_launched = launch->waves_launched,
                                      .waves = launch->wave_count,
                                      .events = launch->event_count,
                                      .slots_lost = launch->slots_lost};
    memcpy(info.grid, launch->grid, sizeof info.grid);
    memcpy(info.block, launch->block, sizeof info.block);
    return answer(out, &info, sizeof info);
}

int ktrace_trace_wave(struct ktrace_wave_info *out, const struct ktrace_trace *trace, uint64_t index)
{
    if (!out || !trace)
        return no_argument("ktrace_trace_wave");
    if (index >= trace->wave_count)
        return not_found("wave", index, trace->wave_count);
    const struct kt_wave *wave = &trace->waves[index];
    struct ktrace_wave_info info = {.launch = wave->launch,
                                    .wave = wave->wave,
                                    .place = wave->place,
                                    .lane_count = wave->lane_count,
                                    .begin_ps = wave->begin_ps,
                                    .end_ps = wave->end_ps,
                                    .events = wave->event_count,
                                    .slots_lost = wave->slots_lost,
                                    .unfinished = wave->unfinished,
                                    .device = trace->launches[wave->launch].device};
    memcpy(info.workgroup, wave->workgroup, sizeof info.workgroup);
    return answer(out, &info, sizeof info);
}

/* The first clock reading in low .. high whose time is not before `time_ps`. */
static uint64_t clock_between(const struct ktrace_trace *trace, const struct kt_place_clock *clock, uint64_t low,
                              uint64_t high, int64_t time_ps)
{
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (kt_clock_to_ps(trace, clock, middle) < time_ps)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The clock reading behind an event's time. Times of one place rise with its clock, and a tick is many picoseconds, so that
 * one reading has that time; it lies around the wave's start. */
static uint64_t clock_of(const struct ktrace_trace *trace, const struct kt_place_clock *clock,
                         const struct kt_wave *wave, int64_t time_ps)
{
    uint64_t start = wave->start_clock_ticks, reach = 1ull << 20;
    if (!clock)
        return start;
    /* (events before the start are of waves whose clocks are ambiguous) */
    while (reach < 1ull << 62 && ((start + reach > start && kt_clock_to_ps(trace, clock, start + reach) < time_ps) ||
                                  (start > reach && kt_clock_to_ps(trace, clock, start - reach) > time_ps)))
        reach <<= 1;
    return clock_between(trace, clock, start < reach ? 0 : start - reach,
                         start + reach < start ? UINT64_MAX : start + reach, time_ps);
}

/* The same, knowing that of an event before it in the wave. */
static uint64_t clock_after(const struct ktrace_trace *trace, const struct kt_place_clock *clock, uint64_t before,
                            int64_t time_ps)
{
    uint64_t low = before, reach = 1;
    if (!clock)
        return before;
    while (reach < UINT64_MAX - before && reach < 1ull << 62 &&
           kt_clock_to_ps(trace, clock, before + reach) < time_ps) {
        low = before + reach;
        reach <<= 2;
    }
    return clock_between(trace, clock, low, reach < UINT64_MAX - before ? before + reach : UINT64_MAX, time_ps);
}

static const struct kt_place_clock *clock_of_wave(const struct ktrace_trace *trace, const struct kt_wave *wave)
{
    return kt_clock_of_place(trace, trace->launches[wave->launch].device, wave->place);
}

/* `events` are the wave's. */
static const char *name_of(const struct kt_event *events, const struct kt_event *event)
{
    const struct kt_event *named = event;
    if (event->site->kind == KTRACE_KIND_STOP && event->partner != KT_NONE)
        named = &events[event->partner];
    return named->site->name;
}

/* An annotation of the device header's own, such as the end of a scope, has a number there, but no file. */
static uint32_t line_of(const struct kt_site *site)
{
    return *site->file ? site->line : 0;
}

int ktrace_trace_event(struct ktrace_event_info *out, const struct ktrace_trace *trace, uint64_t wave_index,
                       uint32_t index)
{
    if (!out || !trace)
        return no_argument("ktrace_trace_event");
    if (wave_index >= trace->wave_count)
        return not_found("wave", wave_index, trace->wave_count);
    const struct kt_wave *wave = &trace->waves[wave_index];
    if (index >= wave->event_count)
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "event %u is not there: wave %llu has %u", index,
                       (unsigned long long)wave_index, wave->event_count);
    const struct kt_event *events = trace->events + wave->first_event, *event = &events[index];
    struct ktrace_event_info info = {.name = name_of(events, event),
                                     .file = event->site->file,
                                     .line = line_of(event->site),
                                     .kind = event->site->kind,
                                     .lane = event->lane,
                                     .partner = event->partner,
                                     .payload_type = event->site->payload_type,
                                     .payload = event->payload,
                                     .time_ps = event->time_ps,
                                     .clock_ticks = clock_of(trace, clock_of_wave(trace, wave), wave, event->time_ps)};
    return answer(out, &info, sizeof info);
}

/* The last one whose first event is not behind `event`: the wave that has it, if any does. */
static uint64_t wave_at(const struct ktrace_trace *trace, uint64_t event)
{
    uint64_t first = 0, end = trace->wave_count;
    while (end - first > 1) {
        const uint64_t middle = first + (end - first) / 2;
        if (trace->waves[middle].first_event <= event)
            first = middle;
        else
            end = middle;
    }
    return first;
}

static void put_record(char *out, size_t bytes, const struct ktrace_event_record *record)
{
    memcpy(out, record, bytes < sizeof *record ? bytes : sizeof *record);
    if (bytes > sizeof *record)
        memset(out + sizeof *record, 0, bytes - sizeof *record);
}

/* Events `first` up to `end` of all, which are in this wave. */
static void put_records(char *out, size_t bytes, const struct ktrace_trace *trace, uint64_t wave_index, uint64_t first,
                        uint64_t end)
{
    const struct kt_wave *wave = &trace->waves[wave_index];
    const struct kt_event *events = trace->events + wave->first_event;
    const struct kt_place_clock *clock = clock_of_wave(trace, wave);
    uint64_t clock_ticks = 0;
    for (uint64_t i = first; i < end; i++) {
        const struct kt_event *event = &trace->events[i];
        clock_ticks = i == first ? clock_of(trace, clock, wave, event->time_ps)
                                 : clock_after(trace, clock, clock_ticks, event->time_ps);
        const struct ktrace_event_record record = {.time_ps = event->time_ps,
                                                   .clock_ticks = clock_ticks,
                                                   .payload = event->payload,
                                                   .name = name_of(events, event),
                                                   .file = event->site->file,
                                                   .wave = wave_index,
                                                   .launch = wave->launch,
                                                   .line = line_of(event->site),
                                                   .kind = event->site->kind,
                                                   .lane = event->lane,
                                                   .partner = event->partner,
                                                   .payload_type = event->site->payload_type};
        put_record(out + (i - first) * bytes, bytes, &record);
    }
}

int ktrace_trace_event_records(struct ktrace_event_record *records, size_t record_bytes,
                               const struct ktrace_trace *trace, uint64_t first, uint64_t count)
{
    if (!trace || (!records && count))
        return no_argument("ktrace_trace_event_records");
    if (record_bytes < sizeof(int64_t) || record_bytes % sizeof(int64_t))
        return kt_fail(KTRACE_ERROR_ARGUMENT, "record_bytes is %zu: set it to sizeof(struct ktrace_event_record)",
                       record_bytes);
    if (count > trace->event_count || first > trace->event_count - count)
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "%llu events from event %llu on are not there: the trace has %llu",
                       (unsigned long long)count, (unsigned long long)first, (unsigned long long)trace->event_count);
    char *out = (char *)records;
    for (uint64_t wave = wave_at(trace, first); count; wave++) {
        const uint64_t wave_end = trace->waves[wave].first_event + trace->waves[wave].event_count;
        const uint64_t here = first >= wave_end ? 0 : wave_end - first < count ? wave_end - first : count;
        put_records(out, record_bytes, trace, wave, first, first + here);
        out += here * record_bytes;
        first += here;
        count -= here;
    }
    return KTRACE_OK;
}

const char *ktrace_trace_warning(const struct ktrace_trace *trace)
{
    return trace ? trace->warning : "";
}
