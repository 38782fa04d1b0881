/* scalar_flow.c - branches, calls, hardware registers, messages, waits (SOPP, and what belongs to it of SOP1, SOP2, SOPC
 * and SOPK). wave->pc is already past the instruction, as the manuals' PC + 4 is. */
#include "scalar.h"

/* MODE (AMD's CDNA3 ISA manual, 3.5). */
#define MODE_REGISTER 1u
#define MODE_EXCEPTIONS (0x1FFu << 12)
#define MODE_SKIP_VECTORS (1u << 28)
#define MODE_CSP_SHIFT 29 /* conditional branch stack: entries in use */

#define STATUS_DEBUG_USER (1u << 20)
#define STATUS_DEBUG_SYSTEM (1u << 21)

/* ---- Branches and calls ------------------------------------------------------------------------------------------ */

static uint64_t target(const struct sim_wave *wave, const struct sim_instruction *instruction)
{
    return wave->pc + (uint64_t)((int64_t)instruction->immediate * 4);
}

#define BRANCH(name, condition) \
    SIM_SCALAR_FUNCTION(name) \
    { \
        if (condition) \
            wave->pc = target(wave, instruction); \
    }
BRANCH(s_branch, 1)
BRANCH(s_cbranch_scc0, wave->scc == 0)
BRANCH(s_cbranch_scc1, wave->scc != 0)
BRANCH(s_cbranch_vccz, sim_sgpr64(wave, SIM_VCC_LO) == 0)
BRANCH(s_cbranch_vccnz, sim_sgpr64(wave, SIM_VCC_LO) != 0)
BRANCH(s_cbranch_execz, sim_exec(wave) == 0)
BRANCH(s_cbranch_execnz, sim_exec(wave) != 0)
BRANCH(s_cbranch_cdbgsys, (wave->status & STATUS_DEBUG_SYSTEM) != 0)
BRANCH(s_cbranch_cdbguser, (wave->status & STATUS_DEBUG_USER) != 0)
BRANCH(s_cbranch_cdbgsys_or_user, (wave->status & (STATUS_DEBUG_SYSTEM | STATUS_DEBUG_USER)) != 0)
BRANCH(s_cbranch_cdbgsys_and_user, (~wave->status & (STATUS_DEBUG_SYSTEM | STATUS_DEBUG_USER)) == 0)

SIM_SCALAR_FUNCTION(s_getpc_b64)
{
    sim_scalar_write_u64(wave, instruction->dst, wave->pc);
}
/* The program counter has no two lowest bits. */
SIM_SCALAR_FUNCTION(s_setpc_b64)
{
    wave->pc = sim_scalar_read_u64(wave, instruction, instruction->src[0]) & ~3ull;
}
SIM_SCALAR_FUNCTION(s_swappc_b64)
{
    const uint64_t to = sim_scalar_read_u64(wave, instruction, instruction->src[0]) & ~3ull;
    sim_scalar_write_u64(wave, instruction->dst, wave->pc);
    wave->pc = to;
}
SIM_SCALAR_FUNCTION(s_call_b64)
{
    const uint64_t to = target(wave, instruction);
    sim_scalar_write_u64(wave, instruction->dst, wave->pc);
    wave->pc = to;
}

/* Forks: the side of a branch with fewer lanes runs first, the other one waits on a stack in SGPRs, {PC, EXEC} in four of
 * them from s[4 * CSP] on, until s_cbranch_join. */
static uint32_t stack_entries(const struct sim_wave *wave)
{
    return wave->mode >> MODE_CSP_SHIFT;
}
static void set_stack_entries(struct sim_wave *wave, uint32_t entries)
{
    wave->mode = (wave->mode & ((1u << MODE_CSP_SHIFT) - 1)) | entries << MODE_CSP_SHIFT;
}
static void fork_lanes(struct sim_wave *wave, uint64_t mask, uint64_t to)
{
    const uint64_t exec = sim_exec(wave), pass = mask & exec, fail = ~mask & exec;
    if (pass == exec) {
        wave->pc = to;
        return;
    }
    if (fail == exec)
        return;
    const unsigned slot = stack_entries(wave) * 4;
    if (!sim_has_sgprs(wave, slot, 4))
        return;
    const int fail_first = __builtin_popcountll(fail) < __builtin_popcountll(pass);
    sim_set_sgpr64(wave, slot, fail_first ? pass : fail);
    sim_set_sgpr64(wave, slot + 2, fail_first ? to : wave->pc);
    sim_set_sgpr64(wave, SIM_EXEC_LO, fail_first ? fail : pass);
    if (!fail_first)
        wave->pc = to;
    set_stack_entries(wave, stack_entries(wave) + 1);
}
SIM_SCALAR_FUNCTION(s_cbranch_g_fork)
{
    const uint64_t mask = sim_scalar_read_u64(wave, instruction, instruction->src[0]);
    fork_lanes(wave, mask, sim_scalar_read_u64(wave, instruction, instruction->src[1]) & ~3ull);
}
SIM_SCALAR_FUNCTION(s_cbranch_i_fork)
{
    fork_lanes(wave, sim_scalar_read_u64(wave, instruction, instruction->src[0]), target(wave, instruction));
}
SIM_SCALAR_FUNCTION(s_cbranch_join)
{
    const uint32_t saved = sim_scalar_read_u32(wave, instruction, instruction->src[0]), entries = stack_entries(wave);
    if (entries == saved)
        return;
    if (entries == 0) {
        sim_fault(wave, "s_cbranch_join finds an empty stack of forks, and was to leave %u entries", saved);
        return;
    }
    const unsigned slot = (entries - 1) * 4;
    if (!sim_has_sgprs(wave, slot, 4))
        return;
    set_stack_entries(wave, entries - 1);
    sim_set_sgpr64(wave, SIM_EXEC_LO, sim_sgpr64(wave, slot));
    wave->pc = sim_sgpr64(wave, slot + 2);
}

/* ---- Hardware registers ------------------------------------------------------------------------------------------ */

/* simm16: register 5:0, offset 10:6, size - 1 15:11. */
struct hardware_field {
    unsigned id, offset;
    uint32_t mask; /* of the field moved to bit 0 */
};
static struct hardware_field hardware_field(const struct sim_instruction *instruction)
{
    const unsigned bits = (uint16_t)instruction->immediate;
    return (struct hardware_field){bits & 63, bits >> 6 & 31, UINT32_MAX >> (31 - (bits >> 11))};
}

SIM_SCALAR_FUNCTION(s_getreg_b32)
{
    const struct hardware_field field = hardware_field(instruction);
    uint32_t value = wave->mode;
    if (field.id != MODE_REGISTER && sim_hardware_register(wave, field.id, &value) != 0) {
        sim_fault(wave, "s_getreg_b32 reads hardware register %u, which is not modelled", field.id);
        return;
    }
    sim_scalar_write_u32(wave, instruction->dst, value >> field.offset & field.mask);
}

static void set_hardware_register(struct sim_wave *wave, const struct sim_instruction *instruction, uint32_t value)
{
    const struct hardware_field field = hardware_field(instruction);
    if (field.id != MODE_REGISTER) {
        sim_fault(wave, "hardware register %u is written, and only MODE (1) can be written here", field.id);
        return;
    }
    const uint32_t mask = field.mask << field.offset;
    const uint32_t mode = (wave->mode & ~mask) | (value << field.offset & mask);
    if (mode & ~wave->mode & MODE_EXCEPTIONS)
        sim_fault(wave, "MODE 0x%08x enables floating-point exceptions, which are not modelled", mode);
    else if (mode & ~wave->mode & MODE_SKIP_VECTORS)
        sim_fault(wave, "MODE 0x%08x enables VSKIP, which is not modelled", mode);
    else
        wave->mode = mode;
}
SIM_SCALAR_FUNCTION(s_setreg_b32)
{
    set_hardware_register(wave, instruction, sim_scalar_read_u32(wave, instruction, instruction->src[0]));
}
SIM_SCALAR_FUNCTION(s_setreg_imm32_b32)
{
    set_hardware_register(wave, instruction, instruction->literal);
}

SIM_SCALAR_FUNCTION(s_setvskip)
{
    const uint32_t bits = sim_scalar_read_u32(wave, instruction, instruction->src[0]);
    if (bits >> (sim_scalar_read_u32(wave, instruction, instruction->src[1]) & 31) & 1)
        sim_fault(wave, "s_setvskip enables VSKIP, which is not modelled");
}

/* VGPR indexing: M0[7:0] is the index, M0[15:12] say which operands it moves (gpr_index.c). */
static void set_m0_bits(struct sim_wave *wave, uint32_t mask, uint32_t bits)
{
    wave->sgpr[SIM_M0] = (wave->sgpr[SIM_M0] & ~mask) | (bits & mask);
}
SIM_SCALAR_FUNCTION(s_set_gpr_idx_on)
{
    const uint32_t index = sim_scalar_read_u32(wave, instruction, instruction->src[0]);
    wave->mode |= SIM_MODE_GPR_INDEXING;
    /* The second source's field itself, not what it names: bits 15:8 of the encoding. */
    set_m0_bits(wave, 0xF0FF, (index & 0xFF) | (instruction->words[0] >> 8 & 15) << 12);
}
SIM_SCALAR_FUNCTION(s_set_gpr_idx_off)
{
    (void)instruction;
    wave->mode &= ~SIM_MODE_GPR_INDEXING;
}
SIM_SCALAR_FUNCTION(s_set_gpr_idx_mode)
{
    set_m0_bits(wave, 0xF000, (uint32_t)instruction->immediate << 12);
}
SIM_SCALAR_FUNCTION(s_set_gpr_idx_idx)
{
    set_m0_bits(wave, 0xFF, sim_scalar_read_u32(wave, instruction, instruction->src[0]));
}

/* ---- Ends, waits, messages --------------------------------------------------------------------------------------- */

/* Memory is coherent here and instructions complete in order: nothing to wait for, to write back or to invalidate. Clock
 * cycles are the cost model's. Priorities, performance counters and thread traces change no result. */
SIM_SCALAR_FUNCTION(nothing)
{
    (void)wave;
    (void)instruction;
}
SIM_SCALAR_FUNCTION(s_barrier)
{
    (void)instruction;
    sim_wave_barrier(wave);
}
SIM_SCALAR_FUNCTION(s_endpgm)
{
    (void)instruction;
    sim_wave_end(wave);
}
SIM_SCALAR_FUNCTION(s_sleep)
{
    const uint32_t units = (uint32_t)instruction->immediate & 127;
    if (units)
        sim_wave_sleep(wave, 64 * units);
}

/* Trap ids of the amdhsa ABI (LLVM's AMDGPUUsage, "Trap Handler ABI"): 2 is llvm.trap; 3 is llvm.debugtrap, which without
 * a debugger does nothing. */
SIM_SCALAR_FUNCTION(s_trap)
{
    const unsigned id = (uint32_t)instruction->immediate & 0xFF;
    if (id == 2)
        sim_fault(wave, "the kernel traps: s_trap 2 is __builtin_trap, abort or a failed assertion");
    else if (id != 3)
        sim_fault(wave, "s_trap %u: the amdhsa ABI gives traps other than 2 and 3 no meaning", id);
}
SIM_SCALAR_FUNCTION(s_sethalt)
{
    if (instruction->immediate & 1)
        sim_fault(wave, "s_sethalt 1 stops the wave for a debugger, and there is none to resume it");
}
SIM_SCALAR_FUNCTION(s_setkill)
{
    if (instruction->immediate & 1)
        sim_fault(wave, "s_setkill 1 kills the wave");
}
/* MSG_INTERRUPT wakes a host thread that sleeps until memory changes; here the host looks at memory itself. */
SIM_SCALAR_FUNCTION(s_sendmsg)
{
    const unsigned message = (uint32_t)instruction->immediate & 15;
    if (message != 1)
        sim_fault(wave,
                  "s_sendmsg sends message %u: compute kernels have nobody to send other messages than 1, an interrupt",
                  message);
}
SIM_SCALAR_FUNCTION(s_sendmsghalt)
{
    (void)instruction;
    sim_fault(wave, "s_sendmsghalt stops the wave, and there is nothing to resume it");
}
SIM_SCALAR_FUNCTION(trap_handler_only)
{
    sim_fault(wave, "%s belongs into a trap handler, and the kernel runs outside one", instruction->opcode->name);
}
SIM_SCALAR_FUNCTION(s_endpgm_ordered_ps_done)
{
    (void)instruction;
    sim_fault(wave, "s_endpgm_ordered_ps_done ends a pixel shader, and this is a compute kernel");
}

/* clang-format off */
#define BIND(name) {#name, name}
static const struct sim_binding entries[] = {
    BIND(s_branch), BIND(s_cbranch_scc0), BIND(s_cbranch_scc1), BIND(s_cbranch_vccz), BIND(s_cbranch_vccnz),
    BIND(s_cbranch_execz), BIND(s_cbranch_execnz), BIND(s_cbranch_cdbgsys), BIND(s_cbranch_cdbguser),
    BIND(s_cbranch_cdbgsys_or_user), BIND(s_cbranch_cdbgsys_and_user), BIND(s_getpc_b64), BIND(s_setpc_b64),
    BIND(s_swappc_b64), BIND(s_call_b64), BIND(s_cbranch_g_fork), BIND(s_cbranch_i_fork), BIND(s_cbranch_join),
    BIND(s_getreg_b32), BIND(s_setreg_b32), BIND(s_setreg_imm32_b32), BIND(s_setvskip), BIND(s_set_gpr_idx_on),
    BIND(s_set_gpr_idx_off), BIND(s_set_gpr_idx_mode), BIND(s_set_gpr_idx_idx), BIND(s_barrier), BIND(s_endpgm),
    BIND(s_sleep), BIND(s_trap), BIND(s_sethalt), BIND(s_setkill), BIND(s_sendmsg), BIND(s_sendmsghalt),
    BIND(s_endpgm_ordered_ps_done), {"s_endpgm_saved", trap_handler_only}, {"s_rfe_b64", trap_handler_only},
    {"s_rfe_restore_b64", trap_handler_only}, {"s_nop", nothing}, {"s_waitcnt", nothing}, {"s_wakeup", nothing},
    {"s_setprio", nothing}, {"s_icache_inv", nothing}, {"s_incperflevel", nothing}, {"s_decperflevel", nothing},
    {"s_ttracedata", nothing},
};
/* clang-format on */
SIM_SCALAR_BINDINGS(sim_scalar_flow, entries);
