/* disassemble_memory.c - operands of SMEM, DS, FLAT, MUBUF, MTBUF. */
#include "disassemble.h"

#include <string.h>

static void operand(struct sim_text *text, const struct sim_instruction *instruction, unsigned code, unsigned dwords,
                    const char **separator)
{
    sim_text_add(text, "%s", *separator);
    sim_text_operand(text, instruction, code, dwords, SIM_AS_B32);
    *separator = ", ";
}

static void signed_hexadecimal(struct sim_text *text, int32_t value)
{
    sim_text_add(text, "%s0x%x", value < 0 ? "-" : "", (unsigned)(value < 0 ? -value : value));
}

static void smem(struct sim_text *text, const struct sim_instruction *instruction)
{
    const struct sim_opcode *opcode = instruction->opcode;
    const char *separator = " ";
    if (opcode->dst_dwords) {
        operand(text, instruction, instruction->dst, opcode->dst_dwords, &separator);
    } else if (strncmp(opcode->name, "s_atc_probe", 11) == 0) {
        sim_text_add(text, " %u", instruction->words[0] >> 6 & 0x7F);
        separator = ", ";
    }
    if (!opcode->src_dwords[0])
        return;
    operand(text, instruction, instruction->src[0], opcode->src_dwords[0], &separator);
    if (instruction->src[1] != SIM_NO_OPERAND) {
        operand(text, instruction, instruction->src[1], 1, &separator);
        if (instruction->words[0] >> 17 & 1) {
            sim_text_add(text, " offset:");
            signed_hexadecimal(text, instruction->immediate);
        }
    } else {
        sim_text_add(text, ", ");
        signed_hexadecimal(text, instruction->immediate);
    }
    if (instruction->glc)
        sim_text_add(text, " glc");
}

static void ds(struct sim_text *text, const struct sim_instruction *instruction)
{
    const struct sim_opcode *opcode = instruction->opcode;
    const char *separator = " ";
    if (opcode->dst_dwords)
        operand(text, instruction, instruction->dst, opcode->dst_dwords, &separator);
    for (unsigned i = 0; i < 3; i++)
        if (opcode->src_dwords[i])
            operand(text, instruction, instruction->src[i], opcode->src_dwords[i], &separator);
    if (opcode->flags & SIM_OP_TWO_OFFSETS) {
        if (instruction->immediate)
            sim_text_add(text, " offset0:%d", instruction->immediate);
        if (instruction->offset1)
            sim_text_add(text, " offset1:%u", instruction->offset1);
    } else if (instruction->immediate) {
        sim_text_add(text, " offset:%d", instruction->immediate);
    }
    if (instruction->gds)
        sim_text_add(text, " gds");
}

static void cache_policy(struct sim_text *text, const struct sim_instruction *instruction)
{
    sim_text_add(text, "%s%s%s", instruction->glc ? " sc0" : "", instruction->nt ? " nt" : "",
                 instruction->sc1 ? " sc1" : "");
}

static void flat(struct sim_text *text, const struct sim_instruction *instruction)
{
    const struct sim_opcode *opcode = instruction->opcode;
    const char *separator = " ";
    if (instruction->dst != SIM_NO_OPERAND)
        operand(text, instruction, instruction->dst, opcode->dst_dwords, &separator);
    if (instruction->src[0] == SIM_NO_OPERAND)
        sim_text_add(text, "%soff", separator);
    else
        operand(text, instruction, instruction->src[0],
                instruction->segment == SIM_SEGMENT_GLOBAL && instruction->src[2] != SIM_NO_OPERAND
                    ? 1
                    : opcode->src_dwords[0],
                &separator);
    separator = ", ";
    if (opcode->src_dwords[1])
        operand(text, instruction, instruction->src[1], opcode->src_dwords[1], &separator);
    if (instruction->segment != SIM_SEGMENT_FLAT) {
        if (instruction->src[2] == SIM_NO_OPERAND)
            sim_text_add(text, ", off");
        else
            operand(text, instruction, instruction->src[2], instruction->segment == SIM_SEGMENT_GLOBAL ? 2 : 1,
                    &separator);
    }
    if (instruction->immediate)
        sim_text_add(text, " offset:%d", instruction->immediate);
    cache_policy(text, instruction);
}

static void typed_format(struct sim_text *text, const struct sim_instruction *instruction)
{
    unsigned data = instruction->words[0] >> 19 & 15, number = instruction->words[0] >> 23 & 7;
    sim_text_add(text, " dfmt:%u nfmt:%u", data, number);
}

static void buffer(struct sim_text *text, const struct sim_instruction *instruction)
{
    const struct sim_opcode *opcode = instruction->opcode;
    const char *separator = " ";
    if (opcode->src_dwords[0]) {
        if (instruction->dst != SIM_NO_OPERAND)
            operand(text, instruction, instruction->dst, opcode->dst_dwords, &separator);
        if (instruction->src[0] == SIM_NO_OPERAND)
            sim_text_add(text, "%soff", separator);
        else
            operand(text, instruction, instruction->src[0], instruction->idxen && instruction->offen ? 2 : 1,
                    &separator);
        separator = ", ";
        operand(text, instruction, instruction->src[1], 4, &separator);
        operand(text, instruction, instruction->src[2], 1, &separator);
        if (opcode->format == SIM_MTBUF)
            typed_format(text, instruction);
        sim_text_add(text, "%s%s", instruction->idxen ? " idxen" : "", instruction->offen ? " offen" : "");
        if (instruction->immediate)
            sim_text_add(text, " offset:%d", instruction->immediate);
    }
    cache_policy(text, instruction);
    if (instruction->lds)
        sim_text_add(text, " lds");
}

void sim_text_memory(struct sim_text *text, const struct sim_instruction *instruction)
{
    switch (instruction->opcode->format) {
    case SIM_SMEM: smem(text, instruction); break;
    case SIM_DS: ds(text, instruction); break;
    case SIM_FLAT: flat(text, instruction); break;
    default: buffer(text, instruction);
    }
}
