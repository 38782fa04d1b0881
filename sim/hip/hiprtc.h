/* hiprtc.h - the part of ROCm's hipRTC that libktrace_sim.so exports beside hip_api.h: C++ source in, a code object out. It runs
 * clang, found as ktrace_simulator_compiler says. Values are hipRTC's; tests/compile/rtc_api_matches.cpp compares what libktrace
 * uses of it with the vendor's header.
 */
#ifndef SIM_HIPRTC_H
#define SIM_HIPRTC_H

#include <stddef.h>

typedef enum hiprtcResult {
    HIPRTC_SUCCESS = 0,
    HIPRTC_ERROR_OUT_OF_MEMORY = 1,
    HIPRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
    HIPRTC_ERROR_INVALID_INPUT = 3,
    HIPRTC_ERROR_INVALID_PROGRAM = 4,
    HIPRTC_ERROR_INVALID_OPTION = 5,
    HIPRTC_ERROR_COMPILATION = 6,
    HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
    HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
    HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
    HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
    HIPRTC_ERROR_INTERNAL_ERROR = 11
} hiprtcResult;

typedef struct sim_hiprtc_program *hiprtcProgram;

#pragma GCC visibility push(default)

/* The simulator's own: path, size and date of the clang that compiles. That of KTRACE_SIM_CLANG; else the first of clang-22, clang-23,
 * clang-21, clang-20, clang-19 and clang in PATH and in ROCm's folder. "" if there is none. Looked for once. */
const char *ktrace_simulator_compiler(void);

const char *hiprtcGetErrorString(hiprtcResult result);
hiprtcResult hiprtcVersion(int *major, int *minor);
hiprtcResult hiprtcCreateProgram(hiprtcProgram *program, const char *source, const char *name, int header_count,
                                 const char *const *headers, const char *const *include_names);
hiprtcResult hiprtcDestroyProgram(hiprtcProgram *program);
hiprtcResult hiprtcAddNameExpression(hiprtcProgram program, const char *name);
/* Of ROCm's options those that are clang's, and --gpu-architecture. Without an architecture: that of the calling thread's device.
 * HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE: there is no clang, which the log says. */
hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int option_count, const char *const *options);
hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t *bytes);
hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char *log);
hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t *bytes);
hiprtcResult hiprtcGetCode(hiprtcProgram program, char *code);
hiprtcResult hiprtcGetLoweredName(hiprtcProgram program, const char *name, const char **lowered);

#pragma GCC visibility pop

#endif
