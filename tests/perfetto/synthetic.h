/* synthetic.h - decoded traces made by hand: for tests of exporters, which then depend on no decoder.
 *
 * Call in order: site, kernel, then launch, its waves in order of place, workgroup and wave, and each wave's events in
 * order of time. Memory that runs out aborts: this is test code.
 */
#ifndef KT_TEST_SYNTHETIC_H
#define KT_TEST_SYNTHETIC_H

#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SYNTHETIC_SITES = 64, SYNTHETIC_KERNELS = 8, SYNTHETIC_PLACES = 256 };

struct synthetic {
    struct ktrace_trace trace; /* what the exporter is given: &s->trace */
    struct kt_snapshot snapshot;
    struct kt_module modules[2];
    struct kt_site sites[2][SYNTHETIC_SITES];
    struct kt_kernel kernels[SYNTHETIC_KERNELS];
    struct kt_place_clock place_clocks[SYNTHETIC_PLACES];
    uint64_t launch_capacity, wave_capacity, event_capacity;
};

static inline void *synthetic_grow(void *data, uint64_t count, uint64_t *capacity, size_t bytes)
{
    if (count < *capacity)
        return data;
    *capacity = *capacity ? *capacity * 2 : 64;
    data = realloc(data, (size_t)*capacity * bytes);
    if (!data)
        abort();
    return data;
}

static inline struct synthetic *synthetic_new(const char *name, uint32_t arch)
{
    struct synthetic *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    s->snapshot.name = strdup(name);
    s->snapshot.arch = arch;
    struct kt_device *device =
        kt_snapshot_add_device(&s->snapshot, arch == KTRACE_ARCH_NVIDIA ? "NVIDIA H200" : "synthetic device");
    if (!device)
        abort();
    device->places = 132;
    device->wall_tick_ns = 32;
    s->snapshot.modules = s->modules;
    s->snapshot.module_count = 2;
    for (int m = 0; m < 2; m++) {
        s->modules[m].number = (uint32_t)m;
        s->modules[m].sites = s->sites[m];
    }
    s->trace.snapshot = &s->snapshot;
    s->trace.kernels = s->kernels;
    s->trace.place_clocks = s->place_clocks;
    s->trace.origin_ns = 1700000000123456789u;
    s->trace.clock_hz = 1.98e9;
    return s;
}

static inline void synthetic_destroy(struct synthetic *s)
{
    free(s->snapshot.name);
    free(s->snapshot.devices[0].name);
    free(s->snapshot.devices);
    free(s->trace.launches);
    free(s->trace.waves);
    free(s->trace.events);
    free(s);
}

/* `name` must outlive the trace. */
static inline const struct kt_site *synthetic_site(struct synthetic *s, int module, uint8_t kind, uint8_t payload_type,
                                                   const char *name)
{
    uint32_t index = s->modules[module].site_count++;
    if (index >= SYNTHETIC_SITES)
        abort();
    struct kt_site *site = &s->sites[module][index];
    *site = (struct kt_site){.id = index * 16u, .line = index + 1, .kind = kind, .payload_type = payload_type};
    static char file[] = "kernel.cu";
    site->name = (char *)(uintptr_t)name;
    site->file = file;
    return site;
}

static inline uint32_t synthetic_kernel(struct synthetic *s, const char *name)
{
    s->kernels[s->trace.kernel_count].name = name;
    return s->trace.kernel_count++;
}

static inline struct kt_launch *synthetic_launch(struct synthetic *s, uint32_t kernel, uint32_t grid_x,
                                                 uint32_t block_x, int64_t begin_ps, int64_t end_ps)
{
    struct ktrace_trace *t = &s->trace;
    t->launches = synthetic_grow(t->launches, t->launch_count, &s->launch_capacity, sizeof *t->launches);
    struct kt_launch *launch = &t->launches[t->launch_count++];
    *launch = (struct kt_launch){.kernel = kernel,
                                 .grid_id = 4711,
                                 .grid = {grid_x, 1, 1},
                                 .block = {block_x, 1, 1},
                                 .begin_ps = begin_ps,
                                 .end_ps = end_ps,
                                 .first_wave = t->wave_count,
                                 .waves_launched = (uint64_t)grid_x * ((block_x + 31) / 32)};
    if (end_ps > t->duration_ps)
        t->duration_ps = end_ps;
    return launch;
}

static inline struct kt_wave *synthetic_wave(struct synthetic *s, uint32_t place, uint32_t workgroup_x, uint32_t wave,
                                             int64_t begin_ps, int64_t end_ps)
{
    struct ktrace_trace *t = &s->trace;
    t->waves = synthetic_grow(t->waves, t->wave_count, &s->wave_capacity, sizeof *t->waves);
    t->launches[t->launch_count - 1].wave_count++;
    struct kt_wave *added = &t->waves[t->wave_count++];
    *added = (struct kt_wave){.first_event = t->event_count,
                              .begin_ps = begin_ps,
                              .end_ps = end_ps,
                              .launch = (uint32_t)t->launch_count - 1,
                              .workgroup = {workgroup_x, 0, 0},
                              .wave = wave,
                              .place = place,
                              .lane_count = 32};
    return added;
}

/* An event of the newest wave; its index within the wave. */
static inline uint32_t synthetic_event(struct synthetic *s, int64_t time_ps, const struct kt_site *site)
{
    struct ktrace_trace *t = &s->trace;
    t->events = synthetic_grow(t->events, t->event_count, &s->event_capacity, sizeof *t->events);
    t->events[t->event_count++] = (struct kt_event){.time_ps = time_ps, .site = site, .partner = KT_NONE};
    t->launches[t->launch_count - 1].event_count++;
    return t->waves[t->wave_count - 1].event_count++;
}

static inline struct kt_event *synthetic_at(struct synthetic *s, uint32_t index)
{
    return &s->trace.events[s->trace.waves[s->trace.wave_count - 1].first_event + index];
}

static inline uint32_t synthetic_payload(struct synthetic *s, int64_t time_ps, const struct kt_site *site,
                                         uint64_t bits)
{
    uint32_t index = synthetic_event(s, time_ps, site);
    synthetic_at(s, index)->payload = bits;
    synthetic_at(s, index)->flags = KT_EVENT_PAYLOAD;
    return index;
}

static inline void synthetic_pair(struct synthetic *s, uint32_t begin, uint32_t end, uint16_t track)
{
    synthetic_at(s, begin)->partner = end;
    synthetic_at(s, end)->partner = begin;
    synthetic_at(s, begin)->track = synthetic_at(s, end)->track = track;
    struct kt_wave *wave = &s->trace.waves[s->trace.wave_count - 1];
    if (track > wave->track_count)
        wave->track_count = track;
}

static inline void synthetic_unclosed(struct synthetic *s, uint32_t begin, uint16_t track)
{
    synthetic_at(s, begin)->flags |= KT_EVENT_UNCLOSED;
    synthetic_at(s, begin)->track = track;
    struct kt_wave *wave = &s->trace.waves[s->trace.wave_count - 1];
    if (track > wave->track_count)
        wave->track_count = track;
    s->trace.ranges_unclosed++;
}

static inline uint64_t synthetic_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline uint64_t synthetic_double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Place n of a device, as its hardware numbers it. */
static inline uint32_t synthetic_place(const struct synthetic *s, uint32_t n)
{
    return s->snapshot.arch == KTRACE_ARCH_AMDGCN ? n << 16 | 2u << 13 | 1u << 12 | n << 8 : n;
}

/* ---- A trace with every feature -------------------------------------------------------------------------------- */

static inline void synthetic_payload_wave(struct synthetic *s)
{
    const struct kt_site *of_bool = synthetic_site(s, 0, KTRACE_KIND_MARK, KTRACE_PAYLOAD_BOOL, "bool");
    const struct kt_site *of_int = synthetic_site(s, 0, KTRACE_KIND_MARK, KTRACE_PAYLOAD_INT64, "int");
    const struct kt_site *of_uint = synthetic_site(s, 0, KTRACE_KIND_MARK, KTRACE_PAYLOAD_UINT64, "uint");
    const struct kt_site *of_int32 = synthetic_site(s, 0, KTRACE_KIND_MARK, KTRACE_PAYLOAD_INT32, "int32");
    const struct kt_site *of_uint32 = synthetic_site(s, 0, KTRACE_KIND_MARK, KTRACE_PAYLOAD_UINT32, "uint32");
    const struct kt_site *of_float = synthetic_site(s, 0, KTRACE_KIND_MARK, KTRACE_PAYLOAD_FLOAT32, "float");
    const struct kt_site *of_double = synthetic_site(s, 0, KTRACE_KIND_MARK, KTRACE_PAYLOAD_FLOAT64, "double");
    int64_t t = 1000000;
    synthetic_payload(s, t += 1000, of_bool, 0);
    synthetic_payload(s, t += 1000, of_bool, 1);
    const int64_t integers[] = {0, 1, -1, INT64_MAX, INT64_MIN, -1234567890123};
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++)
        synthetic_payload(s, t += 1000, of_int, (uint64_t)integers[i]);
    const uint64_t naturals[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 63, 127, 128};
    for (size_t i = 0; i < sizeof naturals / sizeof naturals[0]; i++)
        synthetic_payload(s, t += 1000, of_uint, naturals[i]);
    const int32_t shorts[] = {0, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof shorts / sizeof shorts[0]; i++)
        synthetic_payload(s, t += 1000, of_int32, (uint64_t)(int64_t)shorts[i]);
    const uint32_t short_naturals[] = {0, 1, UINT32_MAX, (uint32_t)1 << 31};
    for (size_t i = 0; i < sizeof short_naturals / sizeof short_naturals[0]; i++)
        synthetic_payload(s, t += 1000, of_uint32, short_naturals[i]);
    /* nan, inf, -inf, -0, the smallest denormal, the largest number, and one with no short decimal form */
    const uint32_t floats[] = {0x7FC00000, 0x7F800000, 0xFF800000, 0x80000000, 0x00000001, 0x7F7FFFFF, 0x3DCCCCCD};
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
        synthetic_payload(s, t += 1000, of_float, floats[i]);
    const uint64_t doubles[] = {0x7FF8000000000000u, 0xFFF8000000000001u, 0x7FF0000000000000u, 0xFFF0000000000000u,
                                0x8000000000000000u, 0x0000000000000001u, 0x7FEFFFFFFFFFFFFFu, 0x3FB999999999999Au};
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++)
        synthetic_payload(s, t += 1000, of_double, doubles[i]);
    synthetic_event(s, t += 1000, of_int); /* a payload that is not there is not 0 */
}

static inline struct synthetic *synthetic_everything(uint32_t arch)
{
    struct synthetic *s = synthetic_new("every feature", arch);
    const struct kt_site *outer = synthetic_site(s, 0, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "main loop");
    const struct kt_site *inner = synthetic_site(s, 0, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_UINT64, "tile");
    const struct kt_site *inner_copy = synthetic_site(s, 0, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_UINT64, "tile");
    const struct kt_site *pop = synthetic_site(s, 0, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "");
    const struct kt_site *pop_with = synthetic_site(s, 0, KTRACE_KIND_POP, KTRACE_PAYLOAD_FLOAT32, "");
    const struct kt_site *mark = synthetic_site(s, 0, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "barrier \"\xC3\xBC\"");
    const struct kt_site *broken = synthetic_site(s, 0, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "not \xFF utf-8");
    const struct kt_site *start = synthetic_site(s, 1, KTRACE_KIND_START, KTRACE_PAYLOAD_NONE, "copy");
    const struct kt_site *stop = synthetic_site(s, 1, KTRACE_KIND_STOP, KTRACE_PAYLOAD_INT64, "copy");
    const struct kt_site *same = synthetic_site(s, 1, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "main loop");
    uint32_t gemm = synthetic_kernel(s, "gemm"), softmax = synthetic_kernel(s, "softmax");
    uint32_t a, b, c;

    synthetic_launch(s, gemm, 3, 64, 0, 9000000);
    /* Nested ranges, sub-nanosecond times, equal times, a range of no length, another lane. */
    synthetic_wave(s, synthetic_place(s, 3), 0, 0, 0, 9000000);
    a = synthetic_event(s, 100, outer);
    b = synthetic_payload(s, 400, inner, 7);
    synthetic_pair(s, b, synthetic_payload(s, 2600, pop_with, synthetic_float_bits(-0.0f)), 0);
    synthetic_at(s, synthetic_event(s, 2600, mark))->lane = 5;
    b = synthetic_payload(s, 2600, inner_copy, UINT64_MAX);
    synthetic_pair(s, b, synthetic_event(s, 2600, pop), 0);
    b = synthetic_event(s, 5000, same);
    synthetic_at(s, b)->lane = 9;
    c = synthetic_event(s, 7500, pop);
    synthetic_at(s, c)->lane = 9;
    synthetic_pair(s, b, c, 0);
    synthetic_event(s, 8000, broken);
    synthetic_pair(s, a, synthetic_event(s, 9000000, pop), 0);
    /* Tokens that overlap, a pushed range that does not nest, an end without a begin. */
    synthetic_wave(s, synthetic_place(s, 3), 0, 1, 50, 9000000);
    synthetic_at(s, synthetic_event(s, 1000, pop))->flags = KT_EVENT_UNMATCHED;
    s->trace.ends_unmatched++;
    a = synthetic_event(s, 2000, start);
    b = synthetic_event(s, 3000, start);
    c = synthetic_event(s, 3500, outer);
    synthetic_pair(s, a, synthetic_payload(s, 4000, stop, (uint64_t)-5), 1);
    synthetic_pair(s, b, synthetic_event(s, 5000, stop), 2);
    b = synthetic_event(s, 5500, inner);
    synthetic_pair(s, c, synthetic_event(s, 6000, pop), 0);
    synthetic_pair(s, b, synthetic_event(s, 7000, pop), 1);
    a = synthetic_event(s, 8000, start);
    synthetic_pair(s, a, synthetic_event(s, 8000, stop), 1);
    /* Unfinished: open ranges on every track, one of them begun by the last event. */
    struct kt_wave *wave = synthetic_wave(s, synthetic_place(s, 7), 1, 0, 100, 8000000);
    wave->unfinished = 1;
    wave->slots_lost = 12;
    synthetic_unclosed(s, synthetic_event(s, 1000000, outer), 0);
    b = synthetic_payload(s, 2000000, inner, 1);
    synthetic_pair(s, b, synthetic_event(s, 3000000, pop), 0);
    synthetic_unclosed(s, synthetic_event(s, 4000000, start), 1);
    synthetic_unclosed(s, synthetic_payload(s, 5000000, inner, 2), 0);
    synthetic_unclosed(s, synthetic_event(s, 8000000, start), 2);
    /* No event at all, and one only. */
    synthetic_wave(s, synthetic_place(s, 7), 1, 1, 200, 7000000);
    synthetic_wave(s, synthetic_place(s, 7), 2, 0, 300, 6000000);
    synthetic_event(s, 6000000, mark);

    synthetic_launch(s, softmax, 1, 32, 500000, 3000000);
    synthetic_wave(s, synthetic_place(s, 0), 0, 0, 500000, 3000000);
    synthetic_payload_wave(s);

    synthetic_launch(s, gemm, 3, 64, 20000000, 30000000)->occurrence = 1;
    synthetic_wave(s, synthetic_place(s, 3), 0, 0, 20000000, 30000000);
    a = synthetic_event(s, 20000499, same);
    synthetic_pair(s, a, synthetic_event(s, 29999500, pop), 0);

    s->trace.slots_lost = 12;
    s->trace.waves_unfinished = 1;
    s->snapshot.devices[0].waves_dropped = s->snapshot.waves_dropped = 3;
    s->snapshot.devices[0].waves_filtered = s->snapshot.waves_filtered = 400;
    s->snapshot.flags = KT_SNAPSHOT_PEEK;
    s->trace.clock_residual_ns = 1.5;
    static char warning[] = "3 waves found no room";
    s->trace.warning = warning;
    const uint32_t places[] = {0, 3, 7};
    for (uint32_t i = 0; i < 3; i++)
        s->place_clocks[s->trace.place_clock_count++] = (struct kt_place_clock){.place = synthetic_place(s, places[i]),
                                                                                .knot_count = 1,
                                                                                .anchor_count = 2 + i,
                                                                                .residual_ns = 0.5 * i,
                                                                                .uncertainty_ns = 16};
    return s;
}

/* ---- A large one ----------------------------------------------------------------------------------------------- */

/* `events` events in waves of `events_per_wave` (a multiple of 20), shaped like a software-pipelined GEMM main loop: per
 * iteration two nested ranges, a token range and a mark, `with_payload` giving some of them one. */
static inline struct synthetic *synthetic_large(uint64_t events, uint32_t events_per_wave, int with_payload)
{
    struct synthetic *s = synthetic_new("large", KTRACE_ARCH_NVIDIA);
    uint8_t type = with_payload ? KTRACE_PAYLOAD_UINT64 : KTRACE_PAYLOAD_NONE;
    const struct kt_site *outer = synthetic_site(s, 0, KTRACE_KIND_PUSH, type, "mainloop");
    const struct kt_site *inner = synthetic_site(s, 0, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "mma");
    const struct kt_site *epilogue = synthetic_site(s, 0, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "epilogue");
    const struct kt_site *pop = synthetic_site(s, 0, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "");
    const struct kt_site *mark = synthetic_site(s, 0, KTRACE_KIND_MARK, type, "barrier");
    const struct kt_site *start = synthetic_site(s, 0, KTRACE_KIND_START, KTRACE_PAYLOAD_NONE, "copy");
    const struct kt_site *stop = synthetic_site(s, 0, KTRACE_KIND_STOP, KTRACE_PAYLOAD_NONE, "copy");
    uint32_t kernel = synthetic_kernel(s, "gemm");
    uint64_t waves = events / events_per_wave;
    uint64_t random = 88172645463325252u;
    synthetic_launch(s, kernel, (uint32_t)((waves + 7) / 8), 256, 0, 0);
    for (uint64_t w = 0; w < waves; w++) {
        uint32_t workgroup = (uint32_t)(w / 8), places = (uint32_t)((waves + 7) / 8 + 131) / 132;
        int64_t t = (int64_t)(workgroup % places) * 1000000000 + 1000;
        synthetic_wave(s, workgroup / places, workgroup, (uint32_t)(w % 8), t - 1000, t);
        for (uint32_t i = 0; i < events_per_wave / 10; i++) {
            uint32_t pushed[3] = {0, 0, 0};
            for (int e = 0; e < 10; e++) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                t += (int64_t)(40 + random % 64 + (random >> 32) % 64 * (e % 3)) * 505; /* cycles of 1.98 GHz */
                switch (e) {
                case 0:
                    pushed[0] = with_payload ? synthetic_payload(s, t, outer, i) : synthetic_event(s, t, outer);
                    break;
                case 1: pushed[1] = synthetic_event(s, t, start); break;
                case 2: pushed[2] = synthetic_event(s, t, inner); break;
                case 3: synthetic_pair(s, pushed[2], synthetic_event(s, t, pop), 0); break;
                case 4: with_payload ? synthetic_payload(s, t, mark, random) : synthetic_event(s, t, mark); break;
                case 5: pushed[2] = synthetic_event(s, t, epilogue); break;
                case 6: synthetic_pair(s, pushed[2], synthetic_event(s, t, pop), 0); break;
                case 7: synthetic_pair(s, pushed[1], synthetic_event(s, t, stop), 1); break;
                case 8: synthetic_event(s, t, mark); break;
                default: synthetic_pair(s, pushed[0], synthetic_event(s, t, pop), 0); break;
                }
            }
        }
        s->trace.waves[s->trace.wave_count - 1].end_ps = t;
        if (t > s->trace.duration_ps)
            s->trace.launches[0].end_ps = s->trace.duration_ps = t;
    }
    return s;
}

#endif
