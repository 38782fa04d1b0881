/* disassemble_operand.c - names of registers, and how constants are written. */
#include "disassemble.h"

static const char *const floats[9] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"};
static const uint16_t half_bits[9] = {0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118};
static const uint32_t float_bits[9] = {0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000,
                                       0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983};

/* High halves; the low ones are 0 but for 1/(2 pi). */
static const uint32_t double_bits[8] = {0x3FE00000, 0xBFE00000, 0x3FF00000, 0xBFF00000,
                                        0x40000000, 0xC0000000, 0x40100000, 0xC0100000};

static void registers(struct sim_text *text, const char *file, unsigned first, unsigned dwords)
{
    if (dwords == 1)
        sim_text_add(text, "%s%u", file, first);
    else
        sim_text_add(text, "%s[%u:%u]", file, first, first + dwords - 1);
}

static const char *special_name(unsigned code, unsigned dwords)
{
    switch (code) {
    case 102: return dwords == 1 ? "flat_scratch_lo" : "flat_scratch";
    case 103: return "flat_scratch_hi";
    case 104: return dwords == 1 ? "xnack_mask_lo" : "xnack_mask";
    case 105: return "xnack_mask_hi";
    case SIM_VCC_LO: return dwords == 1 ? "vcc_lo" : "vcc";
    case SIM_VCC_HI: return "vcc_hi";
    case SIM_M0: return "m0";
    case SIM_EXEC_LO: return dwords == 1 ? "exec_lo" : "exec";
    case SIM_EXEC_HI: return "exec_hi";
    case SIM_SHARED_BASE: return "src_shared_base";
    case SIM_SHARED_LIMIT: return "src_shared_limit";
    case SIM_PRIVATE_BASE: return "src_private_base";
    case SIM_PRIVATE_LIMIT: return "src_private_limit";
    case 239: return "src_pops_exiting_wave_id";
    case SIM_VCCZ: return "src_vccz";
    case SIM_EXECZ: return "src_execz";
    case SIM_SCC: return "src_scc";
    case 254: return "src_lds_direct";
    default: return NULL;
    }
}

static void float_constant(struct sim_text *text, unsigned index, unsigned kind)
{
    if (kind == SIM_AS_I16)
        sim_text_add(text, "0x%x", half_bits[index]);
    else if (index == 8 && (kind == SIM_AS_B64 || kind == SIM_AS_F64))
        sim_text_add(text, "0.15915494309189532");
    else
        sim_text_add(text, "%s", floats[index]);
}

/* Whether an operand code would do for a value: then the assembler must be told to take a literal. */
static int is_inline(uint32_t value, unsigned kind)
{
    int32_t number = (int32_t)value;
    if (kind == SIM_AS_F16)
        number = (int16_t)value;
    if (kind == SIM_AS_B64 && value > 64)
        return 0;
    if (number >= -16 && number <= 64)
        return 1;
    for (unsigned i = 0; i < 9; i++)
        if ((kind == SIM_AS_B32 && value == float_bits[i]) ||
            (kind == SIM_AS_F16 && (value & 0xFFFF) == half_bits[i]) || (kind == SIM_AS_PK16 && value == half_bits[i]))
            return 1;
    return 0;
}

void sim_text_constant(struct sim_text *text, uint32_t value)
{
    int32_t number = (int32_t)value;
    if (number >= -16 && number <= 64) {
        sim_text_add(text, "%d", (int)number);
        return;
    }
    for (unsigned i = 0; i < 9; i++) {
        if (value == float_bits[i]) {
            sim_text_add(text, "%s", floats[i]);
            return;
        }
    }
    sim_text_add(text, "0x%x", (unsigned)value);
}

static void literal(struct sim_text *text, uint32_t value, unsigned kind)
{
    int is_half = kind == SIM_AS_F16 || kind == SIM_AS_I16;
    if (kind == SIM_AS_F64) { /* the high half: a double that has a code is not told from it */
        for (unsigned i = 0; i < 8; i++) {
            if (value == double_bits[i]) {
                sim_text_add(text, "%s", floats[i]);
                return;
            }
        }
        sim_text_add(text, value == 0 ? "%u" : "0x%x", (unsigned)value);
    } else if (is_inline(value, kind))
        sim_text_add(text, "lit(0x%x)", (unsigned)value);
    else
        sim_text_add(text, "0x%x", (unsigned)(is_half ? value & 0xFFFF : value));
}

void sim_text_operand(struct sim_text *text, const struct sim_instruction *instruction, unsigned code, unsigned dwords,
                      unsigned kind)
{
    unsigned type = kind & 0x70u;
    const char *name = special_name(code, dwords);
    if (code >= SIM_ACC_FIRST)
        registers(text, "a", code - SIM_ACC_FIRST, dwords);
    else if (code >= SIM_VGPR_FIRST)
        registers(text, "v", code - SIM_VGPR_FIRST, dwords);
    else if (code <= SIM_SGPR_LAST)
        registers(text, "s", code, dwords);
    else if (code >= SIM_TTMP_FIRST && code <= SIM_TTMP_LAST)
        registers(text, "ttmp", code - SIM_TTMP_FIRST, dwords);
    else if (name)
        sim_text_add(text, "%s", name);
    else if (code == SIM_LITERAL)
        literal(text, instruction->literal, type);
    else if (code >= SIM_FLOAT_0_5 && code <= SIM_FLOAT_1_OVER_2PI)
        float_constant(text, code - SIM_FLOAT_0_5, type);
    else
        sim_text_add(text, "%d", code <= 192 ? (int)code - SIM_INT_0 : 192 - (int)code);
}
