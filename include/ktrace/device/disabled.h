/* device/disabled.h - every annotation as nothing. Included by device.h when KTRACE_ENABLE is 0. */
#ifndef KTRACE_DEVICE_DISABLED_H
#define KTRACE_DEVICE_DISABLED_H

typedef unsigned int ktrace_token;

/* The token is read, so that no compiler calls it unused; a payload is not looked at. */
#define KTRACE_DISABLED_FIRST(token, ...) ((void)((token) == 0u))

#define KTRACE_KERNEL(name)
#define KTRACE_KERNEL_IF(traced, name)
#define KTRACE_RANGE(...)
#define KTRACE_MARK(...)
#define KTRACE_RANGE_PUSH(...)
#define KTRACE_RANGE_POP()
#define KTRACE_RANGE_START(...) ((ktrace_token)0)
#define KTRACE_RANGE_STOP(...) KTRACE_DISABLED_FIRST(__VA_ARGS__, 0)
#define KTRACE_RANGE_NEXT(token, ...) (token)
#define KTRACE_INACTIVE_TOKEN(name) ((ktrace_token)0)
#define KTRACE_PIN(x)
#define KTRACE_PARAM
#define KTRACE_ARG
#define KTRACE_PARAM_ONLY
#define KTRACE_ARG_ONLY
#define KTRACE_PARAM_IF(traced)

#endif
