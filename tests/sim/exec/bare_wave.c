#include "bare_wave.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct bare_wave bare;

int bare_set_up(void **state)
{
    (void)state;
    stub_machine_reset();
    memset(&bare, 0, sizeof bare);
    struct sim_wave *wave = &bare.wave;
    wave->mode = 0xF0;
    wave->vgpr = bare.vgpr;
    wave->vgpr_limit = BARE_VGPRS;
    wave->acc_limit = BARE_ACCS;
    wave->sgpr_limit = BARE_SGPRS;
    wave->lds = bare.lds;
    wave->lds_bytes = sizeof bare.lds;
    wave->scratch = bare.scratch;
    wave->scratch_lane_bytes = BARE_SCRATCH_LANE_BYTES;
    wave->pc = 0x1000;
    sim_set_sgpr64(wave, SIM_EXEC_LO, UINT64_MAX);
    return 0;
}

void bare_clear_fault(void)
{
    bare.wave.faulted = 0;
    stub_fault[0] = '\0';
}

struct sim_instruction bare_instruction(const char *name)
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
    if (instruction.opcode->format == SIM_FLAT)
        instruction.segment = (uint8_t)(instruction.opcode->code >> 7);
    return instruction;
}

void bare_execute(const struct sim_instruction *instruction)
{
    instruction->execute(&bare.wave, instruction);
}

void bare_succeeds(const struct sim_instruction *instruction)
{
    bare_execute(instruction);
    if (bare.wave.faulted)
        fail_msg("%s: %s", instruction->opcode->name, stub_fault);
}

void bare_faults(const struct sim_instruction *instruction, const char *sentence)
{
    bare_clear_fault();
    bare_execute(instruction);
    assert_int_equal(bare.wave.faulted, 1);
    assert_string_equal(stub_fault, sentence);
    bare_clear_fault();
}
