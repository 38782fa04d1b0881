#include "cuda_survey.h"

#include <stddef.h>

_Static_assert(offsetof(struct kt_clock_survey, from_ns) == 32768, "as the PTX has it");
_Static_assert(offsetof(struct kt_clock_survey, from_cycles) == 32776, "as the PTX has it");
_Static_assert(offsetof(struct kt_clock_survey, to_ns) == 32784, "as the PTX has it");
_Static_assert(offsetof(struct kt_clock_survey, to_cycles) == 32792, "as the PTX has it");
_Static_assert(offsetof(struct kt_clock_survey, cycles) == 32800, "as the PTX has it");
_Static_assert(KT_SURVEY_READINGS % 16 == 0 && KT_SURVEY_CYCLES == 16, "as the PTX has it");

/* clang-format off */

/* A reading takes 26 cycles on H200, less than the 32 ns after which the timer changes: no change is missed in a row of them. Behind
 * a row, whose stores and branch take time, one may be. */
#define READ(a, b, c, d) \
    "    mov.u64 %t" #a ", %globaltimer;\n" \
    "    mov.u64 %t" #b ", %globaltimer;\n" \
    "    mov.u64 %t" #c ", %globaltimer;\n" \
    "    mov.u64 %t" #d ", %globaltimer;\n"
#define STORE(offset, a, b) "    st.global.v2.u64 [%out+" #offset "], {%t" #a ", %t" #b "};\n"

/* Four readings of the cycle clock, and where they go. */
#define READ_CYCLES(a, b, c, d) \
    "    mov.u32 %r" #a ", %clock;\n" \
    "    mov.u32 %r" #b ", %clock;\n" \
    "    mov.u32 %r" #c ", %clock;\n" \
    "    mov.u32 %r" #d ", %clock;\n"
#define STORE_CYCLES(offset, a, b, c, d) \
    "    st.global.v4.u32 [%survey+" #offset "], {%r" #a ", %r" #b ", %r" #c ", %r" #d "};\n"

/* Until the wall clock changes, for a million readings at the most; both clocks then. */
#define WAIT_FOR_CHANGE(label) \
    "    mov.u32 %patience, 1000000;\n" \
    "    mov.u64 %last, %globaltimer;\n" \
    label ":\n" \
    "    mov.u64 %now, %globaltimer;\n" \
    "    mov.u64 %cycles, %clock64;\n" \
    "    sub.u32 %patience, %patience, 1;\n" \
    "    setp.eq.u32 %over, %patience, 0;\n" \
    "    @%over bra end;\n" \
    "    setp.eq.u64 %same, %now, %last;\n" \
    "    @%same bra " label ";\n"

const char kt_cuda_survey_source[] =
    ".version 7.0\n"
    ".target sm_75\n"
    ".address_size 64\n"
    ".visible .entry ktrace_survey_clocks(.param .u64 clocks)\n"
    "{\n"
    "    .reg .u64 %survey, %out, %end, %last, %now, %cycles, %until, %t<16>;\n"
    "    .reg .u32 %patience, %r<16>;\n"
    "    .reg .pred %same, %over, %more;\n"
    "    ld.param.u64 %survey, [clocks];\n"
    "    cvta.to.global.u64 %survey, %survey;\n"
    "    mov.u64 %until, 0;\n"
    "    st.global.u64 [%survey+32784], %until;\n"
    WAIT_FOR_CHANGE("first")
    "    st.global.u64 [%survey+32768], %now;\n"
    "    st.global.u64 [%survey+32776], %cycles;\n"
    "    add.u64 %until, %now, 1000000;\n"
    "    mov.u64 %out, %survey;\n"
    "    add.u64 %end, %survey, 32768;\n"
    "read:\n"
    READ(0, 1, 2, 3) READ(4, 5, 6, 7) READ(8, 9, 10, 11) READ(12, 13, 14, 15)
    STORE(0, 0, 1) STORE(16, 2, 3) STORE(32, 4, 5) STORE(48, 6, 7)
    STORE(64, 8, 9) STORE(80, 10, 11) STORE(96, 12, 13) STORE(112, 14, 15)
    "    add.u64 %out, %out, 128;\n"
    "    setp.lt.u64 %more, %out, %end;\n"
    "    @%more bra read;\n"
    READ_CYCLES(0, 1, 2, 3) READ_CYCLES(4, 5, 6, 7) READ_CYCLES(8, 9, 10, 11) READ_CYCLES(12, 13, 14, 15)
    STORE_CYCLES(32800, 0, 1, 2, 3)
    STORE_CYCLES(32816, 4, 5, 6, 7)
    STORE_CYCLES(32832, 8, 9, 10, 11)
    STORE_CYCLES(32848, 12, 13, 14, 15)
    "    mov.u32 %patience, 1000000;\n"
    "wait:\n"
    "    sub.u32 %patience, %patience, 1;\n"
    "    setp.eq.u32 %over, %patience, 0;\n"
    "    @%over bra end;\n"
    "    mov.u64 %now, %globaltimer;\n"
    "    setp.lt.u64 %more, %now, %until;\n"
    "    @%more bra wait;\n"
    WAIT_FOR_CHANGE("last")
    "    st.global.u64 [%survey+32784], %now;\n"
    "    st.global.u64 [%survey+32792], %cycles;\n"
    "end:\n"
    "    ret;\n"
    "}\n";
