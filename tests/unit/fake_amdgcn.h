/* fake_amdgcn.h - modules and waves as device/amdgcn.h has them, on the device of fake_device.h. */
#ifndef FAKE_AMDGCN_H
#define FAKE_AMDGCN_H

#include "fake_device.h"

/* A module: a control block, and a section of descriptors with their texts behind. */
struct fake_amdgcn {
    struct ktrace_control_amdgcn *control;
    unsigned char *section;
    uint32_t site_count, site_limit, text_bytes;
    struct ktrace_registration registration; /* for ktrace_register */
};
/* With room for `sites` descriptors. */
void fake_amdgcn_init(struct fake_amdgcn *module, uint32_t sites);
void fake_amdgcn_free(struct fake_amdgcn *module);
/* The index of the new site in the module. `text` is a literal "name\0file". */
uint32_t fake_amdgcn_site(struct fake_amdgcn *module, enum ktrace_kind kind, enum ktrace_payload_type type,
                          const char *text);
struct ktrace_site *fake_amdgcn_descriptor(const struct fake_amdgcn *module, uint32_t site);

/* Zero means the default named at each field. */
struct fake_amdgcn_launch {
    uint32_t unit;   /* index of the first site of the kernel's translation unit */
    uint32_t kernel; /* index of its site */
    uint64_t queue, dispatch;
    uint32_t grid[3];  /* workgroups; 1 */
    uint16_t block[3]; /* threads; 64, 1, 1 */
};

struct fake_amdgcn_wave {
    struct ktrace_control control; /* as it was when the wave began */
    uint32_t unit, region;
    int records;
    struct ktrace_dropped *dropped; /* when it found no region, where it ends */
    uint32_t count_bytes;
};
/* A wave starts at `clock`; its CU follows from the workgroup. */
void fake_amdgcn_begin(struct fake_amdgcn_wave *wave, const struct fake_amdgcn *module,
                       const struct fake_amdgcn_launch *launch, uint32_t workgroup_x, uint16_t wave_of_workgroup,
                       uint64_t clock);
struct ktrace_wave_header *fake_amdgcn_header(const struct fake_amdgcn_wave *wave);
/* The ring; its overhang follows. */
unsigned char *fake_amdgcn_ring(const struct fake_amdgcn_wave *wave);
/* One event, stored at once with its payload, if that is not NULL. Returns what its token would be. */
uint32_t fake_amdgcn_event(struct fake_amdgcn_wave *wave, uint32_t site, uint64_t clock, const uint64_t *payload);
/* A stop or a next: closes the range of `token`. */
uint32_t fake_amdgcn_close(struct fake_amdgcn_wave *wave, uint32_t site, uint64_t clock, uint32_t token,
                           const uint64_t *payload);
void fake_amdgcn_end(struct fake_amdgcn_wave *wave, uint64_t clock);

#endif
