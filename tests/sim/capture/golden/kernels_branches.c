/* Annotations where lanes part: branches, loops, returns. Cases: golden_branches.c. */
#include "golden_device.h"

/* ---- Branches ---------------------------------------------------------------------------------------------------- */

KERNEL(if_else)
{
    KTRACE_KERNEL("if else");
    const int lane = lane_index();
    int x = lane;
    KTRACE_MARK("before");
    if (lane < 20 + n) {
        KTRACE_MARK("low", lane);
        x = work(x);
    } else {
        KTRACE_MARK("high", lane);
        x = work(x + 3);
    }
    KTRACE_MARK("after");
    out[thread_x()] = x;
}

KERNEL(nested)
{
    KTRACE_KERNEL("nested");
    const int lane = lane_index();
    int x = lane + n;
    if (lane & 1) {
        KTRACE_RANGE("odd", lane);
        if (lane < 32) {
            KTRACE_RANGE("odd low", lane);
            x = work(x);
        } else {
            KTRACE_MARK("odd high", lane);
            x = work(x + 1);
        }
    } else {
        KTRACE_RANGE("even", lane);
        if (lane >= 40) {
            KTRACE_MARK("even high", lane);
            x = work(x + 2);
            if (lane == 62)
                KTRACE_MARK("62", lane);
        }
    }
    KTRACE_MARK("after", lane);
    out[thread_x()] = x;
}

KERNEL(switch_ways)
{
    KTRACE_KERNEL("switch");
    const int lane = lane_index();
    int x = lane + n;
    KTRACE_MARK("before");
    switch (lane & 3) {
    case 0: {
        KTRACE_RANGE("way 0", lane);
        x = work(x);
        break;
    }
    case 1: {
        KTRACE_RANGE("way 1", lane);
        x = work(x ^ 5);
        break;
    }
    case 2: {
        KTRACE_RANGE("way 2", lane);
        x = work(x - 9);
        break;
    }
    default: {
        KTRACE_RANGE("way 3", lane);
        x = work(x * 7);
        break;
    }
    }
    KTRACE_MARK("after");
    out[thread_x()] = x;
}

KERNEL(single_lanes)
{
    KTRACE_KERNEL("single lanes");
    const int lane = lane_index();
    int x = lane + n;
    if (lane == 5)
        KTRACE_MARK("five", lane);
    if (lane == 63) {
        KTRACE_RANGE("last");
        x = work(x);
        KTRACE_MARK("inside", lane);
    }
    if (lane == 0)
        KTRACE_MARK("zero", lane);
    if (lane == 5 || lane == 63)
        KTRACE_MARK("two", lane);
    KTRACE_MARK("all", lane);
    out[thread_x()] = x;
}

/* No lane, of all or of those that are left, takes what records. */
KERNEL(no_lane)
{
    KTRACE_KERNEL("no lane");
    const int lane = lane_index();
    int x = lane;
    if (lane == 64 + n) {
        KTRACE_RANGE("never", lane);
        x = work(x);
    }
    if (n > 5)
        KTRACE_MARK("never, for all", lane);
    if (lane >= 10) {
        KTRACE_MARK("ten", lane);
        for (int i = 0; i < n; i++)
            KTRACE_MARK("no turn", i);
        if (lane < 10 - n) {
            const ktrace_token token = KTRACE_RANGE_START("never, inside");
            x = work(x);
            KTRACE_RANGE_STOP(token);
        }
    }
    out[thread_x()] = x;
}

/* Lane 0 takes no branch that records. */
KERNEL(not_lane_zero)
{
    KTRACE_KERNEL("not lane zero");
    const int lane = lane_index();
    int x = lane + n;
    if (lane != 0) {
        KTRACE_RANGE_PUSH("outer");
        x = work(x);
        if (lane > 7) {
            KTRACE_RANGE("inner", lane);
            KTRACE_MARK("deep");
            x = work(x);
        }
        const ktrace_token token = KTRACE_RANGE_START("token");
        x = work(x);
        KTRACE_RANGE_STOP(token, lane);
        KTRACE_RANGE_POP();
    }
    out[thread_x()] = x;
}

/* The first lanes are gone before the wave begins. */
KERNEL(late_kernel)
{
    if (lane_index() < n)
        return;
    KTRACE_KERNEL("late kernel");
    KTRACE_MARK("thread", thread_x());
    out[thread_x()] = work(thread_x());
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */

INLINE int trips_of(int lane)
{
    return lane * 5 % 6; /* lane 0: none; the most, 5, for lane 1 */
}

KERNEL(trip_marks)
{
    KTRACE_KERNEL("trip marks");
    const int lane = lane_index();
    int x = lane + n;
    KTRACE_MARK("before");
#pragma unroll 1
    for (int turn = 0; turn < trips_of(lane); turn++) {
        KTRACE_MARK("turn", lane * 10 + turn);
        x = work(x);
    }
    KTRACE_MARK("after");
    out[thread_x()] = x;
}

KERNEL(trip_ranges)
{
    KTRACE_KERNEL("trip ranges");
    const int lane = lane_index();
    int x = lane + n;
    KTRACE_RANGE("loop");
#pragma unroll 1
    for (int turn = 0; turn < trips_of(lane); turn++) {
        KTRACE_RANGE("turn", turn);
        x = work(x);
        KTRACE_MARK("middle", lane);
        x = work(x);
    }
    out[thread_x()] = x;
}

KERNEL(nested_loops)
{
    KTRACE_KERNEL("nested loops");
    const int lane = lane_index();
    int x = lane + n;
#pragma unroll 1
    for (int i = 0; i < 2 + (lane & 1); i++) {
        KTRACE_RANGE("outer", i);
#pragma unroll 1
        for (int k = 0; k < i + (lane >> 5); k++) {
            KTRACE_MARK("inner", lane);
            x = work(x);
        }
    }
    out[thread_x()] = x;
}

/* Lanes break out of a scoped range at different turns. */
KERNEL(break_out)
{
    KTRACE_KERNEL("break");
    const int lane = lane_index();
    int x = lane + n;
    KTRACE_RANGE_PUSH("loop");
#pragma unroll 1
    for (int turn = 0; turn < 4; turn++) {
        KTRACE_RANGE("turn", lane);
        x = work(x);
        if (lane == turn)
            break;
        x = work(x);
    }
    KTRACE_RANGE_POP();
    out[thread_x()] = x;
}

KERNEL(continue_out)
{
    KTRACE_KERNEL("continue");
    const int lane = lane_index();
    int x = lane + n;
#pragma unroll 1
    for (int turn = 0; turn < 3; turn++) {
        KTRACE_RANGE("turn", turn);
        x = work(x);
        if ((lane & 3) == turn)
            continue;
        KTRACE_MARK("goes on", lane);
        x = work(x);
    }
    out[thread_x()] = x;
}

KERNEL(goto_out)
{
    KTRACE_KERNEL("goto");
    const int lane = lane_index();
    int x = lane + n;
    {
        KTRACE_RANGE("outer");
#pragma unroll 1
        for (int turn = 0; turn < 3; turn++) {
            KTRACE_RANGE("turn", turn);
            x = work(x);
            if (lane == 9 && turn == 1)
                goto out_of_both;
            x = work(x);
        }
        KTRACE_MARK("end of outer", lane);
    }
    KTRACE_MARK("between", lane);
out_of_both:
    KTRACE_MARK("behind", lane);
    out[thread_x()] = x;
}

/* ---- Leaving early ----------------------------------------------------------------------------------------------- */

/* n is 1: the lower lanes leave, 0: the upper ones. */
KERNEL(early_return)
{
    KTRACE_KERNEL("early return");
    const int lane = lane_index();
    int x = lane;
    KTRACE_MARK("all", lane);
    if ((lane < 32) == n) {
        KTRACE_MARK("leaves", lane);
        out[thread_x()] = x;
        return;
    }
    KTRACE_RANGE("stay", lane);
    x = work(x);
    out[thread_x()] = x;
}

KERNEL(early_return_from_ranges)
{
    KTRACE_KERNEL("early return from ranges");
    const int lane = lane_index();
    int x = lane;
    KTRACE_RANGE("outer");
    x = work(x);
    {
        KTRACE_RANGE("inner", lane);
        x = work(x);
        if ((lane < 32) == n) {
            KTRACE_MARK("leaves", lane);
            out[thread_x()] = x;
            return;
        }
        KTRACE_MARK("stays", lane);
        x = work(x);
    }
    KTRACE_MARK("behind", lane);
    out[thread_x()] = x;
}

/* One lane after the other leaves from inside a loop. */
KERNEL(return_in_loop)
{
    KTRACE_KERNEL("return in loop");
    const int lane = lane_index();
    int x = lane + n;
#pragma unroll 1
    for (int turn = 0; turn < 4; turn++) {
        KTRACE_RANGE("turn", lane);
        x = work(x);
        if (lane == turn) {
            out[thread_x()] = -x;
            return;
        }
        x = work(x);
    }
    KTRACE_MARK("behind", lane);
    out[thread_x()] = x;
}

/* ---- Ends on different sides of a branch ------------------------------------------------------------------------- */

KERNEL(both_pop)
{
    KTRACE_KERNEL("both pop");
    const int lane = lane_index();
    int x = lane;
    if (n)
        KTRACE_RANGE_PUSH("outer");
    KTRACE_RANGE_PUSH("inner");
    x = work(x);
    if (lane < 16) {
        KTRACE_MARK("low");
        x = work(x);
        KTRACE_RANGE_POP();
        KTRACE_MARK("low behind");
    } else {
        KTRACE_MARK("high");
        x = work(x ^ 77);
        KTRACE_RANGE_POP();
        KTRACE_MARK("high behind");
    }
    KTRACE_MARK("after");
    if (n)
        KTRACE_RANGE_POP();
    out[thread_x()] = x;
}

/* n is 1: the lower lanes pop, 0: the upper ones. */
KERNEL(one_pops)
{
    KTRACE_KERNEL("one pops");
    const int lane = lane_index();
    int x = lane;
    KTRACE_RANGE_PUSH("range");
    x = work(x);
    if ((lane < 16) == n) {
        KTRACE_MARK("pops");
        x = work(x);
        KTRACE_RANGE_POP();
    }
    KTRACE_MARK("after");
    out[thread_x()] = x;
}

/* Ends without a begin are counted and close nothing. */
KERNEL(dangling)
{
    KTRACE_KERNEL("dangling");
    int x = lane_index() + n;
    KTRACE_RANGE_POP();
    KTRACE_MARK("between");
    KTRACE_RANGE_PUSH("whole");
    x = work(x);
    KTRACE_RANGE_POP();
    KTRACE_RANGE_POP();
    KTRACE_RANGE_PUSH("open");
    const ktrace_token token = KTRACE_RANGE_START("open token");
    x = work(x);
    KTRACE_MARK("last");
    out[thread_x()] = x + (int)(token & 0);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

INLINE int inner_function(int x KTRACE_PARAM)
{
    KTRACE_RANGE("inner function", 1);
    x = work(x);
    if (x == 123456789)
        return 0; /* never: another way out of the range */
    KTRACE_MARK("in inner function");
    return x;
}

INLINE int outer_function(int x, int depth KTRACE_PARAM)
{
    KTRACE_RANGE("outer function", depth);
    x = work(x);
    return inner_function(x KTRACE_ARG);
}

/* The same function from both sides of a branch. */
KERNEL(calls)
{
    KTRACE_KERNEL("calls");
    const int lane = lane_index();
    int x = lane + n;
    x = outer_function(x, 1 KTRACE_ARG);
    if (lane & 1)
        x = outer_function(x, 2 KTRACE_ARG);
    else
        x = inner_function(x KTRACE_ARG);
    KTRACE_MARK("after");
    out[thread_x()] = x;
}
