/* device/disabled.h - every annotation as nothing. Included by device.h when KTRACE_ENABLE is 0. */
#ifndef KTRACE_DEVICE_DISABLED_H
#define KTRACE_DEVICE_DISABLED_H

typedef unsigned int ktrace_token;

/* Tokens and payloads are named in a branch that is never taken: so no compiler calls a variable unused that only annotations
 * use, and nothing of it reaches the binary. */
#if defined(__cplusplus)
template <class T>
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
__host__ __device__
#endif
    inline void
    ktrace_disabled_use(const T &)
{
}
#define KTRACE_DISABLED_USE(x) (false ? (ktrace_disabled_use(x), 0) : 0)
#else
#define KTRACE_DISABLED_USE(x) (0 ? ((void)(x), 0) : 0)
#endif
#define KTRACE_DISABLED_SECOND_(first, second, ...) ((void)KTRACE_DISABLED_USE(second))
#define KTRACE_DISABLED_PAYLOAD(...) KTRACE_DISABLED_SECOND_(__VA_ARGS__, 0, 0)
#define KTRACE_DISABLED_TOKEN_(token, ...) \
    ((void)KTRACE_DISABLED_USE(token), KTRACE_DISABLED_PAYLOAD(token, __VA_ARGS__))

#define KTRACE_KERNEL(name)
#define KTRACE_KERNEL_IF(traced, name)
#define KTRACE_RANGE(...) KTRACE_DISABLED_PAYLOAD(__VA_ARGS__)
#define KTRACE_MARK(...) KTRACE_DISABLED_PAYLOAD(__VA_ARGS__)
#define KTRACE_RANGE_PUSH(...) KTRACE_DISABLED_PAYLOAD(__VA_ARGS__)
#define KTRACE_RANGE_POP()
#define KTRACE_RANGE_START(...) (KTRACE_DISABLED_PAYLOAD(__VA_ARGS__), (ktrace_token)0)
#define KTRACE_RANGE_STOP(...) KTRACE_DISABLED_TOKEN_(__VA_ARGS__, 0)
#define KTRACE_RANGE_NEXT(token, ...) (KTRACE_DISABLED_PAYLOAD(__VA_ARGS__), (token))
#define KTRACE_INACTIVE_TOKEN(name) ((ktrace_token)0)
#define KTRACE_PIN(x)
#define KTRACE_PARAM
#define KTRACE_ARG
#define KTRACE_PARAM_ONLY
#define KTRACE_ARG_ONLY
#define KTRACE_PARAM_IF(traced)

#endif
