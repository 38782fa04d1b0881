/* operands.c - constants, modifiers, SDWA and DPP: the ways of operands that are not a register's row as it is. */
#include "operands.h"

/* ---- Registers and constants ------------------------------------------------------------------------------------- */

uint32_t (*sim_vector_rows(struct sim_wave *wave, unsigned code, unsigned dwords))[SIM_LANES]
{
    if (code >= SIM_VGPR_FIRST && code + dwords <= SIM_VGPR_FIRST + wave->vgpr_limit)
        return wave->vgpr + (code - SIM_VGPR_FIRST);
    if (code >= SIM_ACC_FIRST && code + dwords <= SIM_ACC_FIRST + wave->acc_limit)
        return wave->vgpr + (code - SIM_VGPR_FIRST);
    if (code >= SIM_VGPR_FIRST && code <= SIM_VGPR_LAST)
        sim_fault(wave, "vector register v%u is used, and the kernel's descriptor allocates %u of them",
                  code - SIM_VGPR_FIRST + dwords - 1, wave->vgpr_limit);
    else if (code >= SIM_ACC_FIRST && code <= SIM_ACC_LAST)
        sim_fault(wave, "accumulation register a%u is used, and the kernel's descriptor allocates %u of them",
                  code - SIM_ACC_FIRST + dwords - 1, wave->acc_limit);
    else
        sim_fault(wave, "operand code %u is not a vector register, and this instruction takes no other there", code);
    return NULL;
}

int sim_has_sgprs(struct sim_wave *wave, unsigned code, unsigned dwords)
{
    if (code <= SIM_SGPR_LAST ? code + dwords <= wave->sgpr_limit : code + dwords <= SIM_INT_0)
        return 1;
    if (code <= SIM_SGPR_LAST)
        sim_fault(wave, "scalar register s%u is used, and the wave has %u of them", code + dwords - 1,
                  wave->sgpr_limit);
    else
        sim_fault(wave, "operand code %u is not a scalar register of %u bits", code, 32 * dwords);
    return 0;
}

/* 240 to 248, each as f16, f32 and f64. */
static const struct {
    uint16_t f16;
    uint32_t f32;
    uint64_t f64;
} float_constants[] = {
    {0x3800, 0x3F000000, 0x3FE0000000000000}, {0xB800, 0xBF000000, 0xBFE0000000000000},
    {0x3C00, 0x3F800000, 0x3FF0000000000000}, {0xBC00, 0xBF800000, 0xBFF0000000000000},
    {0x4000, 0x40000000, 0x4000000000000000}, {0xC000, 0xC0000000, 0xC000000000000000},
    {0x4400, 0x40800000, 0x4010000000000000}, {0xC400, 0xC0800000, 0xC010000000000000},
    {0x3118, 0x3E22F983, 0x3FC45F306DC9C882}, /* 1 / (2 pi) */
};

uint64_t sim_scalar64(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned code,
                      enum sim_type type)
{
    if (code < SIM_INT_0)
        return sim_has_sgprs(wave, code, 2) ? sim_sgpr64(wave, code) : 0;
    if (code < SIM_INT_MINUS_1)
        return code - SIM_INT_0;
    if (code < SIM_INT_MINUS_1 + 16)
        return (uint64_t)(SIM_INT_MINUS_1 - 1 - (int64_t)code);
    if (code >= SIM_FLOAT_0_5 && code <= SIM_FLOAT_1_OVER_2PI)
        return float_constants[code - SIM_FLOAT_0_5].f64;
    switch (code) {
    case SIM_SHARED_BASE: return SIM_SHARED_APERTURE;
    case SIM_SHARED_LIMIT: return SIM_SHARED_APERTURE | UINT32_MAX;
    case SIM_PRIVATE_BASE: return SIM_PRIVATE_APERTURE;
    case SIM_PRIVATE_LIMIT: return SIM_PRIVATE_APERTURE | UINT32_MAX;
    case SIM_VCCZ: return sim_sgpr64(wave, SIM_VCC_LO) == 0;
    case SIM_EXECZ: return sim_exec(wave) == 0;
    case SIM_SCC: return wave->scc;
    case SIM_LITERAL:
        if (type == SIM_F64)
            return (uint64_t)instruction->literal << 32;
        return type == SIM_I64 ? (uint64_t)(int64_t)(int32_t)instruction->literal : instruction->literal;
    default: sim_fault(wave, "operand code %u means nothing on gfx942 and gfx950", code); return 0;
    }
}

uint32_t sim_scalar32(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned code,
                      enum sim_type type)
{
    if (code < SIM_INT_0)
        return sim_has_sgprs(wave, code, 1) ? wave->sgpr[code] : 0;
    /* Integer opcodes of 16 bits do not know f16 constants: they read the low half of the 32-bit one (LLVM bug 46302, found
     * on hardware). */
    if (code >= SIM_FLOAT_0_5 && code <= SIM_FLOAT_1_OVER_2PI)
        return type == SIM_F16 ? float_constants[code - SIM_FLOAT_0_5].f16 : float_constants[code - SIM_FLOAT_0_5].f32;
    /* The rest is the low half of what 64-bit operands read. That holds for the apertures, too: as 32-bit operands they are
     * 0 (LLVM, SITargetLowering::getSegmentAperture: the value is in the upper 32 bits). */
    return (uint32_t)sim_scalar64(wave, instruction, code, SIM_B64);
}

/* ---- DPP --------------------------------------------------------------------------------------------------------- */

#define LANE_OUTSIDE (-1)

/* The lane that `lane` reads, or LANE_OUTSIDE (LLVM's AMDGPUUsage and AMD's ISA manuals, "Data Parallel Primitives"). -2:
 * the control does not exist. */
static int dpp_source(unsigned control, int lane)
{
    const int amount = control & 15, row = lane & ~15, in_row = lane & 15;
    if (control <= 0xFF) /* quad_perm */
        return (lane & ~3) | (int)(control >> 2 * (lane & 3) & 3);
    switch (control & ~15u) {
    case 0x100: return amount == 0 ? -2 : in_row + amount < 16 ? lane + amount : LANE_OUTSIDE; /* row_shl */
    case 0x110: return amount == 0 ? -2 : in_row >= amount ? lane - amount : LANE_OUTSIDE;     /* row_shr */
    case 0x120: return amount == 0 ? -2 : row | ((in_row - amount) & 15);                      /* row_ror */
    case 0x150: return row | amount;                                                           /* row_newbcast */
    default: break;
    }
    switch (control) {
    case 0x130: return lane < 63 ? lane + 1 : LANE_OUTSIDE;        /* wave_shl */
    case 0x134: return (lane + 1) & 63;                            /* wave_rol */
    case 0x138: return lane > 0 ? lane - 1 : LANE_OUTSIDE;         /* wave_shr */
    case 0x13C: return (lane - 1) & 63;                            /* wave_ror */
    case 0x140: return row | (15 - in_row);                        /* row_mirror */
    case 0x141: return (lane & ~7) | (7 - (lane & 7));             /* row_half_mirror */
    case 0x142: return lane > 15 ? row - 1 : LANE_OUTSIDE;         /* row_bcast:15 */
    case 0x143: return lane > 31 ? (lane & 32) - 1 : LANE_OUTSIDE; /* row_bcast:31 */
    default: return -2;
    }
}

/* The lane that each lane reads, and which of them exist and are active: gfx9 takes data of inactive lanes for missing. */
static uint64_t dpp_lanes(struct sim_wave *wave, const struct sim_instruction *instruction, int source[SIM_LANES])
{
    const uint64_t exec = sim_exec(wave);
    uint64_t valid = 0;
    for (int lane = 0; lane < SIM_LANES; lane++) {
        source[lane] = dpp_source(instruction->dpp_control, lane);
        if (source[lane] == -2) {
            sim_fault(wave, "DPP control 0x%x does not exist on gfx942 and gfx950", instruction->dpp_control);
            source[lane] = LANE_OUTSIDE;
        }
        if (source[lane] != LANE_OUTSIDE)
            valid |= (exec >> source[lane] & 1) << lane;
    }
    return valid;
}

uint64_t sim_dpp_write_lanes(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    int source[SIM_LANES];
    uint64_t lanes = instruction->dpp_bound_control ? UINT64_MAX : dpp_lanes(wave, instruction, source);
    for (int lane = 0; lane < SIM_LANES; lane++)
        if (!(instruction->dpp_row_mask >> lane / 16 & instruction->dpp_bank_mask >> lane / 4 % 4 & 1))
            lanes &= ~(1ull << lane);
    return lanes & sim_exec(wave);
}

static void dpp_permute(struct sim_wave *wave, const struct sim_instruction *instruction, const uint32_t *row,
                        uint32_t *restrict buffer)
{
    int source[SIM_LANES];
    const uint64_t valid = dpp_lanes(wave, instruction, source);
    for (int lane = 0; lane < SIM_LANES; lane++)
        buffer[lane] = valid >> lane & 1 ? row[source[lane]] : 0;
}

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

static void broadcast(uint32_t *restrict buffer, uint32_t value)
{
    for (int lane = 0; lane < SIM_LANES; lane++)
        buffer[lane] = value;
}

/* Its row, or zeros in `buffer` after sim_fault. */
static const uint32_t *vector_row(struct sim_wave *wave, unsigned code, uint32_t *buffer)
{
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, code, 1);
    if (rows)
        return *rows;
    broadcast(buffer, 0);
    return buffer;
}

const uint32_t *sim_destination32(struct sim_wave *wave, const struct sim_instruction *instruction, uint32_t *buffer)
{
    return vector_row(wave, instruction->dst, buffer);
}

const uint32_t *sim_source32_plain(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned index,
                                   enum sim_type type, uint32_t *buffer)
{
    const unsigned code = instruction->src[index];
    if (code >= SIM_VGPR_FIRST)
        return vector_row(wave, code, buffer);
    broadcast(buffer, sim_scalar32(wave, instruction, code, type));
    return buffer;
}

/* SDWA: the selected byte or word, extended to 32 bits. */
static void select_sdwa(uint32_t *restrict buffer, unsigned select, int is_signed)
{
    if (select >= SIM_DWORD)
        return;
    const unsigned bits = select >= SIM_WORD_0 ? 16 : 8;
    const unsigned first = select >= SIM_WORD_0 ? 16 * (select - SIM_WORD_0) : 8 * select;
    const unsigned up = 32 - bits - first, down = 32 - bits;
    for (int lane = 0; lane < SIM_LANES; lane++) {
        const uint32_t at_top = buffer[lane] << up;
        buffer[lane] = is_signed ? (uint32_t)((int32_t)at_top >> down) : at_top >> down;
    }
}

const uint32_t *sim_source32_other(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned index,
                                   enum sim_type type, uint32_t *buffer)
{
    const uint32_t *lanes = sim_source32_plain(wave, instruction, index, type, buffer);
    const int is_16 = type == SIM_B16 || type == SIM_F16, is_float = type == SIM_F16 || type == SIM_F32;
    const uint32_t sign = is_16 ? 0x8000 : 0x80000000;
    const uint32_t keep = is_float && instruction->abs >> index & 1 ? ~sign : UINT32_MAX;
    const uint32_t flip = is_float && instruction->neg >> index & 1 ? sign : 0;
    const unsigned shift = is_16 && instruction->op_sel >> index & 1 ? 16 : 0;
    const int permutes = instruction->is_dpp && index == 0, selects = instruction->is_sdwa && index < 2;

    if (permutes)
        dpp_permute(wave, instruction, lanes, buffer);
    else if (lanes != buffer && (selects || shift || flip || keep != UINT32_MAX))
        memcpy(buffer, lanes, SIM_LANES * sizeof *buffer);
    else if (lanes != buffer)
        return lanes;
    if (selects)
        select_sdwa(buffer, instruction->sdwa_src[index], instruction->sdwa_sext >> index & 1);
    if (shift || flip || keep != UINT32_MAX)
        for (int lane = 0; lane < SIM_LANES; lane++)
            buffer[lane] = (buffer[lane] >> shift & keep) ^ flip;
    return buffer;
}

const uint64_t *sim_source64(struct sim_wave *wave, const struct sim_instruction *instruction, unsigned index,
                             enum sim_type type, uint64_t *buffer)
{
    const unsigned code = instruction->src[index];
    if (code >= SIM_VGPR_FIRST) {
        uint32_t permuted[2][SIM_LANES];
        uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, code, 2);
        if (rows && instruction->is_dpp && index == 0) {
            dpp_permute(wave, instruction, rows[0], permuted[0]);
            dpp_permute(wave, instruction, rows[1], permuted[1]);
            rows = permuted;
        }
        SIM_EACH_LANE(lane) buffer[lane] = rows ? rows[0][lane] | (uint64_t)rows[1][lane] << 32 : 0;
    } else {
        const uint64_t value = sim_scalar64(wave, instruction, code, type);
        SIM_EACH_LANE(lane) buffer[lane] = value;
    }
    if (type == SIM_F64 && (instruction->abs | instruction->neg) >> index & 1) {
        const uint64_t sign = 1ull << 63;
        const uint64_t keep = instruction->abs >> index & 1 ? ~sign : UINT64_MAX;
        const uint64_t flip = instruction->neg >> index & 1 ? sign : 0;
        SIM_EACH_LANE(lane) buffer[lane] = (buffer[lane] & keep) ^ flip;
    }
    return buffer;
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

/* The bits `written` of each result, shifted up by `shift`, and in the other bits those of the destination in `kept`, or
 * with is_signed copies of the result's highest bit above it. */
static void write_part(uint32_t *restrict row, const uint32_t *restrict result, uint64_t lanes, unsigned shift,
                       unsigned bits, uint32_t kept, int is_signed)
{
    uint32_t placed[SIM_LANES];
    for (int lane = 0; lane < SIM_LANES; lane++) {
        const uint32_t at_top = result[lane] << (32 - bits);
        const uint32_t value = is_signed ? (uint32_t)((int32_t)at_top >> (32 - bits)) : at_top >> (32 - bits);
        placed[lane] = value << shift | (row[lane] & kept);
    }
    sim_write_row(row, placed, lanes);
}

/* SDWA's destination: a byte or word of it. */
static void write_sdwa(const struct sim_instruction *instruction, uint32_t *restrict row,
                       const uint32_t *restrict result, uint64_t lanes)
{
    const unsigned select = instruction->sdwa_dst, unused = instruction->sdwa_dst_unused;
    const unsigned bits = select >= SIM_WORD_0 ? 16 : 8;
    const unsigned shift = select >= SIM_WORD_0 ? 16 * (select - SIM_WORD_0) : 8 * select;
    const uint32_t written = ((1u << bits) - 1) << shift;
    write_part(row, result, lanes, shift, bits, unused == 2 ? ~written : 0, unused == 1);
}

void sim_write32_other(struct sim_wave *wave, const struct sim_instruction *instruction, const uint32_t *result)
{
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    if (!rows)
        return;
    const uint64_t lanes = sim_write_lanes(wave, instruction);
    if (instruction->is_sdwa && instruction->sdwa_dst < SIM_DWORD)
        write_sdwa(instruction, *rows, result, lanes);
    else
        sim_write_row(*rows, result, lanes);
}

void sim_write16(struct sim_wave *wave, const struct sim_instruction *instruction, const uint32_t *result,
                 enum sim_other_half other_half)
{
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    if (!rows)
        return;
    const uint64_t lanes = sim_write_lanes(wave, instruction);
    if (instruction->is_sdwa && instruction->sdwa_dst < SIM_DWORD)
        write_sdwa(instruction, *rows, result, lanes);
    else if (instruction->op_sel & 8)
        write_part(*rows, result, lanes, 16, 16, 0x0000FFFF, 0);
    else
        write_part(*rows, result, lanes, 0, 16, other_half == SIM_KEEP_HIGH ? 0xFFFF0000 : 0, 0);
}

void sim_write64(struct sim_wave *wave, const struct sim_instruction *instruction, const uint64_t *result)
{
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 2);
    if (!rows)
        return;
    uint32_t low[SIM_LANES], high[SIM_LANES];
    SIM_EACH_LANE(lane)
    {
        low[lane] = (uint32_t)result[lane];
        high[lane] = (uint32_t)(result[lane] >> 32);
    }
    const uint64_t lanes = sim_write_lanes(wave, instruction);
    sim_write_row(rows[0], low, lanes);
    sim_write_row(rows[1], high, lanes);
}

void sim_write_mask(struct sim_wave *wave, const struct sim_instruction *instruction, uint64_t mask)
{
    const uint64_t exec = sim_exec(wave);
    if (instruction->is_dpp && sim_dpp_write_lanes(wave, instruction) != exec)
        sim_fault(
            wave,
            "%s writes a lane mask while its DPP modifiers disable active lanes, and AMD's manuals do not say which "
            "bits those lanes get; use bound_ctrl, row_mask:0xf and bank_mask:0xf, or v_mov_b32_dpp",
            instruction->opcode->name);
    else if (sim_has_sgprs(wave, instruction->sdst, 2))
        sim_set_sgpr64(wave, instruction->sdst, mask & exec);
}
