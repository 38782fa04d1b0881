/* src/backend/hip_api.h against ROCm's headers: enumerators, and of each function how many parameters it has and which are
 * pointers, integers of which size. Compiling it is the test. */
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1 /* templates beside hipMalloc and hipHostMalloc */
#include <cstddef>
#include <hip/hip_runtime_api.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ven_amd_loader.h>

#include "backend/hip_api.h"
#include "matches.h"

#define CHECK_FUNCTION(field, exported, parameters) \
    static_assert(matches<kt_hip_result(*) parameters, decltype(&::exported)>::value, #exported);
#define CHECK_TEXT_FUNCTION(field, exported, parameters) \
    static_assert(matches<const char *(*)parameters, decltype(&::exported)>::value, #exported);
KT_HIP_FUNCTIONS(CHECK_FUNCTION)
KT_HIP_TEXT_FUNCTIONS(CHECK_TEXT_FUNCTION)
/* It can fail. */
static_assert(!matches<kt_hip_result (*)(int), decltype(&::hipFree)>::value, "a shorter parameter");
static_assert(!matches<kt_hip_result (*)(void *, int), decltype(&::hipFree)>::value, "one too many");

static_assert(matches<kt_hsa_get_extension_table *, decltype(&::hsa_system_get_major_extension_table)>::value, "HSA");
static_assert(offsetof(kt_hsa_loader, query_host_address) ==
                  offsetof(hsa_ven_amd_loader_1_00_pfn_t, hsa_ven_amd_loader_query_host_address),
              "the loader's table");
static_assert(matches<decltype(kt_hsa_loader::query_host_address),
                      decltype(hsa_ven_amd_loader_1_00_pfn_t::hsa_ven_amd_loader_query_host_address)>::value,
              "the loader's function");

#define CHECK_VALUE(ours, theirs) static_assert((int)(ours) == (int)(theirs), #theirs)
CHECK_VALUE(KT_HIP_SUCCESS, hipSuccess);
CHECK_VALUE(KT_HIP_SUCCESS, HSA_STATUS_SUCCESS);
CHECK_VALUE(KT_HIP_ERROR_NO_DEVICE, hipErrorNoDevice);
CHECK_VALUE(KT_HIP_ERROR_NOT_FOUND, hipErrorNotFound);
CHECK_VALUE(KT_HIP_ERROR_STREAM_CAPTURE_FIRST, hipErrorStreamCaptureUnsupported);
CHECK_VALUE(KT_HIP_ERROR_STREAM_CAPTURE_LAST, hipErrorStreamCaptureWrongThread);
CHECK_VALUE(KT_HIP_MEMCPY_HOST_TO_DEVICE, hipMemcpyHostToDevice);
CHECK_VALUE(KT_HIP_MEMCPY_DEVICE_TO_HOST, hipMemcpyDeviceToHost);
CHECK_VALUE(KT_HIP_STREAM_NON_BLOCKING, hipStreamNonBlocking);
CHECK_VALUE(KT_HIP_ATTRIBUTE_CAPABILITY_MAJOR, hipDeviceAttributeComputeCapabilityMajor);
CHECK_VALUE(KT_HIP_ATTRIBUTE_CAPABILITY_MINOR, hipDeviceAttributeComputeCapabilityMinor);
CHECK_VALUE(KT_HIP_ATTRIBUTE_MULTIPROCESSOR_COUNT, hipDeviceAttributeMultiprocessorCount);
CHECK_VALUE(KT_HSA_EXTENSION_AMD_LOADER, HSA_EXTENSION_AMD_LOADER);
#if HIP_VERSION_MAJOR > 5 || (HIP_VERSION_MAJOR == 5 && HIP_VERSION_MINOR >= 3)
CHECK_VALUE(KT_HIP_ATTRIBUTE_WALL_CLOCK_RATE_KHZ, hipDeviceAttributeWallClockRate);
#endif
