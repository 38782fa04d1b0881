#include "synthetic.h"

#include "build_snapshot.h"

enum { SMS = 132, WAVES_OF_WORKGROUP = 4, WORKGROUPS_OF_SM = 4, TILES = 8 };

struct sites {
    uint32_t kernel, prologue, mainloop, tile, stop, epilogue, pop, mark;
};

static uint64_t random_below(uint32_t *state, uint32_t limit)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % limit;
}

/* Returns its end. */
static uint64_t make_wave(struct build *build, const struct sites *sites, const struct build_wave *options,
                          const struct synthetic *what, uint32_t *random)
{
    const uint32_t wave = build_wave(build, options);
    uint64_t clock = options->start_clock + 20;
    build_event(build, wave, 0, clock, sites->prologue);
    build_event(build, wave, 0, clock += 300 + random_below(random, 60), sites->pop);
    build_event(build, wave, 0, clock += 10, sites->mainloop);
    for (uint32_t tile = 0; tile < TILES; tile++) {
        const uint64_t ticks = 180 + random_below(random, 40);
        const uint32_t token = build_payload(build, wave, 0, clock += 4, sites->tile, tile);
        build_stop(build, wave, 0, clock += (uint64_t)((double)ticks * (1 + what->percent / 100)), sites->stop, token);
    }
    build_event(build, wave, 0, clock += 4, sites->pop);
    if (!what->quiet) {
        build_event(build, wave, 0, clock += 10, sites->mark);
        build_event(build, wave, 0, clock += 10, sites->epilogue);
        build_event(build, wave, 0, clock += 200 + random_below(random, 100), sites->pop);
    }
    build_end(build, wave, clock += 20);
    return clock;
}

static struct sites make_sites(struct build *build, const char *kernel)
{
    const uint32_t module = build_module(build, 0x140);
    return (struct sites){
        .kernel = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, kernel),
        .prologue = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "prologue"),
        .mainloop = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "mainloop"),
        .tile = build_site(build, module, KTRACE_KIND_START, KTRACE_PAYLOAD_UINT32, "k tile"),
        .stop = build_site(build, module, KTRACE_KIND_STOP, KTRACE_PAYLOAD_NONE, ""),
        .epilogue = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "epilogue"),
        .pop = build_site(build, module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, ""),
        .mark = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "stored"),
    };
}

struct kt_snapshot *synthetic_snapshot(const struct synthetic *what)
{
    struct build *build = build_begin(64, 16);
    const struct sites sites = make_sites(build, what->kernel);
    uint32_t random = what->seed;
    const uint32_t each =
        (what->waves / what->launches + WAVES_OF_WORKGROUP - 1) / WAVES_OF_WORKGROUP * WAVES_OF_WORKGROUP;
    uint64_t begin = 4000;
    for (uint32_t launch = 0, made = 0; launch < what->launches; launch++) {
        const uint32_t waves = launch + 1 < what->launches ? each : what->waves - made;
        const uint32_t workgroups = (waves + WAVES_OF_WORKGROUP - 1) / WAVES_OF_WORKGROUP;
        uint64_t free_from[SMS * WORKGROUPS_OF_SM], last = begin;
        for (uint32_t i = 0; i < SMS * WORKGROUPS_OF_SM; i++)
            free_from[i] = begin + i % SMS * 3;
        for (uint32_t i = 0; i < waves; i++, made++) {
            const uint32_t workgroup = i / WAVES_OF_WORKGROUP, slot = workgroup % (SMS * WORKGROUPS_OF_SM);
            const struct build_wave options = {.kernel = sites.kernel,
                                               .grid_id = 1 + launch,
                                               .grid = {workgroups, 1, 1},
                                               .block = {32 * WAVES_OF_WORKGROUP, 1, 1},
                                               .workgroup = {workgroup, 0, 0},
                                               .wave = (uint16_t)(i % WAVES_OF_WORKGROUP),
                                               .place = slot % SMS,
                                               .start_clock = free_from[slot]};
            const uint64_t end = make_wave(build, &sites, &options, what, &random);
            if (i % WAVES_OF_WORKGROUP == WAVES_OF_WORKGROUP - 1)
                free_from[slot] = end + 100;
            last = end > last ? end : last;
        }
        begin = last + 3000;
    }
    struct kt_snapshot *snapshot = build_finish(build);
    snapshot->devices[0].places = SMS;
    return snapshot;
}
