/* hostile_memory.h - bytes from anywhere become what a capture finds in device memory: waves as a kernel would leave them,
 * then stores that none would make, to headers, rings and counters. Whatever they are, a capture has to answer.
 *
 * Needs tests/unit/fake_device.c and fake_amdgcn.c. */
#ifndef HOSTILE_MEMORY_H
#define HOSTILE_MEMORY_H

#include "capture.h"
#include "fake_amdgcn.h"

#include <stdlib.h>
#include <string.h>

struct hostile_input {
    const uint8_t *data;
    size_t bytes;
};

/* Little-endian; zeros behind the end. */
static inline uint64_t hostile_take(struct hostile_input *input, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes && input->bytes; i++, input->bytes--)
        value |= (uint64_t)*input->data++ << 8 * i;
    return value;
}

enum { HOSTILE_WAVES = 4, HOSTILE_SITES = 9, HOSTILE_BUFFER_BYTES = 1 << 15 };

struct hostile_device {
    struct fake_device device;
    struct fake_module module;
    uint16_t sites[HOSTILE_SITES];
    struct fake_wave waves[HOSTILE_WAVES];
    int amdgcn; /* then these instead */
    struct fake_amdgcn amdgcn_module;
    struct fake_amdgcn_wave amdgcn_waves[HOSTILE_WAVES];
};

static inline void hostile_begin(struct hostile_device *hostile)
{
    static const uint8_t kinds[HOSTILE_SITES][2] = {
        {KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE}, {KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE},
        {KTRACE_KIND_MARK, KTRACE_PAYLOAD_UINT64}, {KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE},
        {KTRACE_KIND_PUSH, KTRACE_PAYLOAD_INT32},  {KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE},
        {KTRACE_KIND_START, KTRACE_PAYLOAD_NONE},  {KTRACE_KIND_STOP, KTRACE_PAYLOAD_FLOAT64},
        {KTRACE_KIND_NEXT, KTRACE_PAYLOAD_UINT32},
    };
    fake_device_init(&hostile->device);
    if (hostile->amdgcn) {
        hostile->device.arch = KTRACE_ARCH_AMDGCN;
        fake_amdgcn_init(&hostile->amdgcn_module, HOSTILE_SITES);
        for (uint32_t i = 0; i < HOSTILE_SITES; i++)
            fake_amdgcn_site(&hostile->amdgcn_module, kinds[i][0], kinds[i][1], "site\0hostile.hip");
        ktrace_register(&hostile->amdgcn_module.registration);
        return;
    }
    fake_module_init(&hostile->module, 0x140);
    for (uint32_t i = 0; i < HOSTILE_SITES; i++)
        hostile->sites[i] = fake_site(&hostile->module, kinds[i][0], kinds[i][1], "site\0hostile.cu");
    ktrace_register(&hostile->module.registration);
}

static inline void hostile_end(struct hostile_device *hostile)
{
    if (hostile->amdgcn) {
        ktrace_unregister(&hostile->amdgcn_module.registration);
        fake_amdgcn_free(&hostile->amdgcn_module);
    } else {
        ktrace_unregister(&hostile->module.registration);
        fake_module_free(&hostile->module);
    }
}

static inline void hostile_wave_begin(struct hostile_device *hostile, uint32_t i)
{
    const uint64_t clock = 1000 + i * 100;
    if (hostile->amdgcn)
        fake_amdgcn_begin(&hostile->amdgcn_waves[i], &hostile->amdgcn_module,
                          &(struct fake_amdgcn_launch){.grid = {HOSTILE_WAVES, 1, 1}}, i, 0, clock);
    else
        fake_wave_begin(&hostile->waves[i], &hostile->module, hostile->sites[0], i, HOSTILE_WAVES, 1, clock);
}

static inline void hostile_wave_end(struct hostile_device *hostile, uint32_t i)
{
    if (hostile->amdgcn)
        fake_amdgcn_end(&hostile->amdgcn_waves[i], 1 << 20);
    else
        fake_wave_end(&hostile->waves[i], 1 << 20);
}

/* `upper` half of the slot: 0, as it should be. */
static inline void hostile_amdgcn_event(struct fake_amdgcn_wave *wave, uint32_t what, uint32_t upper, uint64_t clock)
{
    const uint64_t payload = clock << 40 | upper;
    if (upper)
        fake_amdgcn_close(wave, what % HOSTILE_SITES, clock, upper, what & 1 ? &payload : NULL);
    else
        fake_amdgcn_event(wave, what % HOSTILE_SITES, clock, what & 1 ? &payload : NULL);
}

static inline void hostile_store(struct hostile_device *hostile, struct hostile_input *input)
{
    const struct ktrace_control *control =
        hostile->amdgcn ? &hostile->amdgcn_waves[0].control : &hostile->waves[0].control;
    const uint64_t overhang = hostile->amdgcn ? KTRACE_RING_OVERHANG_BYTES : 0;
    const uint32_t shares = hostile->amdgcn ? 1 : KTRACE_DROPPED_SHARES;
    const uint32_t regions = control->partitions * control->regions_per_partition;
    const uint64_t areas[4][2] = {
        {control->headers, (uint64_t)regions * sizeof(struct ktrace_wave_header)},
        {control->main_rings, regions * (control->main_ring_bytes + overhang)},
        {control->lane_rings, (uint64_t)regions * 31 * control->lane_ring_bytes},
        {control->counters, sizeof(struct ktrace_counters) + 2 * shares * sizeof(struct ktrace_dropped)},
    };
    const uint64_t operation = hostile_take(input, 1);
    const uint64_t *area = areas[hostile->amdgcn && (operation & 3) == 2 ? 1 : operation & 3]; /* no lane rings */
    const uint32_t who = operation >> 2 & (HOSTILE_WAVES - 1);
    if (operation >> 7) { /* an event as it should be, but at any time */
        const uint32_t what = (uint32_t)hostile_take(input, 1), lane = (uint32_t)hostile_take(input, 1);
        if (hostile->amdgcn)
            hostile_amdgcn_event(&hostile->amdgcn_waves[who], what, lane, hostile_take(input, 3));
        else
            fake_event(&hostile->waves[who], lane & 8 ? lane & 31 : 0, hostile->sites[what % HOSTILE_SITES],
                       hostile_take(input, 3));
    } else if (operation >> 6) { /* a value where one is expected */
        static const uint64_t values[] = {0, 1, 8, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF8, UINT64_MAX, INT64_MAX};
        const uint64_t offset = hostile_take(input, 2) * 8 % (area[1] - 7);
        const uint64_t which = hostile_take(input, 1), value = which & 8 ? hostile_take(input, 8) : values[which & 7];
        memcpy((void *)(uintptr_t)(area[0] + offset / 4 * 4), &value, which & 16 ? 8 : 4);
    } else { /* anything anywhere */
        const uint64_t offset = hostile_take(input, 3) % area[1], count = 1 + hostile_take(input, 1) % 64;
        for (uint64_t i = offset; i < offset + count && i < area[1]; i++)
            *(uint8_t *)(uintptr_t)(area[0] + i) = (uint8_t)hostile_take(input, 1);
    }
}

static inline void hostile_use(struct ktrace_trace *trace)
{
    char *text;
    void *exported;
    size_t exported_bytes;
    if (ktrace_trace_summary_json(&text, trace) == 0)
        free(text);
    if (ktrace_trace_export_memory(&exported, &exported_bytes, trace, "perfetto") == 0)
        free(exported);
    ktrace_trace_destroy(trace);
}

/* Returns whether the capture was not refused in the end. */
static inline int hostile_memory(const uint8_t *data, size_t bytes)
{
    struct hostile_input input = {data, bytes};
    struct hostile_device *hostile = calloc(1, sizeof *hostile);
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    const uint64_t how = hostile_take(&input, 2);
    if (!hostile)
        abort();
    hostile->amdgcn = how >> 13 & 1;
    hostile_begin(hostile);
    options.buffer_bytes = HOSTILE_BUFFER_BYTES;
    options.keep_last = how & 1;
    options.events_per_wave = 1u << (how >> 1 & 7);
    options.events_per_lane = 1u << (how >> 4 & 3);
    if (fake_begin(&capture, &hostile->device, &options) < 0)
        abort();
    for (uint32_t i = 0; i < HOSTILE_WAVES; i++)
        hostile_wave_begin(hostile, i);
    while (input.bytes > bytes / 2)
        hostile_store(hostile, &input);
    for (uint32_t i = 0; i < HOSTILE_WAVES; i++)
        if (how >> (8 + i) & 1)
            hostile_wave_end(hostile, i);
    while (input.bytes)
        hostile_store(hostile, &input);
    if (how >> 12 & 1 && ktrace_capture_peek(&trace, capture) == KTRACE_OK)
        hostile_use(trace);
    const int whole = ktrace_capture_end(&trace, capture) == KTRACE_OK;
    if (whole)
        hostile_use(trace);
    hostile_end(hostile);
    free(hostile);
    return whole;
}

#endif
