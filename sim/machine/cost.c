#include "cost.h"

#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- The numbers, in core clock cycles ---------------------------------------------------------------------------- */

static const struct {
    uint16_t issue;   /* the SIMD is busy */
    uint16_t latency; /* until the result of a memory instruction is there */
} table[COST_CLASSES] = {
    /* A wave issues once in four cycles, when its SIMD has its turn; 64 lanes take four cycles on 16 lanes (CDNA3 ISA
     * guide, "Manually Inserted Wait States"; GCN3 architecture papers). */
    [COST_SCALAR] = {4, 0},
    [COST_VECTOR] = {4, 0},
    /* Transcendental functions and 32-bit integer multiplication: a quarter of the rate (as LLVM's SISchedule.td has it:
     * Write32Bit against WriteTrans32, WriteIntMul). Of doubles: half of that, chosen. */
    [COST_VECTOR_QUARTER] = {16, 0},
    [COST_VECTOR_EIGHTH] = {32, 0},
    /* A taken branch: BRANCH_TAKEN more. */
    [COST_BRANCH] = {4, 0},
    [COST_BARRIER] = {4, 0},
    [COST_END] = {4, 0},
    [COST_NOP] = {4, 0}, /* for each of its wait states */
    [COST_SLEEP] = {4, 0},
    [COST_WAIT] = {4, 0},
    /* Chosen, of the order of what microbenchmarks of CDNA report: a hit in the scalar cache, in LDS, in L2. */
    [COST_SCALAR_MEMORY] = {4, 200},
    [COST_CLOCK] = {4, 40},
    [COST_LDS] = {4, 64},
    [COST_VECTOR_MEMORY] = {4, 500},
    [COST_FLAT] = {4, 500},
    /* The matrix core is busy 4 << n cycles, the SIMD for the issue only. */
    [COST_MATRIX] = {4, 0},
    [COST_MATRIX + 1] = {4, 0},
    [COST_MATRIX + 2] = {4, 0},
    [COST_MATRIX + 3] = {4, 0},
    [COST_MATRIX + 4] = {4, 0},
    [COST_MATRIX + 5] = {4, 0},
};
enum {
    BRANCH_TAKEN = 12,    /* chosen: the instruction buffer is filled anew */
    BARRIER_RELEASE = 16, /* chosen */
    WORKGROUP_START = 32, /* chosen: an XCC's dispatcher starts one in so many cycles */
    ADDRESS_CYCLES = 4,   /* 16 addresses a cycle */
    CYCLES_A_LINE = 1,    /* a CU's L1 serves 64 bytes a cycle (CDNA3 white paper) */
    LDS_CYCLES = 2,       /* a dword of 64 lanes at 128 bytes a cycle (CDNA3 white paper); conflicts are not modelled */
    VECTOR_MEMORY_LIMIT = 63, /* vmcnt has six bits, lgkmcnt four (CDNA3 ISA guide, S_WAITCNT) */
    SCALAR_AND_LDS_LIMIT = 15
};

/* Floating-point operations of a CU's four matrix cores in a cycle, dense: CDNA3 and CDNA4 white papers and data sheets. */
static const struct {
    const char *suffix; /* of the opcode's name */
    uint32_t operations[SIM_CHIPS];
} matrix_rates[] = {
    {"_f64", {256, 128}},   {"_xf32", {1024, 1024}},  {"_f32", {256, 256}}, {"_bf16", {2048, 4096}},
    {"_f16", {2048, 4096}}, {"f8f6f4", {8192, 8192}}, {"8", {4096, 8192}}, /* _i8, _fp8, _bf8 */
};
#define RATE_OF_6_AND_4_BITS 16384

uint64_t cost_barrier_cycles(void)
{
    return BARRIER_RELEASE;
}

uint64_t cost_workgroup_cycles(void)
{
    return WORKGROUP_START;
}

/* ---- Classes ---------------------------------------------------------------------------------------------------------- */

static int begins(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

static int ends(const char *name, const char *with)
{
    size_t length = strlen(name), tail = strlen(with);
    return length >= tail && !strcmp(name + length - tail, with);
}

static uint32_t matrix_rate(const struct sim_instruction *instruction, enum sim_chip chip)
{
    const char *name = instruction->opcode->name;
    /* gfx950 has its higher rates with the shapes that it added. */
    enum sim_chip rates_of = instruction->opcode->chips & 1u << SIM_GFX942 && !ends(name, "_f64") ? SIM_GFX942 : chip;
    if (ends(name, "f8f6f4") && instruction->cbsz >= 2 && instruction->blgp >= 2) /* neither matrix is of 8 bits */
        return RATE_OF_6_AND_4_BITS;
    for (size_t i = 0; i < sizeof matrix_rates / sizeof *matrix_rates; i++)
        if (ends(name, matrix_rates[i].suffix))
            return matrix_rates[i].operations[rates_of];
    return matrix_rates[2].operations[rates_of];
}

/* "v_mfma_f32_32x32x4_2b_f16": 2 * 32 * 32 * 4 * 2 operations. Sparse ones (smfmac) skip half of theirs. */
static uint8_t classify_matrix(const struct sim_instruction *instruction, enum sim_chip chip)
{
    const char *name = instruction->opcode->name, *shape = strchr(name + 7, '_');
    uint64_t operations = 2;
    char *end = NULL;
    for (int i = 0; i < 3 && shape; i++) {
        operations *= strtoul(shape + 1, &end, 10);
        shape = *end == 'x' || *end == '_' ? end : NULL;
    }
    if (shape && shape[1] >= '0' && shape[1] <= '9')
        operations *= strtoul(shape + 1, &end, 10);
    if (begins(name, "v_smfmac"))
        operations /= 2;
    uint64_t cycles = operations * 4 / matrix_rate(instruction, chip);
    /* Two passes of four cycles at least (CDNA3 ISA guide: 4x4x4 shapes). */
    uint8_t class = COST_MATRIX + 1;
    while (class < COST_CLASSES - 1 && 4ull << (class - COST_MATRIX) < cycles)
        class ++;
    return class;
}

static uint8_t classify_vector(const char *name)
{
    static const char *const transcendental[] = {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"};
    for (size_t i = 0; i < sizeof transcendental / sizeof *transcendental; i++)
        if (begins(name, transcendental[i]))
            return ends(name, "_f64") ? COST_VECTOR_EIGHTH : COST_VECTOR_QUARTER;
    if (begins(name, "v_mul_lo_u32") || begins(name, "v_mul_hi_") || begins(name, "v_mad_u64_u32") ||
        begins(name, "v_mad_i64_i32"))
        return COST_VECTOR_QUARTER;
    return COST_VECTOR;
}

static uint8_t classify_sopp(const char *name)
{
    static const struct {
        const char *name;
        uint8_t class;
    } classes[] = {{"s_nop", COST_NOP},
                   {"s_endpgm", COST_END},
                   {"s_barrier", COST_BARRIER},
                   {"s_waitcnt", COST_WAIT},
                   {"s_sleep", COST_SLEEP}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strcmp(name, classes[i].name))
            return classes[i].class;
    return begins(name, "s_branch") || begins(name, "s_cbranch") ? COST_BRANCH : COST_SCALAR;
}

uint8_t cost_classify(const struct sim_instruction *instruction, enum sim_chip chip)
{
    const char *name = instruction->opcode->name;
    switch (instruction->opcode->format) {
    case SIM_SOPP: return classify_sopp(name);
    case SIM_SOP1:
        return begins(name, "s_setpc") || begins(name, "s_swappc") || begins(name, "s_call") ? COST_BRANCH
                                                                                             : COST_SCALAR;
    case SIM_SOPK: return begins(name, "s_call") || begins(name, "s_cbranch") ? COST_BRANCH : COST_SCALAR;
    case SIM_SMEM: return begins(name, "s_mem") ? COST_CLOCK : COST_SCALAR_MEMORY;
    case SIM_VOP1:
    case SIM_VOP2:
    case SIM_VOP3:
    case SIM_VOPC: return classify_vector(name);
    case SIM_VOP3P:
        return (begins(name, "v_mfma_") && strchr(name, 'x')) || begins(name, "v_smfmac_")
                   ? classify_matrix(instruction, chip)
                   : COST_VECTOR;
    case SIM_DS: return COST_LDS;
    case SIM_MUBUF:
    case SIM_MTBUF: return COST_VECTOR_MEMORY;
    case SIM_FLAT: return instruction->segment == SIM_SEGMENT_FLAT ? COST_FLAT : COST_VECTOR_MEMORY;
    default: return COST_SCALAR;
    }
}

/* ---- Memory in flight ------------------------------------------------------------------------------------------------- */

/* When no more than `limit` are in flight. */
static uint64_t when_at_most(const struct outstanding *outstanding, uint32_t limit)
{
    if (outstanding->count <= limit)
        return 0;
    return outstanding->done[(outstanding->first + outstanding->count - limit - 1) % OUTSTANDING_MAX];
}

static void retire(struct outstanding *outstanding, uint64_t cycle)
{
    while (outstanding->count && outstanding->done[outstanding->first] <= cycle) {
        outstanding->first = (outstanding->first + 1) % OUTSTANDING_MAX;
        outstanding->count--;
    }
}

static void start(struct outstanding *outstanding, uint64_t cycle, uint64_t done)
{
    retire(outstanding, cycle);
    if (outstanding->count) {
        uint64_t last = outstanding->done[(outstanding->first + outstanding->count - 1) % OUTSTANDING_MAX];
        done = done > last ? done : last;
    }
    outstanding->done[(outstanding->first + outstanding->count++) % OUTSTANDING_MAX] = done;
}

static uint64_t latest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t cost_all_done(const struct resident *resident, uint64_t cycle)
{
    return latest(cycle, latest(when_at_most(&resident->vector_memory, 0), when_at_most(&resident->scalar_and_lds, 0)));
}

uint64_t cost_issue_cycle(const struct resident *resident, const struct sim_instruction *instruction, uint64_t cycle)
{
    uint64_t vector_limit = OUTSTANDING_MAX, other_limit = OUTSTANDING_MAX;
    switch (instruction->cost) {
    case COST_WAIT: /* bits 3:0 and 15:14 vmcnt, 11:8 lgkmcnt */
        vector_limit = (instruction->immediate & 15) | (instruction->immediate >> 10 & 0x30);
        other_limit = instruction->immediate >> 8 & 15;
        break;
    case COST_SCALAR_MEMORY:
    case COST_CLOCK:
    case COST_LDS: other_limit = SCALAR_AND_LDS_LIMIT - 1; break;
    case COST_VECTOR_MEMORY: vector_limit = VECTOR_MEMORY_LIMIT - 1; break;
    case COST_FLAT:
        vector_limit = VECTOR_MEMORY_LIMIT - 1;
        other_limit = SCALAR_AND_LDS_LIMIT - 1;
        break;
    default: return latest(cycle, resident->simd->matrix_free_cycle);
    }
    cycle = latest(cycle, when_at_most(&resident->vector_memory, (uint32_t)vector_limit));
    return latest(cycle, when_at_most(&resident->scalar_and_lds, (uint32_t)other_limit));
}

/* A unit that serves one instruction at a time: when this one, of so many cycles, is through. */
static uint64_t serve(uint64_t *free_cycle, uint64_t cycle, uint32_t cycles)
{
    *free_cycle = latest(*free_cycle, cycle) + cycles;
    return *free_cycle;
}

uint64_t cost_charge(struct resident *resident, const struct sim_instruction *instruction, uint64_t cycle)
{
    unsigned class = instruction->cost;
    struct simd *simd = resident->simd;
    uint64_t issue = table[class].issue, latency = table[class].latency, done;
    uint32_t lines = resident->wave.lines_touched * CYCLES_A_LINE;
    switch (class) {
    case COST_BRANCH:
        if (resident->wave.pc != resident->pc_of_instruction + instruction->bytes) {
            simd->free_cycle = cycle + issue;
            return cycle + issue + BRANCH_TAKEN;
        }
        break;
    case COST_NOP: issue *= (uint64_t)(instruction->immediate & 15) + 1; break;
    case COST_SLEEP: simd->free_cycle = cycle + issue; return cycle + issue + resident->sleep_cycles;
    case COST_SCALAR_MEMORY:
    case COST_CLOCK: start(&resident->scalar_and_lds, cycle, cycle + latency); break;
    case COST_LDS:
        start(&resident->scalar_and_lds, cycle, serve(&simd->cu->lds_free_cycle, cycle, LDS_CYCLES) + latency);
        break;
    case COST_VECTOR_MEMORY:
    case COST_FLAT:
        done = serve(&simd->cu->vector_memory_free_cycle, cycle, lines > ADDRESS_CYCLES ? lines : ADDRESS_CYCLES) +
               latency;
        start(&resident->vector_memory, cycle, done);
        if (class == COST_FLAT)
            start(&resident->scalar_and_lds, cycle, done);
        break;
    default:
        if (class >= COST_MATRIX)
            simd->matrix_free_cycle = cycle + (4ull << (class - COST_MATRIX));
        break;
    }
    simd->free_cycle = cycle + issue;
    return cycle + issue;
}
