/* Annotations where names, lambdas and macros of the user's could get in their way. Compiles with tracing on and off. */
#include "hip.h"

#include <ktrace/device.h>

#define INLINE __device__ __attribute__((always_inline)) inline
#define BOTH(a, b) \
    KTRACE_RANGE(a); \
    KTRACE_RANGE(b)

namespace user
{
namespace ktrace_detail
{
struct site_id;
}
INLINE void inside(int x KTRACE_PARAM)
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
extern "C" __global__ void in_a_namespace(int *p)
{
    KTRACE_KERNEL("in a namespace");
    p[0] = 1;
}
struct object {
    int five : 5;
    bool flag : 1;
    INLINE void method(KTRACE_PARAM_ONLY) const
    {
        KTRACE_RANGE("method", five);
        KTRACE_MARK("flag", flag);
    }
    INLINE static void of_class(KTRACE_PARAM_ONLY)
    {
        KTRACE_MARK("of a class");
    }
    INLINE int operator()(int x KTRACE_PARAM)
    {
        KTRACE_RANGE("called", x);
        return x + five;
    }
};
} // namespace user

template <int A, int B>
__device__ int of_two(int x)
{
    return x * A + B;
}

INLINE void takes_none(KTRACE_PARAM_ONLY)
{
    KTRACE_MARK("none");
}

template <bool Traced>
INLINE void takes_none_if(KTRACE_PARAM_ONLY_IF(Traced))
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
    [&, x = p[1] ]() __attribute__((always_inline))
    {
        KTRACE_RANGE("lambda", x);
        KTRACE_MARK("of a lambda", [] { return 3; }());
    }
    ();
    const auto generic = [&](auto x) __attribute__((always_inline))
    {
        KTRACE_MARK("generic", x);
        return x;
    };
    generic(1);
    generic(2.0f);
    user::object object = {p[0], true};
    object.method(KTRACE_ARG_ONLY);
    user::object::of_class(KTRACE_ARG_ONLY);
    p[4] = object(p[4] KTRACE_ARG);
    int &reference = p[5];
    const int &constant = p[6];
    int &&temporary = p[7] + 1;
    KTRACE_MARK("reference", reference);
    KTRACE_MARK("constant reference", constant);
    KTRACE_MARK("reference to a temporary", temporary);
    KTRACE_MARK("%d %s %% { } %[text] \" \\ ${x} {a|b} \u00e9 \xe6\xbc\xa2 \t\n 'q' // no comment */ ;");
    KTRACE_MARK("two"
                " parts");
    p[8] = (KTRACE_MARK("in an expression"), p[9]) ? (KTRACE_MARK("yes"), 1) : (KTRACE_MARK("no"), 2);
    for (int i = 0; i < p[10]; i++) {
        KTRACE_RANGE("turn");
        if (p[i] == 1)
            continue;
        {
            KTRACE_RANGE("inside");
            if (p[i] == 2)
                break;
            if (p[i] == 3)
                goto behind;
            if (p[i] == 4)
                return;
        }
    }
behind:
    ktrace_token a = KTRACE_RANGE_START("a"), b = KTRACE_RANGE_START("b", 1ull << 63);
    KTRACE_RANGE_STOP(p[11] ? a : b, 5);
    a = KTRACE_RANGE_NEXT(KTRACE_RANGE_NEXT(a, "x"), "y", 3.5);
    KTRACE_RANGE_STOP(a);
    KTRACE_RANGE_STOP(KTRACE_RANGE_START("at once"));
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
