/* snapshot.h - what a capture took from the device, before anything is interpreted.
 *
 * A snapshot is what .ktrace files hold and what decoding starts from. Backends and the file loader make one; nothing
 * changes it afterwards. It owns all its memory.
 */
#ifndef KT_SNAPSHOT_H
#define KT_SNAPSHOT_H

#include "process.h"

/* A site as the host knows it: the descriptor with its strings. */
struct kt_site {
    uint64_t id; /* distance of the descriptor from the module's control block, modulo 2^16 (bank sites); or its device
                    address (wide sites, see KTRACE_SITE_WIDE); amdgcn: its index in the module, and in `sites` */
    uint32_t line;
    uint8_t kind;         /* enum ktrace_kind */
    uint8_t payload_type; /* enum ktrace_payload_type */
    uint8_t wide;         /* 1: id is a device address */
    uint8_t half;         /* not of a snapshot: 1 in what site_index.h makes of a NEXT site */
    char *name;           /* never NULL */
    char *file;           /* never NULL */
};

struct kt_module {
    uint32_t number; /* as in ktrace_wave_header.module; of all devices' modules no two have the same */
    uint32_t device; /* that it is loaded on, and that its waves ran on: index into devices */
    uint32_t site_count;
    struct kt_site *sites; /* sorted by (wide, id) */
};

/* The slots of one ring that are worth keeping: for a finished ring the newest min(recorded, capacity), oldest first;
 * for a lane that is still inside (final count 0) the whole ring in place order. On amdgcn the first slot of the ring's
 * overhang lies behind them, uncounted: the payload of an event in the ring's last place, whose next place is dead. */
struct kt_ring {
    uint32_t wave; /* index into waves */
    uint16_t lane;
    uint16_t whole; /* 1: slots are in place order, the count is not known */
    uint32_t slot_count;
    uint64_t first_slot; /* index into slots */
};

/* Host and device clock read together: device_ns was read between host_before_ns and host_after_ns (CLOCK_REALTIME). */
struct kt_host_anchor {
    uint64_t host_before_ns, host_after_ns, device_ns;
};

/* A device that the capture recorded. Each has its own wall clock, its own buffer and its own modules. What two processes
 * recorded of one physical device are two of these. */
struct kt_device {
    char *name;            /* "NVIDIA H200"; never NULL */
    uint32_t process;      /* index into processes */
    uint32_t ordinal;      /* the runtime's index of it; of one process no two have the same */
    uint32_t places;       /* SMs; CUs on amdgcn */
    uint32_t clock_khz;    /* nominal clock of a place, 0 unknown */
    uint32_t wall_tick_ns; /* step of the wall clock: 32 on H200, 40 on gfx942 */
    uint32_t capability;   /* compute capability, major * 10 + minor: 94 for gfx942, 95 for gfx950 */
    uint64_t regions;      /* waves that fit */
    uint64_t waves_dropped, waves_filtered;
    uint64_t anchor_count;
    struct kt_host_anchor *anchors; /* in the order of time */
    struct kt_device_identity identity;
};

enum kt_snapshot_flags {
    KT_SNAPSHOT_PEEK = 1,      /* taken while kernels could be running */
    KT_SNAPSHOT_KEEP_LAST = 2, /* wrapped rings are wanted */
    KT_SNAPSHOT_SIMULATED = 4  /* times are a simulator's; all its devices have one clock */
};

struct kt_snapshot {
    char *name;     /* of the trace */
    char *warning;  /* why it is empty, or "" */
    uint32_t arch;  /* enum ktrace_arch, of all devices */
    uint32_t flags; /* enum kt_snapshot_flags */
    uint64_t
        taken_ns; /* of a peek, when it was taken on the host's CLOCK_REALTIME: how long ago its last events were. 0: not
                          known; a simulator's times have nothing to do with it */
    /* Sums over the devices. */
    uint64_t regions, waves_dropped, waves_filtered;

    uint32_t process_count; /* at least 1; more where snapshots of several were merged */
    uint32_t device_count;  /* at least 1 in one that is whole */
    uint64_t wave_count, ring_count, slot_count, module_count;
    struct kt_process *processes;
    uint32_t timeline_count;     /* at least 1 */
    int64_t *timeline_begins_ns; /* one a timeline: see kt_process.timeline */
    struct kt_device *devices;
    struct ktrace_wave_header *waves; /* of any device: their module says which */
    struct kt_ring *rings;            /* ordered by wave, then lane; rings without slots are left out */
    struct ktrace_slot *slots;
    struct kt_module *modules; /* ordered by number */
};

/* How many slots lie from ring->first_slot on. */
static inline uint64_t kt_ring_stored_slots(const struct kt_snapshot *snapshot, const struct kt_ring *ring)
{
    return ring->slot_count + (snapshot->arch == KTRACE_ARCH_AMDGCN ? 1ull : 0ull);
}

/* Zeroed, with empty strings, one unknown process and no device. NULL when memory ran out (the error is set). */
struct kt_snapshot *kt_snapshot_new(void);
void kt_snapshot_destroy(struct kt_snapshot *snapshot); /* NULL is allowed */

/* One device more of process 0, zeroed but for a copy of `name`. The pointer is good until the next one is added. NULL when memory ran out
 * (the error is set). */
struct kt_device *kt_snapshot_add_device(struct kt_snapshot *snapshot, const char *name);

/* `into` and `from` become one: of two reads of one capture, or of two of its devices. `from` is gone afterwards.
 *   - devices are the same where their process and their ordinals are, modules where their numbers are; what one of both lacks is
 *     added, sites of a module as well. Anchors are merged in the order of time, each once;
 *   - waves of `from` come behind those of `into`; what was dropped and filtered is added up;
 *   - the name stays, flags are those of both; both warnings are kept, that of `into` first.
 * KTRACE_ERROR_ARGUMENT: they are not of one capture; KTRACE_ERROR_MEMORY. Then both are as they were, and still the caller's. */
int kt_snapshot_append(struct kt_snapshot *into, struct kt_snapshot *from);
/* The same of several processes: `processes` says for each of `from` which one of `into` it is; from process_count of `into` on,
 * in order, they are new. Numbers of modules must be apart where processes are. Timelines are left to the caller: those of new
 * processes are as they were in `from`. */
int kt_snapshot_append_processes(struct kt_snapshot *into, struct kt_snapshot *from, const uint32_t *processes);

/* Deep. */
int kt_snapshot_copy(struct kt_snapshot **out, const struct kt_snapshot *snapshot);

/* What it owns; it is empty afterwards. */
void kt_module_free(struct kt_module *module);
/* The site of an event of `module`, or NULL. `control_offset` is the wave's; `id` the slot's 16 bits, or an address. Not for
 * amdgcn. */
const struct kt_site *kt_module_site(const struct kt_module *module, uint32_t control_offset, uint64_t id, int wide);
/* The same for amdgcn. */
static inline const struct kt_site *kt_module_indexed_site(const struct kt_module *module, uint32_t first, uint64_t id)
{
    return id < module->site_count && first < module->site_count - id ? &module->sites[first + id] : NULL;
}
/* By number; NULL if there is none. */
const struct kt_module *kt_snapshot_module(const struct kt_snapshot *snapshot, uint32_t number);

/* Of a snapshot that was checked: index of the device that the wave ran on. */
static inline uint32_t kt_snapshot_device_of(const struct kt_snapshot *snapshot, const struct ktrace_wave_header *wave)
{
    return snapshot->device_count > 1 ? kt_snapshot_module(snapshot, wave->module)->device : 0;
}
/* The same: the process that it ran in. */
static inline const struct kt_process *kt_snapshot_process_of(const struct kt_snapshot *snapshot,
                                                              const struct ktrace_wave_header *wave)
{
    return &snapshot->processes[snapshot->process_count > 1
                                    ? snapshot->devices[kt_snapshot_device_of(snapshot, wave)].process
                                    : 0];
}

#endif
