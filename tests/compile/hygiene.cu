/* Annotations where names, lambdas and macros of the user's could get in their way. Compiles with tracing on and off. */
#include <ktrace/device.h>

#define BOTH(a, b) \
    KTRACE_RANGE(a); \
    KTRACE_RANGE(b)

namespace user
{
namespace ktrace_detail
{
struct site_id;
}
__device__ void inside(int x KTRACE_PARAM)
{
    KTRACE_MARK("in a namespace of the same name", x);
    KTRACE_RANGE("range", x);
    ktrace_token token = KTRACE_RANGE_START("start");
    token = KTRACE_RANGE_NEXT(token, "next");
    KTRACE_RANGE_STOP(token);
    KTRACE_RANGE_PUSH("push");
    KTRACE_RANGE_POP();
    KTRACE_PIN(x);
    KTRACE_WAIT(x);
}
} // namespace user

template <int A, int B>
__device__ int of_two(int x)
{
    return x * A + B;
}

__device__ void takes_none(KTRACE_PARAM_ONLY)
{
    KTRACE_MARK("none");
}

template <bool Traced>
__device__ void takes_none_if(KTRACE_PARAM_ONLY_IF(Traced))
{
    KTRACE_MARK("none if");
}

template <bool Traced>
__global__ void chosen(int *p)
{
    KTRACE_KERNEL_IF(Traced, "chosen");
    takes_none_if<Traced>(KTRACE_ARG_ONLY);
    p[0] = 1;
}
template __global__ void chosen<true>(int *);
template __global__ void chosen<false>(int *);

__global__ void hygiene(int *p)
{
    KTRACE_KERNEL("hygiene");
    int site = p[0], kind = p[1], type = 2, bits = 3, wave = 4, clock = 5, token = 6;
    KTRACE_MARK("site", site);
    KTRACE_RANGE("kind", kind + site);
    KTRACE_MARK("others", type + bits + wave + clock + token);
    // clang-format off
    KTRACE_RANGE("first"); KTRACE_RANGE("second"); /* on one line */
    // clang-format on
    BOTH("third", "fourth");
    KTRACE_MARK("commas", (of_two<1, 2>(site)));
    KTRACE_MARK("called once", p[2]++);
    KTRACE_MARK("characters", u'a');
    KTRACE_MARK("wide characters", L'a');
    user::inside(site KTRACE_ARG);
    [&, x = p[1]]() {
        KTRACE_RANGE("lambda", x);
        KTRACE_MARK("of a lambda", [] { return 3; }());
    }();
    if (site)
        KTRACE_MARK("without braces");
    else
        KTRACE_MARK("else without braces", site);
    for (int i = 0; i < 2; i++)
        KTRACE_MARK("loop without braces", i);
    switch (site) {
    case 0: KTRACE_MARK("case"); break;
    default: KTRACE_MARK("default"); break;
    }
    const volatile int seen = 3;
    KTRACE_MARK("volatile", seen);
    struct {
        unsigned five : 5;
    } field = {7};
    KTRACE_MARK("bit field", field.five);
    takes_none(KTRACE_ARG_ONLY);
    p[3] = site + kind + type + bits + wave + clock + token;
}
