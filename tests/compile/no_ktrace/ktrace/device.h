/* An annotated source compiled with this folder first on its include path is the source without annotations: what the
 * machine code of a disabled build is compared with. It shares nothing with the real header. */
#ifndef KTRACE_DEVICE_H
#define KTRACE_DEVICE_H

#define KTRACE_KERNEL(...)
#define KTRACE_KERNEL_IF(...)
#define KTRACE_RANGE(...)
#define KTRACE_MARK(...) ((void)0)
#define KTRACE_RANGE_PUSH(...)
#define KTRACE_RANGE_POP(...)
#define KTRACE_PIN(...)
#define KTRACE_WAIT(...)
#define KTRACE_PARAM
#define KTRACE_ARG
#if defined(__cplusplus)
#define KTRACE_PARAM_ONLY
#else
#define KTRACE_PARAM_ONLY void
#endif
#define KTRACE_ARG_ONLY
#define KTRACE_PARAM_IF(...)
#define KTRACE_PARAM_ONLY_IF(...)

/* Only the token needs a type, since its name is in the source. Nothing reads it. */
typedef int ktrace_token;
#define KTRACE_RANGE_START(...) 0
#define KTRACE_RANGE_STOP(token, ...) ((void)sizeof(token))
#define KTRACE_RANGE_NEXT(token, ...) (token)
#define KTRACE_INACTIVE_TOKEN(...) 0

#endif
