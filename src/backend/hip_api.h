/* hip_api.h - the HIP runtime API as far as we use it, opened at run time: of ROCm's libamdhip64, or of the embedded
 * simulator, which exports the same names.
 *
 * Types and prototypes follow hip_runtime_api.h; a compile test checks them against the real header (HIP 5.2). None of these
 * changed its ABI up to HIP 7, which is why device facts come from attributes: hipDeviceProp_t did change, in HIP 6.
 */
#ifndef KT_HIP_API_H
#define KT_HIP_API_H

#include <stddef.h>
#include <stdint.h>

typedef int kt_hip_result; /* hipError_t */
typedef int kt_hip_device; /* hipDevice_t */
typedef struct ihipModule_t *kt_hip_module;
typedef struct ihipModuleSymbol_t *kt_hip_function;
typedef struct ihipStream_t *kt_hip_stream;

/* hipUUID */
struct kt_hip_uuid {
    char bytes[16];
};

enum {
    KT_HIP_SUCCESS = 0,
    KT_HIP_ERROR_NO_DEVICE = 100,
    KT_HIP_ERROR_NOT_FOUND = 500,
    KT_HIP_ERROR_STREAM_CAPTURE_FIRST = 900, /* ...Unsupported; the others follow */
    KT_HIP_ERROR_STREAM_CAPTURE_LAST = 908,  /* ...WrongThread */
    KT_HIP_MEMCPY_HOST_TO_DEVICE = 1,
    KT_HIP_MEMCPY_DEVICE_TO_HOST = 2,
    KT_HIP_STREAM_NON_BLOCKING = 1,
    KT_HIP_ATTRIBUTE_CAPABILITY_MAJOR = 23, /* 9 and 4 for gfx942, 9 and 5 for gfx950 */
    KT_HIP_ATTRIBUTE_CAPABILITY_MINOR = 61,
    KT_HIP_ATTRIBUTE_MULTIPROCESSOR_COUNT = 63,
    KT_HIP_ATTRIBUTE_WALL_CLOCK_RATE_KHZ = 10017 /* from HIP 5.3 on; others answer with an error */
};

/* X(field, exported name, parameters) */
#define KT_HIP_FUNCTIONS(X) \
    X(init, hipInit, (unsigned int flags)) \
    X(take_last_error, hipGetLastError, (void)) \
    X(runtime_version, hipRuntimeGetVersion, (int *version)) \
    X(device_count, hipGetDeviceCount, (int *count)) \
    X(device_current, hipGetDevice, (int *ordinal)) \
    X(device_select, hipSetDevice, (int ordinal)) \
    X(device_synchronize, hipDeviceSynchronize, (void)) \
    X(device_get_name, hipDeviceGetName, (char *name, int bytes, kt_hip_device device)) \
    X(device_get_uuid, hipDeviceGetUuid, (struct kt_hip_uuid * uuid, kt_hip_device device)) \
    X(device_get_pci_bus_id, hipDeviceGetPCIBusId, (char *id, int bytes, int ordinal)) \
    X(primary_get_state, hipDevicePrimaryCtxGetState, (kt_hip_device device, unsigned int *flags, int *active)) \
    X(device_get_attribute, hipDeviceGetAttribute, (int *value, int attribute, int ordinal)) \
    X(memory_allocate, hipMalloc, (void **address, size_t bytes)) \
    X(memory_free, hipFree, (void *address)) \
    X(memory_set, hipMemset, (void *address, int value, size_t bytes)) \
    X(host_allocate, hipHostMalloc, (void **memory, size_t bytes, unsigned int flags)) \
    X(host_free, hipHostFree, (void *memory)) \
    X(copy, hipMemcpy, (void *to, const void *from, size_t bytes, int kind)) \
    X(copy_2d, hipMemcpy2D, \
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind)) \
    X(copy_2d_async, hipMemcpy2DAsync, \
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind, \
       kt_hip_stream stream)) \
    X(stream_create, hipStreamCreateWithFlags, (kt_hip_stream * stream, unsigned int flags)) \
    X(stream_destroy, hipStreamDestroy, (kt_hip_stream stream)) \
    X(stream_synchronize, hipStreamSynchronize, (kt_hip_stream stream)) \
    X(stream_is_capturing, hipStreamIsCapturing, (kt_hip_stream stream, int *status)) \
    X(module_load_data, hipModuleLoadData, (kt_hip_module * module, const void *image)) \
    X(module_unload, hipModuleUnload, (kt_hip_module module)) \
    X(module_get_function, hipModuleGetFunction, (kt_hip_function * function, kt_hip_module module, const char *name)) \
    X(module_get_global, hipModuleGetGlobal, (void **address, size_t *bytes, kt_hip_module module, const char *name)) \
    X(launch_kernel, hipModuleLaunchKernel, \
      (kt_hip_function function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x, \
       unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, kt_hip_stream stream, void **parameters, \
       void **extra))

/* The same, of functions that answer with a text. */
#define KT_HIP_TEXT_FUNCTIONS(X) \
    X(error_name, hipGetErrorName, (kt_hip_result error)) \
    X(error_text, hipGetErrorString, (kt_hip_result error))

/* hsa_system_get_major_extension_table, which libamdhip64's dependency libhsa-runtime64 exports. */
#define KT_HSA_EXTENSION_AMD_LOADER 0x201
typedef int kt_hsa_get_extension_table(uint16_t extension, uint16_t version_major, size_t table_bytes, void *table);
/* hsa_ven_amd_loader_1_00_pfn_t as far as we use it. */
struct kt_hsa_loader {
    int (*query_host_address)(const void *device_address, const void **host_address);
};

#define KT_HIP_MEMBER(field, exported, parameters) kt_hip_result(*field) parameters;
#define KT_HIP_TEXT_MEMBER(field, exported, parameters) const char *(*field)parameters;
struct kt_hip_api {
    KT_HIP_FUNCTIONS(KT_HIP_MEMBER)
    KT_HIP_TEXT_FUNCTIONS(KT_HIP_TEXT_MEMBER)
    struct kt_hsa_loader loader;
    const char *path; /* of the library, such that dlopen gives this one */
    int simulated;    /* it is the embedded simulator: exports ktrace_simulator */
};
#undef KT_HIP_MEMBER
#undef KT_HIP_TEXT_MEMBER

/* Chosen, opened and initialized once for the process; never closed. KTRACE_ERROR_NO_DEVICE with the reason;
 * KTRACE_ERROR_ARGUMENT where that is the simulator's, which does not understand its environment. */
int kt_hip_api_open(const struct kt_hip_api **out);
/* After that: why ROCm's library was not taken but the simulator; "" if it was, or nothing had to be chosen. */
const char *kt_hip_api_passed_over(void);

/* Every call that failed is the thread's last error, which the program would find behind its own next launch. */
static inline void kt_hip_forget(const struct kt_hip_api *api, kt_hip_result result)
{
    if (result != KT_HIP_SUCCESS)
        api->take_last_error();
}

/* kt_fail with what was attempted and HIP's name and words for `result`. Forgets it. */
int kt_hip_fail(const struct kt_hip_api *api, kt_hip_result result, const char *attempted);

#endif
