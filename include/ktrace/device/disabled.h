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
#elif defined(__HIP__)
__attribute__((host, device))
#endif
    inline void
    ktrace_disabled_use(const T &)
{
}
#define KTRACE_DISABLED_USE(x) (false ? (ktrace_disabled_use(x), 0) : 0)
#else
#define KTRACE_DISABLED_USE(x) (0 ? ((void)(x), 0) : 0)
#endif
/* The name must be a literal here, too, and there is one payload at the most. */
#define KTRACE_DISABLED_EVENT_(name, payload, ...) ((void)sizeof(name ""), (void)KTRACE_DISABLED_USE(payload))
#define KTRACE_DISABLED_EVENT(...) KTRACE_DISABLED_EVENT_(__VA_ARGS__, 0, 0)
#define KTRACE_DISABLED_STOP_(token, payload, ...) \
    ((void)KTRACE_DISABLED_USE(token), (void)KTRACE_DISABLED_USE(payload))

#define KTRACE_KERNEL(name) ((void)sizeof(name ""))
#define KTRACE_KERNEL_IF(traced, name) ((void)sizeof(name ""))
#define KTRACE_RANGE(...) KTRACE_DISABLED_EVENT(__VA_ARGS__)
#define KTRACE_MARK(...) KTRACE_DISABLED_EVENT(__VA_ARGS__)
#define KTRACE_RANGE_PUSH(...) KTRACE_DISABLED_EVENT(__VA_ARGS__)
#define KTRACE_RANGE_POP() ((void)0)
#define KTRACE_RANGE_START(...) (KTRACE_DISABLED_EVENT(__VA_ARGS__), (ktrace_token)0)
#define KTRACE_RANGE_STOP(...) KTRACE_DISABLED_STOP_(__VA_ARGS__, 0, 0)
#define KTRACE_RANGE_NEXT(token, ...) (KTRACE_DISABLED_EVENT(__VA_ARGS__), (token))
#define KTRACE_INACTIVE_TOKEN(name) ((void)sizeof(name ""), (ktrace_token)0)
#define KTRACE_PIN(x)
#define KTRACE_WAIT(x)
#define KTRACE_PARAM
#define KTRACE_ARG
#if defined(__cplusplus)
#define KTRACE_PARAM_ONLY
#else
#define KTRACE_PARAM_ONLY void
#endif
#define KTRACE_ARG_ONLY
#define KTRACE_PARAM_IF(traced)
#define KTRACE_PARAM_ONLY_IF(traced)

#endif
