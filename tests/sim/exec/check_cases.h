/* check_cases.h - instructions against a native reference, lane by lane.
 *
 * A file of cases (integer_cases.inc) has lines
 *
 *     CASE("v_add_u32 v8, v2, v4", a + b)
 *     CASE_BIT("v_add_co_u32 v8, s[6:7], v2, v4", a + b, a + b > UINT32_MAX)
 *
 * whose expressions see a lane's v2 or v[2:3] as `a`, v4 or v[4:5] as `b`, v6 or v[6:7] as `c`, zero-extended; `s`, the
 * value of s20; `carry`, its bit of both vcc and s[4:5]; `lane`; `old`, what the destination had; and `in`. Lines have names
 * by their line number. The test includes the file twice, by CASES_FILE:
 *
 *     #define CASES_FILE "integer_cases.inc"
 *     #include "define_cases.h"
 *
 * which defines `cases`.
 */
#ifndef CHECK_CASES_H
#define CHECK_CASES_H

#include "wave_fixture.h"

__extension__ typedef unsigned __int128 wide;
__extension__ typedef __int128 signed_wide;

struct lane_input {
    uint64_t a, b, c;
    wide old;
    uint32_t s;
    unsigned lane, carry;
};
struct lane_output {
    wide value;
    int bit; /* of the lane mask in sdst */
};
struct check_case {
    const char *text;
    struct lane_output (*reference)(const struct lane_input *in);
};

/* Values that lanes take, of the width that the sources have; the rest is random. */
struct edges {
    const uint64_t *values;
    size_t count;
};

/* Executes every case with many inputs and EXEC masks. The destination's active lanes must have the reference's value, the bits
 * of the lane mask it writes the reference's bit, or 0 in lanes that are not active; nothing else may change, but that EXEC
 * becomes the mask where the opcode is a v_cmpx. `edges[0]` is for sources of one register, `edges[1]` of two. */
void check_cases(enum sim_chip chip, const struct check_case *cases, size_t count, const struct edges edges[2]);

#endif
