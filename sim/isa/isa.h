/* isa.h - instructions of gfx942 and gfx950 as the simulator holds them after decoding.
 *
 * decode.c makes a struct sim_instruction of machine words, disassemble.c text of one, exec/ executes it. What an opcode is
 * called and which operands it has is in the table that decode.c includes (opcodes.inc, made by generate_opcodes.py with
 * llvm-mc); what it does is bound by name (sim_bind, exec/exec.h), so that neither side numbers the other's opcodes.
 */
#ifndef SIM_ISA_H
#define SIM_ISA_H

#include <stddef.h>
#include <stdint.h>

enum sim_chip { SIM_GFX942 = 0, SIM_GFX950 = 1, SIM_CHIPS = 2 };

/* The encoding an instruction was found in. VOP3 holds VOP3A and VOP3B, VOP3P holds packed math and matrix (MAI). */
enum sim_format {
    SIM_SOP2,
    SIM_SOPK,
    SIM_SOP1,
    SIM_SOPC,
    SIM_SOPP,
    SIM_SMEM,
    SIM_VOP2,
    SIM_VOP1,
    SIM_VOPC,
    SIM_VOP3,
    SIM_VOP3P,
    SIM_DS,
    SIM_MUBUF,
    SIM_MTBUF,
    SIM_FLAT, /* FLAT, GLOBAL and SCRATCH: `segment` says which */
    SIM_FORMATS
};

/* Operand codes are the hardware's 9 bits: what ISA manuals call SSRC/SRC. */
enum sim_operand {
    SIM_SGPR_FIRST = 0,
    SIM_SGPR_LAST = 101,
    SIM_FLAT_SCRATCH_LO = 102,
    SIM_XNACK_MASK_LO = 104,
    SIM_VCC_LO = 106,
    SIM_VCC_HI = 107,
    SIM_TTMP_FIRST = 108,
    SIM_TTMP_LAST = 123,
    SIM_M0 = 124,
    SIM_EXEC_LO = 126,
    SIM_EXEC_HI = 127,
    SIM_INT_0 = 128,       /* 128 + n is n, n <= 64 */
    SIM_INT_MINUS_1 = 193, /* 192 + n is -n, n <= 16 */
    SIM_SHARED_BASE = 235, /* the LDS aperture */
    SIM_SHARED_LIMIT = 236,
    SIM_PRIVATE_BASE = 237, /* the scratch aperture */
    SIM_PRIVATE_LIMIT = 238,
    SIM_FLOAT_0_5 = 240, /* 240 to 247: 0.5 -0.5 1 -1 2 -2 4 -4 */
    SIM_FLOAT_1_OVER_2PI = 248,
    SIM_SDWA = 249,
    SIM_DPP = 250,
    SIM_VCCZ = 251,
    SIM_EXECZ = 252,
    SIM_SCC = 253,
    SIM_LITERAL = 255,
    SIM_VGPR_FIRST = 256,
    SIM_VGPR_LAST = 511,
    SIM_ACC_FIRST = 512, /* ours: accumulation VGPR n is 512 + n */
    SIM_ACC_LAST = 767,
    SIM_NO_OPERAND = 0xFFFF
};

enum sim_sdwa_select { SIM_BYTE_0, SIM_BYTE_1, SIM_BYTE_2, SIM_BYTE_3, SIM_WORD_0, SIM_WORD_1, SIM_DWORD };
enum sim_segment { SIM_SEGMENT_FLAT = 0, SIM_SEGMENT_SCRATCH = 1, SIM_SEGMENT_GLOBAL = 2 };

/* One opcode of the table: facts of its encoding. */
struct sim_opcode {
    const char *name; /* without _e32, _e64, _sdwa, _dpp: "v_add_u32" */
    uint16_t code;    /* in its format; FLAT: segment << 7 | opcode */
    uint8_t format;   /* enum sim_format */
    uint8_t chips;    /* bit per enum sim_chip */
    /* Width of each operand in dwords; 0: the opcode has no such operand. 16-bit and 8-bit operands are 1. sdst is the
     * second, scalar destination (carry out, VOP3 compare) or the scalar destination of a VALU instruction. */
    uint8_t dst_dwords, sdst_dwords, src_dwords[3];
    uint16_t flags;      /* enum sim_opcode_flags */
    uint8_t src_kind[3]; /* enum sim_source_kind | enum sim_source_type; 0 where the format says it */
    /* Bits of the encoding's words, and of the second word of SDWA and DPP: that must be 0, that mean nothing. */
    struct sim_bit_rules {
        uint32_t zero, ignored;
    } words[2], sdwa, dpp;
};
enum sim_opcode_flags {
    SIM_OP_IMPLICIT_VCC_IN = 1,  /* VOP2 add with carry, cndmask */
    SIM_OP_IMPLICIT_VCC_OUT = 2, /* VOP2 add carry out, VOPC */
    SIM_OP_LITERAL_K = 4,        /* a 32-bit constant always follows: v_fmamk_f32, s_setreg_imm32_b32 */
    SIM_OP_FACTOR_K = 64,        /* and it is src[1], not src[2]: v_fmamk_f32, v_madmk_f16 */
    SIM_OP_MATRIX = 8,           /* MFMA and SMFMAC: cbsz, abid, blgp, accumulation registers by bits of the encoding */
    SIM_OP_ACC_DST = 16,         /* dst is always an accumulation register: v_accvgpr_write_b32, v_accvgpr_mov_b32 */
    SIM_OP_ACC_SRC = 32,         /* src[0] is: v_accvgpr_read_b32, v_accvgpr_mov_b32 */
    SIM_OP_SPARSE = 128,         /* SMFMAC: src[2] is the VGPR of indices, dst the addend too */
    SIM_OP_ATOMIC = 256,      /* FLAT, MUBUF: reads, changes and writes memory; sc0 says that the old value returns */
    SIM_OP_TWO_OFFSETS = 512, /* DS with offset0 and offset1 */
    SIM_OP_SUFFIX = 1024,     /* text has _e32 or _e64: there is another encoding of it */
    SIM_OP_HAS_SDWA = 2048,
    SIM_OP_HAS_DPP = 4096,
    SIM_OP_GDS_ONLY = 8192,     /* gds must be set: ds_gws_* */
    SIM_OP_WHOLE_DST = 16384,   /* SDWA writes the whole register, dst_sel is DWORD: conversions from 8-bit floats */
    SIM_OP_TRUTH_TABLE = 32768, /* v_bitop3_*: the bits of abs, neg and omod are its table */
};
/* What a source operand may be. */
enum sim_source_kind { SIM_SOURCE_VECTOR = 1, SIM_SOURCE_SCALAR = 2, SIM_SOURCE_CONST = 4 };
/* As what its constants are printed: 16-bit types take the low half of a literal, F64 has it as the high half. */
enum sim_source_type {
    SIM_AS_B32 = 0x10,
    SIM_AS_B64 = 0x20,
    SIM_AS_F64 = 0x30,
    SIM_AS_F16 = 0x40,
    SIM_AS_I16 = 0x50,
    SIM_AS_PK16 = 0x60
};

struct sim_wave;
struct sim_instruction;
typedef void (*sim_execute)(struct sim_wave *wave, const struct sim_instruction *instruction);

/* One decoded instruction. Fields that its format lacks are 0, operands that it lacks SIM_NO_OPERAND. */
struct sim_instruction {
    const struct sim_opcode *opcode;
    sim_execute execute; /* NULL: not implemented. Set by the machine from the bindings, not by decoding. */
    uint8_t bytes;       /* 4, 8 or 16 */
    uint8_t cost;        /* class of the cost model, set by the machine */
    uint32_t words[4];   /* words past `bytes` are 0 */

    /* Operand codes; vector registers as SIM_VGPR_FIRST + n or SIM_ACC_FIRST + n. VCC that an encoding implies is here too:
     * v_addc_co_u32 has sdst and src[2] SIM_VCC_LO in VOP2 as it may have in VOP3; VOPC has sdst SIM_VCC_LO.
     * SOPK: s_cmpk_*, s_setreg_b32, s_cbranch_i_fork read src[0]; s_addk_i32, s_mulk_i32 read dst too.
     * v_fmamk and v_fmaak: src[0] * src[1] + src[2], of which one is SIM_LITERAL. */
    uint16_t dst, sdst;
    uint16_t src[3];  /* SDWA and DPP: src[0] is the register in the second word */
    uint32_t literal; /* of SIM_LITERAL, and of SIM_OP_LITERAL_K */
    /* SOPK and SOPP: simm16, sign-extended; SMEM, FLAT: byte offset, sign-extended; DS: offset0 or the 16-bit offset;
     * MUBUF, MTBUF: 12-bit offset. */
    int32_t immediate;
    uint8_t offset1; /* DS with two offsets: then immediate is offset0 */

    /* VOP3, VOP3P, SDWA, DPP */
    uint8_t abs, neg;         /* bit i: source i. VOP3P: neg is neg_lo */
    uint8_t neg_hi;           /* VOP3P */
    uint8_t op_sel;           /* bit i: high half of source i, bit 3: of the destination */
    uint8_t op_sel_hi;        /* VOP3P */
    uint8_t clamp, omod;      /* omod: 0, 1 (*2), 2 (*4), 3 (/2) */
    uint8_t truth_table;      /* v_bitop3_*: bit 4a + 2b + c is the result for bits a, b, c of the sources */
    uint8_t cbsz, abid, blgp; /* MAI */
    uint8_t is_sdwa, is_dpp;
    uint8_t sdwa_dst, sdwa_dst_unused, sdwa_src[2], sdwa_sext; /* dst_unused: 0 pad, 1 sext, 2 preserve */
    uint16_t dpp_control;
    uint8_t dpp_row_mask, dpp_bank_mask, dpp_bound_control;

    /* Memory. SMEM: src[0] = base pair, src[1] = offset register or none, dst = data (also of stores and atomics).
     * FLAT: src[0] = vaddr or none (one register, an offset, where there is an saddr), src[1] = data, src[2] = saddr or
     * none; dst of an atomic is none without sc0. DS: src[0] = address, src[1] = data0, src[2] = data1.
     * MUBUF, MTBUF: src[0] = vaddr or none, src[1] = resource (4 SGPRs), src[2] = soffset, dst = data (also of stores). */
    uint8_t segment; /* enum sim_segment */
    uint8_t glc;     /* SMEM glc; on FLAT and MUBUF sc0: an atomic returns the old value */
    uint8_t sc1, nt, lds, gds, idxen, offen, scratch_has_vaddr;
};

/* Decode the instruction at words[0..count). Returns its length in bytes; 0: no instruction of the chip has this encoding,
 * or `count` words do not hold all of it. */
size_t sim_decode(struct sim_instruction *out, enum sim_chip chip, const uint32_t *words, size_t count);

/* Width of source i in dwords: what the opcode says, but for matrices in formats that cbsz and blgp choose (f8f6f4). */
unsigned sim_source_dwords(const struct sim_instruction *instruction, unsigned i);

/* Text as llvm-mc-22 prints it: mnemonic, one space, operands separated by ", "; targets of branches are offsets in words
 * from the next instruction. Truncated to `bytes`, terminated; returns the length that it has in full. */
size_t sim_disassemble(char *text, size_t bytes, const struct sim_instruction *instruction);

/* All opcodes of the table. */
const struct sim_opcode *sim_opcodes(size_t *count);

#endif
