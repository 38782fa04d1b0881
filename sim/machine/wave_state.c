/* The registers of a wave that starts: LLVM's AMDGPUUsage, "Initial Kernel Execution State". */
#include <string.h>

#include "bytes.h"
#include "internal.h"

/* User SGPRs, in hardware's order; returns how many the descriptor has. */
static uint32_t set_user_sgprs(struct sim_wave *wave, const struct sim_dispatch *dispatch)
{
    const struct descriptor *d = &dispatch->kernel->descriptor;
    uint64_t queue = dispatch->config.queue_address;
    const struct {
        int enabled;
        uint64_t value;
    } pairs[] = {{d->dispatch_pointer, dispatch->packet_address},
                 {d->queue_pointer, queue},
                 {d->kernarg_pointer, dispatch->kernarg_address},
                 {d->dispatch_id, dispatch->config.dispatch_id}};
    uint32_t next = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].enabled) {
            sim_set_sgpr64(wave, next, pairs[i].value);
            next += 2;
        }
    if (d->private_size)
        wave->sgpr[next++] = dispatch->scratch_lane_bytes;
    const unsigned char *arguments = (const unsigned char *)(uintptr_t)dispatch->kernarg_address;
    for (uint32_t i = 0; i < d->preload_dwords; i++)
        wave->sgpr[next++] = load_le32(arguments + 4 * (size_t)(d->preload_offset_dwords + i));
    return d->user_sgprs;
}

/* System SGPRs follow. With architected flat scratch there is no offset of the wave's private memory among them. */
static void set_system_sgprs(struct sim_wave *wave, const struct sim_dispatch *dispatch, uint32_t next)
{
    const struct descriptor *d = &dispatch->kernel->descriptor;
    const struct sim_workgroup *workgroup = wave->workgroup;
    for (int i = 0; i < 3; i++)
        if (d->workgroup_id[i])
            wave->sgpr[next++] = workgroup->id[i];
    /* {first wave, 14 bits: 0, ordered append term: 0, waves of the workgroup} */
    if (d->workgroup_info)
        wave->sgpr[next] = (uint32_t)(wave->index == 0) << 31 | workgroup->wave_count;
}

/* v0 = x | y << 10 | z << 20, of those that the descriptor asks for; and EXEC, the lanes that have a workitem. */
static void set_lanes(struct sim_wave *wave, uint32_t workitem_ids)
{
    const uint32_t *items = wave->workgroup->items;
    uint32_t all = items[0] * items[1] * items[2];
    uint64_t exec = 0;
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        uint32_t flat = wave->index * SIM_LANES + lane;
        if (flat >= all)
            break;
        uint32_t x = flat % items[0], y = flat / items[0] % items[1], z = flat / items[0] / items[1];
        wave->vgpr[0][lane] = x | (workitem_ids > 1 ? y << 10 : 0) | (workitem_ids > 2 ? z << 20 : 0);
        exec |= 1ull << lane;
    }
    sim_set_sgpr64(wave, SIM_EXEC_LO, exec);
}

static void fill(uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        words[i] = SIM_UNDEFINED;
}

void wave_state_init(struct resident *resident, const struct sim_dispatch *dispatch)
{
    struct sim_wave *wave = &resident->wave;
    const struct descriptor *d = &dispatch->kernel->descriptor;
    resident->sleep_cycles = 0;
    resident->vector_memory.count = resident->scalar_and_lds.count = 0;
    wave->pc = d->entry;
    wave->mode = d->mode;
    wave->status = 1u << 16 | (uint32_t)(wave->workgroup->wave_count > 1) << 11; /* VALID, IN_TG */
    wave->scc = 0;
    wave->state = SIM_WAVE_READY;
    wave->faulted = 0;
    wave->vgpr_limit = d->accumulation_offset;
    wave->acc_limit = d->vgprs - d->accumulation_offset;
    wave->sgpr_limit = d->sgprs < SIM_SGPR_LAST + 1 ? d->sgprs : SIM_SGPR_LAST + 1;
    wave->lds = wave->workgroup->lds;
    wave->lds_bytes = dispatch->lds_bytes;
    wave->scratch_lane_bytes = dispatch->scratch_lane_bytes;
    fill(wave->sgpr, sizeof wave->sgpr / sizeof *wave->sgpr);
    fill(wave->vgpr[0], (size_t)wave->vgpr_limit * SIM_LANES);
    fill(wave->vgpr[256], (size_t)wave->acc_limit * SIM_LANES);
    fill((uint32_t *)(void *)wave->scratch, (size_t)wave->scratch_lane_bytes * SIM_LANES / 4);
    sim_set_sgpr64(wave, SIM_FLAT_SCRATCH_LO, (uintptr_t)wave->scratch);
    set_system_sgprs(wave, dispatch, set_user_sgprs(wave, dispatch));
    set_lanes(wave, d->workitem_ids);
}
