/* disassemble_vector.c - operands of VOP1, VOP2, VOPC, VOP3, VOP3P. */
#include "disassemble.h"

#include <string.h>

/* v_fma_mix_*: neg_hi is abs, and op_sel_hi says which sources are 16-bit. */
static int is_mix(const struct sim_opcode *opcode)
{
    return strncmp(opcode->name, "v_fma_mix", 9) == 0;
}

static void source(struct sim_text *text, const struct sim_instruction *instruction, unsigned i)
{
    const struct sim_opcode *opcode = instruction->opcode;
    unsigned code = instruction->src[i];
    int is_packed = opcode->format == SIM_VOP3P, mixes = is_mix(opcode);
    unsigned neg = is_packed && !mixes ? 0 : instruction->neg >> i & 1;
    unsigned abs = (mixes ? instruction->neg_hi : instruction->abs) >> i & 1;
    unsigned sext = instruction->sdwa_sext >> i & 1;
    /* -1 is a constant of its own; "neg(1)" is 1 with the modifier. */
    int is_constant = (code >= SIM_INT_0 && code <= 208) || (code >= SIM_FLOAT_0_5 && code <= SIM_FLOAT_1_OVER_2PI);
    int spelled = neg && !abs && is_constant;
    if (code == SIM_LITERAL && opcode->src_kind[i] == 0) { /* can be nothing else */
        sim_text_add(text, "0x%x", (unsigned)instruction->literal);
        return;
    }
    sim_text_add(text, "%s%s%s", sext ? "sext(" : "", spelled ? "neg(" : neg ? "-" : "", abs ? "|" : "");
    sim_text_operand(text, instruction, code, sim_source_dwords(instruction, i),
                     opcode->src_kind[i] ? opcode->src_kind[i] : opcode->src_kind[0]);
    sim_text_add(text, "%s%s%s", abs ? "|" : "", spelled ? ")" : "", sext ? ")" : "");
}

static const char *output_modifier(const struct sim_instruction *instruction)
{
    static const char *const names[4] = {"", " mul:2", " mul:4", " div:2"};
    return names[instruction->omod & 3];
}

static void sdwa(struct sim_text *text, const struct sim_instruction *instruction)
{
    static const char *const selects[8] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", ""};
    static const char *const unused[4] = {"PAD", "SEXT", "PRESERVE", ""};
    const struct sim_opcode *opcode = instruction->opcode;
    if (opcode->format != SIM_VOPC) {
        sim_text_add(text, "%s%s", instruction->clamp ? " clamp" : "", output_modifier(instruction));
        if (!(opcode->flags & SIM_OP_WHOLE_DST))
            sim_text_add(text, " dst_sel:%s dst_unused:UNUSED_%s", selects[instruction->sdwa_dst],
                         unused[instruction->sdwa_dst_unused]);
    }
    sim_text_add(text, " src0_sel:%s", selects[instruction->sdwa_src[0]]);
    if (opcode->src_dwords[1])
        sim_text_add(text, " src1_sel:%s", selects[instruction->sdwa_src[1]]);
}

static void dpp_control(struct sim_text *text, unsigned control)
{
    unsigned amount = control & 15;
    if (control < 0x100) {
        sim_text_add(text, " quad_perm:[%u,%u,%u,%u]", control & 3, control >> 2 & 3, control >> 4 & 3, control >> 6);
        return;
    }
    switch (control) {
    case 0x130: sim_text_add(text, " wave_shl:1"); return;
    case 0x134: sim_text_add(text, " wave_rol:1"); return;
    case 0x138: sim_text_add(text, " wave_shr:1"); return;
    case 0x13C: sim_text_add(text, " wave_ror:1"); return;
    case 0x140: sim_text_add(text, " row_mirror"); return;
    case 0x141: sim_text_add(text, " row_half_mirror"); return;
    case 0x142: sim_text_add(text, " row_bcast:15"); return;
    case 0x143: sim_text_add(text, " row_bcast:31"); return;
    default: break;
    }
    static const char *const rows[6] = {"shl", "shr", "ror", "", "", "newbcast"};
    sim_text_add(text, " row_%s:%u", rows[(control >> 4 & 7) % 6], amount);
}

static void dpp(struct sim_text *text, const struct sim_instruction *instruction)
{
    dpp_control(text, instruction->dpp_control);
    sim_text_add(text, " row_mask:0x%x bank_mask:0x%x%s", instruction->dpp_row_mask, instruction->dpp_bank_mask,
                 instruction->dpp_bound_control ? " bound_ctrl:1" : "");
}

static unsigned source_count(const struct sim_opcode *opcode)
{
    unsigned count = 0;
    while (count < 3 && opcode->src_dwords[count])
        count++;
    return count;
}

static void matrix(struct sim_text *text, const struct sim_instruction *instruction)
{
    if (instruction->cbsz)
        sim_text_add(text, " cbsz:%u", instruction->cbsz);
    if (instruction->abid)
        sim_text_add(text, " abid:%u", instruction->abid);
    if (!instruction->blgp)
        return;
    if (strstr(instruction->opcode->name, "_f64_"))
        sim_text_bits(text, "neg", instruction->blgp, 3);
    else
        sim_text_add(text, " blgp:%u", instruction->blgp);
}

static void packed(struct sim_text *text, const struct sim_instruction *instruction)
{
    const struct sim_opcode *opcode = instruction->opcode;
    unsigned count = source_count(opcode), all = (1u << count) - 1;
    int mixes = is_mix(opcode), has_halves = (opcode->words[1].ignored >> 27 & 3) == 0;
    if (strncmp(opcode->name, "v_accvgpr", 9) == 0)
        return;
    if (instruction->op_sel & all)
        sim_text_bits(text, "op_sel", instruction->op_sel, count);
    if (has_halves && (instruction->op_sel_hi & all) != (mixes ? 0 : all))
        sim_text_bits(text, "op_sel_hi", instruction->op_sel_hi, count);
    if (!mixes && instruction->neg & all)
        sim_text_bits(text, "neg_lo", instruction->neg, count);
    if (!mixes && instruction->neg_hi & all)
        sim_text_bits(text, "neg_hi", instruction->neg_hi, count);
    if (instruction->clamp)
        sim_text_add(text, " clamp");
}

/* v_permlane16_swap_b32, v_permlane32_swap_b32: op_sel is fi and bound_ctrl. */
static int is_swap(const struct sim_opcode *opcode)
{
    return strncmp(opcode->name, "v_permlane", 10) == 0 && strstr(opcode->name, "_swap_");
}

/* Two sources, but four bits of op_sel: the upper two are the byte of the destination. */
static int selects_byte(const struct sim_opcode *opcode)
{
    static const char *const names[] = {"v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32", "v_cvt_scalef32_pk_fp4_f16",
                                        "v_cvt_scalef32_pk_fp4_bf16"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(opcode->name, names[i]) == 0)
            return 1;
    return 0;
}

static void vop3(struct sim_text *text, const struct sim_instruction *instruction)
{
    const struct sim_opcode *opcode = instruction->opcode;
    unsigned count = source_count(opcode);
    if (instruction->truth_table)
        sim_text_add(text, instruction->truth_table <= 10 ? " bitop3:%u" : " bitop3:0x%x", instruction->truth_table);
    if (is_swap(opcode)) {
        sim_text_add(text, "%s%s", instruction->op_sel & 2 ? " bound_ctrl:1" : "",
                     instruction->op_sel & 1 ? " fi:1" : "");
    } else if (instruction->op_sel && selects_byte(opcode)) {
        sim_text_bits(text, "op_sel", instruction->op_sel, 4);
    } else if (instruction->op_sel) {
        unsigned bits = (instruction->op_sel & ((1u << count) - 1)) | (instruction->op_sel >> 3 & 1u) << count;
        sim_text_bits(text, "op_sel", bits, count + 1);
    }
    sim_text_add(text, "%s%s", instruction->clamp ? " clamp" : "", output_modifier(instruction));
}

void sim_text_vector(struct sim_text *text, const struct sim_instruction *instruction)
{
    const struct sim_opcode *opcode = instruction->opcode;
    const char *separator = " ";
    if (opcode->dst_dwords) {
        sim_text_add(text, "%s", separator);
        sim_text_operand(text, instruction, instruction->dst, opcode->dst_dwords, 0);
        separator = ", ";
    }
    if (opcode->sdst_dwords) {
        sim_text_add(text, "%s", separator);
        sim_text_operand(text, instruction, instruction->sdst, opcode->sdst_dwords, 0);
        separator = ", ";
    }
    for (unsigned i = 0; i < 3; i++) {
        if (opcode->src_dwords[i]) {
            sim_text_add(text, "%s", separator);
            source(text, instruction, i);
            separator = ", ";
        }
    }
    if (instruction->is_sdwa)
        sdwa(text, instruction);
    else if (instruction->is_dpp)
        dpp(text, instruction);
    else if (opcode->flags & SIM_OP_MATRIX)
        matrix(text, instruction);
    else if (opcode->format == SIM_VOP3P)
        packed(text, instruction);
    else if (opcode->format == SIM_VOP3)
        vop3(text, instruction);
}
