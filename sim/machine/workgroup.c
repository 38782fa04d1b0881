/* Workgroups and their waves, from the start to the last wave's end. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "module.h"

/* ---- Numbers ------------------------------------------------------------------------------------------------------------ */

void workgroup_id(uint32_t id[3], const struct sim_dispatch *dispatch, uint64_t linear_id)
{
    const uint32_t *grid = dispatch->config.grid;
    id[0] = (uint32_t)(linear_id % grid[0]);
    id[1] = (uint32_t)(linear_id / grid[0] % grid[1]);
    id[2] = (uint32_t)(linear_id / grid[0] / grid[1]);
}

void workgroup_items(uint32_t items[3], const struct sim_dispatch *dispatch, const uint32_t id[3])
{
    const struct sim_dispatch_config *config = &dispatch->config;
    for (int i = 0; i < 3; i++)
        items[i] = id[i] == config->grid[i] - 1 ? config->last_block[i] : config->block[i];
}

uint32_t workgroup_wave_count(const uint32_t items[3])
{
    return (items[0] * items[1] * items[2] + SIM_LANES - 1) / SIM_LANES;
}

/* ---- Start ---------------------------------------------------------------------------------------------------------------- */

static int start_wave(struct sim_workgroup *workgroup, struct simd *simd, uint32_t index)
{
    const struct sim_dispatch *dispatch = workgroup->dispatch;
    uint32_t slot = 0;
    while (simd->residents[slot]->wave.workgroup)
        slot++;
    struct resident *resident = simd->residents[slot];
    unsigned char *scratch = NULL;
    if (dispatch->scratch_lane_bytes && !(scratch = malloc((size_t)SIM_LANES * dispatch->scratch_lane_bytes)))
        return sim_fail("the host has no memory for the private memory of a wave: %u bytes a lane",
                        dispatch->scratch_lane_bytes);
    resident->wave.workgroup = workgroup;
    resident->wave.index = index;
    resident->wave.scratch = scratch;
    wave_state_init(resident, dispatch);
    resident->code = module_code(dispatch->kernel->module, resident->wave.pc);
    simd->vgprs_free -= dispatch->kernel->descriptor.vgprs;
    simd->sgprs_free -= dispatch->kernel->descriptor.sgprs;
    simd->slots_free--;
    simd->ready[slot] = dispatch->machine->now;
    workgroup->waves[index] = resident;
    workgroup->live++;
    simd_wake(dispatch->machine, simd);
    return 0;
}

int workgroup_start(struct sim_dispatch *dispatch, struct cu *cu, struct simd *const *simds, uint32_t waves,
                    uint64_t linear_id, uint32_t lds_allocated)
{
    struct sim_workgroup *workgroup = calloc(1, sizeof *workgroup);
    if (!workgroup)
        return sim_fail("the host has no memory for a workgroup");
    *workgroup =
        (struct sim_workgroup){.dispatch = dispatch, .cu = cu, .wave_count = waves, .lds_allocated = lds_allocated};
    workgroup_id(workgroup->id, dispatch, linear_id);
    workgroup_items(workgroup->items, dispatch, workgroup->id);
    if (dispatch->lds_bytes && !(workgroup->lds = malloc(((size_t)dispatch->lds_bytes + 3) & ~3ull))) {
        free(workgroup);
        return sim_fail("the host has no memory for %u bytes of LDS", dispatch->lds_bytes);
    }
    for (uint32_t i = 0; i < dispatch->lds_bytes; i += 4)
        memcpy(workgroup->lds + i, &(uint32_t){SIM_UNDEFINED}, 4);
    cu->lds_free -= lds_allocated;
    for (uint32_t i = 0; i < waves; i++)
        if (start_wave(workgroup, simds[i], i)) {
            if (!i)
                workgroup_free(workgroup);
            return -1; /* the dispatch fails, and with it the waves that started */
        }
    return 0;
}

/* ---- End ------------------------------------------------------------------------------------------------------------------ */

void workgroup_free(struct sim_workgroup *workgroup)
{
    workgroup->cu->lds_free += workgroup->lds_allocated;
    free(workgroup->lds);
    free(workgroup);
}

void wave_release(struct resident *resident)
{
    struct sim_workgroup *workgroup = resident->wave.workgroup;
    const struct descriptor *descriptor = &workgroup->dispatch->kernel->descriptor;
    struct simd *simd = resident->simd;
    workgroup->waves[resident->wave.index] = NULL;
    workgroup->live--;
    free(resident->wave.scratch);
    resident->wave.scratch = NULL;
    resident->wave.workgroup = NULL;
    simd->ready[resident->wave.place.slot] = SIM_NEVER;
    simd->vgprs_free += descriptor->vgprs;
    simd->sgprs_free += descriptor->sgprs;
    simd->slots_free++;
}

/* Every live wave has arrived: they go on. */
static void open_barrier(struct sim_workgroup *workgroup, uint64_t cycle)
{
    workgroup->at_barrier = 0;
    for (uint32_t i = 0; i < workgroup->wave_count; i++) {
        struct resident *resident = workgroup->waves[i];
        if (!resident)
            continue;
        resident->wave.state = SIM_WAVE_READY;
        resident->simd->ready[resident->wave.place.slot] = cycle + cost_barrier_cycles();
        simd_wake(workgroup->dispatch->machine, resident->simd);
    }
}

void wave_arrive_at_barrier(struct resident *resident, uint64_t cycle)
{
    struct sim_workgroup *workgroup = resident->wave.workgroup;
    resident->simd->ready[resident->wave.place.slot] = SIM_NEVER;
    if (++workgroup->at_barrier == workgroup->live)
        open_barrier(workgroup, cycle);
}

void wave_leave(struct resident *resident, uint64_t cycle)
{
    struct sim_workgroup *workgroup = resident->wave.workgroup;
    struct sim_dispatch *dispatch = workgroup->dispatch;
    struct sim_machine *machine = dispatch->machine;
    struct xcc *xcc = &machine->xccs[workgroup->cu->xcc];
    uint64_t done = cost_all_done(resident, cycle);
    if (done > dispatch->end_cycle)
        dispatch->end_cycle = done;
    wave_release(resident);
    xcc_wake(machine, xcc, cycle);
    if (workgroup->live) {
        if (workgroup->at_barrier == workgroup->live)
            open_barrier(workgroup, cycle);
        return;
    }
    workgroup_free(workgroup);
    dispatch_workgroup_ended(dispatch);
}

/* ---- What waves ask for: issue() in schedule.c looks at what they say here ------------------------------------------------- */

void sim_wave_barrier(struct sim_wave *wave)
{
    wave->state = SIM_WAVE_AT_BARRIER;
}

void sim_wave_end(struct sim_wave *wave)
{
    wave->state = SIM_WAVE_ENDED;
}

void sim_wave_sleep(struct sim_wave *wave, uint32_t cycles)
{
    resident_of(wave)->sleep_cycles = cycles;
}
