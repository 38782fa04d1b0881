/* src/backend/rtc_api.h against nvrtc.h, or with RTC_OF_HIP against hiprtc.h: enumerators, and of each function how many parameters
 * it has and which are pointers, integers of which size. Compiling it is the test. */
#include <cstddef>

#if defined(RTC_OF_HIP)
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hiprtc.h>
#define THEIRS(nvidia, amd) amd
#else
#include <nvrtc.h>
#define THEIRS(nvidia, amd) nvidia
#endif

#include "backend/rtc_api.h"
#include "matches.h"

#define CHECK_FUNCTION(field, nvidia, amd, parameters) \
    static_assert(matches<kt_rtc_result(*) parameters, decltype(&::THEIRS(nvidia, amd))>::value, #field);
#define CHECK_TEXT_FUNCTION(field, nvidia, amd, parameters) \
    static_assert(matches<const char *(*)parameters, decltype(&::THEIRS(nvidia, amd))>::value, #field);
KT_RTC_FUNCTIONS(CHECK_FUNCTION)
KT_RTC_TEXT_FUNCTIONS(CHECK_TEXT_FUNCTION)
/* It can fail. */
static_assert(!matches<kt_rtc_result (*)(int), decltype(&::THEIRS(nvrtcDestroyProgram, hiprtcDestroyProgram))>::value,
              "a shorter parameter");
static_assert(
    !matches<kt_rtc_result (*)(void *, int), decltype(&::THEIRS(nvrtcDestroyProgram, hiprtcDestroyProgram))>::value,
    "one too many");

#define CHECK_VALUE(ours, nvidia, amd) static_assert((int)(ours) == (int)THEIRS(nvidia, amd), #ours)
CHECK_VALUE(KT_RTC_SUCCESS, NVRTC_SUCCESS, HIPRTC_SUCCESS);
CHECK_VALUE(KT_RTC_ERROR_OUT_OF_MEMORY, NVRTC_ERROR_OUT_OF_MEMORY, HIPRTC_ERROR_OUT_OF_MEMORY);
CHECK_VALUE(KT_RTC_ERROR_INVALID_OPTION, NVRTC_ERROR_INVALID_OPTION, HIPRTC_ERROR_INVALID_OPTION);
CHECK_VALUE(KT_RTC_ERROR_COMPILATION, NVRTC_ERROR_COMPILATION, HIPRTC_ERROR_COMPILATION);
CHECK_VALUE(KT_RTC_ERROR_BUILTIN_OPERATION_FAILURE, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE,
            HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE);
