/* Ranges that are told apart by tokens. Cases: golden_tokens.c. */
#include "golden_device.h"

KERNEL(overlapping)
{
    KTRACE_KERNEL("overlapping");
    int x = lane_index() + n;
    const ktrace_token a = KTRACE_RANGE_START("a");
    x = work(x);
    const ktrace_token b = KTRACE_RANGE_START("b", 11);
    KTRACE_RANGE_PUSH("stack");
    x = work(x);
    KTRACE_RANGE_STOP(a, 12);
    x = work(x);
    KTRACE_RANGE_POP();
    KTRACE_RANGE_STOP(b);
    out[thread_x()] = x;
}

/* Starts with nothing between them. (Simulated, two events of one wave never share a step of the clock: tests/unit/ has
 * that.) n is 0: the first stops first; 1: last. */
KERNEL(back_to_back)
{
    KTRACE_KERNEL("back to back");
    const ktrace_token a = KTRACE_RANGE_START("a");
    const ktrace_token b = KTRACE_RANGE_START("b");
    const ktrace_token c = KTRACE_RANGE_START("b");
    KTRACE_RANGE_STOP(n ? c : a, 1);
    KTRACE_RANGE_STOP(b, 2);
    KTRACE_RANGE_STOP(n ? a : c, 3);
    out[thread_x()] = work(n);
}

/* Each half of the wave has a token of its own when they stop: the latest start wins, the other range stays open. */
KERNEL(both_start)
{
    KTRACE_KERNEL("both start");
    const int lane = lane_index();
    int x = lane + n;
    ktrace_token token;
    if (lane < 16) {
        token = KTRACE_RANGE_START("low", lane);
        x = work(x);
    } else {
        token = KTRACE_RANGE_START("high", lane);
        x = work(x ^ 77);
    }
    KTRACE_RANGE_STOP(token);
    KTRACE_MARK("after");
    out[thread_x()] = x;
}

KERNEL(both_stop)
{
    KTRACE_KERNEL("both stop");
    const int lane = lane_index();
    int x = lane + n;
    const ktrace_token token = KTRACE_RANGE_START("token");
    x = work(x);
    if (lane < 16) {
        x = work(x);
        KTRACE_RANGE_STOP(token, lane);
        KTRACE_MARK("low behind");
    } else {
        x = work(x ^ 77);
        KTRACE_RANGE_STOP(token, lane);
        KTRACE_MARK("high behind");
    }
    out[thread_x()] = x;
}

KERNEL(one_stops)
{
    KTRACE_KERNEL("one stops");
    const int lane = lane_index();
    int x = lane + n;
    const ktrace_token token = KTRACE_RANGE_START("token");
    x = work(x);
    if (lane >= 9)
        KTRACE_RANGE_STOP(token, lane);
    KTRACE_MARK("after");
    out[thread_x()] = x;
}

/* Each lane holds the token of its own last turn when it leaves the loop. */
KERNEL(loop)
{
    KTRACE_KERNEL("loop");
    const int lane = lane_index();
    int x = lane;
    ktrace_token token = KTRACE_INACTIVE_TOKEN("turn");
#pragma unroll 1
    for (int turn = 0; turn < n + lane * 5 % 4; turn++) {
        KTRACE_RANGE_STOP(token);
        token = KTRACE_RANGE_START("turn", turn);
        x = work(x);
    }
    KTRACE_MARK("behind");
    KTRACE_RANGE_STOP(token, 99);
    out[thread_x()] = x;
}

KERNEL(next_loop)
{
    KTRACE_KERNEL("next loop");
    const int lane = lane_index();
    int x = lane;
    ktrace_token token = KTRACE_INACTIVE_TOKEN("turn");
#pragma unroll 1
    for (int turn = 0; turn < n + lane * 5 % 4; turn++) {
        token = KTRACE_RANGE_NEXT(token, "turn", turn);
        x = work(x);
    }
    KTRACE_RANGE_STOP(token);
    out[thread_x()] = x;
}

/* Phases that follow each other without a gap. */
KERNEL(next_chain)
{
    KTRACE_KERNEL("next chain");
    int x = lane_index() + n;
    ktrace_token token = KTRACE_RANGE_NEXT(KTRACE_INACTIVE_TOKEN("load"), "load");
    x = work(x);
    token = KTRACE_RANGE_NEXT(token, "compute", x & 0);
    x = work(x);
    token = KTRACE_RANGE_NEXT(token, "store");
    out[thread_x()] = x;
    KTRACE_RANGE_STOP(token, -7);
}

/* Half of the lanes hold no token. */
KERNEL(next_half_inactive)
{
    KTRACE_KERNEL("next half inactive");
    const int lane = lane_index();
    int x = lane + n;
    ktrace_token token = KTRACE_INACTIVE_TOKEN("first");
    if (lane >= 20)
        token = KTRACE_RANGE_START("first", lane);
    x = work(x);
    token = KTRACE_RANGE_NEXT(token, "second", lane);
    x = work(x);
    KTRACE_RANGE_STOP(token);
    out[thread_x()] = x;
}

KERNEL(inactive)
{
    KTRACE_KERNEL("inactive");
    const int lane = lane_index();
    int x = lane;
    ktrace_token token = KTRACE_INACTIVE_TOKEN("some");
    KTRACE_RANGE_STOP(token);
    KTRACE_RANGE_STOP(token, lane);
    KTRACE_MARK("before");
    if (lane >= 20 + n)
        token = KTRACE_RANGE_START("some", lane);
    x = work(x);
    KTRACE_RANGE_STOP(token, lane); /* the payload is the first active lane's, which need not hold one */
    token = KTRACE_INACTIVE_TOKEN("some");
    KTRACE_RANGE_STOP(token);
    KTRACE_MARK("after");
    out[thread_x()] = x;
}

/* Only tokens that are inactive, in a register: nothing is recorded. */
KERNEL(all_inactive)
{
    KTRACE_KERNEL("all inactive");
    ktrace_token token = KTRACE_INACTIVE_TOKEN("never");
    if (n > 5)
        token = KTRACE_RANGE_START("never");
#pragma unroll 1
    for (int i = 0; i < 3; i++)
        KTRACE_RANGE_STOP(token, i);
    out[thread_x()] = work(n);
}

KERNEL(select)
{
    KTRACE_KERNEL("select");
    int x = lane_index();
    const ktrace_token a = KTRACE_RANGE_START("a");
    x = work(x);
    const ktrace_token b = KTRACE_RANGE_START("b");
    x = work(x);
    KTRACE_RANGE_STOP(n > 0 ? a : b);
    x = work(x);
    KTRACE_RANGE_STOP(n > 0 ? b : a);
    KTRACE_RANGE_STOP(n > 5 ? a : KTRACE_INACTIVE_TOKEN("a"));
    out[thread_x()] = x;
}

/* Lanes carry different tokens into both sides of a branch. */
KERNEL(select_by_lane)
{
    KTRACE_KERNEL("select by lane");
    const int lane = lane_index();
    int x = lane + n;
    const ktrace_token a = KTRACE_RANGE_START("a");
    x = work(x);
    const ktrace_token b = KTRACE_RANGE_START("b");
    x = work(x);
    const ktrace_token mine = lane & 1 ? a : b;
    if (lane == 7) {
        KTRACE_RANGE_STOP(mine, lane);
        KTRACE_MARK("seven");
    }
    x = work(x);
    if (lane != 7) {
        KTRACE_RANGE_STOP(mine, lane); /* the others hold both: the latest */
        KTRACE_MARK("others");
    }
    out[thread_x()] = x;
}

/* A token that crosses a branch and a loop. */
KERNEL(crossing)
{
    KTRACE_KERNEL("crossing");
    const int lane = lane_index();
    int x = lane + n;
    ktrace_token token = KTRACE_INACTIVE_TOKEN("pipe");
#pragma unroll 1
    for (int turn = 0; turn < 3; turn++) {
        if (turn == 1)
            token = KTRACE_RANGE_START("pipe", turn);
        x = work(x);
        if (turn == 2 && lane < 50)
            KTRACE_RANGE_STOP(token, lane);
        KTRACE_MARK("turn", turn);
    }
    out[thread_x()] = x;
}
