/* backend.h - what libktrace needs of a device runtime.
 *
 * A backend is opened on one device and belongs to one capture. Addresses are device addresses.
 * Calls come from one thread at a time, not always the same, but for `synchronize`, beside which any other may run: each
 * enters the device's context for its own duration. All return 0 or a negative status with the error set.
 */
#ifndef KT_BACKEND_H
#define KT_BACKEND_H

#include "../snapshot.h"
#include "clock_survey.h"

struct kt_device_facts {
    char name[128];
    uint32_t ordinal; /* of the runtime's devices */
    uint32_t arch;    /* enum ktrace_arch */
    uint32_t places;
    uint32_t clock_khz;
    uint32_t wall_tick_ns;
    uint32_t capability;
    int simulated; /* time is a simulator's */
    struct kt_device_identity identity;
};

struct kt_backend;

struct kt_backend_ops {
    const char *name;
    void (*close)(struct kt_backend *backend);
    int (*facts)(struct kt_device_facts *out, struct kt_backend *backend);
    int (*allocate)(uint64_t *address, struct kt_backend *backend, uint64_t bytes);
    void (*release)(struct kt_backend *backend, uint64_t address);
    int (*clear)(struct kt_backend *backend, uint64_t address, uint64_t bytes); /* to zero */
    int (*to_device)(struct kt_backend *backend, uint64_t address, const void *data, uint64_t bytes);
    /* `rows` pieces of `row_bytes`, `pitch_bytes` apart on the device, packed in `data`. With `peek` it neither waits for
     * kernels nor is ordered after them. */
    int (*to_host)(struct kt_backend *backend, void *data, uint64_t address, uint64_t row_bytes, uint64_t pitch_bytes,
                   uint64_t rows, int peek);
    /* Puts each counter of the struct ktrace_counters at `address` to what a half begins with (`claims`, and zeros) and
     * hands over what was there, in one step for each counter, whatever waves count meanwhile. NULL or
     * KTRACE_ERROR_UNSUPPORTED: it cannot be done. */
    int (*exchange)(struct kt_backend *backend, struct ktrace_counters *before, uint64_t address, uint64_t claims);
    /* Waits for all work. KTRACE_ERROR_STATE while a stream is being captured into a graph. */
    int (*synchronize)(struct kt_backend *backend);
    /* The allocation or constant bank that holds `address`, or what can be read of a loaded code object from there on.
     * KTRACE_ERROR_NOT_FOUND: none. */
    int (*range_of)(uint64_t *base, uint64_t *bytes, struct kt_backend *backend, uint64_t address);
    /* Of what a module was loaded with and nothing changes, within what range_of says. NULL: `to_host` does it. */
    int (*read_constant)(struct kt_backend *backend, void *data, uint64_t address, uint64_t bytes);
    /* The control block of a module loaded through the driver. */
    int (*module_control)(uint64_t *address, struct kt_backend *backend, void *module);
    /* The same of an object that was linked: by the runtime that it was linked with. */
    int (*registered_control)(uint64_t *address, struct kt_backend *backend,
                              const struct ktrace_registration *registration);
    /* NULL: nothing relates this device's clock to the host's. */
    int (*host_anchor)(struct kt_host_anchor *out, struct kt_backend *backend);
    /* In some milliseconds. KTRACE_ERROR_UNSUPPORTED: no kernel of our own runs; KTRACE_ERROR_DEVICE: the clock stands still. */
    int (*survey_clocks)(struct kt_clock_survey *out, struct kt_backend *backend);
};

struct kt_backend {
    const struct kt_backend_ops *ops;
    uint64_t owner; /* of driver modules: those that were attached with the same are of this device. 0: of any */
};

/* The devices of one runtime. */
struct kt_runtime {
    const char *name; /* "cuda" */
    uint32_t arch;    /* enum ktrace_arch */
    /* On the calling thread's current device. Of CUDA: of its current context, or of device 0. */
    int (*open_current)(struct kt_backend **out);
    int (*open_device)(struct kt_backend **out, uint32_t ordinal);
    /* On the device that driver modules of this owner are on. */
    int (*open_owner)(struct kt_backend **out, uint64_t owner);
    int (*device_count)(uint32_t *count);
    /* Something has used the device in this process. */
    int (*is_in_use)(uint32_t ordinal);
};
extern const struct kt_runtime kt_cuda_runtime, kt_hip_runtime;

#endif
