/* Annotations in odd places, and names and values that are. Compiles with tracing on and off. */
#include <ktrace/device.h>

#define GLOBAL __attribute__((address_space(1)))
#define INLINE static inline __attribute__((always_inline))

enum phase { LOAD, STORE = 70000 };
struct fields {
    int five : 5;
    unsigned three : 3;
    _Bool flag : 1;
};

INLINE int nested(int x KTRACE_PARAM)
{
    KTRACE_RANGE("outer", x);
    if (x > 3) {
        KTRACE_RANGE("inner");
        return 1;
    }
    return 2;
}

__attribute__((amdgpu_kernel)) void hygiene(GLOBAL int *p, int n)
{
    KTRACE_KERNEL("hygiene");
    const int lane = (int)__builtin_amdgcn_workitem_id_x();
    int bits = p[0], held = p[1], started = p[2], latest = p[3];
    // clang-format off
    KTRACE_RANGE("first"); KTRACE_RANGE("second"); /* on one line */
    // clang-format on
    KTRACE_MARK("others", bits + held + started + latest);
    if (n)
        KTRACE_MARK("without braces");
    else if (n > 3)
        KTRACE_MARK("else without braces", n);
    else
        KTRACE_RANGE_POP();
    for (int i = 0; i < lane; i++) {
        KTRACE_RANGE("turn");
        if (p[i] == 1)
            continue;
        {
            KTRACE_RANGE("inside");
            if (i == p[i])
                break;
            if (p[i] == 2)
                goto behind;
            p[i] = nested(i KTRACE_ARG);
        }
    }
    switch (n) {
    case 0: KTRACE_MARK("case"); break;
    case 1: {
        KTRACE_RANGE("in a case");
        p[1]++;
        break;
    }
    default: KTRACE_MARK("default"); break;
    }
behind:
    KTRACE_MARK("called once", p[2]++);
    const int constant = p[3];
    volatile int seen = p[4];
    const struct fields fields = {p[5], 2, 1};
    const enum phase phase = p[6] ? LOAD : STORE;
    KTRACE_MARK("constant", constant);
    KTRACE_MARK("volatile", seen);
    KTRACE_MARK("in global memory", p[7]);
    KTRACE_MARK("signed bit field", fields.five);
    KTRACE_MARK("unsigned bit field", fields.three);
    KTRACE_MARK("bool bit field", fields.flag);
    KTRACE_MARK("enum", phase);
    KTRACE_MARK("%d %s %% { } %[text] \" \\ ${x} {a|b} \u00e9 \xe6\xbc\xa2 \t\n 'q' // no comment */ ;");
    KTRACE_MARK("two"
                " parts");
    p[8] = (KTRACE_MARK("in an expression"), p[9]) ? (KTRACE_MARK("yes"), 1) : (KTRACE_MARK("no"), 2);
    ktrace_token token = KTRACE_RANGE_START("token", lane + 3);
    KTRACE_RANGE_STOP(lane & 1 ? token : KTRACE_INACTIVE_TOKEN("token"));
    KTRACE_RANGE_STOP(KTRACE_RANGE_START("at once"), 1.5f);
    float f = (float)n;
    double d = (double)f;
    long l = n;
    KTRACE_PIN(f);
    KTRACE_PIN(d);
    KTRACE_PIN(l);
    KTRACE_WAIT(f);
    KTRACE_WAIT(d);
    KTRACE_WAIT(l);
    p[10] = (int)(f + d) + (int)l;
    if (lane == 3)
        return;
    KTRACE_MARK("tail", d);
}

/* What KTRACE_KERNEL need not be: first, once, and outside of everything. */
__attribute__((amdgpu_kernel)) void late(GLOBAL int *p, int n)
{
    if (p[0] == 3)
        return;
    for (int i = 0; i < n; i++) {
        KTRACE_KERNEL("turn");
        KTRACE_MARK("of a turn", i);
        p[i]++;
    }
}
