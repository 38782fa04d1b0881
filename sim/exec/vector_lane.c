/* vector_lane.c - what moves data between lanes, between vector and scalar registers, and to and from accumulation
 * registers.
 */
#include "vector_table.h"

static void write_sgpr(struct sim_wave *wave, const struct sim_instruction *instruction, uint32_t value)
{
    if (sim_has_sgprs(wave, instruction->sdst, 1))
        wave->sgpr[instruction->sdst] = value;
}

/* The lane that the second source of v_readlane and v_writelane names. These two do not look at EXEC. */
static unsigned selected_lane(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    return sim_scalar32(wave, instruction, instruction->src[1], SIM_B32) % SIM_LANES;
}

static void v_readlane_b32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    uint32_t buffer[SIM_LANES];
    const uint32_t *lanes = sim_source32_plain(wave, instruction, 0, SIM_B32, buffer);
    write_sgpr(wave, instruction, lanes[selected_lane(wave, instruction)]);
}

static void v_writelane_b32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    const uint32_t value = sim_scalar32(wave, instruction, instruction->src[0], SIM_B32);
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    if (rows)
        rows[0][selected_lane(wave, instruction)] = value;
}

/* With no lane active it reads lane 0. */
static void v_readfirstlane_b32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    uint32_t buffer[SIM_LANES];
    const uint32_t *lanes = sim_source32_plain(wave, instruction, 0, SIM_B32, buffer);
    const uint64_t exec = sim_exec(wave);
    write_sgpr(wave, instruction, lanes[exec ? __builtin_ctzll(exec) : 0]);
}

static void v_swap_b32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    uint32_t(*x)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    uint32_t(*y)[SIM_LANES] = sim_vector_rows(wave, instruction->src[0], 1);
    if (!x || !y || x == y)
        return;
    uint32_t old[SIM_LANES];
    memcpy(old, x, sizeof old);
    sim_write_row(*x, *y, sim_exec(wave));
    sim_write_row(*y, old, sim_exec(wave));
}

/* Groups of `group` lanes: the odd ones of dst swap with the even ones of the source, each with the one before it. A lane
 * gets nothing from one that is not active, unless fi (op_sel bit 0) says to fetch from it; with bound_control (bit 1) it then
 * becomes 0, as in DPP. */
static void swap_groups(struct sim_wave *wave, const struct sim_instruction *instruction, int group)
{
    uint32_t(*odd)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    uint32_t(*even)[SIM_LANES] = sim_vector_rows(wave, instruction->src[0], 1);
    if (!odd || !even)
        return;
    const uint64_t exec = sim_exec(wave), fetched = instruction->op_sel & 1 ? UINT64_MAX : exec;
    const int bound_control = instruction->op_sel >> 1 & 1;
    for (int low = 0; low < SIM_LANES; low++) {
        if (low & group)
            continue;
        const int high = low + group;
        const uint32_t from_high = odd[0][high], from_low = even[0][low];
        const int high_fetched = fetched >> high & 1, low_fetched = fetched >> low & 1;
        if (exec >> low & 1 && (high_fetched || bound_control))
            even[0][low] = high_fetched ? from_high : 0;
        if (exec >> high & 1 && (low_fetched || bound_control))
            odd[0][high] = low_fetched ? from_low : 0;
    }
}
static void v_permlane16_swap_b32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    swap_groups(wave, instruction, 16);
}
static void v_permlane32_swap_b32(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    swap_groups(wave, instruction, 32);
}

/* Moves to, from and between accumulation registers; operand codes say which. */
static void move(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    uint32_t buffer[SIM_LANES];
    const uint32_t *source = sim_source32_plain(wave, instruction, 0, SIM_B32, buffer);
    uint32_t(*rows)[SIM_LANES] = sim_vector_rows(wave, instruction->dst, 1);
    if (rows && *rows != source)
        sim_write_row(*rows, source, sim_exec(wave));
}

static void v_nop(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    (void)wave, (void)instruction;
}

static const struct sim_binding bindings[] = {
    SIM_BIND(v_readlane_b32),        SIM_BIND(v_writelane_b32),
    SIM_BIND(v_readfirstlane_b32),   SIM_BIND(v_swap_b32),
    SIM_BIND(v_permlane16_swap_b32), SIM_BIND(v_permlane32_swap_b32),
    {"v_accvgpr_read_b32", move},    {"v_accvgpr_write_b32", move},
    {"v_accvgpr_mov_b32", move},     SIM_BIND(v_nop),
};
const struct sim_bindings sim_vector_lane = {bindings, sizeof bindings / sizeof *bindings};
