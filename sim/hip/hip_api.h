/* hip_api.h - what libktrace_sim.so exports: the part of ROCm HIP's C interface that it has, HSA's loader table, and two
 * functions of its own. libktrace_sim.map lists the same names; tests/sim/hip/check_exports.py compares the two.
 */
#ifndef SIM_HIP_API_H
#define SIM_HIP_API_H

#include "hip_types.h"

#pragma GCC visibility push(default)

/* ---- The simulator's own ------------------------------------------------------------------------------------------ */
/* What is simulated, in a sentence. That a HIP library has this symbol tells that its devices' time is simulated. */
const char *ktrace_simulator(void);
/* Why the calling thread's latest call that failed did, in full; "" before one does. Valid until its next failure. A failed
 * kernel's sentence is also written to stderr, once, unless KTRACE_SIM_QUIET is set: the place of a driver's log. */
const char *ktrace_simulator_error(void);

/* ---- HSA: the table of extension 0x201, AMD's loader, version 1: its first member answers, the others are NULL --------- */
int hsa_system_get_major_extension_table(uint16_t extension, uint16_t version_major, size_t table_length, void *table);

/* ---- Devices ---------------------------------------------------------------------------------------------------------- */
hipError_t hipInit(unsigned int flags);
hipError_t hipDriverGetVersion(int *version);
hipError_t hipRuntimeGetVersion(int *version);
hipError_t hipGetDeviceCount(int *count);
hipError_t hipGetDevice(int *device);
hipError_t hipSetDevice(int device);
hipError_t hipDeviceGet(hipDevice_t *device, int ordinal);
hipError_t hipDeviceGetName(char *name, int bytes, hipDevice_t device);
hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device);
hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device);
hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000 *properties, int device);
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int device);
hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device);
hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t device);
hipError_t hipDeviceGetPCIBusId(char *id, int bytes, int device);
hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest);
hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer);
hipError_t hipDeviceSynchronize(void);

/* A context is a device's primary one: hipCtxCreate gives that one, too, as ROCm's HIP does. */
hipError_t hipCtxCreate(hipCtx_t *context, unsigned int flags, hipDevice_t device);
hipError_t hipCtxDestroy(hipCtx_t context);
hipError_t hipCtxPushCurrent(hipCtx_t context);
hipError_t hipCtxPopCurrent(hipCtx_t *context);
hipError_t hipCtxSetCurrent(hipCtx_t context);
hipError_t hipCtxGetCurrent(hipCtx_t *context);
hipError_t hipCtxGetDevice(hipDevice_t *device);
hipError_t hipCtxSynchronize(void);
hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *context, hipDevice_t device);
hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device);
hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned int *flags, int *active);

/* ---- Errors ----------------------------------------------------------------------------------------------------------- */
hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);
const char *hipGetErrorName(hipError_t error);
const char *hipGetErrorString(hipError_t error);
hipError_t hipGetProcAddress(const char *symbol, void **function, int version, uint64_t flags,
                             hipDriverProcAddressQueryResult *status);

/* ---- Memory ----------------------------------------------------------------------------------------------------------- */
hipError_t hipMalloc(void **address, size_t bytes);
hipError_t hipFree(void *address);
hipError_t hipMallocAsync(void **address, size_t bytes, hipStream_t stream);
hipError_t hipFreeAsync(void *address, hipStream_t stream);
hipError_t hipHostMalloc(void **address, size_t bytes, unsigned int flags);
hipError_t hipHostFree(void *address);
hipError_t hipHostRegister(void *address, size_t bytes, unsigned int flags);
hipError_t hipHostUnregister(void *address);
hipError_t hipHostGetDevicePointer(void **device_address, void *address, unsigned int flags);
hipError_t hipMallocManaged(void **address, size_t bytes, unsigned int flags);
hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total);
hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *bytes, hipDeviceptr_t address);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *address);

/* ---- Copies and fills ------------------------------------------------------------------------------------------------- */
hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpyWithStream(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void *from, size_t bytes);
hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t bytes);
hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes);
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void *from, size_t bytes, hipStream_t stream);
hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t bytes, hipStream_t stream);
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes, hipStream_t stream);
hipError_t hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                       hipMemcpyKind kind);
hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                            hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes);
hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                              hipStream_t stream);
hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind);
hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind,
                                  hipStream_t stream);
hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind);
hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind,
                                    hipStream_t stream);
hipError_t hipMemset(void *to, int value, size_t bytes);
hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream);
hipError_t hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height);
hipError_t hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, hipStream_t stream);
hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count);
hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count, hipStream_t stream);
hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count);
hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count, hipStream_t stream);
hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count);
hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream);

/* ---- Streams and events ----------------------------------------------------------------------------------------------- */
hipError_t hipStreamCreate(hipStream_t *stream);
hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags);
hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned int flags, int priority);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags);
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device);
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned int *flags);
hipError_t hipStreamGetPriority(hipStream_t stream, int *priority);
hipError_t hipEventCreate(hipEvent_t *event);
hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop);

/* ---- Modules and launches --------------------------------------------------------------------------------------------- */
hipError_t hipModuleLoad(hipModule_t *module, const char *path);
hipError_t hipModuleLoadData(hipModule_t *module, const void *image);
hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned int options, hipJitOption *names,
                               void **values);
hipError_t hipModuleUnload(hipModule_t module);
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name);
hipError_t hipModuleGetGlobal(hipDeviceptr_t *address, size_t *bytes, hipModule_t module, const char *name);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                 unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                 unsigned int shared_bytes, hipStream_t stream, void **parameters, void **extra);
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y,
                                            unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                            unsigned int block_z, unsigned int shared_bytes, hipStream_t stream,
                                            void **parameters);
hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **parameters, size_t shared_bytes,
                           hipStream_t stream);
hipError_t hipLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **parameters,
                                      unsigned int shared_bytes, hipStream_t stream);
hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t function);
hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, const void *function);
hipError_t hipFuncSetAttribute(const void *function, hipFuncAttribute attribute, int value);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_size,
                                                        size_t dynamic_shared_bytes);
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, hipFunction_t function, int block_size,
                                                              size_t dynamic_shared_bytes);
hipError_t hipGetSymbolAddress(void **address, const void *symbol);
hipError_t hipGetSymbolSize(size_t *bytes, const void *symbol);

/* What clang's HIP host code calls: its constructors, and the two halves of <<<>>>. */
void **__hipRegisterFatBinary(const void *wrapper);
void __hipUnregisterFatBinary(void **binary);
void __hipRegisterFunction(void **binary, const void *function, char *device_function, const char *name,
                           unsigned int thread_limit, void *thread, void *block, dim3 *block_size, dim3 *grid_size,
                           int *wave_size);
void __hipRegisterVar(void **binary, void *variable, char *host_name, char *name, int is_external, size_t bytes,
                      int is_constant, int is_global);
void __hipRegisterManagedVar(void *binary, void **pointer, void *initial, const char *name, size_t bytes,
                             unsigned alignment);
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, hipStream_t stream);
hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, hipStream_t *stream);

/* ---- Graphs ----------------------------------------------------------------------------------------------------------- */
hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph);
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status);
hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *status, unsigned long long *id);
hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus *status, unsigned long long *id,
                                      hipGraph_t *graph, const hipGraphNode_t **dependencies, size_t *count);
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode);
hipError_t hipGraphCreate(hipGraph_t *graph, unsigned int flags);
hipError_t hipGraphDestroy(hipGraph_t graph);
hipError_t hipGraphAddKernelNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                 size_t count, const hipKernelNodeParams *parameters);
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                   size_t count, void *to, const void *from, size_t bytes, hipMemcpyKind kind);
hipError_t hipGraphAddMemsetNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                 size_t count, const hipMemsetParams *parameters);
hipError_t hipGraphAddEmptyNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                size_t count);
hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to,
                                   size_t count);
hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count);
hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType *type);
hipError_t hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph, hipGraphNode_t *error_node, char *log,
                               size_t log_bytes);
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph, unsigned long long flags);
hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream);
hipError_t hipGraphExecDestroy(hipGraphExec_t exec);
hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           const hipKernelNodeParams *parameters);

#pragma GCC visibility pop

#endif
