#include "check_cases.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BATCHES 40

/* A source's value: edges in every combination of the first two sources, then mixed with random ones. */
static uint64_t value(struct fixture *fixture, const struct edges *edges, size_t index, int any)
{
    if (!any)
        return edges->values[index % edges->count];
    const uint64_t random = fixture_random(fixture);
    return random & 3 ? edges->values[(random >> 2) % edges->count] : fixture_random(fixture);
}

static void fill(struct fixture *fixture, const struct sim_instruction *instruction, const struct edges edges[2],
                 unsigned batch)
{
    for (unsigned source = 0; source < 3; source++) {
        const unsigned row = 2 + 2 * source;
        const struct edges *values = &edges[instruction->opcode->src_dwords[source] == 2];
        for (size_t lane = 0; lane < SIM_LANES; lane++) {
            const size_t pair = batch * SIM_LANES + lane;
            const int any = source == 2 || pair >= values->count * values->count;
            const uint64_t x = value(fixture, values, source ? pair / values->count : pair, any);
            fixture->vector[row][lane] = (uint32_t)x;
            fixture->vector[row + 1][lane] = (uint32_t)(x >> 32);
        }
    }
    const uint64_t mask = fixture_random(fixture), random = fixture_random(fixture);
    sim_set_sgpr64(&fixture->wave, SIM_VCC_LO, mask);
    sim_set_sgpr64(&fixture->wave, 4, mask);
    fixture->wave.sgpr[20] = (uint32_t)value(fixture, &edges[0], 0, 1);
    const uint64_t execs[] = {UINT64_MAX, random, random & fixture_random(fixture), 1ull << (random & 63), 0};
    sim_set_sgpr64(&fixture->wave, SIM_EXEC_LO, execs[batch % 5]);
}

static wide vector_value(const struct registers *registers, unsigned row, unsigned dwords, unsigned lane)
{
    wide result = 0;
    for (unsigned i = 0; i < dwords; i++)
        result |= (wide)registers->vector[row + i][lane] << 32 * i;
    return result;
}

static void check_batch(struct fixture *fixture, const struct sim_instruction *instruction,
                        const struct check_case *checked)
{
    static struct registers before, expected, after;
    const struct sim_opcode *opcode = instruction->opcode;
    const uint64_t exec = sim_exec(&fixture->wave);
    const unsigned row = instruction->dst - (unsigned)SIM_VGPR_FIRST;
    save_registers(&before, fixture);
    expected = before;

    uint64_t bits = 0;
    for (unsigned lane = 0; lane < SIM_LANES; lane++) {
        if (!(exec >> lane & 1))
            continue;
        struct lane_input in = {.s = before.sgpr[20], .lane = lane};
        uint64_t *const sources[] = {&in.a, &in.b, &in.c};
        for (unsigned i = 0; i < 3; i++)
            *sources[i] = (uint64_t)vector_value(&before, 2 + 2 * i, opcode->src_dwords[i] == 2 ? 2 : 1, lane);
        in.carry = before.sgpr[4 + lane / 32] >> lane % 32 & 1;
        if (opcode->dst_dwords)
            in.old = vector_value(&before, row, opcode->dst_dwords, lane);
        const struct lane_output out = checked->reference(&in);
        bits |= (uint64_t)(out.bit & 1) << lane;
        for (unsigned i = 0; i < opcode->dst_dwords; i++)
            expected.vector[row + i][lane] = (uint32_t)(out.value >> 32 * i);
    }
    if (opcode->sdst_dwords == 2 || opcode->flags & SIM_OP_IMPLICIT_VCC_OUT) {
        expected.sgpr[instruction->sdst] = (uint32_t)bits;
        expected.sgpr[instruction->sdst + 1] = (uint32_t)(bits >> 32);
        if (strncmp(opcode->name, "v_cmpx", 6) == 0) {
            expected.sgpr[SIM_EXEC_LO] = (uint32_t)bits;
            expected.sgpr[SIM_EXEC_HI] = (uint32_t)(bits >> 32);
        }
    }

    fixture_execute(fixture, instruction);
    if (fixture->wave.faulted)
        fail_msg("%s: %s", checked->text, stub_fault);
    save_registers(&after, fixture);
    for (unsigned lane = 0; lane < SIM_LANES; lane++)
        for (unsigned i = 0; i < SIM_VGPRS; i++)
            if (after.vector[i][lane] != expected.vector[i][lane])
                fail_msg(
                    "%s: lane %u, v2..7 = %08x %08x %08x %08x %08x %08x, old dst %08x, active %d: row %u is %08x, not "
                    "%08x",
                    checked->text, lane, before.vector[2][lane], before.vector[3][lane], before.vector[4][lane],
                    before.vector[5][lane], before.vector[6][lane], before.vector[7][lane],
                    opcode->dst_dwords ? before.vector[row][lane] : 0, (int)(exec >> lane & 1), i,
                    after.vector[i][lane], expected.vector[i][lane]);
    for (unsigned i = 0; i < 128; i++)
        if (after.sgpr[i] != expected.sgpr[i]) {
            const unsigned wrong = (unsigned)__builtin_ctz(after.sgpr[i] ^ expected.sgpr[i]) + i % 2 * 32;
            fail_msg("%s: exec %016" PRIx64 ": s%u is %08x, not %08x; lane %u has v2..5 = %08x %08x %08x %08x",
                     checked->text, exec, i, after.sgpr[i], expected.sgpr[i], wrong, before.vector[2][wrong],
                     before.vector[3][wrong], before.vector[4][wrong], before.vector[5][wrong]);
        }
    assert_int_equal(after.scc, before.scc);
}

void check_cases(enum sim_chip chip, const struct check_case *cases, size_t count, const struct edges edges[2])
{
    struct sim_instruction *instructions = calloc(count, sizeof *instructions);
    const char **texts = calloc(count, sizeof *texts);
    static struct fixture fixture;
    assert_non_null(instructions);
    assert_non_null(texts);
    for (size_t i = 0; i < count; i++)
        texts[i] = cases[i].text;
    assemble(instructions, chip, texts, count);
    fixture_init(&fixture);
    for (size_t i = 0; i < count; i++)
        for (unsigned batch = 0; batch < BATCHES; batch++) {
            fill(&fixture, &instructions[i], edges, batch);
            check_batch(&fixture, &instructions[i], &cases[i]);
        }
    free(texts);
    free(instructions);
}
