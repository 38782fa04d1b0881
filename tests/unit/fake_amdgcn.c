#include "fake_amdgcn.h"

#include <stdlib.h>
#include <string.h>

/* ---- Modules ----------------------------------------------------------------------------------------------------- */

static int symbol_address(void **address, const void *symbol)
{
    *address = (void *)(uintptr_t)symbol;
    return 0;
}

void fake_amdgcn_init(struct fake_amdgcn *module, uint32_t sites)
{
    const size_t texts = 4096;
    *module = (struct fake_amdgcn){.control = fake_memory(sizeof *module->control),
                                   .section = fake_memory(sites * sizeof(struct ktrace_site) + texts),
                                   .site_limit = sites};
    module->control->base.magic = KTRACE_CONTROL_MAGIC;
    module->control->base.version = KTRACE_WIRE_VERSION;
    module->control->base.bytes = sizeof *module->control;
    module->control->sites_begin = module->control->sites_end = (uint64_t)(uintptr_t)module->section;
    module->registration = (struct ktrace_registration){
        sizeof module->registration, NULL, module->control, symbol_address, "fake.hip", KTRACE_ARCH_AMDGCN};
}

void fake_amdgcn_free(struct fake_amdgcn *module)
{
    fake_memory_free(module->section);
    fake_memory_free(module->control);
}

struct ktrace_site *fake_amdgcn_descriptor(const struct fake_amdgcn *module, uint32_t site)
{
    return (struct ktrace_site *)(void *)module->section + site;
}

uint32_t fake_amdgcn_site(struct fake_amdgcn *module, enum ktrace_kind kind, enum ktrace_payload_type type,
                          const char *text)
{
    const size_t name_bytes = strlen(text) + 1, bytes = name_bytes + strlen(text + name_bytes) + 1;
    const uint32_t index = module->site_count++;
    unsigned char *texts = module->section + module->site_limit * sizeof(struct ktrace_site);
    if (index >= module->site_limit || module->text_bytes + bytes > 4096)
        abort();
    memcpy(texts + module->text_bytes, text, bytes);
    struct ktrace_site *site = fake_amdgcn_descriptor(module, index);
    const uint32_t distance = (uint32_t)(texts + module->text_bytes - (unsigned char *)site);
    *site =
        (struct ktrace_site){KTRACE_SITE_MAGIC, (ktrace_u8)kind, (ktrace_u8)type,
                             (ktrace_u32)KTRACE_WIRE_VERSION << 24 | (index + 1), UINT64_C(0x1234) << 32 | distance};
    module->text_bytes += (uint32_t)bytes;
    module->control->sites_end += sizeof *site;
    return index;
}

/* ---- Waves ------------------------------------------------------------------------------------------------------- */

struct ktrace_wave_header *fake_amdgcn_header(const struct fake_amdgcn_wave *wave)
{
    return (struct ktrace_wave_header *)(uintptr_t)wave->control.headers + wave->region;
}

void fake_amdgcn_begin(struct fake_amdgcn_wave *wave, const struct fake_amdgcn *module,
                       const struct fake_amdgcn_launch *launch, uint32_t workgroup_x, uint16_t wave_of_workgroup,
                       uint64_t clock)
{
    *wave = (struct fake_amdgcn_wave){.control = module->control->base, .unit = launch->unit};
    if (!wave->control.mode || !wave->control.regions_per_partition)
        return;
    const uint32_t partition = (workgroup_x + wave_of_workgroup) & (wave->control.partitions - 1);
    if (workgroup_x < wave->control.filter.block_first[0] || workgroup_x > wave->control.filter.block_last[0]) {
        ((struct ktrace_counters *)(uintptr_t)wave->control.counters)->partition[partition].filtered++;
        return;
    }
    wave->count_bytes = KTRACE_SLOT_BYTES;
    wave->records = fake_claim(&wave->region, &wave->dropped, &wave->control, partition, 1);
    if (!wave->records)
        return;
    struct ktrace_wave_header *header = fake_amdgcn_header(wave);
    header->magic = KTRACE_WAVE_MAGIC;
    header->version = KTRACE_WIRE_VERSION;
    header->arch = KTRACE_ARCH_AMDGCN;
    header->lane_count = 64;
    header->module = wave->control.module;
    header->control_offset = launch->unit;
    header->kernel_site = launch->kernel - launch->unit;
    header->grid_id = launch->dispatch;
    header->queue = launch->queue;
    for (int i = 0; i < 3; i++) {
        header->block[i] = launch->block[i] ? launch->block[i] : i ? 1 : 64;
        header->grid[i] = header->block[i] * (launch->grid[i] ? launch->grid[i] : 1); /* workitems */
    }
    header->workgroup[0] = workgroup_x;
    header->wave = wave_of_workgroup;
    header->place = (workgroup_x & 7) << 16 | (workgroup_x >> 3 & 3) << 13 | (workgroup_x >> 5 & 15) << 8;
    header->start_clock_ticks = clock;
    header->start_wall_ns = 10 * clock;
}

unsigned char *fake_amdgcn_ring(const struct fake_amdgcn_wave *wave)
{
    const uint64_t pitch = (uint64_t)wave->control.main_ring_bytes + KTRACE_RING_OVERHANG_BYTES;
    return (unsigned char *)(uintptr_t)(wave->control.main_rings + wave->region * pitch);
}

static uint32_t record(struct fake_amdgcn_wave *wave, uint32_t site, uint64_t clock, uint32_t upper,
                       const uint64_t *payload)
{
    const uint32_t index = wave->count_bytes / KTRACE_SLOT_BYTES;
    const struct ktrace_slot slot = {(uint32_t)clock, (uint16_t)(site - wave->unit), (uint16_t)upper};
    if (!wave->records && !wave->dropped)
        return 0;
    if (wave->records) {
        unsigned char *place = fake_amdgcn_ring(wave) + (wave->count_bytes & (wave->control.main_ring_bytes - 1));
        memcpy(place, &slot, sizeof slot);
        if (payload)
            memcpy(place + sizeof slot, payload, sizeof *payload);
    }
    wave->count_bytes += payload ? 2 * KTRACE_SLOT_BYTES : KTRACE_SLOT_BYTES;
    return 2 * index + 1;
}

uint32_t fake_amdgcn_event(struct fake_amdgcn_wave *wave, uint32_t site, uint64_t clock, const uint64_t *payload)
{
    return record(wave, site, clock, wave->count_bytes / KTRACE_SLOT_BYTES, payload);
}

uint32_t fake_amdgcn_close(struct fake_amdgcn_wave *wave, uint32_t site, uint64_t clock, uint32_t token,
                           const uint64_t *payload)
{
    return record(wave, site, clock, token, payload);
}

void fake_amdgcn_end(struct fake_amdgcn_wave *wave, uint64_t clock)
{
    if (wave->dropped)
        fake_dropped_end(wave->dropped, 0, wave->count_bytes);
    if (!wave->records)
        return;
    struct ktrace_wave_header *header = fake_amdgcn_header(wave);
    header->final_count_bytes[0] = wave->count_bytes;
    header->end_clock_ticks = clock;
    header->end_wall_ns = 10 * clock;
}
