/* device.c - what devices there are, and their facts. */
#include <stdio.h>
#include <string.h>

#include "bundle.h"
#include "capture.h"
#include "runtime.h"
#include "stream.h"

/* The version whose interface this is: HIP 6.3. */
#define HIP_VERSION_REPORTED 60300000
#define MAX_WORKGROUP 1024
#define WAVE 64

static hipError_t is_null(const char *function)
{
    return sim_hip_error(hipErrorInvalidValue, "%s: the pointer that receives the answer is NULL", function);
}

static hipError_t answer(int *out, int value, const char *function)
{
    if (!out)
        return is_null(function);
    *out = value;
    return hipSuccess;
}

hipError_t hipInit(unsigned int flags)
{
    SIM_CALL(SIM_CALL_QUERY, flags ? sim_hip_error(hipErrorInvalidValue, "hipInit: flags must be 0") : hipSuccess);
}

hipError_t hipDriverGetVersion(int *version)
{
    SIM_CALL(SIM_CALL_QUERY, answer(version, HIP_VERSION_REPORTED, "hipDriverGetVersion"));
}

hipError_t hipRuntimeGetVersion(int *version)
{
    SIM_CALL(SIM_CALL_QUERY, answer(version, HIP_VERSION_REPORTED, "hipRuntimeGetVersion"));
}

hipError_t hipGetDeviceCount(int *count)
{
    if (count)
        *count = 0;
    SIM_CALL(SIM_CALL_QUERY, answer(count, sim_runtime.device_count, "hipGetDeviceCount"));
}

hipError_t hipGetDevice(int *device)
{
    SIM_CALL(SIM_CALL_QUERY, answer(device, sim_thread.device, "hipGetDevice"));
}

static hipError_t set(int index)
{
    if (!sim_device_at(index))
        return hipErrorInvalidDevice;
    sim_thread.device = index;
    return hipSuccess;
}

hipError_t hipSetDevice(int device)
{
    SIM_CALL(SIM_CALL_QUERY, set(device));
}

hipError_t hipDeviceGet(hipDevice_t *device, int ordinal)
{
    SIM_CALL(SIM_CALL_QUERY, sim_device_at(ordinal) ? answer(device, ordinal, "hipDeviceGet") : hipErrorInvalidDevice);
}

static hipError_t text(char *out, int bytes, int index, const char *value, const char *function)
{
    if (!sim_device_at(index))
        return hipErrorInvalidDevice;
    if (!out || bytes <= 0)
        return is_null(function);
    snprintf(out, (size_t)bytes, "%s", value);
    return hipSuccess;
}

hipError_t hipDeviceGetName(char *name, int bytes, hipDevice_t device)
{
    SIM_CALL(SIM_CALL_QUERY,
             text(name, bytes, device, sim_machine_config(sim_runtime.devices[0].machine)->name, "hipDeviceGetName"));
}

/* Devices of the simulated host are on buses 1, 2, ... */
static hipError_t bus_id(char *id, int bytes, int index)
{
    char value[16];
    snprintf(value, sizeof value, "0000:%02x:00.0", (unsigned)(index + 1) & 0xFF);
    return text(id, bytes, index, value, "hipDeviceGetPCIBusId");
}

hipError_t hipDeviceGetPCIBusId(char *id, int bytes, int device)
{
    SIM_CALL(SIM_CALL_QUERY, bus_id(id, bytes, device));
}

static hipError_t uuid_of(hipUUID *uuid, int index)
{
    if (!sim_device_at(index))
        return hipErrorInvalidDevice;
    if (!uuid)
        return is_null("hipDeviceGetUuid");
    char value[sizeof uuid->bytes + 1];
    snprintf(value, sizeof value, "ktrace-sim-%05d", index);
    memcpy(uuid->bytes, value, sizeof uuid->bytes);
    return hipSuccess;
}

hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device)
{
    SIM_CALL(SIM_CALL_QUERY, uuid_of(uuid, device));
}

static hipError_t total(size_t *bytes, int index)
{
    const struct sim_device *device = sim_device_at(index);
    if (!device)
        return hipErrorInvalidDevice;
    if (!bytes)
        return is_null("hipDeviceTotalMem");
    *bytes = sim_machine_config(device->machine)->memory_bytes;
    return hipSuccess;
}

hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device)
{
    SIM_CALL(SIM_CALL_QUERY, total(bytes, device));
}

static int minor_of(const struct sim_device *device)
{
    return sim_machine_config(device->machine)->chip == SIM_GFX950 ? 5 : 4;
}

static hipError_t capability(int *major, int *minor, int index)
{
    const struct sim_device *device = sim_device_at(index);
    if (!device)
        return hipErrorInvalidDevice;
    if (!major || !minor)
        return is_null("hipDeviceComputeCapability");
    *major = 9;
    *minor = minor_of(device);
    return hipSuccess;
}

hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t device)
{
    SIM_CALL(SIM_CALL_QUERY, capability(major, minor, device));
}

static hipError_t priorities(int *least, int *greatest)
{
    if (least)
        *least = 1;
    if (greatest)
        *greatest = -1;
    return hipSuccess;
}

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    SIM_CALL(SIM_CALL_QUERY, priorities(least, greatest));
}

/* Kernels reach memory of their own device and host memory; copies reach all. */
hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    SIM_CALL(SIM_CALL_QUERY, sim_device_at(device) && sim_device_at(peer) ? answer(can, 0, "hipDeviceCanAccessPeer")
                                                                          : hipErrorInvalidDevice);
}

static hipError_t synchronize(void)
{
    const hipError_t status = sim_capture_forbids_waiting(hipErrorStreamCaptureUnsupported, "hipDeviceSynchronize");
    return status ? status : sim_wait_device(sim_current_device());
}

hipError_t hipDeviceSynchronize(void)
{
    SIM_CALL(SIM_CALL_WAIT, synchronize());
}

hipError_t hipCtxSynchronize(void)
{
    SIM_CALL(SIM_CALL_WAIT, synchronize());
}

/* ---- Attributes and properties: what the chip's documents say ------------------------------------------------------- */

static hipError_t attribute_of(int *out, hipDeviceAttribute_t attribute, int index)
{
    const struct sim_device *device = sim_device_at(index);
    if (!device)
        return hipErrorInvalidDevice;
    if (!out)
        return is_null("hipDeviceGetAttribute");
    const struct sim_chip_config *config = sim_machine_config(device->machine);
    switch (attribute) {
    case hipDeviceAttributeCanMapHostMemory:
    case hipDeviceAttributeConcurrentKernels:
    case hipDeviceAttributeCooperativeLaunch:
    case hipDeviceAttributeDeviceOverlap:
    case hipDeviceAttributeManagedMemory:
    case hipDeviceAttributeConcurrentManagedAccess:
    case hipDeviceAttributeStreamPrioritiesSupported:
    case hipDeviceAttributeUnifiedAddressing:
    case hipDeviceAttributeHostRegisterSupported:
    case hipDeviceAttributeEccEnabled: *out = 1; break;
    case hipDeviceAttributeComputeMode:
    case hipDeviceAttributeIntegrated:
    case hipDeviceAttributeKernelExecTimeout:
    case hipDeviceAttributePageableMemoryAccess:
    case hipDeviceAttributeMemoryPoolsSupported: /* hipMallocAsync is, pools as objects are not */
    case hipDeviceAttributeVirtualMemoryManagementSupported:
    case hipDeviceAttributeFineGrainSupport:
    case hipDeviceAttributePciDeviceId:
    case hipDeviceAttributePciDomainID: *out = 0; break;
    case hipDeviceAttributeAsyncEngineCount: *out = 2; break;
    case hipDeviceAttributePciBusId: *out = index + 1; break;
    case hipDeviceAttributeClockRate: *out = (int)config->core_mhz * 1000; break; /* kHz */
    case hipDeviceAttributeClockInstructionRate:
    case hipDeviceAttributeWallClockRate: *out = 100000; break; /* s_memrealtime: 100 MHz */
    case hipDeviceAttributeComputeCapabilityMajor: *out = 9; break;
    case hipDeviceAttributeComputeCapabilityMinor: *out = minor_of(device); break;
    case hipDeviceAttributeMultiprocessorCount:
    case hipDeviceAttributePhysicalMultiProcessorCount: *out = (int)sim_compute_units(device); break;
    case hipDeviceAttributeMaxBlocksPerMultiProcessor:
        *out = (int)(config->simds_per_cu * config->waves_per_simd);
        break;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
        *out = (int)(config->simds_per_cu * config->waves_per_simd * WAVE);
        break;
    case hipDeviceAttributeMaxThreadsPerBlock:
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ: *out = MAX_WORKGROUP; break;
    case hipDeviceAttributeMaxGridDimX:
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ:
    case hipDeviceAttributeMaxPitch:
    case hipDeviceAttributeTotalConstantMemory: *out = INT32_MAX; break;
    case hipDeviceAttributeWarpSize: *out = WAVE; break;
    case hipDeviceAttributeMaxRegistersPerBlock: *out = 65536; break; /* a SIMD's 512 times 64 lanes, of 2 SIMDs */
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeSharedMemPerBlockOptin:
    case hipDeviceAttributeSharedMemPerMultiprocessor:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor: *out = (int)sim_lds_bytes(device); break;
    default:
        return sim_hip_error(hipErrorInvalidValue, "hipDeviceGetAttribute: the simulator has no attribute %d",
                             (int)attribute);
    }
    return hipSuccess;
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device)
{
    SIM_CALL(SIM_CALL_QUERY, attribute_of(value, attribute, device));
}

static int attribute(const struct sim_device *device, hipDeviceAttribute_t which)
{
    int value = 0;
    attribute_of(&value, which, device->index);
    return value;
}

static hipDeviceArch_t arch_features(void)
{
    return (hipDeviceArch_t){.hasGlobalInt32Atomics = 1,
                             .hasGlobalFloatAtomicExch = 1,
                             .hasSharedInt32Atomics = 1,
                             .hasSharedFloatAtomicExch = 1,
                             .hasFloatAtomicAdd = 1,
                             .hasGlobalInt64Atomics = 1,
                             .hasSharedInt64Atomics = 1,
                             .hasDoubles = 1,
                             .hasWarpVote = 1,
                             .hasWarpBallot = 1,
                             .hasWarpShuffle = 1,
                             .hasThreadFenceSystem = 1,
                             .has3dGrid = 1};
}

/* The members that both layouts have. What has no counterpart here (textures, surfaces) stays 0. */
#define FILL_PROPERTIES(out, device) \
    do { \
        const struct sim_chip_config *config_ = sim_machine_config((device)->machine); \
        memset(out, 0, sizeof *(out)); \
        snprintf((out)->name, sizeof(out)->name, "%s", config_->name); \
        snprintf((out)->gcnArchName, sizeof(out)->gcnArchName, "%s", sim_device_target(device)); \
        (out)->totalGlobalMem = config_->memory_bytes; \
        (out)->sharedMemPerBlock = (out)->maxSharedMemoryPerMultiProcessor = sim_lds_bytes(device); \
        (out)->regsPerBlock = attribute(device, hipDeviceAttributeMaxRegistersPerBlock); \
        (out)->warpSize = WAVE; \
        (out)->memPitch = INT32_MAX; \
        (out)->maxThreadsPerBlock = MAX_WORKGROUP; \
        for (int i_ = 0; i_ < 3; i_++) { \
            (out)->maxThreadsDim[i_] = MAX_WORKGROUP; \
            (out)->maxGridSize[i_] = INT32_MAX; \
        } \
        (out)->clockRate = attribute(device, hipDeviceAttributeClockRate); \
        (out)->clockInstructionRate = attribute(device, hipDeviceAttributeClockInstructionRate); \
        (out)->totalConstMem = INT32_MAX; \
        (out)->major = 9; \
        (out)->minor = minor_of(device); \
        (out)->multiProcessorCount = (int)sim_compute_units(device); \
        (out)->maxThreadsPerMultiProcessor = attribute(device, hipDeviceAttributeMaxThreadsPerMultiProcessor); \
        (out)->arch = arch_features(); \
        (out)->concurrentKernels = (out)->canMapHostMemory = (out)->cooperativeLaunch = (out)->ECCEnabled = 1; \
        (out)->managedMemory = (out)->concurrentManagedAccess = 1; \
        (out)->pciBusID = (device)->index + 1; \
    } while (0)

static hipError_t properties_r0000(hipDeviceProp_tR0000 *out, int index)
{
    const struct sim_device *device = sim_device_at(index);
    if (!device)
        return hipErrorInvalidDevice;
    if (!out)
        return is_null("hipGetDeviceProperties");
    FILL_PROPERTIES(out, device);
    out->gcnArch = minor_of(device) == 5 ? 950 : 942;
    return hipSuccess;
}

hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000 *properties, int device)
{
    SIM_CALL(SIM_CALL_QUERY, properties_r0000(properties, device));
}

static hipError_t properties_r0600(hipDeviceProp_tR0600 *out, int index)
{
    const struct sim_device *device = sim_device_at(index);
    if (!device)
        return hipErrorInvalidDevice;
    if (!out)
        return is_null("hipGetDevicePropertiesR0600");
    FILL_PROPERTIES(out, device);
    uuid_of(&out->uuid, index);
    out->sharedMemPerMultiprocessor = out->sharedMemPerBlockOptin = sim_lds_bytes(device);
    out->regsPerMultiprocessor = 2 * out->regsPerBlock;
    out->maxBlocksPerMultiProcessor = attribute(device, hipDeviceAttributeMaxBlocksPerMultiProcessor);
    out->deviceOverlap = out->unifiedAddressing = out->streamPrioritiesSupported = out->hostRegisterSupported = 1;
    out->asyncEngineCount = 2;
    return hipSuccess;
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int device)
{
    SIM_CALL(SIM_CALL_QUERY, properties_r0600(properties, device));
}
