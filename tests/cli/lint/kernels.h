/* Kernels for check_lint.py: what compilers do to ranges. Each comment says what the machine code has. Of CUDA and HIP; `LANE` and
 * `WAIT_FOR_ALL()` are their words. */

/* LLVM moves arithmetic into the branch that needs it, behind the range: nothing is left inside. */
extern "C" __global__ void moved_out(float *out, float x, int n)
{
    KTRACE_KERNEL("moved_out");
    KTRACE_RANGE_PUSH("math");
    for (int i = 0; i < 8; i++)
        x = __builtin_fmaf(x, x, 1.0f);
    KTRACE_RANGE_POP();
    if (n > 3)
        out[LANE] = x;
}

/* The same, pinned. */
extern "C" __global__ void pinned(float *out, float x, int n)
{
    KTRACE_KERNEL("pinned");
    KTRACE_RANGE_PUSH("math");
    KTRACE_PIN(x);
    for (int i = 0; i < 8; i++)
        x = __builtin_fmaf(x, x, 1.0f);
    KTRACE_PIN(x);
    KTRACE_RANGE_POP();
    if (n > 3)
        out[LANE] = x;
}

/* A wait is not work: there is none behind the first range, whose end waits for the loads. */
extern "C" __global__ void waits(float *out, const float *in, const double *wide)
{
    KTRACE_KERNEL("waits");
    KTRACE_RANGE_PUSH("load");
    float x = in[LANE];
    double y = wide[LANE];
    KTRACE_WAIT(x);
    KTRACE_WAIT(y);
    KTRACE_RANGE_POP();
    KTRACE_RANGE_PUSH("nothing");
    KTRACE_WAIT(x);
    KTRACE_RANGE_POP();
    KTRACE_RANGE_PUSH("nothing wide");
    KTRACE_WAIT(y);
    KTRACE_RANGE_POP();
    out[LANE] = (float)y;
    out[LANE + 32] = x;
}

/* A range in a loop, and one around it. */
extern "C" __global__ void loop(float *out, int n)
{
    KTRACE_KERNEL("loop");
    float sum = 0;
    KTRACE_RANGE("all");
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        KTRACE_RANGE("turn", i);
        sum += out[i * 32 + LANE];
    }
    out[LANE] = sum;
}

/* Copies of one annotation. */
extern "C" __global__ void unrolled(float *out)
{
    KTRACE_KERNEL("unrolled");
#pragma unroll
    for (int i = 0; i < 4; i++) {
        KTRACE_RANGE("part");
        out[i * 32 + LANE] *= 2;
    }
}

/* Both sides pop, one returns, and no side of the inner branch has work of its own: the outer range has. */
extern "C" __global__ void divergent(float *out, int n)
{
    KTRACE_KERNEL("divergent");
    KTRACE_RANGE_PUSH("outer");
    if ((int)LANE < n) {
        KTRACE_RANGE_PUSH("inner");
        out[LANE] += 1;
        KTRACE_RANGE_POP();
        KTRACE_RANGE_POP();
        return;
    }
    out[LANE + 32] += 2;
    KTRACE_RANGE_POP();
    out[LANE + 64] += 3;
}

/* What has no arithmetic at all is work, too. */
extern "C" __global__ void barrier(float *out)
{
    KTRACE_KERNEL("barrier");
    out[LANE] = 1;
    KTRACE_RANGE_PUSH("wait");
    WAIT_FOR_ALL();
    KTRACE_RANGE_POP();
    out[LANE ^ 1] = 2;
}

/* A computed jump inside of a range. */
extern "C" __global__ void jump(float *out, int n)
{
    KTRACE_KERNEL("jump");
    KTRACE_RANGE_PUSH("choice");
    switch (n) {
    case 0: out[LANE] = 1; break;
    case 1: out[LANE] += out[1]; break;
    case 2: out[LANE] *= out[2]; break;
    case 3: WAIT_FOR_ALL(); break;
    case 4: out[LANE] = out[3] / out[5]; break;
    case 5: out[LANE * 2] = 1; break;
    case 6: out[LANE + 1] = 3; break;
    case 7: out[LANE + 9] = out[4] / n; break;
    }
    KTRACE_RANGE_POP();
}

/* Tokens: a chain through a loop, a pair, and one of two starts. */
extern "C" __global__ void tokens(float *out, int n)
{
    KTRACE_KERNEL("tokens");
    ktrace_token tile = KTRACE_INACTIVE_TOKEN("tile");
    float x = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        tile = KTRACE_RANGE_NEXT(tile, "tile", i);
        x += out[i * 32 + LANE];
    }
    KTRACE_RANGE_STOP(tile);
    ktrace_token store = KTRACE_RANGE_START("store");
    out[LANE] = x;
    KTRACE_RANGE_STOP(store);
    ktrace_token nothing = KTRACE_RANGE_START("nothing");
    KTRACE_RANGE_STOP(nothing);
}

/* Instances of a template, each with descriptors of its own. */
template <int Factor>
__global__ void scale(float *out)
{
    KTRACE_KERNEL("scale");
    KTRACE_RANGE("scale");
    out[LANE] *= Factor;
}
template __global__ void scale<2>(float *);
template __global__ void scale<3>(float *);

/* Both specializations in one file. */
template <bool Traced>
__global__ void relax(float *out)
{
    KTRACE_KERNEL_IF(Traced, "relax");
    KTRACE_RANGE("relax");
    out[LANE] = out[LANE] * 0.5f + 1.0f;
}
template __global__ void relax<false>(float *);
template __global__ void relax<true>(float *);
