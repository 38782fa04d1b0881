/* memory.c - the table of allocations, and the functions that allocate. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../machine/error.h"
#include "capture.h"
#include "stream.h"

static struct sim_allocation *table; /* by address */
static size_t count, room;

/* Index of the first allocation whose end is beyond the address. */
static size_t position(const void *address)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (table[middle].base + table[middle].bytes <= (const unsigned char *)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert(const struct sim_allocation *allocation)
{
    if (count == room) {
        const size_t grown_room = room ? room * 2 : 64;
        struct sim_allocation *grown = realloc(table, grown_room * sizeof *grown);
        if (!grown)
            return sim_fail("out of host memory for the table of allocations");
        table = grown;
        room = grown_room;
    }
    const size_t at = position(allocation->base);
    memmove(table + at + 1, table + at, (count - at) * sizeof *table);
    table[at] = *allocation;
    count++;
    return 0;
}

static void erase(const void *base)
{
    const size_t at = position(base);
    memmove(table + at, table + at + 1, (count - at - 1) * sizeof *table);
    count--;
}

struct sim_allocation sim_allocation_find(const void *address)
{
    const size_t at = position(address);
    if (at < count && table[at].base <= (const unsigned char *)address)
        return table[at];
    for (int i = 0; i < sim_runtime.device_count; i++) {
        struct sim_device *device = &sim_runtime.devices[i];
        void *base;
        uint64_t bytes;
        if (!sim_memory_range(&base, &bytes, device->machine, address))
            return (struct sim_allocation){base, bytes, SIM_MEMORY_DEVICE, device, 0};
    }
    return (struct sim_allocation){0};
}

hipError_t sim_allocation_check(struct sim_allocation *out, const void *address, size_t width, size_t rows,
                                size_t pitch, const char *what)
{
    if (!address)
        return sim_hip_error(hipErrorInvalidValue, "the %s is NULL", what);
    if (rows > 1 && pitch < width)
        return sim_hip_error(hipErrorInvalidPitchValue, "the pitch of the %s is %zu bytes, less than the width of %zu",
                             what, pitch, width);
    *out = sim_allocation_find(address);
    if (out->kind == SIM_MEMORY_PAGEABLE || !width || !rows)
        return hipSuccess;
    const uint64_t rest = out->bytes - (uint64_t)((const unsigned char *)address - out->base);
    if (width <= rest && (rows == 1 || (rows - 1) <= (rest - width) / pitch))
        return hipSuccess;
    return sim_hip_error(hipErrorInvalidValue,
                         "the %s at %p, %zu rows of %zu bytes, leaves its allocation of %llu bytes at %p", what,
                         address, rows, width, (unsigned long long)out->bytes, (void *)out->base);
}

/* ---- Taking and giving back --------------------------------------------------------------------------------------- */

hipError_t sim_allocation_device(void **address, struct sim_device *device, size_t bytes)
{
    *address = NULL;
    const uint64_t total = sim_machine_config(device->machine)->memory_bytes;
    if (bytes > total - device->allocated_bytes)
        return sim_hip_error(hipErrorOutOfMemory, "%zu bytes do not fit into device %d: %llu of its %llu are allocated",
                             bytes, device->index, (unsigned long long)device->allocated_bytes,
                             (unsigned long long)total);
    if (sim_memory_allocate(address, device->machine, bytes))
        return sim_machine_error(hipErrorOutOfMemory);
    const struct sim_allocation allocation = {*address, bytes, SIM_MEMORY_DEVICE, device, 0};
    if (insert(&allocation)) {
        sim_memory_free(device->machine, *address);
        *address = NULL;
        return sim_machine_error(hipErrorOutOfMemory);
    }
    device->allocated_bytes += bytes;
    device->is_used = 1;
    return hipSuccess;
}

void sim_allocation_release(struct sim_device *device, void *address)
{
    const size_t at = position(address);
    if (at < count && table[at].base == address) { /* a stream's queue is not in the table */
        device->allocated_bytes -= table[at].bytes;
        erase(address);
    }
    sim_memory_free(device->machine, address);
}

static void unregister(void *address, int devices)
{
    for (int i = 0; i < devices; i++)
        sim_memory_unregister(sim_runtime.devices[i].machine, address);
}

static hipError_t register_everywhere(void *address, size_t bytes, enum sim_memory_kind kind, unsigned flags)
{
    int done = 0;
    while (done < sim_runtime.device_count && !sim_memory_register(sim_runtime.devices[done].machine, address, bytes))
        done++;
    const struct sim_allocation allocation = {address, bytes, kind, sim_current_device(), flags};
    if (done == sim_runtime.device_count && !insert(&allocation))
        return hipSuccess;
    unregister(address, done);
    return sim_machine_error(hipErrorOutOfMemory);
}

hipError_t sim_allocation_host(void **address, size_t bytes, enum sim_memory_kind kind, unsigned flags)
{
    *address = NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return sim_hip_error(hipErrorOutOfMemory, "out of host memory for %zu bytes", bytes);
    const hipError_t status = register_everywhere(memory, bytes, kind, flags);
    if (status)
        munmap(memory, bytes);
    else
        *address = memory;
    return status;
}

hipError_t sim_allocation_adopt(void *address, size_t bytes)
{
    const int is_known = sim_allocation_find(address).kind != SIM_MEMORY_PAGEABLE;
    return is_known ? hipSuccess : register_everywhere(address, bytes, SIM_MEMORY_MANAGED, hipMemAttachGlobal);
}

/* ---- The interface ------------------------------------------------------------------------------------------------ */

static hipError_t no_address(const char *function)
{
    return sim_hip_error(hipErrorInvalidValue, "%s: the pointer that receives the address is NULL", function);
}

static hipError_t take_device(void **address, size_t bytes)
{
    if (!address)
        return no_address("hipMalloc");
    *address = NULL;
    const hipError_t status = sim_capture_forbids("hipMalloc");
    return status || !bytes ? status : sim_allocation_device(address, sim_current_device(), bytes);
}

hipError_t hipMalloc(void **address, size_t bytes)
{
    SIM_CALL(SIM_CALL_ALLOCATE, take_device(address, bytes));
}

static hipError_t find_base(struct sim_allocation *out, void *address, enum sim_memory_kind kind, const char *maker)
{
    *out = sim_allocation_find(address);
    if (out->kind == kind && out->base == address)
        return hipSuccess;
    return sim_hip_error(hipErrorInvalidValue, "%p was not given by %s, or was freed", address, maker);
}

static hipError_t give_device(void *address)
{
    hipError_t status = sim_capture_forbids("hipFree");
    if (status || !address)
        return status;
    struct sim_allocation allocation = sim_allocation_find(address);
    const int is_managed = allocation.kind == SIM_MEMORY_MANAGED;
    status = find_base(&allocation, address, is_managed ? SIM_MEMORY_MANAGED : SIM_MEMORY_DEVICE, "hipMalloc");
    if (status == hipSuccess)
        status = sim_wait_device(allocation.device);
    if (status)
        return status;
    /* Another thread may have freed it while this one waited. */
    status = find_base(&allocation, address, is_managed ? SIM_MEMORY_MANAGED : SIM_MEMORY_DEVICE, "hipMalloc");
    if (status)
        return status;
    if (is_managed) {
        unregister(address, sim_runtime.device_count);
        erase(address);
        munmap(address, allocation.bytes);
    } else {
        sim_allocation_release(allocation.device, address);
    }
    return hipSuccess;
}

hipError_t hipFree(void *address)
{
    SIM_CALL(SIM_CALL_ALLOCATE, give_device(address));
}

static hipError_t take_in_order(void **address, size_t bytes, hipStream_t handle)
{
    if (!address)
        return no_address("hipMallocAsync");
    *address = NULL;
    hipError_t status;
    const struct ihipStream_t *stream = sim_stream_of(&status, handle);
    if (!stream || !bytes)
        return status;
    if (stream->capture)
        return sim_hip_error(hipErrorNotSupported, "hipMallocAsync in a capture: the simulator's graphs have no memory "
                                                   "nodes; allocate before the capture");
    return sim_allocation_device(address, stream->device, bytes);
}

hipError_t hipMallocAsync(void **address, size_t bytes, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, take_in_order(address, bytes, stream));
}

static hipError_t give_in_order(void *address, hipStream_t handle)
{
    hipError_t status;
    struct ihipStream_t *stream = sim_stream_of(&status, handle);
    if (!stream)
        return status;
    struct sim_allocation allocation;
    status = find_base(&allocation, address, SIM_MEMORY_DEVICE, "hipMallocAsync");
    if (status)
        return status;
    if (stream->capture)
        return sim_hip_error(hipErrorNotSupported, "hipFreeAsync in a capture: the simulator's graphs have no memory "
                                                   "nodes; free after the capture");
    if (allocation.device != stream->device)
        return sim_hip_error(hipErrorInvalidValue, "%p is memory of device %d, and the stream is one of device %d",
                             address, allocation.device->index, stream->device->index);
    struct sim_operation operation = {.kind = SIM_OPERATION_MARK, .release = address};
    return sim_stream_submit(NULL, stream, &operation);
}

hipError_t hipFreeAsync(void *address, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, give_in_order(address, stream));
}

static hipError_t take_host(void **address, size_t bytes, enum sim_memory_kind kind, unsigned flags,
                            const char *function)
{
    if (!address)
        return no_address(function);
    *address = NULL;
    const hipError_t status = sim_capture_forbids(function);
    return status || !bytes ? status : sim_allocation_host(address, bytes, kind, flags);
}

hipError_t hipHostMalloc(void **address, size_t bytes, unsigned int flags)
{
    SIM_CALL(SIM_CALL_ALLOCATE, take_host(address, bytes, SIM_MEMORY_HOST, flags, "hipHostMalloc"));
}

hipError_t hipMallocManaged(void **address, size_t bytes, unsigned int flags)
{
    SIM_CALL(SIM_CALL_ALLOCATE,
             flags == hipMemAttachGlobal || flags == hipMemAttachHost
                 ? take_host(address, bytes, SIM_MEMORY_MANAGED, flags, "hipMallocManaged")
                 : sim_hip_error(hipErrorInvalidValue,
                                 "hipMallocManaged: flags 0x%x are neither hipMemAttachGlobal nor hipMemAttachHost",
                                 flags));
}

/* Host memory has no device of its own: every device may have commands that use it. */
static hipError_t wait_everywhere(void)
{
    hipError_t status = hipSuccess;
    for (int i = 0; i < sim_runtime.device_count && status == hipSuccess; i++)
        status = sim_wait_device(&sim_runtime.devices[i]);
    return status;
}

static hipError_t give_host(void *address, enum sim_memory_kind kind, const char *function, const char *maker)
{
    hipError_t status = sim_capture_forbids(function);
    if (status || (!address && kind == SIM_MEMORY_HOST))
        return status;
    struct sim_allocation allocation;
    status = find_base(&allocation, address, kind, maker);
    if (status == hipSuccess)
        status = wait_everywhere();
    if (status == hipSuccess)
        status = find_base(&allocation, address, kind, maker);
    if (status)
        return status == hipErrorInvalidValue && kind == SIM_MEMORY_REGISTERED ? hipErrorHostMemoryNotRegistered
                                                                               : status;
    unregister(address, sim_runtime.device_count);
    erase(address);
    if (kind == SIM_MEMORY_HOST)
        munmap(address, allocation.bytes);
    return hipSuccess;
}

hipError_t hipHostFree(void *address)
{
    SIM_CALL(SIM_CALL_ALLOCATE, give_host(address, SIM_MEMORY_HOST, "hipHostFree", "hipHostMalloc"));
}

static hipError_t register_host(void *address, size_t bytes, unsigned flags)
{
    if (!address || !bytes || (uintptr_t)address + bytes < (uintptr_t)address)
        return sim_hip_error(hipErrorInvalidValue, "hipHostRegister: %zu bytes at %p are no memory", bytes, address);
    const size_t at = position(address);
    if (at < count && table[at].base < (unsigned char *)address + bytes)
        return sim_hip_error(hipErrorHostMemoryAlreadyRegistered,
                             "hipHostRegister: %zu bytes at %p overlap the %llu known bytes at %p", bytes, address,
                             (unsigned long long)table[at].bytes, (void *)table[at].base);
    return register_everywhere(address, bytes, SIM_MEMORY_REGISTERED, flags);
}

hipError_t hipHostRegister(void *address, size_t bytes, unsigned int flags)
{
    SIM_CALL(SIM_CALL_ALLOCATE, register_host(address, bytes, flags));
}

hipError_t hipHostUnregister(void *address)
{
    SIM_CALL(SIM_CALL_ALLOCATE, give_host(address, SIM_MEMORY_REGISTERED, "hipHostUnregister", "hipHostRegister"));
}

static hipError_t device_address_of(void **device_address, void *address, unsigned flags)
{
    if (!device_address || flags)
        return sim_hip_error(hipErrorInvalidValue, "hipHostGetDevicePointer: %s",
                             flags ? "flags must be 0" : "the pointer that receives the address is NULL");
    const struct sim_allocation allocation = sim_allocation_find(address);
    if (allocation.kind == SIM_MEMORY_PAGEABLE || allocation.kind == SIM_MEMORY_DEVICE)
        return sim_hip_error(hipErrorInvalidValue,
                             "%p is not host memory that hipHostMalloc gave or hipHostRegister took", address);
    *device_address = address;
    return hipSuccess;
}

hipError_t hipHostGetDevicePointer(void **device_address, void *address, unsigned int flags)
{
    SIM_CALL(SIM_CALL_QUERY, device_address_of(device_address, address, flags));
}

static hipError_t amounts(size_t *free_bytes, size_t *total)
{
    const struct sim_device *device = sim_current_device();
    const uint64_t all = sim_machine_config(device->machine)->memory_bytes;
    if (total)
        *total = all;
    if (free_bytes)
        *free_bytes = all - device->allocated_bytes;
    return hipSuccess;
}

hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total)
{
    SIM_CALL(SIM_CALL_STATE, amounts(free_bytes, total));
}

static hipError_t range(hipDeviceptr_t *base, size_t *bytes, const void *address)
{
    const struct sim_allocation allocation = sim_allocation_find(address);
    if (allocation.kind == SIM_MEMORY_PAGEABLE)
        return sim_hip_error(hipErrorNotFound, "no allocation and no loaded code holds %p", address);
    if (base)
        *base = allocation.base;
    if (bytes)
        *bytes = allocation.bytes;
    return hipSuccess;
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *bytes, hipDeviceptr_t address)
{
    SIM_CALL(SIM_CALL_QUERY, range(base, bytes, address));
}

static hipError_t attributes_of(hipPointerAttribute_t *attributes, const void *address)
{
    if (!attributes || !address)
        return sim_hip_error(hipErrorInvalidValue, "hipPointerGetAttributes: %s is NULL",
                             attributes ? "the address" : "the structure that receives the attributes");
    const struct sim_allocation allocation = sim_allocation_find(address);
    const int on_device = allocation.kind == SIM_MEMORY_DEVICE, is_managed = allocation.kind == SIM_MEMORY_MANAGED;
    memset(attributes, 0, sizeof *attributes);
    if (allocation.kind == SIM_MEMORY_PAGEABLE) { /* as HIP 6 and CUDA 11 have it: an answer, not an error */
        attributes->type = hipMemoryTypeUnregistered;
        attributes->device = -2; /* hipInvalidDeviceId */
        return hipSuccess;
    }
    attributes->type = on_device ? hipMemoryTypeDevice : is_managed ? hipMemoryTypeManaged : hipMemoryTypeHost;
    attributes->device = allocation.device->index;
    attributes->devicePointer = (void *)(uintptr_t)address;
    attributes->hostPointer = on_device ? NULL : (void *)(uintptr_t)address;
    attributes->isManaged = is_managed;
    attributes->allocationFlags = allocation.flags;
    return hipSuccess;
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *address)
{
    SIM_CALL(SIM_CALL_QUERY, attributes_of(attributes, address));
}
