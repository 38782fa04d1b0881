#include "stub_machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "machine/machine.h"

enum sim_chip stub_chip = SIM_GFX942;
char stub_fault[512];
unsigned stub_barriers, stub_ends, stub_sleep_cycles;

#define RANGES 8
static struct {
    uint64_t address, bytes;
    int writable;
} ranges[RANGES];
static size_t range_count;

void stub_machine_reset(void)
{
    range_count = 0;
    stub_fault[0] = '\0';
    stub_barriers = stub_ends = stub_sleep_cycles = 0;
}

void sim_fault(struct sim_wave *wave, const char *format, ...)
{
    if (wave->faulted)
        return;
    wave->faulted = 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(stub_fault, sizeof stub_fault, format, arguments);
    va_end(arguments);
}

void stub_allow_memory(void *address, uint64_t bytes, int writable)
{
    if (range_count == RANGES)
        abort(); /* a test with more ranges needs a larger table */
    ranges[range_count].address = (uintptr_t)address;
    ranges[range_count].bytes = bytes;
    ranges[range_count++].writable = writable;
}

static int holds(size_t range, uint64_t address, uint64_t bytes)
{
    return address >= ranges[range].address && bytes <= ranges[range].bytes &&
           address - ranges[range].address <= ranges[range].bytes - bytes;
}

int sim_memory_range(void **base, uint64_t *bytes, const struct sim_machine *machine, const void *address)
{
    (void)machine;
    for (size_t i = 0; i < range_count; i++) {
        if (holds(i, (uintptr_t)address, 1)) {
            *base = (void *)(uintptr_t)ranges[i].address;
            *bytes = ranges[i].bytes;
            return 0;
        }
    }
    return -1;
}

void *sim_memory(struct sim_wave *wave, uint64_t address, uint32_t bytes, int is_write)
{
    for (size_t i = 0; i < range_count; i++)
        if (holds(i, address, bytes) && (!is_write || ranges[i].writable))
            return (void *)(uintptr_t)address;
    if (range_count == 0)
        return (void *)(uintptr_t)address;
    sim_fault(wave, "no memory: %u bytes at 0x%llx to %s", bytes, (unsigned long long)address,
              is_write ? "write" : "read");
    return NULL;
}

void *sim_flat_memory(struct sim_wave *wave, uint32_t lane, uint64_t address, uint32_t bytes, int is_write)
{
    if (address >> 32 == SIM_SHARED_APERTURE >> 32 && (uint32_t)address + bytes <= wave->lds_bytes)
        return wave->lds + (uint32_t)address;
    if (address >> 32 == SIM_PRIVATE_APERTURE >> 32 && (uint32_t)address + bytes <= wave->scratch_lane_bytes)
        return wave->scratch + (uint64_t)lane * wave->scratch_lane_bytes + (uint32_t)address;
    return sim_memory(wave, address, bytes, is_write);
}

uint64_t sim_realtime_ticks(const struct sim_wave *wave)
{
    return wave->now_cycle / 84 * 4;
}
uint64_t sim_core_ticks(const struct sim_wave *wave)
{
    return wave->now_cycle;
}

void sim_wave_barrier(struct sim_wave *wave)
{
    (void)wave;
    stub_barriers++;
}
void sim_wave_end(struct sim_wave *wave)
{
    (void)wave;
    stub_ends++;
}
void sim_wave_sleep(struct sim_wave *wave, uint32_t cycles)
{
    (void)wave;
    stub_sleep_cycles += cycles;
}

/* HW_ID is 0x1234, nothing else is modelled. */
int sim_hardware_register(const struct sim_wave *wave, unsigned id, uint32_t *value)
{
    (void)wave;
    *value = 0x1234;
    return id == 4 ? 0 : -1;
}

const struct sim_chip_config *sim_machine_config(const struct sim_machine *machine)
{
    static struct sim_chip_config config;
    (void)machine;
    config.chip = stub_chip;
    return &config;
}
