#include <inttypes.h>
#include <stdlib.h>

#include "internal.h"

/* s_memrealtime counts at 100 MHz and shows multiples of 4 (measured on gfx942); both counters begin at these values, so that
 * nothing comes to rely on 0. */
#define REALTIME_START 0x0123456780ull
#define REALTIME_STEP 4
#define CORE_START 0x4000000ull

int sim_machine_create(struct sim_machine **out, const struct sim_chip_config *config)
{
    struct sim_machine *machine = calloc(1, sizeof *machine);
    if (!machine)
        return sim_fail("the host has no memory for a device");
    machine->config = *config;
    calendar_init(&machine->calendar);
    if (chip_build(machine) || sim_queue_create(&machine->queue_address, machine)) {
        sim_machine_destroy(machine);
        return -1;
    }
    *out = machine;
    return 0;
}

void sim_machine_destroy(struct sim_machine *machine)
{
    if (!machine)
        return;
    while (machine->dispatches)
        dispatch_fail(machine->dispatches, SIM_FAILURE_OTHER, "its device was destroyed while it ran");
    while (machine->modules)
        sim_module_unload(machine->modules);
    while (machine->queue_count)
        sim_queue_destroy(machine, (uintptr_t)machine->queues[0].data);
    memory_destroy(&machine->memory);
    chip_free(machine);
    free(machine);
}

const struct sim_chip_config *sim_machine_config(const struct sim_machine *machine)
{
    return &machine->config;
}

/* ---- Clocks ------------------------------------------------------------------------------------------------------------- */

uint64_t sim_cycle_ns(const struct sim_machine *machine, uint64_t cycle)
{
    uint64_t mhz = machine->config.core_mhz;
    return cycle / mhz * 1000 + cycle % mhz * 1000 / mhz;
}

uint64_t sim_cycle_realtime_ticks(const struct sim_machine *machine, uint64_t cycle)
{
    uint64_t ticks = REALTIME_START + cycle / (machine->config.core_mhz / 100);
    return ticks / REALTIME_STEP * REALTIME_STEP;
}

uint64_t sim_realtime_ticks(const struct sim_wave *wave)
{
    return sim_cycle_realtime_ticks(wave->machine, wave->now_cycle);
}

uint64_t sim_core_ticks(const struct sim_wave *wave)
{
    return CORE_START + wave->now_cycle;
}
