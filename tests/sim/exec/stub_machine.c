#include "stub_machine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "machine/machine.h"

struct stub_machine stub;

#define RANGES 8
static struct {
    uintptr_t address;
    uint64_t bytes;
    int writable;
} ranges[RANGES];
static size_t range_count;

void stub_reset(void)
{
    memset(&stub, 0, sizeof stub);
    range_count = 0;
    struct sim_wave *wave = &stub.wave;
    wave->mode = 0xF0;
    wave->vgpr = stub.vgpr;
    wave->vgpr_limit = STUB_VGPRS;
    wave->acc_limit = STUB_ACCS;
    wave->sgpr_limit = STUB_SGPRS;
    wave->lds = stub.lds;
    wave->lds_bytes = sizeof stub.lds;
    wave->scratch = stub.scratch;
    wave->scratch_lane_bytes = STUB_SCRATCH_LANE_BYTES;
    wave->pc = 0x1000;
    sim_set_sgpr64(wave, SIM_EXEC_LO, UINT64_MAX);
}

void stub_clear_fault(void)
{
    stub.wave.faulted = 0;
    stub.fault[0] = '\0';
}

void stub_allow(void *address, uint64_t bytes, int writable)
{
    assert_true(range_count < RANGES);
    ranges[range_count].address = (uintptr_t)address;
    ranges[range_count].bytes = bytes;
    ranges[range_count++].writable = writable;
}

struct sim_instruction stub_instruction(const char *name)
{
    size_t count;
    const struct sim_opcode *opcodes = sim_opcodes(&count);
    struct sim_instruction instruction = {
        .dst = SIM_NO_OPERAND, .sdst = SIM_NO_OPERAND, .src = {SIM_NO_OPERAND, SIM_NO_OPERAND, SIM_NO_OPERAND}};
    for (size_t i = 0; i < count && !instruction.opcode; i++)
        if (strcmp(opcodes[i].name, name) == 0)
            instruction.opcode = &opcodes[i];
    if (!instruction.opcode)
        fail_msg("the table has no opcode %s", name);
    instruction.execute = sim_bind(instruction.opcode);
    if (!instruction.execute)
        fail_msg("%s is not bound", name);
    instruction.bytes = 4;
    /* FLAT's opcode numbers begin with the segment. */
    if (instruction.opcode->format == SIM_FLAT)
        instruction.segment = (uint8_t)(instruction.opcode->code >> 7);
    return instruction;
}

void stub_execute(const struct sim_instruction *instruction)
{
    instruction->execute(&stub.wave, instruction);
}

/* ---- wave.h ------------------------------------------------------------------------------------------------------ */

void sim_fault(struct sim_wave *wave, const char *format, ...)
{
    if (wave->faulted)
        return;
    wave->faulted = 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(stub.fault, sizeof stub.fault, format, arguments);
    va_end(arguments);
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
            *base = (void *)ranges[i].address;
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
    sim_fault(wave, "no memory: %" PRIu32 " bytes at 0x%" PRIx64 " to %s", bytes, address, is_write ? "write" : "read");
    return NULL;
}

void *sim_flat_memory(struct sim_wave *wave, uint32_t lane, uint64_t address, uint32_t bytes, int is_write)
{
    const uint64_t offset = address & UINT32_MAX;
    if (address >> 32 == SIM_SHARED_APERTURE >> 32 && offset + bytes <= wave->lds_bytes)
        return wave->lds + offset;
    if (address >> 32 == SIM_PRIVATE_APERTURE >> 32 && offset + bytes <= wave->scratch_lane_bytes)
        return wave->scratch + (size_t)lane * wave->scratch_lane_bytes + offset;
    return sim_memory(wave, address, bytes, is_write);
}

uint64_t sim_realtime_ticks(const struct sim_wave *wave)
{
    (void)wave;
    return stub.realtime_ticks;
}
uint64_t sim_core_ticks(const struct sim_wave *wave)
{
    (void)wave;
    return stub.core_ticks;
}

void sim_wave_barrier(struct sim_wave *wave)
{
    wave->state = SIM_WAVE_AT_BARRIER;
    stub.barriers++;
}
void sim_wave_end(struct sim_wave *wave)
{
    wave->state = SIM_WAVE_ENDED;
    stub.ends++;
}
void sim_wave_sleep(struct sim_wave *wave, uint32_t cycles)
{
    (void)wave;
    stub.slept_cycles += cycles;
}

/* HW_ID alone. */
int sim_hardware_register(const struct sim_wave *wave, unsigned id, uint32_t *value)
{
    (void)wave;
    *value = 0x12345678;
    return id == 4 ? 0 : -1;
}
