/* divergence.cl - what a wave records where its lanes part: both sides of a branch, a branch that only some waves take, a loop
 * that lanes leave at different turns, and a token that they carry out of it. OpenCL C.
 *
 * A wave records as one: both sides of a branch take consecutive slots, in the order in which they run.
 */
#include <ktrace/device.h>

__attribute__((always_inline)) static inline int collatz(int value, int *steps KTRACE_PARAM)
{
    KTRACE_RANGE("collatz", value);
    ktrace_token turn = KTRACE_INACTIVE_TOKEN("turn");
    int count = 0;
    for (; value != 1; count++) {
        turn = KTRACE_RANGE_NEXT(turn, "turn", count);
        value = value % 2 ? 3 * value + 1 : value / 2;
    }
    KTRACE_RANGE_STOP(turn, count); /* of the lane that came first, the range that was begun last */
    *steps = count;
    return value;
}

__attribute__((reqd_work_group_size(128, 1, 1))) __kernel void divergence(__global int *out)
{
    KTRACE_KERNEL("divergence");
    const int thread = (int)__builtin_amdgcn_workitem_id_x(), lane = thread & 63;
    int steps = 0, value;
    if (lane < 16) {
        KTRACE_RANGE("quarter");
        value = thread + 3;
    } else {
        KTRACE_MARK("others", lane); /* 16: the first of them */
        value = thread + 1;
    }
    if (thread >= 64) /* the second wave only */
        KTRACE_MARK("second wave");
    collatz(value, &steps KTRACE_ARG);
    if (steps == 8)
        KTRACE_MARK("eight steps", thread);
    out[__builtin_amdgcn_workgroup_id_x() * 128 + thread] = steps;
}
