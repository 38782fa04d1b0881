/* Decoding and text of fixed encodings of all formats, words that no chip knows, and a million random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "isa/isa.h"

enum { GFX942 = 1 << SIM_GFX942, GFX950 = 1 << SIM_GFX950, BOTH = GFX942 | GFX950 };

struct known {
    unsigned chips;
    uint32_t words[2];
    size_t count;
    const char *text;
};

static const struct known known[] = {
#include "decode_cases.inc"
};

static void known_encodings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        for (enum sim_chip chip = SIM_GFX942; chip < SIM_CHIPS; chip++) {
            struct sim_instruction instruction;
            size_t bytes = sim_decode(&instruction, chip, known[i].words, known[i].count);
            if (!(known[i].chips >> chip & 1)) {
                /* The other chip has nothing there, or something else. */
                char text[256] = "";
                if (bytes)
                    sim_disassemble(text, sizeof text, &instruction);
                assert_string_not_equal(text, known[i].text);
                continue;
            }
            if (bytes != 4 * known[i].count)
                fail_msg("%s: %zu bytes", known[i].text, bytes);
            char text[256];
            assert_int_equal(sim_disassemble(text, sizeof text, &instruction), strlen(known[i].text));
            assert_string_equal(text, known[i].text);
            /* Cut off: nothing is read that is not there. */
            assert_int_equal(sim_decode(&instruction, chip, known[i].words, known[i].count - 1), 0);
        }
    }
}

static void every_format_is_among_them(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct sim_instruction instruction;
        enum sim_chip chip = known[i].chips & GFX942 ? SIM_GFX942 : SIM_GFX950;
        assert_int_not_equal(sim_decode(&instruction, chip, known[i].words, known[i].count), 0);
        seen |= 1u << instruction.opcode->format;
    }
    assert_int_equal(seen, (1u << SIM_FORMATS) - 1);
}

/* ---- Fields that the text does not show, or shows as something else ---------------------------------------------------- */

static struct sim_instruction decode(enum sim_chip chip, uint32_t low, uint32_t high)
{
    struct sim_instruction instruction;
    assert_int_not_equal(sim_decode(&instruction, chip, (uint32_t[]){low, high}, 2), 0);
    return instruction;
}

static void implied_operands(void **state)
{
    (void)state;
    /* v_addc_co_u32_e32 v1, vcc, v2, v3, vcc */
    struct sim_instruction carry = decode(SIM_GFX942, 0x38020702, 0);
    assert_int_equal(carry.bytes, 4);
    assert_int_equal(carry.dst, SIM_VGPR_FIRST + 1);
    assert_int_equal(carry.sdst, SIM_VCC_LO);
    assert_int_equal(carry.src[2], SIM_VCC_LO);
    /* v_fmamk_f32 v1, v2, 0x40490fdb, v3: the constant is the second factor. */
    struct sim_instruction factor = decode(SIM_GFX942, 0x2E020702, 0x40490FDB);
    assert_int_equal(factor.src[1], SIM_LITERAL);
    assert_int_equal(factor.src[2], SIM_VGPR_FIRST + 3);
    assert_int_equal(factor.literal, 0x40490FDB);
    /* flat_atomic_add_x2 v[2:3], v[4:5]: without sc0 there is no destination. */
    assert_int_equal(decode(SIM_GFX942, 0xDD880000, 0x00000402).dst, SIM_NO_OPERAND);
    /* s_mov_b64 s[2:3], s[4:5]: the encoding has 3 and 5, of which the lowest bit is ignored. */
    struct sim_instruction pair = decode(SIM_GFX942, 0xBE830105, 0);
    assert_int_equal(pair.dst, 2);
    assert_int_equal(pair.src[0], 4);
}

static void truth_table(void **state)
{
    (void)state;
    /* v_bitop3_b32 v8, v2, s20, v6 bitop3:0x96: modifiers must not see the bits. */
    struct sim_instruction any = decode(SIM_GFX950, 0xD2340208, 0xD4182902);
    assert_int_equal(any.truth_table, 0x96);
    assert_int_equal(any.abs | any.neg | any.omod, 0);
}

static void matrix_formats(void **state)
{
    (void)state;
    /* v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:..], v[12:..], v[0:3]: 8-bit, 6-bit and 4-bit formats. */
    static const unsigned dwords[5] = {8, 8, 6, 6, 4};
    for (uint32_t a = 0; a < 5; a++) {
        for (uint32_t b = 0; b < 5; b++) {
            struct sim_instruction product = decode(SIM_GFX950, 0xD3AD0000 | a << 8, 0x04021904 | b << 29);
            assert_int_equal(sim_source_dwords(&product, 0), dwords[a]);
            assert_int_equal(sim_source_dwords(&product, 1), dwords[b]);
            assert_int_equal(sim_source_dwords(&product, 2), 4);
        }
    }
}

/* ---- What must be rejected --------------------------------------------------------------------------------------------- */

static void rejected(void **state)
{
    (void)state;
    static const struct {
        uint32_t words[2];
        const char *why;
    } cases[] = {
        {{0xC4000000, 0}, "a prefix without a format"},
        {{0xFFFFFFFF, 0xFFFFFFFF}, "all ones"},
        {{0xBFFF0000, 0}, "SOPP opcode 127"},
        {{0xBE881DFF, 0x3C00}, "s_setpc_b64 of a literal"},
        {{0xC0021F0A, 1}, "s_load_dword m0"},
        {{0xC0061F8A, 1}, "s_load_dwordx2 exec"},
        {{0xC00A190A, 1}, "s_load_dwordx4 s[100:103]"},
        {{0x7EF80528, 0}, "v_readfirstlane_b32 m0, v40"},
        {{0x7E1004FF, 0x12345678}, "v_readfirstlane_b32 of a literal"},
        {{0x7E10A400, 0}, "v_accvgpr_mov_b32 of an SGPR"},
        {{0x7E10A8F9, 0x00060008}, "v_cvt_f32_fp8_sdwa with dst_sel:BYTE_0"},
        {{0x7E1002F9, 0x00070608}, "src0_sel that is reserved"},
        {{0x7E1002F9, 0x00060708}, "dst_sel that is reserved"},
        {{0x7E1002F9, 0x00061E08}, "dst_unused that is reserved"},
        {{0x7E1002FA, 0xFF010008}, "row_shl:0"},
        {{0xD1196B08, 0x05E2A128}, "v_add_co_u32_e64 with the pair from vcc_hi on"},
        {{0xD1196A08, 0x05E2A0FF}, "VOP3 with a literal"},
        {{0xD1000008, 0x05E2A128}, "v_cndmask_b32_e64 with a mask in VGPRs"},
        {{0xD2000008, 0x05E2A07D}, "operand code 125"},
        {{0xD3E20008, 0x03FAA128}, "v_smfmac with indices from LDS"},
        {{0xDAD40281, 0x79002818}, "ds_or_rtn_b64 a[121:122]"},
        {{0xD9BE0201, 0x0000FE08}, "ds_write_b128 v[254:257]"},
        {{0xD93A0000, 2}, "ds_gws_barrier without gds"},
        {{0xE2010762, 0x85B338A9}, "lds with accumulation registers"},
        {{0xE0501000, 0xFF042808}, "soffset that is a literal"},
        {{0xDC508000, 0x787E0008}, "saddr that is exec"},
        {{0xDC5D0000, 0xFE002808}, "flat_load_dwordx4 v[254:257]"},
    };
    for (enum sim_chip chip = SIM_GFX942; chip < SIM_CHIPS; chip++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct sim_instruction instruction;
            if (sim_decode(&instruction, chip, cases[i].words, 2)) {
                char text[256];
                sim_disassemble(text, sizeof text, &instruction);
                fail_msg("%s: decoded as %s", cases[i].why, text);
            }
        }
    }
    struct sim_instruction instruction;
    assert_int_equal(sim_decode(&instruction, SIM_GFX942, NULL, 0), 0);
}

/* ---- Random words -------------------------------------------------------------------------------------------------------- */

enum { RANDOM = 1000000, BLOCK = 4 };

static uint32_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*random >> 32);
}

/* `words` end where memory does, for sanitizers to see. Returns whether there was an instruction. */
static int check_random(enum sim_chip chip, const uint32_t *words, size_t count, char *text, size_t room)
{
    struct sim_instruction whole, alone;
    size_t bytes = sim_decode(&whole, chip, words, count);
    if (bytes == 0)
        return 0;
    if (bytes > 4 * count || bytes % 4 != 0)
        fail_msg("%zu bytes of %zu words from %08x on", bytes, count, (unsigned)words[0]);
    /* Only its own words matter. */
    if (sim_decode(&alone, chip, words, bytes / 4) != bytes || memcmp(&whole, &alone, sizeof whole) != 0)
        fail_msg("%08x: words that follow change it", (unsigned)words[0]);
    if (sim_decode(&alone, chip, words, bytes / 4 - 1) != 0)
        fail_msg("%08x: decoded from fewer words", (unsigned)words[0]);
    size_t length = sim_disassemble(text, room, &whole);
    if (strlen(text) != (length < room ? length : room - 1))
        fail_msg("%08x: text '%s' of length %zu", (unsigned)words[0], text, length);
    return 1;
}

static void random_words(void **state)
{
    (void)state;
    uint64_t random = 42;
    size_t instructions = 0;
    char *text[2] = {malloc(200), malloc(9)}; /* all of it fits; most are cut off */
    uint32_t *block = malloc(BLOCK * sizeof *block);
    assert_non_null(text[0]);
    assert_non_null(text[1]);
    assert_non_null(block);
    for (int i = 0; i < RANDOM; i++) {
        for (int j = 0; j < BLOCK; j++)
            block[j] = next_random(&random);
        uint32_t choice = next_random(&random);
        if (choice & 64) /* few bits: fewer that must be 0 are not */
            block[0] &= next_random(&random) | 0xFC000000, block[1] &= next_random(&random);
        size_t count = 1 + (choice & 3), cut = choice >> 2 & 1;
        instructions += (size_t)check_random(choice >> 3 & 1 ? SIM_GFX950 : SIM_GFX942, block + BLOCK - count, count,
                                             text[cut], cut ? 9 : 200);
    }
    free(block);
    free(text[0]);
    free(text[1]);
    assert_in_range(instructions, RANDOM / 10, RANDOM); /* else the words say little */
}

static void text_without_room(void **state)
{
    (void)state;
    struct sim_instruction end = decode(SIM_GFX942, 0xBF810000, 0);
    char text[4] = "???";
    assert_int_equal(sim_disassemble(text, 0, &end), strlen("s_endpgm"));
    assert_string_equal(text, "???");
    assert_int_equal(sim_disassemble(text, 1, &end), strlen("s_endpgm"));
    assert_string_equal(text, "");
    assert_int_equal(sim_disassemble(text, sizeof text, &end), strlen("s_endpgm"));
    assert_string_equal(text, "s_e");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_encodings),  cmocka_unit_test(every_format_is_among_them),
        cmocka_unit_test(implied_operands), cmocka_unit_test(truth_table),
        cmocka_unit_test(matrix_formats),   cmocka_unit_test(rejected),
        cmocka_unit_test(random_words),     cmocka_unit_test(text_without_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
