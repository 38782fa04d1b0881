#include "recorder.h"

#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "error.h"
#include "overflow.h"

static void fill_control(struct kt_recorder *recorder)
{
    const struct kt_buffer *buffer = &recorder->buffer;
    const struct ktrace_filter *filter = &recorder->recording.filter.wire;
    recorder->arming.control = (struct ktrace_control){
        .mode = kt_filter_is_open(filter) ? KTRACE_MODE_EVERY_WAVE : KTRACE_MODE_FILTER,
        .headers = buffer->headers,
        .main_rings = buffer->main_rings,
        .lane_rings = buffer->lane_rings,
        .counters = buffer->counters,
        .main_ring_bytes = (uint32_t)kt_layout_main_ring_bytes(&buffer->layout),
        .lane_ring_bytes = (uint32_t)kt_layout_lane_ring_bytes(&buffer->layout),
        .partitions = buffer->layout.partitions,
        .regions_per_partition = buffer->layout.regions_per_partition,
        .filter = *filter,
    };
}

static int set_up(struct kt_recorder *recorder)
{
    const struct kt_recording *recording = &recorder->recording;
    struct kt_layout layout;
    int status = recorder->backend->ops->facts(&recorder->facts, recorder->backend);
    const uint32_t arch = recorder->arming.arch = recorder->facts.arch;
    if (status == KTRACE_OK)
        status = kt_filter_check(&recording->filter, arch);
    if (status == KTRACE_OK)
        status = kt_layout_make(&layout, arch, recording->buffer_bytes, recording->events_per_wave,
                                recording->events_per_lane);
    if (status == KTRACE_OK)
        status = kt_buffer_make(&recorder->buffer, recorder->backend, &layout);
    if (status == KTRACE_OK)
        fill_control(recorder);
    return status;
}

int kt_recorder_open(struct kt_recorder **out, struct kt_backend *backend, const struct kt_recording *recording,
                     uint32_t *next_module)
{
    struct kt_recorder *recorder = calloc(1, sizeof *recorder);
    if (recorder == NULL) {
        backend->ops->close(backend);
        return kt_fail_memory(sizeof *recorder);
    }
    recorder->backend = recorder->arming.backend = backend;
    recorder->arming.next_number = next_module;
    recorder->recording = *recording;
    const int status = set_up(recorder);
    if (status < 0) {
        kt_recorder_close(recorder, 0);
        return status;
    }
    kt_recorder_anchor(recorder);
    *out = recorder;
    return KTRACE_OK;
}

void kt_recorder_close(struct kt_recorder *recorder, int keep_memory)
{
    if (recorder == NULL)
        return;
    kt_arming_free(&recorder->arming);
    if (!keep_memory)
        kt_buffer_free(&recorder->buffer, recorder->backend);
    recorder->backend->ops->close(recorder->backend);
    free(recorder);
}

void kt_recorder_anchor(struct kt_recorder *recorder)
{
    struct kt_host_anchor anchor;
    const struct kt_backend_ops *ops = recorder->backend->ops;
    if (ops->host_anchor == NULL || ops->host_anchor(&anchor, recorder->backend) < 0)
        return;                                     /* a trace without is still right */
    if (recorder->anchor_count == KT_MAX_ANCHORS) { /* keep the first; time between is covered by its neighbours */
        memmove(&recorder->anchors[1], &recorder->anchors[2], (KT_MAX_ANCHORS - 2) * sizeof recorder->anchors[0]);
        recorder->anchor_count--;
    }
    recorder->anchors[recorder->anchor_count++] = anchor;
}

/* The facts of this device. */
static int complete(struct kt_snapshot *snapshot, const struct kt_recorder *recorder, int peek)
{
    struct kt_device *device = kt_snapshot_add_device(snapshot, recorder->facts.name);
    struct kt_host_anchor *anchors = malloc(sizeof recorder->anchors);
    if (!device || !anchors) {
        free(anchors);
        return kt_fail_memory(sizeof recorder->anchors);
    }
    memcpy(anchors, recorder->anchors, sizeof recorder->anchors);
    device->anchors = anchors;
    device->anchor_count = recorder->anchor_count;
    device->ordinal = recorder->facts.ordinal;
    device->places = recorder->facts.places;
    device->clock_khz = recorder->facts.clock_khz;
    device->wall_tick_ns = recorder->facts.wall_tick_ns;
    device->capability = recorder->facts.capability;
    device->identity = recorder->facts.identity;
    device->regions = snapshot->regions;
    device->waves_dropped = snapshot->waves_dropped;
    device->waves_filtered = snapshot->waves_filtered;
    snapshot->flags = (peek ? KT_SNAPSHOT_PEEK : 0u) | (recorder->recording.keep_last ? KT_SNAPSHOT_KEEP_LAST : 0u) |
                      (recorder->facts.simulated ? KT_SNAPSHOT_SIMULATED : 0u);
    return KTRACE_OK;
}

static int collect(struct kt_snapshot **out, struct kt_usage *usage, const struct kt_recorder *recorder, int peek)
{
    struct kt_snapshot *snapshot = NULL;
    int status = kt_buffer_count_dropped(usage, recorder->backend, &recorder->buffer, peek);
    if (status == KTRACE_OK)
        status = kt_collect(&snapshot, usage, recorder->backend, &recorder->buffer, &recorder->arming, peek);
    if (status == KTRACE_OK)
        status = complete(snapshot, recorder, peek);
    if (status == KTRACE_OK && !peek)
        status = kt_check_overflow(&recorder->buffer.layout, usage, recorder->recording.keep_last);
    if (status < 0)
        kt_snapshot_destroy(snapshot);
    else
        *out = snapshot;
    return status;
}

int kt_recorder_turn(struct kt_recorder *recorder)
{
    const int status = kt_buffer_turn(&recorder->left, recorder->backend, &recorder->buffer);
    recorder->has_left = status == KTRACE_OK;
    return status;
}

int kt_recorder_drop(struct kt_recorder *recorder)
{
    if (!recorder->has_left)
        return KTRACE_OK;
    recorder->has_left = 0;
    return kt_buffer_clear(&recorder->buffer, recorder->backend, &recorder->left);
}

int kt_recorder_take(struct kt_snapshot **out, struct kt_usage *usage, struct kt_recorder *recorder)
{
    struct kt_snapshot *snapshot = NULL;
    int status = KTRACE_OK;
    if (recorder->has_left)
        *usage = recorder->left;
    else
        status = kt_buffer_look(usage, recorder->backend, &recorder->buffer, 0);
    if (status == KTRACE_OK)
        status = collect(&snapshot, usage, recorder, 0);
    if (status < 0) { /* clean all the same, so that the next one is right; the first sentence stays */
        const struct kt_failure first = kt_failure_keep(status);
        kt_recorder_drop(recorder);
        return kt_fail_again(&first);
    }
    status = kt_recorder_drop(recorder);
    if (status < 0)
        kt_snapshot_destroy(snapshot);
    else
        *out = snapshot;
    return status;
}

int kt_recorder_peek(struct kt_snapshot **out, struct kt_usage *usage, struct kt_recorder *recorder)
{
    const int status = kt_buffer_look(usage, recorder->backend, &recorder->buffer, 1);
    return status < 0 ? status : collect(out, usage, recorder, 1);
}
