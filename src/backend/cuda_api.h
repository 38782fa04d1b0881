/* cuda_api.h - the CUDA driver API as far as we use it, opened at run time.
 *
 * Types and prototypes follow cuda.h (CUDA 12 and 13; every entry has the _v2 ABI where there is one); a compile test
 * checks them against the real header.
 */
#ifndef KT_CUDA_API_H
#define KT_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

typedef int kt_cu_result;                 /* CUresult */
typedef int kt_cu_device;                 /* CUdevice */
typedef unsigned long long kt_cu_pointer; /* CUdeviceptr */
typedef struct CUctx_st *kt_cu_context;
typedef struct CUmod_st *kt_cu_module;
typedef struct CUfunc_st *kt_cu_function;
typedef struct CUstream_st *kt_cu_stream;

/* CUuuid */
struct kt_cu_uuid {
    char bytes[16];
};

/* CUDA_MEMCPY2D */
struct kt_cu_memcpy2d {
    size_t source_x_bytes, source_y;
    unsigned int source_memory_type;
    const void *source_host;
    kt_cu_pointer source_device;
    void *source_array;
    size_t source_pitch_bytes;
    size_t destination_x_bytes, destination_y;
    unsigned int destination_memory_type;
    void *destination_host;
    kt_cu_pointer destination_device;
    void *destination_array;
    size_t destination_pitch_bytes;
    size_t width_bytes, height;
};

enum {
    KT_CU_SUCCESS = 0,
    KT_CU_ERROR_NO_DEVICE = 100,
    KT_CU_ERROR_NOT_FOUND = 500,
    KT_CU_ERROR_TIMEOUT = 909,              /* CUDA_ERROR_TIMEOUT: never the driver's own here */
    KT_CU_ERROR_STREAM_CAPTURE_FIRST = 900, /* ..._UNSUPPORTED; the others follow */
    KT_CU_ERROR_STREAM_CAPTURE_LAST = 908,  /* ..._WRONG_THREAD */
    KT_CU_MEMORYTYPE_HOST = 1,
    KT_CU_MEMORYTYPE_DEVICE = 2,
    KT_CU_STREAM_NON_BLOCKING = 1,
    KT_CU_ATTRIBUTE_CLOCK_RATE_KHZ = 13,
    KT_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    KT_CU_ATTRIBUTE_CAPABILITY_MAJOR = 75,
    KT_CU_ATTRIBUTE_CAPABILITY_MINOR = 76
};

/* X(field, exported name, parameters) */
#define KT_CUDA_FUNCTIONS(X) \
    X(init, cuInit, (unsigned int flags)) \
    X(get_error_name, cuGetErrorName, (kt_cu_result error, const char **name)) \
    X(get_error_string, cuGetErrorString, (kt_cu_result error, const char **text)) \
    X(driver_version, cuDriverGetVersion, (int *version)) \
    X(device_count, cuDeviceGetCount, (int *count)) \
    X(device_get, cuDeviceGet, (kt_cu_device * device, int ordinal)) \
    X(device_get_name, cuDeviceGetName, (char *name, int bytes, kt_cu_device device)) \
    X(device_get_uuid, cuDeviceGetUuid_v2, (struct kt_cu_uuid * uuid, kt_cu_device device)) \
    X(device_get_pci_bus_id, cuDeviceGetPCIBusId, (char *id, int bytes, kt_cu_device device)) \
    X(device_get_attribute, cuDeviceGetAttribute, (int *value, int attribute, kt_cu_device device)) \
    X(primary_retain, cuDevicePrimaryCtxRetain, (kt_cu_context * context, kt_cu_device device)) \
    X(primary_release, cuDevicePrimaryCtxRelease_v2, (kt_cu_device device)) \
    X(primary_get_state, cuDevicePrimaryCtxGetState, (kt_cu_device device, unsigned int *flags, int *active)) \
    X(context_get_current, cuCtxGetCurrent, (kt_cu_context * context)) \
    X(context_get_device, cuCtxGetDevice, (kt_cu_device * device)) \
    X(context_get_id, cuCtxGetId, (kt_cu_context context, unsigned long long *id)) \
    X(context_push, cuCtxPushCurrent_v2, (kt_cu_context context)) \
    X(context_pop, cuCtxPopCurrent_v2, (kt_cu_context * context)) \
    X(context_synchronize, cuCtxSynchronize, (void)) \
    X(memory_allocate, cuMemAlloc_v2, (kt_cu_pointer * address, size_t bytes)) \
    X(memory_free, cuMemFree_v2, (kt_cu_pointer address)) \
    X(memory_set8, cuMemsetD8_v2, (kt_cu_pointer address, unsigned char value, size_t count)) \
    X(memory_range, cuMemGetAddressRange_v2, (kt_cu_pointer * base, size_t * bytes, kt_cu_pointer address)) \
    X(host_allocate, cuMemHostAlloc, (void **memory, size_t bytes, unsigned int flags)) \
    X(host_free, cuMemFreeHost, (void *memory)) \
    X(copy_to_device, cuMemcpyHtoD_v2, (kt_cu_pointer address, const void *data, size_t bytes)) \
    X(copy_2d, cuMemcpy2DUnaligned_v2, (const struct kt_cu_memcpy2d *copy)) \
    X(copy_2d_async, cuMemcpy2DAsync_v2, (const struct kt_cu_memcpy2d *copy, kt_cu_stream stream)) \
    X(stream_create, cuStreamCreate, (kt_cu_stream * stream, unsigned int flags)) \
    X(stream_destroy, cuStreamDestroy_v2, (kt_cu_stream stream)) \
    X(stream_synchronize, cuStreamSynchronize, (kt_cu_stream stream)) \
    X(stream_is_capturing, cuStreamIsCapturing, (kt_cu_stream stream, int *status)) \
    X(module_load_data, cuModuleLoadData, (kt_cu_module * module, const void *image)) \
    X(module_unload, cuModuleUnload, (kt_cu_module module)) \
    X(module_get_function, cuModuleGetFunction, (kt_cu_function * function, kt_cu_module module, const char *name)) \
    X(module_get_global, cuModuleGetGlobal_v2, \
      (kt_cu_pointer * address, size_t * bytes, kt_cu_module module, const char *name)) \
    X(launch_kernel, cuLaunchKernel, \
      (kt_cu_function function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x, \
       unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, kt_cu_stream stream, void **parameters, \
       void **extra))

#define KT_CUDA_MEMBER(field, exported, parameters) kt_cu_result(*field) parameters;
struct kt_cuda_api {
    KT_CUDA_FUNCTIONS(KT_CUDA_MEMBER)
};
#undef KT_CUDA_MEMBER

/* Opened and initialized once for the process; never closed. KTRACE_ERROR_NO_DEVICE with the reason. */
int kt_cuda_api_open(const struct kt_cuda_api **out);

/* kt_fail with what was attempted and the driver's name and words for `result`. */
int kt_cuda_fail(const struct kt_cuda_api *api, kt_cu_result result, const char *attempted);

#endif
