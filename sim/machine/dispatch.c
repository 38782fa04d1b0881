#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* A wave's private memory has at most 8191 KiB (LLVM, GCNSubtarget::getMaxWaveScratchSize). */
#define MAX_SCRATCH_LANE_BYTES (8191u * 1024 / SIM_LANES)
/* Beyond any simulation, and far from where cycles wrap. */
#define MAX_CYCLE (1ull << 50)
/* HIP gives kernels with a stack of unknown depth a limit too (hipLimitStackSize); this one is chosen. */
#define DYNAMIC_STACK_BYTES 4096

/* ---- Checks --------------------------------------------------------------------------------------------------------------- */

static int check_sizes(const struct sim_dispatch_config *config)
{
    const struct sim_kernel *kernel = config->kernel;
    const uint32_t *grid = config->grid, *block = config->block, *required = kernel->required_workgroup;
    uint64_t items = 1;
    for (int i = 0; i < 3; i++) {
        if (!grid[i] || !block[i])
            return sim_fail(
                "kernel '%s' is launched with a grid of %u x %u x %u workgroups of %u x %u x %u workitems: no "
                "dimension may be 0",
                kernel->name, grid[0], grid[1], grid[2], block[0], block[1], block[2]);
        if (!config->last_block[i] || config->last_block[i] > block[i])
            return sim_fail("the last workgroup in dimension %d has %u workitems, and a full one %u", i,
                            config->last_block[i], block[i]);
        if ((uint64_t)grid[i] * block[i] > UINT32_MAX)
            return sim_fail("kernel '%s' is launched with %u workgroups of %u workitems in dimension %d: more than "
                            "2^32 - 1 workitems",
                            kernel->name, grid[i], block[i], i);
        items *= block[i];
        if (items > SIM_MAX_WORKGROUP_ITEMS)
            return sim_fail("kernel '%s' is launched with workgroups of %u x %u x %u workitems: this chip takes %d",
                            kernel->name, block[0], block[1], block[2], SIM_MAX_WORKGROUP_ITEMS);
    }
    if (kernel->facts.max_workgroup_size && items > kernel->facts.max_workgroup_size)
        return sim_fail("kernel '%s' is launched with workgroups of %" PRIu64
                        " workitems and was compiled for %u at most: "
                        "compile it with __launch_bounds__ or amdgpu_flat_work_group_size",
                        kernel->name, items, kernel->facts.max_workgroup_size);
    if (required[0] && memcmp(required, block, sizeof kernel->required_workgroup))
        return sim_fail(
            "kernel '%s' is launched with workgroups of %u x %u x %u workitems and was compiled for %u x %u x %u",
            kernel->name, block[0], block[1], block[2], required[0], required[1], required[2]);
    if ((uint64_t)grid[0] * grid[1] > UINT64_MAX / grid[2])
        return sim_fail("kernel '%s' is launched with a grid of %u x %u x %u workgroups: too many", kernel->name,
                        grid[0], grid[1], grid[2]);
    return 0;
}

static int check(const struct sim_dispatch *dispatch)
{
    const struct sim_dispatch_config *config = &dispatch->config;
    const struct sim_kernel *kernel = config->kernel;
    const struct sim_machine *machine = dispatch->machine;
    if (check_sizes(config))
        return -1;
    if (kernel->module->machine != machine)
        return sim_fail("kernel '%s' was loaded into another device", kernel->name);
    if (dispatch->scratch_lane_bytes > MAX_SCRATCH_LANE_BYTES)
        return sim_fail("kernel '%s' needs %u bytes of private memory a workitem; %u is the most", kernel->name,
                        dispatch->scratch_lane_bytes, MAX_SCRATCH_LANE_BYTES);
    if ((uint64_t)kernel->descriptor.group_bytes + config->dynamic_lds_bytes > machine->lds_bytes_per_cu)
        return sim_fail("kernel '%s' needs %u bytes of LDS and is launched with %u more; a workgroup has at most %u",
                        kernel->name, kernel->descriptor.group_bytes, config->dynamic_lds_bytes,
                        machine->lds_bytes_per_cu);
    if (config->not_before_cycle > MAX_CYCLE)
        return sim_fail("a dispatch is to start at cycle %" PRIu64 "; %llu is the last", config->not_before_cycle,
                        MAX_CYCLE);
    if (!config->kernarg)
        for (uint32_t i = 0; i < kernel->facts.argument_count; i++)
            if (kernel->facts.arguments[i].kind != SIM_ARGUMENT_HIDDEN)
                return sim_fail("kernel '%s' has arguments, and none are given", kernel->name);
    return place_check(machine, workgroup_wave_count(config->block), &kernel->descriptor,
                       place_lds_allocated(machine, dispatch->lds_bytes), kernel->name);
}

/* ---- Start -------------------------------------------------------------------------------------------------------------------- */

static void append(struct sim_machine *machine, struct sim_dispatch *dispatch)
{
    struct sim_dispatch **link = &machine->dispatches;
    while (*link)
        link = &(*link)->next;
    *link = dispatch;
}

static void destroy(struct sim_dispatch *dispatch)
{
    if (dispatch->block.data)
        memory_remove_range(&dispatch->machine->memory, dispatch->packet_address);
    memory_unmap(&dispatch->block);
    free(dispatch->error);
    free(dispatch);
}

int sim_dispatch_start(struct sim_dispatch **out, struct sim_machine *machine, const struct sim_dispatch_config *config)
{
    struct sim_dispatch *dispatch = calloc(1, sizeof *dispatch);
    if (!dispatch)
        return sim_fail("the host has no memory for a dispatch");
    const struct descriptor *descriptor = &config->kernel->descriptor;
    uint64_t limit = machine->config.max_wave_instructions;
    *dispatch = (struct sim_dispatch){.machine = machine,
                                      .kernel = config->kernel,
                                      .config = *config,
                                      .lds_bytes = descriptor->group_bytes + config->dynamic_lds_bytes,
                                      .scratch_lane_bytes = descriptor->private_bytes,
                                      .instruction_limit = limit ? limit : UINT64_MAX,
                                      .workgroups = (uint64_t)config->grid[0] * config->grid[1] * config->grid[2]};
    if (descriptor->dynamic_stack && descriptor->private_bytes <= MAX_SCRATCH_LANE_BYTES)
        dispatch->scratch_lane_bytes += DYNAMIC_STACK_BYTES;
    event_init(&dispatch->agent.event);
    dispatch->agent.kind = EVENT_DISPATCH;
    if (!dispatch->config.queue_address)
        dispatch->config.queue_address = machine->queue_address;
    if (check(dispatch) || arguments_build(dispatch)) {
        destroy(dispatch);
        return -1;
    }
    for (uint32_t i = 0; i < machine->config.xccs; i++)
        dispatch->next_workgroup[i] = i;
    uint64_t start = config->not_before_cycle > machine->now ? config->not_before_cycle : machine->now;
    append(machine, dispatch);
    calendar_add(&machine->calendar, &dispatch->agent.event, start);
    *out = dispatch;
    return 0;
}

/* ---- End ------------------------------------------------------------------------------------------------------------------------ */

static void stop(struct sim_dispatch *dispatch, int state)
{
    struct sim_machine *machine = dispatch->machine;
    struct sim_dispatch **link = &machine->dispatches;
    while (*link != dispatch)
        link = &(*link)->next;
    *link = dispatch->next;
    dispatch->next = NULL;
    calendar_remove(&machine->calendar, &dispatch->agent.event);
    dispatch->state = state;
    dispatch->end_cycle = machine->now;
    machine->finished = 1;
}

/* Its waves vanish, and others take their room. */
static void discard_waves(struct sim_dispatch *dispatch)
{
    struct sim_machine *machine = dispatch->machine;
    for (size_t i = 0; i < machine->resident_count; i++) {
        struct resident *resident = &machine->residents[i];
        struct sim_workgroup *workgroup = resident->wave.workgroup;
        if (!workgroup || workgroup->dispatch != dispatch)
            continue;
        wave_release(resident);
        if (!workgroup->live)
            workgroup_free(workgroup);
        simd_wake(machine, resident->simd);
    }
    for (uint32_t i = 0; i < machine->config.xccs; i++)
        xcc_wake(machine, &machine->xccs[i], machine->now);
}

void dispatch_fail(struct sim_dispatch *dispatch, enum sim_failure failure, const char *sentence)
{
    dispatch->error = strdup(sentence);
    dispatch->failure = failure;
    discard_waves(dispatch);
    stop(dispatch, -1);
}

void dispatch_finish(struct sim_dispatch *dispatch)
{
    stop(dispatch, 1);
}

void dispatch_workgroup_ended(struct sim_dispatch *dispatch)
{
    struct sim_machine *machine = dispatch->machine;
    if (++dispatch->workgroups_ended < dispatch->workgroups)
        return;
    uint64_t end = dispatch->end_cycle > machine->now ? dispatch->end_cycle : machine->now;
    calendar_add(&machine->calendar, &dispatch->agent.event, end);
}

/* ---- Questions -------------------------------------------------------------------------------------------------------------------- */

int sim_dispatch_state(const struct sim_dispatch *dispatch)
{
    return dispatch->state;
}

const char *sim_dispatch_error(const struct sim_dispatch *dispatch)
{
    if (dispatch->state < 0 && !dispatch->error)
        return "the kernel failed, and the host had no memory for the sentence that says why";
    return dispatch->error ? dispatch->error : "";
}

enum sim_failure sim_dispatch_failure(const struct sim_dispatch *dispatch)
{
    return dispatch->failure;
}

uint64_t sim_dispatch_end_cycle(const struct sim_dispatch *dispatch)
{
    return dispatch->end_cycle;
}

void sim_dispatch_release(struct sim_dispatch *dispatch)
{
    if (!dispatch)
        return;
    if (!dispatch->state)
        dispatch_fail(dispatch, SIM_FAILURE_OTHER, "it was released while it ran");
    destroy(dispatch);
}
