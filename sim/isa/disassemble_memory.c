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
        unsigned permissions = instruction->words[0] >> 6 & 0x7F;
        sim_text_add(text, permissions <= 64 ? " %u" : " 0x%x", permissions);
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

/* The permutation of ds_swizzle_b32: a bit of the lane that is read is (bit & and | or) ^ xor. */
static void swizzle_mask(struct sim_text *text, unsigned and_mask, unsigned or_mask, unsigned xor_mask)
{
    unsigned group = 32 - and_mask;
    if (and_mask == 31 && or_mask == 0 && xor_mask != 0 && (xor_mask & (xor_mask - 1)) == 0) {
        sim_text_add(text, "SWAP,%u", xor_mask);
    } else if (and_mask == 31 && or_mask == 0 && xor_mask != 0 && (xor_mask & (xor_mask + 1)) == 0) {
        sim_text_add(text, "REVERSE,%u", xor_mask + 1);
    } else if (group > 1 && (group & (group - 1)) == 0 && or_mask < group && xor_mask == 0) {
        sim_text_add(text, "BROADCAST,%u,%u", group, or_mask);
    } else {
        char bits[6] = "";
        for (unsigned i = 0; i < 5; i++) {
            unsigned of_0 = (or_mask ^ xor_mask) >> i & 1, of_1 = ((and_mask | or_mask) ^ xor_mask) >> i & 1;
            bits[4 - i] = of_0 == of_1 ? (char)('0' + of_0) : of_0 == 0 ? 'p' : 'i';
        }
        sim_text_add(text, "BITMASK_PERM,\"%s\"", bits);
    }
}

static void swizzle(struct sim_text *text, unsigned offset)
{
    if (offset >= 0xC000 || offset < 0x8000 || offset >> 8 == 0x80) {
        sim_text_add(text, " offset:swizzle(");
        if (offset >= 0xE000)
            sim_text_add(text, "FFT,%u", offset & 31);
        else if (offset >= 0xC000)
            sim_text_add(text, "ROTATE,%u,%u", offset >> 10 & 1, offset >> 5 & 31);
        else if (offset >= 0x8000)
            sim_text_add(text, "QUAD_PERM,%u,%u,%u,%u", offset & 3, offset >> 2 & 3, offset >> 4 & 3, offset >> 6 & 3);
        else
            swizzle_mask(text, offset & 31, offset >> 5 & 31, offset >> 10 & 31);
        sim_text_add(text, ")");
    } else {
        sim_text_add(text, " offset:%u", offset);
    }
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
    } else if (instruction->immediate && strcmp(opcode->name, "ds_swizzle_b32") == 0) {
        swizzle(text, (unsigned)instruction->immediate);
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
    static const char *const data_formats[16] = {
        "INVALID",    "8",          "16",      "8_8",   "32",          "16_16",    "10_11_11",    "11_11_10",
        "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
    static const char *const number_formats[8] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                                  "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
    /* Formats that the assembler takes if none is named: 8, UNORM. */
    unsigned data = instruction->words[0] >> 19 & 15, number = instruction->words[0] >> 23 & 7;
    if (data != 1 && number != 0)
        sim_text_add(text, " format:[BUF_DATA_FORMAT_%s,BUF_NUM_FORMAT_%s]", data_formats[data],
                     number_formats[number]);
    else if (data != 1)
        sim_text_add(text, " format:[BUF_DATA_FORMAT_%s]", data_formats[data]);
    else if (number != 0)
        sim_text_add(text, " format:[BUF_NUM_FORMAT_%s]", number_formats[number]);
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
