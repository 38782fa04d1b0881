/* fake_device.h - a device in host memory, for tests of captures: a backend, modules in banks, waves that record as
 * device/nvidia.h does. Addresses are pointers. Memory that runs out aborts. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <pthread.h>

#include "capture.h"

#define FAKE_LAUNCHES 8 /* at a time */

struct fake_device {
    struct kt_backend base;
    uint32_t arch;          /* enum ktrace_arch; 0: NVIDIA. fake_amdgcn.h has modules and waves of amdgcn */
    uint32_t ordinal;       /* what it says of its place among devices */
    int simulated;          /* what it says of its time */
    int cannot_exchange;    /* not 0: counters cannot be exchanged in one step */
    int open;               /* 0 once the capture closed it */
    int allocations;        /* device allocations that are live */
    int fail_allocation;    /* n: the n-th next allocation fails; 0: none */
    int building_graph;     /* not 0: synchronize answers KTRACE_ERROR_STATE */
    int graph_after;        /* n > 0: building_graph is set once synchronize was called n times more */
    int fail_writes;        /* not 0: to_device fails */
    int hang;               /* atomic; not 0: synchronize waits until it is 0 */
    int waiting;            /* atomic; synchronize waits so */
    int hang_peek;          /* atomic; not 0: to_host of a peek waits until it is 0 */
    uint64_t last_write;    /* bytes of the latest to_device */
    uint64_t bytes_to_host; /* copied so far */
    uint64_t writes;        /* to_device calls so far */
    pthread_mutex_t lock;   /* of what follows */
    pthread_cond_t ended;
    uint64_t launches, running[FAKE_LAUNCHES]; /* numbers from 1; 0: none */
};
void fake_device_init(struct fake_device *device);
/* Between the two a launch is running, which synchronize waits for if it began before. For threads that launch beside captures. */
uint32_t fake_launch(struct fake_device *device);
void fake_launch_end(struct fake_device *device, uint32_t launch);
/* kt_capture_begin_on for this one device. */
int fake_begin(struct ktrace_capture **out, struct fake_device *device, const struct ktrace_capture_options *options);
/* Device memory that no capture allocates, zeroed. */
void *fake_memory(size_t bytes);
void fake_memory_free(void *memory);

#define FAKE_SITES 16

/* A module: a constant bank with a control block at a place of its own, and sites. */
struct fake_module {
    unsigned char *bank; /* 64 KiB */
    uint32_t control_offset;
    uint32_t site_count;
    struct ktrace_registration registration; /* for ktrace_register */
};
void fake_module_init(struct fake_module *module, uint32_t control_offset);
void fake_module_free(struct fake_module *module);
struct ktrace_control *fake_control(struct fake_module *module);
/* The id of the new site: its offset in the bank. `name` and `file` must be literals of one text: "name\0file". */
uint16_t fake_site(struct fake_module *module, enum ktrace_kind kind, enum ktrace_payload_type type, const char *text);

struct fake_wave {
    struct ktrace_control control; /* as it was when the wave began */
    uint32_t region;
    int records;
    struct ktrace_dropped *dropped; /* when it found no region, where it ends */
    uint32_t count_bytes[KTRACE_MAX_LANES];
};
/* Takes a region as a wave of either architecture does, its own partition first. 0 when all are full: what is left is to count, in one of
 * `shares` places. */
int fake_claim(uint32_t *region, struct ktrace_dropped **dropped, const struct ktrace_control *control,
               uint32_t partition, uint32_t shares);
/* A lane of a wave that found no region ends. */
void fake_dropped_end(struct ktrace_dropped *dropped, uint32_t lane, uint32_t count_bytes);
/* A wave of 32 lanes of a grid of `grid` workgroups of one wave starts at `clock`. */
void fake_wave_begin(struct fake_wave *wave, struct fake_module *module, uint16_t kernel, uint32_t workgroup,
                     uint32_t grid, uint64_t grid_id, uint64_t clock);
/* What the wave has written of its header, for tests that spoil it. */
struct ktrace_wave_header *fake_header(const struct fake_wave *wave);
void fake_event(struct fake_wave *wave, uint32_t lane, uint16_t site, uint64_t clock);
void fake_event_payload(struct fake_wave *wave, uint32_t lane, uint16_t site, uint64_t clock, uint64_t payload);
void fake_wave_end(struct fake_wave *wave, uint64_t clock);

#endif
