/* capture.c - the one open capture of the process: begin, clear, read, peek, end. */
#include "capture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend_choice.h"
#include "collect.h"
#include "error.h"
#include "locks.h"
#include "trace.h"

#define MAX_ANCHORS 64

struct ktrace_capture {
    struct kt_registry_listener listener; /* first: the registry hands it back */
    char *name;
    int keep_last;
    struct kt_backend *backend;
    struct kt_device_facts facts;
    struct kt_buffer buffer;
    struct kt_arming arming;
    struct kt_host_anchor anchors[MAX_ANCHORS]; /* begin's, then the latest */
    uint32_t anchor_count;
    uint32_t modules_late; /* armed after begin, and not yet spoken of */
};

static struct ktrace_capture *open_capture; /* under the state lock */
static int active;                          /* the same as a flag that is read without it */

int ktrace_active(void)
{
    return __atomic_load_n(&active, __ATOMIC_RELAXED);
}

/* ---- Options ---------------------------------------------------------------------------------------------------- */

/* Reads as many fields as the caller's struct has; a longer one from a newer header may only hold zeros behind ours. */
static int read_options(struct ktrace_capture_options *out, const struct ktrace_capture_options *given)
{
    const struct ktrace_capture_options defaults = KTRACE_CAPTURE_OPTIONS_INIT;
    *out = defaults;
    if (given == NULL)
        return KTRACE_OK;
    if (given->struct_size < sizeof given->struct_size + sizeof given->name)
        return kt_fail(KTRACE_ERROR_ARGUMENT,
                       "ktrace_capture_options.struct_size is %zu: start from KTRACE_CAPTURE_OPTIONS_INIT",
                       given->struct_size);
    const size_t known = given->struct_size < sizeof *out ? given->struct_size : sizeof *out;
    memcpy(out, given, known);
    const unsigned char *tail = (const unsigned char *)given;
    for (size_t i = sizeof *out; i < given->struct_size; i++)
        if (tail[i])
            return kt_fail(KTRACE_ERROR_VERSION,
                           "ktrace_capture_options has a field at byte %zu that this library (%s) does not know", i,
                           KTRACE_VERSION_STRING);
    return KTRACE_OK;
}

static int check_filter(const struct ktrace_filter *filter, uint32_t arch)
{
    static const char axis[] = "xyz";
    for (int i = 0; i < 3; i++)
        if (filter->block_first[i] > filter->block_last[i])
            return kt_fail(KTRACE_ERROR_ARGUMENT, "the filter's block range in %c is empty: %u to %u", axis[i],
                           filter->block_first[i], filter->block_last[i]);
    if (filter->place_first > filter->place_last)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "the filter's %s range is empty: %u to %u",
                       arch == KTRACE_ARCH_AMDGCN ? "XCC" : "SM", filter->place_first, filter->place_last);
    if ((filter->wave_mask_low | filter->wave_mask_high) == 0)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "the filter's wave mask is empty: start from KTRACE_FILTER_INIT");
    return KTRACE_OK;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------ */

static void take_anchor(struct ktrace_capture *capture)
{
    struct kt_host_anchor anchor;
    const struct kt_backend_ops *ops = capture->backend->ops;
    if (ops->host_anchor == NULL || ops->host_anchor(&anchor, capture->backend) < 0)
        return;                                 /* a trace without is still right */
    if (capture->anchor_count == MAX_ANCHORS) { /* keep the first; time between is covered by its neighbours */
        memmove(&capture->anchors[1], &capture->anchors[2], (MAX_ANCHORS - 2) * sizeof capture->anchors[0]);
        capture->anchor_count--;
    }
    capture->anchors[capture->anchor_count++] = anchor;
}

static void fill_control(struct ktrace_capture *capture, const struct ktrace_filter *filter)
{
    const struct ktrace_filter every_wave = KTRACE_FILTER_INIT;
    const struct kt_buffer *buffer = &capture->buffer;
    const int filters = filter && memcmp(filter, &every_wave, sizeof every_wave) != 0;
    capture->arming.control = (struct ktrace_control){
        .mode = filters ? KTRACE_MODE_FILTER : KTRACE_MODE_EVERY_WAVE,
        .headers = buffer->headers,
        .main_rings = buffer->main_rings,
        .lane_rings = buffer->lane_rings,
        .counters = buffer->counters,
        .main_ring_bytes = (uint32_t)kt_layout_main_ring_bytes(&buffer->layout),
        .lane_ring_bytes = (uint32_t)kt_layout_lane_ring_bytes(&buffer->layout),
        .partitions = buffer->layout.partitions,
        .regions_per_partition = buffer->layout.regions_per_partition,
        .filter = filters ? *filter : every_wave,
    };
}

static int module_attached(struct kt_registry_listener *listener, struct kt_registry_entry *entry)
{
    struct ktrace_capture *capture = (struct ktrace_capture *)listener;
    return kt_arming_add(&capture->arming, entry);
}

static void module_detached(struct kt_registry_listener *listener, struct kt_registry_entry *entry)
{
    struct ktrace_capture *capture = (struct ktrace_capture *)listener;
    kt_arming_remove(&capture->arming, entry);
}

static int arm_newcomers(struct ktrace_capture *capture)
{
    const uint32_t before = capture->arming.count;
    const int status = kt_arming_update(&capture->arming);
    capture->modules_late += capture->arming.count - before;
    return status;
}

/* What a capture that is no longer open holds. `keep_memory`: kernels may still write to the buffer, so it stays allocated.
 * Freeing waits for the device. */
static void free_capture(struct ktrace_capture *capture, int keep_memory)
{
    kt_arming_free(&capture->arming);
    if (!keep_memory)
        kt_buffer_free(&capture->buffer, capture->backend);
    capture->backend->ops->close(capture->backend);
    free(capture->name);
    free(capture);
}

/* The device is idle. */
static int set_up(struct ktrace_capture *capture, const struct ktrace_capture_options *options)
{
    const char *name = options->name && options->name[0] ? options->name : "ktrace";
    capture->name = strdup(name);
    if (capture->name == NULL)
        return kt_fail_memory(strlen(name) + 1);
    capture->keep_last = options->keep_last;
    capture->arming.backend = capture->backend;
    capture->listener.attached = module_attached;
    capture->listener.detached = module_detached;

    struct kt_layout layout;
    int status = capture->backend->ops->facts(&capture->facts, capture->backend);
    const uint32_t arch = capture->arming.arch = capture->facts.arch;
    if (status == KTRACE_OK && options->filter)
        status = check_filter(options->filter, arch);
    if (status == KTRACE_OK)
        status =
            kt_layout_make(&layout, arch, options->buffer_bytes, options->events_per_wave, options->events_per_lane);
    if (status == KTRACE_OK)
        status = kt_buffer_make(&capture->buffer, capture->backend, &layout);
    if (status < 0)
        return status;
    take_anchor(capture);
    fill_control(capture, options->filter);
    return kt_arming_update(&capture->arming);
}

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

static int overflowed(const struct ktrace_capture *capture, const struct kt_usage *usage)
{
    if (usage->waves_dropped)
        return 1;
    return !capture->keep_last && (usage->most_main_slots > capture->buffer.layout.main_ring_slots ||
                                   usage->most_lane_slots > capture->buffer.layout.lane_ring_slots);
}

/* Writes at `*end` and moves it. */
__attribute__((format(printf, 3, 4))) static void put(char **end, const char *limit, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(*end, (size_t)(limit - *end), format, arguments);
    va_end(arguments);
    if (length > 0)
        *end += length < limit - *end ? length : limit - *end - 1;
}

/* What one kind of ring would have had to hold. Counts wrap, so that a very large one is a lower bound. */
struct ring_need {
    const char *who, *option;
    uint32_t slots; /* it had */
    uint64_t most;  /* were recorded */
};

/* 0 when no option can hold that many. */
static int put_ring(char **end, const char *limit, const struct ring_need *need)
{
    put(end, limit, "%s recorded %s%llu slots in a ring of %u; ", need->who,
        need->most > KT_MAX_RING_SLOTS ? "at least " : "", (unsigned long long)need->most, need->slots);
    return need->most <= KT_MAX_RING_SLOTS;
}

/* Names the options under which what was recorded would have fitted. */
static int fail_overflow(const struct ktrace_capture *capture, const struct kt_usage *usage)
{
    const struct kt_layout *layout = &capture->buffer.layout;
    const struct ring_need needs[2] = {
        {"a wave", "events_per_wave", layout->main_ring_slots, usage->most_main_slots},
        {"a lane other than 0", "events_per_lane", layout->lane_ring_slots, usage->most_lane_slots}};
    const uint64_t waves = usage->waves_recorded + usage->waves_dropped;
    char text[640] = "", options[160] = "";
    char *end = text, *const limit = text + sizeof text;
    char *option = options, *const option_limit = options + sizeof options;
    uint32_t slots[2];
    int possible = 1;

    if (usage->waves_dropped)
        put(&end, limit, "%llu of %llu waves found no room; ", (unsigned long long)usage->waves_dropped,
            (unsigned long long)waves);
    for (int i = 0; i < 2; i++) {
        slots[i] = needs[i].slots;
        if (needs[i].most <= needs[i].slots || capture->keep_last)
            continue;
        possible &= put_ring(&end, limit, &needs[i]);
        slots[i] = (uint32_t)needs[i].most;
        put(&option, option_limit, "%s%s >= %u", option > options ? ", " : "", needs[i].option, slots[i]);
    }
    const uint64_t bytes = possible ? kt_layout_bytes_for(layout->arch, waves, slots[0], slots[1]) : 0;
    if (bytes > layout->buffer_bytes)
        put(&option, option_limit, "%sbuffer_bytes >= %llu", option > options ? ", " : "", (unsigned long long)bytes);
    if (bytes)
        put(&end, limit, "to hold everything, begin with %s (or record fewer waves with a filter, or read more often)",
            options);
    else
        put(&end, limit,
            "no ring holds more than %u slots and no buffer all of this: record fewer events or waves, read more "
            "often, "
            "or begin with keep_last to keep the newest",
            KT_MAX_RING_SLOTS);
    return kt_fail(KTRACE_ERROR_OVERFLOW, "the capture overflowed: %s; nothing of this read is kept", text);
}

/* Modules of the other runtime, which this capture cannot see: how many, and the first few by name. */
static void put_others(char **end, const char *limit, uint32_t arch)
{
    uint32_t others = 0;
    for (int naming = 0; naming < 2; naming++) {
        uint32_t named = 0;
        const char *separator = naming ? " (" : "";
        for (const struct kt_registry_entry *entry = kt_registry_first(); entry; entry = kt_registry_next(entry)) {
            if (kt_registry_is_gone(entry) || entry->arch == arch)
                continue;
            others += !naming;
            if (naming && entry->registration && named++ < 3) {
                put(end, limit, "%s%s", separator, entry->registration->file);
                separator = ", ";
            }
        }
        if (others == 0)
            return;
        const uint32_t other = arch == KTRACE_ARCH_AMDGCN ? KTRACE_ARCH_NVIDIA : KTRACE_ARCH_AMDGCN;
        if (naming)
            put(end, limit, "%s: to record %s begin with the backend \"%s\"",
                named > 3 ? ", ...)"
                : named   ? ")"
                          : "",
                others == 1 ? "it" : "them", other == KTRACE_ARCH_AMDGCN ? "hip" : "cuda");
        else
            put(end, limit, "; this capture is of a %s device and cannot see %u annotated %s module%s",
                kt_backend_runtime(arch), others, kt_backend_runtime(other), others == 1 ? "" : "s");
    }
}

/* Why there is nothing, or not all. NULL when memory ran out. */
static char *explain(const struct ktrace_capture *capture, const struct kt_usage *usage)
{
    const struct kt_arming *arming = &capture->arming;
    char text[1024] = "";
    char *end = text, *const limit = text + sizeof text;
    if (usage->waves_recorded == 0 && usage->waves_filtered)
        put(&end, limit, "nothing was recorded: the filter turned away all %llu waves",
            (unsigned long long)usage->waves_filtered);
    else if (usage->waves_recorded == 0 && arming->count == 0 && arming->problem[0])
        put(&end, limit, "nothing was recorded");
    else if (usage->waves_recorded == 0 && arming->count == 0)
        put(&end, limit,
            "nothing was recorded: no annotated module is known (compile kernels with KTRACE_ENABLE=1; hand modules "
            "loaded through the %s to ktrace_attach_%s_module)",
            arming->arch == KTRACE_ARCH_AMDGCN ? "module API" : "driver API",
            arming->arch == KTRACE_ARCH_AMDGCN ? "hip" : "cuda");
    else if (usage->waves_recorded == 0)
        put(&end, limit,
            "nothing was recorded: no kernel with KTRACE_KERNEL ran on the capture's device since the capture began, "
            "or "
            "was last read");
    else if (usage->headers_missing)
        put(&end, limit, "%llu wave%s started but left no header", (unsigned long long)usage->headers_missing,
            usage->headers_missing == 1 ? "" : "s");
    if (capture->modules_late)
        put(&end, limit, "%s%u module%s loaded since the capture began record%s from now on", end > text ? "; " : "",
            capture->modules_late, capture->modules_late == 1 ? "" : "s", capture->modules_late == 1 ? "s" : "");
    if (usage->waves_recorded == 0)
        put_others(&end, limit, arming->arch);
    if (arming->problem[0])
        put(&end, limit, "%sa module could not be armed and records nothing: %s", end > text ? "; " : "",
            arming->problem);
    return strdup(text);
}

static int complete(struct kt_snapshot *snapshot, const struct ktrace_capture *capture, const struct kt_usage *usage,
                    int peek)
{
    struct kt_device *device = kt_snapshot_add_device(snapshot, capture->facts.name);
    char *name = strdup(capture->name), *warning = explain(capture, usage);
    struct kt_host_anchor *anchors = malloc(sizeof capture->anchors);
    if (!device || !name || !warning || !anchors) {
        free(name);
        free(warning);
        free(anchors);
        return kt_fail_memory(sizeof capture->anchors);
    }
    free(snapshot->name);
    free(snapshot->warning);
    snapshot->name = name;
    snapshot->warning = warning;
    snapshot->flags = (peek ? KT_SNAPSHOT_PEEK : 0u) | (capture->keep_last ? KT_SNAPSHOT_KEEP_LAST : 0u) |
                      (capture->facts.simulated ? KT_SNAPSHOT_SIMULATED : 0u);
    memcpy(anchors, capture->anchors, sizeof capture->anchors);
    device->anchors = anchors;
    device->anchor_count = capture->anchor_count;
    device->places = capture->facts.places;
    device->clock_khz = capture->facts.clock_khz;
    device->wall_tick_ns = capture->facts.wall_tick_ns;
    device->capability = capture->facts.capability;
    device->regions = snapshot->regions;
    device->waves_dropped = snapshot->waves_dropped;
    device->waves_filtered = snapshot->waves_filtered;
    return KTRACE_OK;
}

/* The snapshot of what is there, with the state lock held; decoding follows without it. The device is idle, but for a
 * peek. */
static int take_snapshot(struct kt_snapshot **out, struct ktrace_capture *capture, int peek)
{
    int status = KTRACE_OK;
    if (!peek) {
        take_anchor(capture);
        status = arm_newcomers(capture);
    }
    struct kt_usage usage = {0};
    struct kt_snapshot *snapshot = NULL;
    if (status == KTRACE_OK)
        status = peek ? kt_buffer_look(&usage, capture->backend, &capture->buffer, 1)
                      : kt_buffer_turn(&usage, capture->backend, &capture->buffer);
    if (status == KTRACE_OK)
        status = kt_collect(&snapshot, &usage, capture->backend, &capture->buffer, &capture->arming, peek);
    if (status == KTRACE_OK)
        status = complete(snapshot, capture, &usage, peek);
    if (status == KTRACE_OK && !peek && overflowed(capture, &usage))
        status = fail_overflow(capture, &usage);
    if (status == KTRACE_OK && !peek)
        capture->modules_late = 0;
    if (!peek) { /* on failure, too, so that the next read is right; the first sentence stays */
        char sentence[1024];
        snprintf(sentence, sizeof sentence, "%s", ktrace_last_error());
        const int cleared = kt_buffer_clear(&capture->buffer, capture->backend, &usage);
        status = status < 0 ? kt_fail(status, "%s", sentence) : cleared;
    }
    if (status < 0) {
        kt_snapshot_destroy(snapshot);
        return status;
    }
    *out = snapshot;
    return KTRACE_OK;
}

/* ---- The public calls ------------------------------------------------------------------------------------------- */

static int check_open(const struct ktrace_capture *capture, const char *call)
{
    if (capture == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "%s: the capture is NULL", call);
    if (capture != open_capture)
        return kt_fail(KTRACE_ERROR_STATE, "%s: this capture has ended", call);
    return KTRACE_OK;
}

void kt_capture_forget(void)
{
    open_capture = NULL;
    kt_registry_listen(NULL);
    __atomic_store_n(&active, 0, __ATOMIC_RELAXED);
}

/* With the operation lock held, so that the capture stays open while this waits; without the state lock. */
static int wait_for_device(const struct ktrace_capture *capture, const char *call)
{
    kt_state_lock();
    const int status = check_open(capture, call);
    kt_state_unlock();
    return status < 0 ? status : capture->backend->ops->synchronize(capture->backend);
}

static int check_none_open(void)
{
    kt_state_lock();
    const int status =
        open_capture == NULL
            ? KTRACE_OK
            : kt_fail(KTRACE_ERROR_STATE, "a capture (\"%s\") is open already: captures do not nest; end it first",
                      open_capture->name);
    kt_state_unlock();
    return status;
}

/* Disarms and forgets it. KTRACE_OK, or why modules may still be armed. With the state lock held. */
static int close_capture(struct ktrace_capture *capture)
{
    const int status = kt_arming_disarm(&capture->arming);
    kt_capture_forget();
    kt_registry_sweep();
    return status;
}

/* With the operation lock held, none open. */
static int open_on(struct ktrace_capture **out, struct kt_backend *backend,
                   const struct ktrace_capture_options *options)
{
    struct ktrace_capture *capture = calloc(1, sizeof *capture);
    if (capture == NULL) {
        backend->ops->close(backend);
        return kt_fail_memory(sizeof *capture);
    }
    capture->backend = backend;
    int disarmed = KTRACE_OK;
    int status = backend->ops->synchronize(backend);
    kt_state_lock();
    kt_registry_sweep();
    if (status == KTRACE_OK)
        status = set_up(capture, options);
    if (status < 0) {
        char sentence[1024];
        snprintf(sentence, sizeof sentence, "%s", ktrace_last_error());
        disarmed = kt_arming_disarm(&capture->arming);
        kt_fail(status, "%s", sentence);
    } else {
        open_capture = capture;
        __atomic_store_n(&active, 1, __ATOMIC_RELAXED);
        kt_registry_listen(&capture->listener);
        *out = capture;
    }
    kt_state_unlock();
    if (status < 0)
        free_capture(capture, disarmed < 0);
    return status;
}

static int begin(struct ktrace_capture **out, struct kt_backend *backend, const struct ktrace_capture_options *given)
{
    struct ktrace_capture_options options;
    int status = out == NULL ? kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_capture_begin: `out` is NULL")
                             : read_options(&options, given);
    if (status == KTRACE_OK)
        status = check_none_open(); /* before waiting for whoever reads it */
    if (status == KTRACE_OK && backend == NULL)
        status = kt_backend_choose(&backend, options.backend);
    if (status == KTRACE_OK) {
        kt_operation_lock();
        status = check_none_open();
        if (status == KTRACE_OK) {
            status = open_on(out, backend, &options);
            backend = NULL;
        }
        kt_operation_unlock();
    }
    if (status < 0 && backend)
        backend->ops->close(backend);
    return status;
}

int ktrace_capture_begin(struct ktrace_capture **out, const struct ktrace_capture_options *options)
{
    return begin(out, NULL, options);
}

int kt_capture_begin_on(struct ktrace_capture **out, struct kt_backend *backend,
                        const struct ktrace_capture_options *options)
{
    return begin(out, backend, options);
}

int ktrace_capture_clear(struct ktrace_capture *capture)
{
    kt_operation_lock();
    int status = wait_for_device(capture, "ktrace_capture_clear");
    if (status == KTRACE_OK) {
        struct kt_usage usage = {0};
        kt_state_lock();
        status = kt_buffer_turn(&usage, capture->backend, &capture->buffer);
        if (status == KTRACE_OK)
            status = kt_buffer_clear(&capture->buffer, capture->backend, &usage);
        if (status == KTRACE_OK)
            status = kt_arming_update(&capture->arming);
        kt_state_unlock();
    }
    kt_operation_unlock();
    return status;
}

int ktrace_capture_read(struct ktrace_trace **out, struct ktrace_capture *capture)
{
    if (out == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_capture_read: `out` is NULL");
    struct kt_snapshot *snapshot = NULL;
    kt_operation_lock();
    int status = wait_for_device(capture, "ktrace_capture_read");
    if (status == KTRACE_OK) {
        kt_state_lock();
        status = take_snapshot(&snapshot, capture, 0);
        kt_state_unlock();
    }
    kt_operation_unlock();
    return status < 0 ? status : kt_trace_from_snapshot(out, snapshot);
}

int ktrace_capture_peek(struct ktrace_trace **out, struct ktrace_capture *capture)
{
    if (out == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_capture_peek: `out` is NULL");
    struct kt_snapshot *snapshot = NULL;
    kt_state_lock();
    int status = check_open(capture, "ktrace_capture_peek");
    if (status == KTRACE_OK)
        status = take_snapshot(&snapshot, capture, 1);
    kt_state_unlock();
    return status < 0 ? status : kt_trace_from_snapshot(out, snapshot);
}

int ktrace_capture_end(struct ktrace_trace **out, struct ktrace_capture *capture)
{
    struct kt_snapshot *snapshot = NULL;
    kt_operation_lock();
    int status = wait_for_device(capture, "ktrace_capture_end");
    if (status == KTRACE_ERROR_ARGUMENT || status == KTRACE_ERROR_STATE) { /* nothing was touched: try again later */
        kt_operation_unlock();
        return status;
    }
    kt_state_lock();
    if (status == KTRACE_OK && out)
        status = take_snapshot(&snapshot, capture, 0);
    const int disarmed = close_capture(capture);
    kt_state_unlock();
    free_capture(capture, disarmed < 0);
    kt_operation_unlock();
    if (status == KTRACE_OK && disarmed < 0)
        status = kt_fail(disarmed, "the capture ended, but modules may still record, so its buffer stays allocated: "
                                   "they could not be disarmed");
    if (status < 0) {
        kt_snapshot_destroy(snapshot);
        return status;
    }
    return out ? kt_trace_from_snapshot(out, snapshot) : KTRACE_OK;
}

void ktrace_capture_destroy(struct ktrace_capture *capture)
{
    if (capture)
        ktrace_capture_end(NULL, capture);
}
