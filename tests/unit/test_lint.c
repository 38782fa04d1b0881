/* What `ktrace doctor --lint` finds between clock reads, along ways that compilers seldom make together; names; room for waves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ktrace/record.h"
#include "lint/events.h"
#include "lint/name.h"
#include "lint/ranges.h"
#include "lint/resources.h"
#include "string_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lint_site sites[] = {
    {.id = 0x78, .kind = KTRACE_KIND_PUSH, .name = "outer", .file = "x.cu", .line = 1},
    {.id = 0x88, .kind = KTRACE_KIND_POP, .name = "", .file = ""},
    {.id = 0x98, .kind = KTRACE_KIND_PUSH, .name = "inner", .file = "x.cu", .line = 2},
    {.id = 0xA8, .kind = KTRACE_KIND_STOP, .name = "", .file = ""},
    {.id = 0xB8, .kind = KTRACE_KIND_START, .name = "token", .file = "x.cu", .line = 3},
};
enum { SITES = sizeof sites / sizeof *sites };

/* ---- Listings ------------------------------------------------------------------------------------------------------ */

static void append_line(struct kt_string *text, unsigned *address, const char *line)
{
    kt_string_printf(text, "        /*%04x*/                   %s ;\n", *address, line);
    *address += 16;
}

/* An event as ptxas makes it. A start's token is in R20, a stop's too. */
static void append_event(struct kt_string *text, unsigned *address, const struct lint_site *site)
{
    char word[64];
    const bool is_stop = site->kind == KTRACE_KIND_STOP;
    snprintf(word, sizeof word, "LEA R9, %s, 0x%x, %s", is_stop ? "R20" : "R13", (unsigned)site->id,
             is_stop ? "0x10" : "0xd");
    append_line(text, address, "VOTEU.ANY UR4, UPT, PT");
    append_line(text, address, "LOP3.LUT P0, RZ, RZ, UR4, R0, 0x88, !PT");
    append_line(text, address, "CS2R.32 R8, SR_CLOCKLO");
    append_line(text, address, word);
    append_line(text, address, "LOP3.LUT R4, R13, R2, R3, 0xea, !PT");
    append_line(text, address, "@!P0 STG.E.64 desc[UR10][R4.64], R8");
    append_line(text, address, "@!P0 VIADD R13, R13, 0x8");
    if (site->kind == KTRACE_KIND_START)
        append_line(text, address, "LOP3.LUT R20, R8, 0x1, RZ, 0xfc, !PT");
}

/* Instructions and "labels:", one an entry; "#0" is an event of sites[0]. NULL ends them. */
static void read_listing(struct lint_listing *out, const char *const *lines)
{
    struct lint_sites all = {.sites = sites, .count = SITES};
    const struct lint_elf none = {0};
    struct kt_string text = KT_STRING_INIT;
    unsigned address = 0;
    char *taken;
    kt_string_append(&text, "\t.section\t.text.kernel,\"ax\",@progbits\n");
    for (; *lines; lines++) {
        if ((*lines)[0] == '#')
            append_event(&text, &address, &sites[(*lines)[1] - '0']);
        else if ((*lines)[strlen(*lines) - 1] == ':')
            kt_string_printf(&text, "%s\n", *lines);
        else
            append_line(&text, &address, *lines);
    }
    assert_int_equal(kt_string_take(&taken, &text), 0);
    assert_int_equal(lint_read_sass(out, taken), 0);
    assert_int_equal(out->count, 1);
    assert_int_equal(lint_find_sass_events(&out->codes[0], &all, &none), 0);
}

/* Of the range that begins first. */
static struct lint_range first_range(const char *const *lines)
{
    struct lint_listing listing;
    struct lint_range *ranges, first;
    size_t count;
    read_listing(&listing, lines);
    assert_int_equal(lint_find_ranges(&ranges, &count, &listing.codes[0]), 0);
    assert_true(count > 0);
    first = ranges[0];
    free(ranges);
    lint_listing_free(&listing);
    return first;
}
#define RANGE(...) first_range((const char *const[]){__VA_ARGS__, NULL})

static void assert_inside(struct lint_range range, uint32_t inside, uint32_t ends)
{
    assert_int_equal(range.examined, LINT_EXAMINED);
    assert_int_equal(range.inside, inside);
    assert_int_equal(range.ends, ends);
}

/* ---- Ranges -------------------------------------------------------------------------------------------------------- */

static void straight_code(void **state)
{
    (void)state;
    assert_inside(RANGE("#0", "#1", "FADD R1, R1, R1", "EXIT"), 0, 1);
    assert_inside(RANGE("#0", "FADD R1, R1, R1", "NOP", "#1", "EXIT"), 1, 1);
    assert_inside(RANGE("FADD R1, R1, R1", "#0", "IMAD.MOV.U32 R1, RZ, RZ, R5", "#1", "EXIT"), 1, 1);
    assert_int_equal(RANGE("#0", "IMAD.MOV.U32 R1, RZ, RZ, R5", "#1", "EXIT").work, 0);
    assert_int_equal(RANGE("#0", "BAR.SYNC.DEFER_BLOCKING 0x0", "#1", "EXIT").work, 1);
}

/* The inner range's pop is not the outer one's. */
static void nested(void **state)
{
    (void)state;
    assert_inside(RANGE("#0", "#2", "#1", "#1", "EXIT"), 0, 1);
    assert_inside(RANGE("#0", "#2", "#1", "FADD R1, R1, R1", "#1", "EXIT"), 1, 1);
    assert_inside(RANGE("#0", "#2", "FADD R1, R1, R1", "#1", "#1", "FADD R1, R1, R1", "EXIT"), 1, 1);
}

/* Work on one side is work; on neither, or behind both pops, it is not. */
static void branches(void **state)
{
    (void)state;
    assert_inside(RANGE("#0", "@P3 BRA `(.L_x_1)", "#1", "EXIT", ".L_x_1:", "#1", "FADD R1, R1, R1", "EXIT"), 0, 2);
    assert_inside(RANGE("#0", "@P3 BRA `(.L_x_1)", "#1", "EXIT", ".L_x_1:", "FADD R1, R1, R1", "#1", "EXIT"), 1, 2);
    /* the way on which the range is not ended, too */
    assert_inside(RANGE("#0", "@P3 BRA `(.L_x_1)", "#1", "EXIT", ".L_x_1:", "FADD R1, R1, R1", "EXIT"), 1, 1);
    assert_inside(RANGE("#0", "BRA P3, `(.L_x_1)", "FADD R1, R1, R1", ".L_x_1:", "#1", "EXIT"), 1, 1);
    assert_inside(RANGE("#0", "BRA `(.L_x_1)", "FADD R1, R1, R1", ".L_x_1:", "#1", "EXIT"), 0, 1);
}

/* A loop's work may stand before the begin in the code, and is counted once. */
static void loops(void **state)
{
    (void)state;
    assert_inside(RANGE("#0", ".L_x_1:", "FADD R1, R1, R1", "@P3 BRA `(.L_x_1)", "#1", "EXIT"), 1, 1);
    assert_inside(RANGE("BRA `(.L_x_2)", ".L_x_1:", "FADD R1, R1, R1", "#1", "EXIT", ".L_x_2:", "#0", "BRA `(.L_x_1)"),
                  1, 1);
    assert_inside(RANGE(".L_x_1:", "#0", "#1", "FADD R1, R1, R1", "@P3 BRA `(.L_x_1)", "EXIT"), 0, 1);
}

/* Threads that wait at a BSYNC may go on where the BSSY before it says. */
static void convergence(void **state)
{
    (void)state;
    assert_inside(RANGE("#0", "BSSY B0, `(.L_x_1)", "@P3 BRA `(.L_x_2)", "BSYNC B0", ".L_x_2:", "#1", "EXIT",
                        ".L_x_1:", "FADD R1, R1, R1", "#1", "EXIT"),
                  1, 2);
}

static void computed_jumps(void **state)
{
    (void)state;
    assert_inside(RANGE("#0", "BRX R2 -0x10 (*\"BRANCH_TARGETS .L_x_1,.L_x_2\"*)", ".L_x_1:", "#1", "EXIT",
                        ".L_x_2:", "FADD R1, R1, R1", "#1", "EXIT"),
                  1, 2);
    assert_int_equal(RANGE("#0", "BRX R2 -0x10", "#1", "EXIT").examined, LINT_LEFT);
    assert_int_equal(RANGE("#0", "@P3 RET.REL.NODEC R20 `(kernel)", "#1", "EXIT").examined, LINT_LEFT);
}

static void without_an_end(void **state)
{
    (void)state;
    assert_int_equal(RANGE("#0", "FADD R1, R1, R1", "EXIT").examined, LINT_NO_END);
    assert_int_equal(RANGE("#0", "#2", "#1", "EXIT").examined, LINT_NO_END);
    /* as deep as it gets */
    assert_int_equal(RANGE(".L_x_1:", "#0", "@P3 BRA `(.L_x_1)", "EXIT").examined, LINT_TOO_DEEP);
}

static void tokens(void **state)
{
    (void)state;
    assert_inside(RANGE("#4", "#3", "EXIT"), 0, 1);
    assert_inside(RANGE("#4", "FADD R1, R1, R1", "#3", "EXIT"), 1, 1);
    /* of two starts one */
    assert_inside(RANGE("#4", "@P3 BRA `(.L_x_1)", "#4", ".L_x_1:", "#3", "EXIT"), 0, 1);
    /* none on the other way: the write has the guard of the branch, so that what was there before does not matter */
    assert_inside(RANGE("@P3 IMAD.MOV.U32 R20, RZ, RZ, RZ", "@P3 BRA `(.L_x_1)", "#4", "FADD R1, R1, R1",
                        "FADD R1, R1, R1", "FADD R1, R1, R1", "FADD R1, R1, R1", ".L_x_1:", "#3", "EXIT"),
                  4, 1);
    /* from memory, from an argument, through a call */
    assert_int_equal(RANGE("#4", "LDL R20, [R1]", "#3", "EXIT").examined, LINT_TOKEN);
    assert_int_equal(RANGE("#4", "CALL.REL.NOINC `(other)", "#3", "EXIT").examined, LINT_TOKEN);
}

/* An event that cannot be told makes all others of its function uncertain. */
static void unnamed(void **state)
{
    (void)state;
    assert_int_equal(RANGE("#0", "VOTEU.ANY UR4, UPT, PT", "LOP3.LUT P0, RZ, RZ, UR4, R0, 0x88, !PT",
                           "CS2R.32 R8, SR_CLOCKLO", "LDL R9, [R1]", "@!P0 STG.E.64 desc[UR10][R4.64], R8", "#1",
                           "EXIT")
                         .examined,
                     LINT_NOT_NAMED);
}

/* What a payload is computed of is the kernel's; what only brings it to its store is not. */
static void payloads(void **state)
{
    (void)state;
    assert_inside(RANGE("#0", "FADD R30, R31, R32", "@!P0 STG.E desc[UR10][R6.64], R30", "#1", "EXIT"), 1, 1);
    assert_inside(RANGE("#0", "IMAD.MOV.U32 R30, RZ, RZ, R31", "@!P0 STG.E desc[UR10][R6.64], R30", "#1", "EXIT"), 0,
                  1);
}

/* ---- The rest ------------------------------------------------------------------------------------------------------ */

static void assert_name(const char *symbol, const char *expected)
{
    char name[64];
    lint_readable_name(name, sizeof name, symbol);
    assert_string_equal(name, expected);
}

static void names(void **state)
{
    (void)state;
    assert_name("gemm", "gemm");
    assert_name("_Z4gemmPf", "gemm");
    assert_name("_Z5relaxILb1EEvPf", "relax<true>");
    assert_name("_ZN6layers5relaxILi4ELb0EfEEvPf", "layers::relax<4, false, float>");
    assert_name("_ZN12_GLOBAL__N_14gemmEPf", "(anonymous)::gemm");
    assert_name("_Z5scaleILin2EEvPf", "scale<-2>");
    assert_name("_Z4gemmIN2ns4typeEEvT_", "_Z4gemmIN2ns4typeEEvT_"); /* not taken apart */
    assert_name("_Z99gemm", "_Z99gemm");
    assert_name("_Z", "_Z");
}

static void instances(void **state)
{
    (void)state;
    assert_true(lint_differ_in_one_bool("_Z5relaxILb1EEvPf", "_Z5relaxILb0EEvPf"));
    assert_true(lint_differ_in_one_bool("_Z5relaxILb0ELb1EEvPf", "_Z5relaxILb0ELb0EEvPf"));
    assert_false(lint_differ_in_one_bool("_Z5relaxILb1ELb1EEvPf", "_Z5relaxILb0ELb0EEvPf"));
    assert_false(lint_differ_in_one_bool("_Z5relaxILi1EEvPf", "_Z5relaxILi0EEvPf"));
    assert_false(lint_differ_in_one_bool("_Z5relaxILb1EEvPf", "_Z5relaxILb1EEvPf"));
    assert_false(lint_differ_in_one_bool("", ""));
    assert_false(lint_differ_in_one_bool("Lb1", "Lb0"));
}

/* As NVIDIA's occupancy calculator has them, and 512 vector registers a lane. */
static void waves(void **state)
{
    static const struct {
        const char *target;
        uint32_t registers, waves;
    } known[] = {{"sm_90", 32, 64}, {"sm_90", 33, 48}, {"sm_90", 128, 16}, {"sm_90", 168, 12}, {"sm_90", 255, 8},
                 {"sm_75", 32, 32}, {"sm_86", 32, 48}, {"gfx942", 64, 8},  {"gfx942", 65, 7},  {"gfx950", 512, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct lint_resources resources = {.registers = known[i].registers, .scalar_registers = 93};
        assert_int_equal(lint_waves(known[i].target, &resources), known[i].waves);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_code), cmocka_unit_test(nested),         cmocka_unit_test(branches),
        cmocka_unit_test(loops),         cmocka_unit_test(convergence),    cmocka_unit_test(computed_jumps),
        cmocka_unit_test(tokens),        cmocka_unit_test(without_an_end), cmocka_unit_test(unnamed),
        cmocka_unit_test(payloads),      cmocka_unit_test(names),          cmocka_unit_test(instances),
        cmocka_unit_test(waves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
