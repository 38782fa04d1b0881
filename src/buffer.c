#include "buffer.h"

#include <stdlib.h>

#include "error.h"

static uint64_t main_bytes(const struct kt_layout *layout, uint64_t regions)
{
    return regions * kt_layout_main_pitch_bytes(layout);
}

static uint64_t lane_bytes(const struct kt_layout *layout, uint64_t regions)
{
    return regions * KT_LANE_RINGS * kt_layout_lane_ring_bytes(layout);
}

static uint64_t header_bytes(uint64_t regions)
{
    return regions * sizeof(struct ktrace_wave_header);
}

struct kt_half kt_buffer_half(const struct kt_buffer *buffer, uint32_t half)
{
    const uint64_t before = half * buffer->layout.regions;
    return (struct kt_half){.main_rings = buffer->main_rings + main_bytes(&buffer->layout, before),
                            .lane_rings = buffer->lane_rings + lane_bytes(&buffer->layout, before),
                            .headers = buffer->headers + header_bytes(before)};
}

static uint32_t dropped_shares(const struct kt_layout *layout)
{
    return layout->arch == KTRACE_ARCH_AMDGCN ? 1 : KTRACE_DROPPED_SHARES;
}

static uint64_t dropped_bytes(const struct kt_layout *layout)
{
    return dropped_shares(layout) * sizeof(struct ktrace_dropped);
}

static uint64_t counters_bytes(const struct kt_layout *layout)
{
    return sizeof(struct ktrace_counters) + KT_HALVES * dropped_bytes(layout);
}

static uint64_t dropped_of(const struct kt_buffer *buffer, uint32_t half)
{
    return buffer->counters + sizeof(struct ktrace_counters) + half * dropped_bytes(&buffer->layout);
}

static int clear_half(const struct kt_buffer *buffer, struct kt_backend *backend, uint32_t half, uint64_t rows)
{
    const struct kt_layout *layout = &buffer->layout;
    const struct kt_half start = kt_buffer_half(buffer, half);
    const uint64_t regions = rows * layout->partitions;
    int status = backend->ops->clear(backend, dropped_of(buffer, half), dropped_bytes(layout));
    if (regions == 0 || status < 0)
        return status;
    status = backend->ops->clear(backend, start.main_rings, main_bytes(layout, regions));
    if (status == KTRACE_OK && layout->lane_ring_slots)
        status = backend->ops->clear(backend, start.lane_rings, lane_bytes(layout, regions));
    if (status == KTRACE_OK)
        status = backend->ops->clear(backend, start.headers, header_bytes(regions));
    return status;
}

int kt_buffer_make(struct kt_buffer *out, struct kt_backend *backend, const struct kt_layout *layout)
{
    struct kt_buffer buffer = {.layout = *layout};
    const uint64_t alignment = layout->alignment_bytes, bytes = layout->total_bytes + alignment;
    int status = backend->ops->allocate(&buffer.allocation, backend, bytes);
    if (status == KTRACE_OK)
        status = backend->ops->allocate(&buffer.counters, backend, counters_bytes(layout));
    if (status == KTRACE_OK) {
        buffer.main_rings = (buffer.allocation + alignment - 1) / alignment * alignment;
        buffer.lane_rings = buffer.main_rings + layout->lane_rings_offset;
        buffer.headers = buffer.main_rings + layout->headers_offset;
        status = clear_half(&buffer, backend, 0, layout->regions_per_partition);
    }
    if (status == KTRACE_OK)
        status = backend->ops->clear(backend, buffer.counters, counters_bytes(layout));
    if (status < 0) {
        kt_buffer_free(&buffer, backend);
        return status;
    }
    *out = buffer;
    return KTRACE_OK;
}

void kt_buffer_free(struct kt_buffer *buffer, struct kt_backend *backend)
{
    if (buffer->allocation)
        backend->ops->release(backend, buffer->allocation);
    if (buffer->counters)
        backend->ops->release(backend, buffer->counters);
    *buffer = (struct kt_buffer){0};
}

static struct kt_usage usage_of(const struct ktrace_counters *counters, const struct kt_buffer *buffer)
{
    struct kt_usage usage = {.half = buffer->half};
    for (uint32_t i = 0; i < buffer->layout.partitions; i++) {
        const struct ktrace_counter_line *line = &counters->partition[i];
        const uint64_t claims = line->claims & ~KTRACE_CLAIM_HALF, room = buffer->layout.regions_per_partition;
        const uint64_t given = claims < room ? claims : room;
        usage.waves_recorded += given;
        usage.waves_filtered += line->filtered;
        if (given > usage.rows)
            usage.rows = given;
    }
    return usage;
}

int kt_buffer_look(struct kt_usage *out, struct kt_backend *backend, const struct kt_buffer *buffer, int peek)
{
    struct ktrace_counters *counters = malloc(sizeof *counters);
    if (counters == NULL)
        return kt_fail_memory(sizeof *counters);
    const int status =
        backend->ops->to_host(backend, counters, buffer->counters, sizeof *counters, sizeof *counters, 1, peek);
    if (status == KTRACE_OK)
        *out = usage_of(counters, buffer);
    free(counters);
    return status;
}

/* Not as one step: what waves count in between is lost. */
static int exchange_by_host(struct kt_backend *backend, struct ktrace_counters *counters, uint64_t address,
                            uint64_t claims)
{
    struct ktrace_counters *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return kt_fail_memory(sizeof *fresh);
    for (uint32_t i = 0; i < KTRACE_MAX_PARTITIONS; i++)
        fresh->partition[i].claims = claims;
    int status = backend->ops->to_host(backend, counters, address, sizeof *counters, sizeof *counters, 1, 0);
    if (status == KTRACE_OK)
        status = backend->ops->to_device(backend, address, fresh, sizeof *fresh);
    free(fresh);
    return status;
}

int kt_buffer_turn(struct kt_usage *out, struct kt_backend *backend, struct kt_buffer *buffer)
{
    const uint32_t other = 1 - buffer->half;
    const uint64_t claims = other ? KTRACE_CLAIM_HALF : 0;
    struct ktrace_counters *counters = malloc(sizeof *counters);
    if (counters == NULL)
        return kt_fail_memory(sizeof *counters);
    int status = KTRACE_OK;
    if (!buffer->other_is_clean) {
        status = clear_half(buffer, backend, other, buffer->layout.regions_per_partition);
        buffer->other_is_clean = status == KTRACE_OK;
    }
    if (status == KTRACE_OK)
        status = backend->ops->exchange ? backend->ops->exchange(backend, counters, buffer->counters, claims)
                                        : KTRACE_ERROR_UNSUPPORTED;
    if (status == KTRACE_ERROR_UNSUPPORTED)
        status = exchange_by_host(backend, counters, buffer->counters, claims);
    if (status == KTRACE_OK) {
        *out = usage_of(counters, buffer);
        buffer->half = other;
        buffer->other_is_clean = 0;
    }
    free(counters);
    return status;
}

static uint64_t slots_of(uint32_t count_bytes)
{
    return count_bytes ? count_bytes / KTRACE_SLOT_BYTES - 1 : 0;
}

int kt_buffer_count_dropped(struct kt_usage *usage, struct kt_backend *backend, const struct kt_buffer *buffer,
                            int peek)
{
    struct ktrace_dropped shares[KTRACE_DROPPED_SHARES];
    uint32_t most_bytes[2] = {0, 0};
    const uint64_t bytes = dropped_bytes(&buffer->layout);
    const int status = backend->ops->to_host(backend, shares, dropped_of(buffer, usage->half), bytes, bytes, 1, peek);
    if (status < 0)
        return status;
    usage->waves_dropped = 0;
    for (uint32_t i = 0; i < dropped_shares(&buffer->layout); i++) {
        usage->waves_dropped += shares[i].waves;
        for (int kind = 0; kind < 2; kind++)
            if (shares[i].most_count_bytes[kind] > most_bytes[kind])
                most_bytes[kind] = shares[i].most_count_bytes[kind];
    }
    usage->most_main_slots = slots_of(most_bytes[0]);
    usage->most_lane_slots = slots_of(most_bytes[1]);
    return KTRACE_OK;
}

int kt_buffer_clear(struct kt_buffer *buffer, struct kt_backend *backend, const struct kt_usage *usage)
{
    const int status = clear_half(buffer, backend, usage->half, usage->rows);
    buffer->other_is_clean = status == KTRACE_OK;
    return status;
}
