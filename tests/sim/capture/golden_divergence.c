/* Golden cases: a wave under every kind of divergence. `n` chooses lanes where a case says so. */
#include "golden_kernels.h"

KERNEL if_else(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("if else");
    const int lane = lane_index();
    int x = lane;
    KTRACE_MARK("before");
    if (lane < n) {
        KTRACE_MARK("low", lane);
        work(&x);
    } else {
        KTRACE_MARK("high", lane);
        work(&x);
        x += 3;
    }
    KTRACE_MARK("after");
    out[thread_index()] = x;
}

KERNEL nested(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("nested");
    const int lane = lane_index();
    int x = lane;
    KTRACE_RANGE("outer", lane);
    if (lane >= n) {
        KTRACE_RANGE("middle", lane);
        work(&x);
        if (lane & 1) {
            KTRACE_RANGE("inner", lane);
            work(&x);
        } else {
            KTRACE_MARK("even", lane);
            x++;
        }
        KTRACE_MARK("middle's end", lane);
    }
    out[thread_index()] = x;
}

KERNEL switches(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("switch");
    const int lane = lane_index();
    int x = lane;
    switch (lane % n) {
    case 0: {
        KTRACE_RANGE("way 0", lane);
        work(&x);
        break;
    }
    case 1: {
        KTRACE_RANGE("way 1", lane);
        work(&x);
        x ^= 5;
        break;
    }
    case 2: KTRACE_MARK("falls", lane); /* fall through */
    default: {
        KTRACE_RANGE("other ways", lane);
        work(&x);
        x -= 9;
        break;
    }
    }
    KTRACE_MARK("after");
    out[thread_index()] = x;
}

/* Lane 0 takes no turn, lane 13 takes 13. */
KERNEL trips(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("trips");
    const int lane = lane_index(), turns = lane * 5 % n;
    int x = lane;
    KTRACE_RANGE("loop");
    KEEP_LOOP for (int turn = 0; turn < turns; turn++)
    {
        KTRACE_RANGE("turn", turn);
        work(&x);
        KTRACE_MARK("first lane", lane);
    }
    KTRACE_MARK("after");
    out[thread_index()] = x;
}

KERNEL early_return(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("early return");
    const int lane = lane_index();
    int x = lane;
    KTRACE_RANGE("body", lane);
    out[thread_index()] = x;
    if (lane < n)
        return;
    KTRACE_MARK("those who stay", lane);
    work(&x);
    out[thread_index()] = x;
}

KERNEL jumps(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("jumps");
    const int lane = lane_index();
    int x = lane;
    KEEP_LOOP for (int turn = 0; turn < n; turn++)
    {
        KTRACE_RANGE("turn", turn);
        work(&x);
        if ((lane + turn) % 3 == 0)
            continue;
        KTRACE_MARK("not continued", lane);
        if (turn == lane)
            break;
        if (turn == 2 && lane > 50)
            goto out_of_it;
        KTRACE_MARK("turn's end", lane);
    }
    KTRACE_MARK("loop left", lane);
    work(&x);
out_of_it:
    KTRACE_MARK("after", lane);
    out[thread_index()] = x;
}

KERNEL one_lane(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("one lane");
    const int lane = lane_index();
    int x = lane;
    if (lane == n) {
        KTRACE_RANGE("one", lane);
        work(&x);
    }
    KTRACE_MARK("all", lane);
    out[thread_index()] = x;
}

/* The first lane that is active is not the wave's first. */
KERNEL not_the_first(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("not the first");
    const int lane = lane_index();
    int x = lane;
    if (lane >= n) {
        KTRACE_RANGE_PUSH("outer", lane);
        work(&x);
        const ktrace_token token = KTRACE_RANGE_START("token", lane);
        if (lane > n + 7)
            KTRACE_MARK("deep", lane);
        KTRACE_RANGE_STOP(token, lane * 2);
        KTRACE_RANGE_POP();
    }
    out[thread_index()] = x;
}

/* Lanes of a wave start at different places, or nowhere: then there is nothing to stop. */
KERNEL tokens(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("tokens");
    const int lane = lane_index();
    int x = lane;
    ktrace_token token = KTRACE_INACTIVE_TOKEN("none");
    if (lane & 1) {
        if (lane < n)
            token = KTRACE_RANGE_START("low and odd", lane);
        else
            token = KTRACE_RANGE_START("high and odd", lane);
    }
    work(&x);
    if (!(lane & 1))
        KTRACE_RANGE_STOP(token, lane); /* no lane of these holds one */
    KTRACE_MARK("between", lane);
    KTRACE_RANGE_STOP(token, lane); /* the latest start */
    if (lane < n && (lane & 1))
        KTRACE_RANGE_STOP(token, lane); /* again: the last stop of a start counts */
    out[thread_index()] = x;
}

KERNEL next_token(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("next");
    int x = lane_index();
    ktrace_token token = KTRACE_INACTIVE_TOKEN("phase");
    KEEP_LOOP for (int turn = 0; turn < n; turn++)
    {
        token = KTRACE_RANGE_NEXT(token, "phase", turn);
        work(&x);
        if (turn == 1) {
            KTRACE_RANGE_STOP(token);
            token = KTRACE_INACTIVE_TOKEN("phase");
        }
    }
    KTRACE_RANGE_STOP(token, x);
    out[thread_index()] = x;
}

/* Starts in one loop, stops in another, in the other order; and two starts with nothing between. */
KERNEL overlapping(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("overlapping");
    int x = lane_index();
    const ktrace_token a = KTRACE_RANGE_START("a"), b = KTRACE_RANGE_START("b"), c = KTRACE_RANGE_START("c");
    KTRACE_RANGE_STOP(a, 1);
    KTRACE_RANGE_STOP(c, 3);
    KTRACE_RANGE_STOP(b, 2);
    ktrace_token crossing = KTRACE_INACTIVE_TOKEN("crossing");
    KEEP_LOOP for (int turn = 0; turn < n; turn++)
    {
        const ktrace_token previous = crossing;
        crossing = KTRACE_RANGE_START("crossing", turn);
        work(&x);
        KTRACE_RANGE_STOP(previous, turn);
    }
    KTRACE_RANGE_STOP(crossing, n);
    out[thread_index()] = x;
}

/* Every type of payload from the first active lane. */
KERNEL payloads(GLOBAL int *out, int n)
{
    KTRACE_KERNEL("payloads");
    const int lane = lane_index();
    if (lane >= n) {
        const float f = (float)(lane - n), zero = f * 0.0f;
        KTRACE_MARK("none");
        KTRACE_MARK("int 0", 0);
        KTRACE_MARK("bool", lane >= 0);
        KTRACE_MARK("signed char", (signed char)(-1 - lane));
        KTRACE_MARK("unsigned char", (unsigned char)(255 - lane));
        KTRACE_MARK("short", (short)(-300 - lane));
        KTRACE_MARK("unsigned short", (unsigned short)(65535 - lane));
        KTRACE_MARK("int", -70000 - lane);
        KTRACE_MARK("unsigned", 4000000000u + (unsigned)lane);
        KTRACE_MARK("long", -(1l << 62) - lane);
        KTRACE_MARK("unsigned long", (1ul << 63) + (unsigned)lane);
        KTRACE_MARK("half", (_Float16)(f + 1.5f));
        KTRACE_MARK("bfloat16", (__bf16)(f + 2.5f));
        KTRACE_MARK("float", f - 0.1f);
        KTRACE_MARK("double", (double)f - 0.1);
        KTRACE_MARK("minus 0", -zero);
        KTRACE_MARK("infinity", -1.0f / zero);
        KTRACE_MARK("NaN", __builtin_nanf("") + f);
        KTRACE_MARK("double NaN", __builtin_nan("") + f);
        KTRACE_MARK("2^63 as double", 9223372036854775808.0 + f);
    }
    out[thread_index()] = lane;
}
