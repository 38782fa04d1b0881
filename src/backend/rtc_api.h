/* rtc_api.h - compilers that are libraries: NVRTC and hipRTC, which have the same functions under different names, opened at
 * run time.
 *
 * Types and prototypes follow nvrtc.h (CUDA 11.2 to 13) and hiprtc.h (HIP 5 to 7); a compile test checks them against the real
 * headers.
 */
#ifndef KT_RTC_API_H
#define KT_RTC_API_H

#include <stddef.h>

typedef int kt_rtc_result; /* nvrtcResult, hiprtcResult */
typedef void *kt_rtc_program;

enum {
    KT_RTC_SUCCESS = 0,
    KT_RTC_ERROR_OUT_OF_MEMORY = 1,
    KT_RTC_ERROR_INVALID_OPTION = 5,
    KT_RTC_ERROR_COMPILATION = 6,
    KT_RTC_ERROR_BUILTIN_OPERATION_FAILURE = 7 /* the library lacks a part of itself; the simulator's: clang */
};

/* X(field, NVRTC's name, hipRTC's name, parameters) */
#define KT_RTC_FUNCTIONS(X) \
    X(version, nvrtcVersion, hiprtcVersion, (int *major, int *minor)) \
    X(create, nvrtcCreateProgram, hiprtcCreateProgram, \
      (kt_rtc_program * program, const char *source, const char *name, int header_count, const char *const *texts, \
       const char *const *names)) \
    X(destroy, nvrtcDestroyProgram, hiprtcDestroyProgram, (kt_rtc_program * program)) \
    X(add_name, nvrtcAddNameExpression, hiprtcAddNameExpression, (kt_rtc_program program, const char *name)) \
    X(compile, nvrtcCompileProgram, hiprtcCompileProgram, \
      (kt_rtc_program program, int option_count, const char *const *options)) \
    X(log_bytes, nvrtcGetProgramLogSize, hiprtcGetProgramLogSize, (kt_rtc_program program, size_t * bytes)) \
    X(log, nvrtcGetProgramLog, hiprtcGetProgramLog, (kt_rtc_program program, char *log)) \
    X(code_bytes, nvrtcGetCUBINSize, hiprtcGetCodeSize, (kt_rtc_program program, size_t * bytes)) \
    X(code, nvrtcGetCUBIN, hiprtcGetCode, (kt_rtc_program program, char *code)) \
    X(lowered_name, nvrtcGetLoweredName, hiprtcGetLoweredName, \
      (kt_rtc_program program, const char *name, const char **lowered))

/* The same, of functions that answer with a text. */
#define KT_RTC_TEXT_FUNCTIONS(X) X(error_text, nvrtcGetErrorString, hiprtcGetErrorString, (kt_rtc_result error))

#define KT_RTC_MEMBER(field, nvidia, amd, parameters) kt_rtc_result(*field) parameters;
#define KT_RTC_TEXT_MEMBER(field, nvidia, amd, parameters) const char *(*field)parameters;
struct kt_rtc_api {
    KT_RTC_FUNCTIONS(KT_RTC_MEMBER)
    KT_RTC_TEXT_FUNCTIONS(KT_RTC_TEXT_MEMBER)
    const char *label;   /* "NVRTC", "hipRTC" */
    char where[4400];    /* "13.0, /usr/lib/libnvrtc.so.13" */
    char identity[4600]; /* changes whenever the compiler does: its version, and which file it is */
};
#undef KT_RTC_MEMBER
#undef KT_RTC_TEXT_MEMBER

enum kt_rtc_vendor { KT_RTC_NVIDIA, KT_RTC_AMD };

/* Fills `*out` from an open library, `name` in messages. KTRACE_ERROR_UNSUPPORTED with the reason: it lacks a function. */
int kt_rtc_resolve(struct kt_rtc_api *out, void *library, enum kt_rtc_vendor vendor, const char *name);

#endif
