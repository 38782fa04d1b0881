/* disassemble_scalar.c - operands of SOP2, SOPK, SOP1, SOPC, SOPP. */
#include "disassemble.h"

#include <string.h>

static int is_named(const struct sim_instruction *instruction, const char *name)
{
    return strcmp(instruction->opcode->name, name) == 0;
}

/* simm16 of s_getreg and s_setreg: register 5:0, first bit 10:6, number of bits 15:11 less one. */
static void hardware_register(struct sim_text *text, const struct sim_instruction *instruction)
{
    static const char *const names[] = {
        [1] = "MODE",
        [2] = "STATUS",
        [3] = "TRAPSTS",
        [4] = "HW_ID",
        [5] = "GPR_ALLOC",
        [6] = "LDS_ALLOC",
        [7] = "IB_STS",
        [15] = "SH_MEM_BASES",
        [16] = "TBA_LO",
        [17] = "TBA_HI",
        [18] = "TMA_LO",
        [19] = "TMA_HI",
        [20] = "XCC_ID",
        [21] = "SQ_PERF_SNAPSHOT_DATA",
        [22] = "SQ_PERF_SNAPSHOT_DATA1",
        [23] = "SQ_PERF_SNAPSHOT_PC_LO",
        [24] = "SQ_PERF_SNAPSHOT_PC_HI",
    };
    unsigned value = (unsigned)instruction->immediate & 0xFFFF;
    unsigned id = value & 63, offset = value >> 6 & 31, size = (value >> 11 & 31) + 1;
    const char *name = id < sizeof names / sizeof names[0] ? names[id] : NULL;
    if (name)
        sim_text_add(text, "hwreg(HW_REG_%s", name);
    else
        sim_text_add(text, "hwreg(%u", id);
    if (offset != 0 || size != 32)
        sim_text_add(text, ", %u, %u", offset, size);
    sim_text_add(text, ")");
}

static void sopk(struct sim_text *text, const struct sim_instruction *instruction)
{
    const struct sim_opcode *opcode = instruction->opcode;
    unsigned value = (unsigned)instruction->immediate & 0xFFFF;
    if (is_named(instruction, "s_setreg_b32") || is_named(instruction, "s_setreg_imm32_b32")) {
        sim_text_add(text, " ");
        hardware_register(text, instruction);
        sim_text_add(text, ", ");
        if (opcode->flags & SIM_OP_LITERAL_K)
            sim_text_constant(text, instruction->literal);
        else
            sim_text_operand(text, instruction, instruction->src[0], 1, 0);
        return;
    }
    sim_text_add(text, " ");
    if (opcode->dst_dwords)
        sim_text_operand(text, instruction, instruction->dst, opcode->dst_dwords, 0);
    else
        sim_text_operand(text, instruction, instruction->src[0], opcode->src_dwords[0], 0);
    sim_text_add(text, ", ");
    if (is_named(instruction, "s_getreg_b32"))
        hardware_register(text, instruction);
    else if (is_named(instruction, "s_call_b64") || is_named(instruction, "s_cbranch_i_fork"))
        sim_text_add(text, "%u", value);
    else
        sim_text_add(text, "0x%x", value);
}

/* simm16 of s_waitcnt: vmcnt 15:14 and 3:0, expcnt 6:4, lgkmcnt 11:8. */
static void wait_counters(struct sim_text *text, unsigned value)
{
    unsigned vector = (value & 15) | (value >> 14 & 3) << 4, export = value >> 4 & 7, scalar = value >> 8 & 15;
    int all = vector == 63 && export == 7 && scalar == 15;
    if (vector != 63 || all)
        sim_text_add(text, " vmcnt(%u)", vector);
    if (export != 7 || all)
        sim_text_add(text, " expcnt(%u)", export);
    if (scalar != 15 || all)
        sim_text_add(text, " lgkmcnt(%u)", scalar);
}

/* simm16 of s_sendmsg: message 3:0, operation 6:4, stream 9:8; the others mean nothing. */
static void message(struct sim_text *text, unsigned value)
{
    enum { GS = 2, GS_DONE = 3, SYSTEM = 15 };
    static const char *const names[16] = {NULL,           "INTERRUPT",       "GS",
                                          "GS_DONE",      "SAVEWAVE",        "STALL_WAVE_GEN",
                                          "HALT_WAVES",   "ORDERED_PS_DONE", "EARLY_PRIM_DEALLOC",
                                          "GS_ALLOC_REQ", "GET_DOORBELL",    [SYSTEM] = "SYSMSG"};
    static const char *const shader_operations[8] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
    static const char *const system_operations[8] = {
        [1] = "SYSMSG_OP_ECC_ERR_INTERRUPT", [2] = "SYSMSG_OP_REG_RD", [4] = "SYSMSG_OP_TTRACE_PC"};
    unsigned id = value & 15, operation = value >> 4 & 7, stream = value >> 8 & 3;
    int is_shader = id == GS || id == GS_DONE;
    const char *name = is_shader ? shader_operations[operation] : id == SYSTEM ? system_operations[operation] : NULL;
    if (names[id] && !is_shader && id != SYSTEM && operation == 0 && stream == 0)
        sim_text_add(text, " sendmsg(MSG_%s)", names[id]);
    else if (is_shader && name && operation != 0)
        sim_text_add(text, " sendmsg(MSG_%s, %s, %u)", names[id], name, stream);
    else if (name && id != GS && stream == 0)
        sim_text_add(text, " sendmsg(MSG_%s, %s)", names[id], name);
    else if (value & ~0x37Fu)
        sim_text_add(text, " %u", value);
    else
        sim_text_add(text, " sendmsg(%u, %u, %u)", id, operation, stream);
}

static void index_mode(struct sim_text *text, unsigned mode)
{
    static const char *const names[] = {"SRC0", "SRC1", "SRC2", "DST"};
    if (mode > 15) {
        sim_text_add(text, "0x%x", mode);
        return;
    }
    sim_text_add(text, "gpr_idx(");
    const char *separator = "";
    for (unsigned i = 0; i < 4; i++) {
        if (mode >> i & 1) {
            sim_text_add(text, "%s%s", separator, names[i]);
            separator = ",";
        }
    }
    sim_text_add(text, ")");
}

static void sopp(struct sim_text *text, const struct sim_instruction *instruction)
{
    unsigned value = (unsigned)instruction->immediate & 0xFFFF;
    if (is_named(instruction, "s_waitcnt")) {
        wait_counters(text, value);
    } else if (strncmp(instruction->opcode->name, "s_sendmsg", 9) == 0) {
        message(text, value);
    } else if (is_named(instruction, "s_set_gpr_idx_mode")) {
        sim_text_add(text, " ");
        index_mode(text, value);
    } else if (instruction->opcode->words[0].zero & 0xFFFF) {
        return; /* has no constant */
    } else if (is_named(instruction, "s_endpgm")) {
        if (value)
            sim_text_add(text, " %u", value);
    } else {
        sim_text_add(text, strstr(instruction->opcode->name, "branch") || value <= 64 ? " %u" : " 0x%x", value);
    }
}

void sim_text_scalar(struct sim_text *text, const struct sim_instruction *instruction)
{
    const struct sim_opcode *opcode = instruction->opcode;
    if (opcode->format == SIM_SOPP) {
        sopp(text, instruction);
        return;
    }
    if (opcode->format == SIM_SOPK) {
        sopk(text, instruction);
        return;
    }
    const char *separator = " ";
    if (opcode->dst_dwords) {
        sim_text_add(text, "%s", separator);
        sim_text_operand(text, instruction, instruction->dst, opcode->dst_dwords, 0);
        separator = ", ";
    }
    for (unsigned i = 0; i < 2; i++) {
        if (opcode->src_dwords[i]) {
            sim_text_add(text, "%s", separator);
            sim_text_operand(text, instruction, instruction->src[i], opcode->src_dwords[i], opcode->src_kind[i]);
            separator = ", ";
        }
    }
    if (is_named(instruction, "s_set_gpr_idx_on")) {
        sim_text_add(text, ", ");
        index_mode(text, instruction->words[0] >> 8 & 0xFF);
    }
}
