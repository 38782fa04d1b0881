/* memory.h - what the process allocated, registered and loaded, by address. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "runtime.h"

enum sim_memory_kind {
    SIM_MEMORY_PAGEABLE, /* host memory that devices do not know */
    SIM_MEMORY_DEVICE,   /* hipMalloc, and the segments of loaded code */
    SIM_MEMORY_HOST,     /* hipHostMalloc */
    SIM_MEMORY_REGISTERED,
    SIM_MEMORY_MANAGED
};

struct sim_allocation {
    unsigned char *base;
    uint64_t bytes;
    enum sim_memory_kind kind;
    struct sim_device *device; /* of SIM_MEMORY_DEVICE; of others the device that was current */
    unsigned flags;
};

/* The allocation that holds the address; kind SIM_MEMORY_PAGEABLE and no bytes if none does. */
struct sim_allocation sim_allocation_find(const void *address);
/* What `rows` rows of `width` bytes `pitch` apart lie in; an error that names `what` when they leave the allocation. */
hipError_t sim_allocation_check(struct sim_allocation *out, const void *address, size_t width, size_t rows,
                                size_t pitch, const char *what);

hipError_t sim_allocation_device(void **address, struct sim_device *device, size_t bytes);
/* Gives device memory back; nothing of the device may use it any more. */
void sim_allocation_release(struct sim_device *device, void *address);
/* Host memory, zero, that every device reaches. */
hipError_t sim_allocation_host(void **address, size_t bytes, enum sim_memory_kind kind, unsigned flags);
/* Memory of a managed variable, which is the program's: known to all devices from now on. Again: no change. */
hipError_t sim_allocation_adopt(void *address, size_t bytes);

#endif
