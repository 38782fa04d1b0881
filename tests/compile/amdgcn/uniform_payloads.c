/* Payloads that all lanes compute alike, by vector instructions: the event takes them in scalar registers. */
#include <ktrace/device.h>
__attribute__((amdgpu_kernel)) void payloads(__attribute__((address_space(1))) float *out, float f, double d, long l,
                                             int i, short h, _Float16 hf)
{
    KTRACE_KERNEL("payloads");
    const int t = (int)__builtin_amdgcn_workitem_id_x();
    KTRACE_MARK("a", (int)(f * 2));
    KTRACE_MARK("b", (long)(d * 2));
    KTRACE_MARK("c", l * l / 3);
    KTRACE_MARK("d", (unsigned char)(f + 3));
    KTRACE_MARK("e", i / 7 * t);
    KTRACE_MARK("f", (short)(h * h + (short)t));
    KTRACE_MARK("g", (long)(float)t);
    KTRACE_MARK("h", (unsigned long)(hf * hf));
    KTRACE_MARK("i", (long)((double)t * 3 + f));
    KTRACE_MARK("j", f > d);
    KTRACE_MARK("k", (f < 3 ? l : (long)i));
    KTRACE_MARK("l", (unsigned long)t * (unsigned long)l);
    KTRACE_MARK("m", (unsigned)(__builtin_sqrtf(f)));
    KTRACE_MARK("n", __builtin_popcountl(l) + (int)d);
    KTRACE_MARK("o", ((unsigned long)(unsigned)(int)f << 32) + t);
    KTRACE_RANGE_STOP((ktrace_token)(int)f);
    out[t] = f;
}
