#include "check.h"

#include "clock.h"
#include "error.h"

#include <string.h>

#define BANK_SITES_MAX (0x10000 / sizeof(struct ktrace_site))
#define WAVE_SLOTS_MAX (1u << 30)
#define SITE_TEXT_MAX 4094u
#define AMDGCN_LANES_MAX 64u

uint64_t kt_waves_per_workgroup(const struct ktrace_wave_header *header)
{
    uint64_t threads = (uint64_t)header->block[0] * header->block[1] * header->block[2];
    uint64_t width = header->arch == KTRACE_ARCH_AMDGCN ? 64 : 32;
    return (threads + width - 1) / width;
}

static int checked_waves_of_grid(uint64_t *waves, const struct ktrace_wave_header *header)
{
    uint64_t product = kt_waves_per_workgroup(header);
    for (int i = 0; i < 3; i++)
        if (__builtin_mul_overflow(product, header->grid[i], &product))
            return -1;
    *waves = product;
    return 0;
}

uint64_t kt_waves_of_grid(const struct ktrace_wave_header *header)
{
    uint64_t waves = 0;
    checked_waves_of_grid(&waves, header);
    return waves;
}

int kt_check_header(const struct ktrace_wave_header *header, uint32_t arch, uint64_t number)
{
    const uint32_t lanes_max = header->arch == KTRACE_ARCH_AMDGCN ? AMDGCN_LANES_MAX : KTRACE_MAX_LANES;
    unsigned long long n = number;
    uint64_t waves;
    if (header->magic != KTRACE_WAVE_MAGIC)
        return kt_fail(KTRACE_ERROR_FORMAT, "wave %llu: magic 0x%08x is not 0x%08x", n, header->magic,
                       KTRACE_WAVE_MAGIC);
    if (header->version == 0 || header->version > KTRACE_WIRE_VERSION)
        return kt_fail(KTRACE_ERROR_VERSION,
                       "wave %llu: its kernel was compiled with wire version %u, this library reads versions 1 to %u",
                       n, header->version, KTRACE_WIRE_VERSION);
    if (header->arch < KTRACE_ARCH_NVIDIA || header->arch > KTRACE_ARCH_HOST)
        return kt_fail(KTRACE_ERROR_FORMAT, "wave %llu: architecture %u is unknown", n, header->arch);
    if ((header->arch == KTRACE_ARCH_AMDGCN) != (arch == KTRACE_ARCH_AMDGCN)) /* they differ in what rings are */
        return kt_fail(KTRACE_ERROR_FORMAT, "wave %llu: architecture %u in a trace of architecture %u", n, header->arch,
                       arch);
    if (header->lane_count == 0 || header->lane_count > lanes_max)
        return kt_fail(KTRACE_ERROR_FORMAT, "wave %llu: %u lanes are not 1 to %u", n, header->lane_count, lanes_max);
    for (int i = 0; i < 3; i++) {
        if (header->grid[i] == 0 || header->block[i] == 0)
            return kt_fail(KTRACE_ERROR_FORMAT, "wave %llu: grid or block dimension %d is zero", n, i);
        if (header->workgroup[i] >= header->grid[i])
            return kt_fail(KTRACE_ERROR_FORMAT, "wave %llu: workgroup coordinate %u is outside of the grid's %u", n,
                           header->workgroup[i], header->grid[i]);
    }
    if (header->wave >= kt_waves_per_workgroup(header))
        return kt_fail(KTRACE_ERROR_FORMAT, "wave %llu: its index %u is not below the workgroup's %llu waves", n,
                       header->wave, (unsigned long long)kt_waves_per_workgroup(header));
    if (checked_waves_of_grid(&waves, header) < 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "wave %llu: its grid has more than 2^64 waves", n);
    return 0;
}

/* Ids of amdgcn: 0, 1, 2, ... */
static int check_indexed_site(const struct kt_site *site, uint32_t index, uint32_t module)
{
    if (site->wide || site->id != index)
        return kt_fail(KTRACE_ERROR_FORMAT, "module %u: site %u has id %llu, on amdgcn ids count the sites", module,
                       index, (unsigned long long)site->id);
    return 0;
}

static int check_site_id(const struct kt_site *site, const struct kt_site *previous, uint32_t module)
{
    if (site->wide > 1 || (!site->wide && site->id > 0xFFFF))
        return kt_fail(KTRACE_ERROR_FORMAT, "module %u: site \"%s\" lies outside of the constant bank", module,
                       site->name);
    if (previous && (previous->wide > site->wide || (previous->wide == site->wide && previous->id >= site->id)))
        return kt_fail(KTRACE_ERROR_FORMAT, "module %u: its sites are not in order", module);
    return 0;
}

static int check_site(const struct kt_site *site, uint32_t module)
{
    if (site->kind < KTRACE_KIND_KERNEL || site->kind > KTRACE_KIND_NEXT)
        return kt_fail(KTRACE_ERROR_FORMAT, "module %u: a site has the unknown kind %u", module, site->kind);
    if (site->payload_type > KTRACE_PAYLOAD_UINT32)
        return kt_fail(KTRACE_ERROR_FORMAT, "module %u: a site has the unknown payload type %u", module,
                       site->payload_type);
    if (!site->name || !site->file)
        return kt_fail(KTRACE_ERROR_FORMAT, "module %u: a site has no name", module);
    /* no longer than what is read of a device: each of its events is told with it */
    if (strnlen(site->name, SITE_TEXT_MAX) + strnlen(site->file, SITE_TEXT_MAX) > SITE_TEXT_MAX)
        return kt_fail(KTRACE_ERROR_FORMAT, "module %u: a site's name and file take more than %u bytes", module,
                       SITE_TEXT_MAX);
    return 0;
}

static int is_within_ns(int64_t ns, int64_t most_ns)
{
    return ns >= -most_ns && ns <= most_ns;
}

/* Devices without which nothing can be said of a wave, and what is told of them all. */
static int check_devices(const struct kt_snapshot *snapshot)
{
    uint64_t regions = 0, dropped = 0, filtered = 0;
    if (snapshot->device_count == 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "there is no device");
    if (snapshot->device_count > KT_DEVICES_MAX)
        return kt_fail(KTRACE_ERROR_FORMAT, "%u devices are more than any host has", snapshot->device_count);
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        const struct kt_device *device = &snapshot->devices[i];
        if (!device->name || device->anchor_count > UINT32_MAX)
            return kt_fail(KTRACE_ERROR_FORMAT, "device %u has no name, or more anchors than can be counted", i);
        if (device->process >= snapshot->process_count)
            return kt_fail(KTRACE_ERROR_FORMAT, "device %u is of a process that is not there", i);
        for (uint32_t k = 0; k < i; k++)
            if (snapshot->devices[k].ordinal == device->ordinal && snapshot->devices[k].process == device->process)
                return kt_fail(KTRACE_ERROR_FORMAT, "there are two devices with the number %u%s", device->ordinal,
                               snapshot->process_count > 1 ? " of one process" : "");
        if (__builtin_add_overflow(regions, device->regions, &regions) ||
            __builtin_add_overflow(dropped, device->waves_dropped, &dropped) ||
            __builtin_add_overflow(filtered, device->waves_filtered, &filtered))
            return kt_fail(KTRACE_ERROR_FORMAT, "what is counted of all devices is 2^64 or more");
    }
    if (regions != snapshot->regions || dropped != snapshot->waves_dropped || filtered != snapshot->waves_filtered)
        return kt_fail(KTRACE_ERROR_FORMAT, "what is counted of each device does not add up to what is of all");
    return 0;
}

static int check_processes(const struct kt_snapshot *snapshot)
{
    if (snapshot->process_count == 0 || snapshot->process_count > KT_DEVICES_MAX || snapshot->timeline_count == 0 ||
        snapshot->timeline_count > snapshot->process_count || snapshot->timeline_begins_ns[0] != 0)
        return kt_fail(KTRACE_ERROR_FORMAT, "%u processes on %u timelines are not 1 to %u on as many at the most",
                       snapshot->process_count, snapshot->timeline_count, KT_DEVICES_MAX);
    if (snapshot->process_count > snapshot->device_count)
        return kt_fail(KTRACE_ERROR_FORMAT, "%u processes have %u devices: each has one or more",
                       snapshot->process_count, snapshot->device_count);
    for (uint32_t i = 0; i < snapshot->process_count; i++) {
        const struct kt_process *process = &snapshot->processes[i];
        if (process->timeline >= snapshot->timeline_count)
            return kt_fail(KTRACE_ERROR_FORMAT, "process %u: its timeline %u is not there", i, process->timeline);
        if (!is_within_ns(process->host_shift_ns, KT_HOST_SHIFT_MAX_NS))
            return kt_fail(KTRACE_ERROR_FORMAT, "process %u: its host's clock is moved by more than 73 years", i);
        if (process->first_module < (i ? process[-1].first_module : 0) || (i == 0 && process->first_module))
            return kt_fail(KTRACE_ERROR_FORMAT, "process %u: its modules do not begin behind those before", i);
    }
    for (uint32_t i = 0; i < snapshot->timeline_count; i++)
        if (!is_within_ns(snapshot->timeline_begins_ns[i], KT_TRACE_SPAN_NS))
            return kt_fail(KTRACE_ERROR_FORMAT, "timeline %u begins more than 40 days from the first", i);
    return 0;
}

/* Numbers tell the process. */
static int is_of_process(const struct kt_snapshot *snapshot, const struct kt_module *module)
{
    const uint32_t process = snapshot->devices[module->device].process;
    return module->number >= snapshot->processes[process].first_module &&
           (process + 1 == snapshot->process_count || module->number < snapshot->processes[process + 1].first_module);
}

static int check_modules(const struct kt_snapshot *snapshot)
{
    const int indexed = snapshot->arch == KTRACE_ARCH_AMDGCN;
    for (uint64_t i = 0; i < snapshot->module_count; i++) {
        const struct kt_module *module = &snapshot->modules[i];
        uint32_t in_bank = 0;
        if (i && module[-1].number >= module->number)
            return kt_fail(KTRACE_ERROR_FORMAT, "module %u: modules are not in order", module->number);
        if (module->device >= snapshot->device_count)
            return kt_fail(KTRACE_ERROR_FORMAT, "module %u: its device %u is not there", module->number,
                           module->device);
        if (!is_of_process(snapshot, module))
            return kt_fail(KTRACE_ERROR_FORMAT, "module %u: its device is of another process", module->number);
        for (uint32_t s = 0; s < module->site_count; s++) {
            const struct kt_site *site = &module->sites[s];
            int status = check_site(site, module->number);
            if (status == 0)
                status = indexed ? check_indexed_site(site, s, module->number)
                                 : check_site_id(site, s ? site - 1 : NULL, module->number);
            if (status < 0)
                return status;
            in_bank += !module->sites[s].wide;
        }
        if (in_bank > BANK_SITES_MAX && !indexed)
            return kt_fail(KTRACE_ERROR_FORMAT, "module %u: %u sites do not fit into a constant bank", module->number,
                           in_bank);
    }
    return 0;
}

/* Of one device every wave is, also one whose module is missing. Of several, such a wave has neither a clock nor a place. */
static int check_devices_of_waves(const struct kt_snapshot *snapshot)
{
    for (uint64_t i = 0; i < snapshot->wave_count && snapshot->device_count > 1; i++)
        if (!kt_snapshot_module(snapshot, snapshot->waves[i].module))
            return kt_fail(KTRACE_ERROR_FORMAT, "wave %llu: its module %u is not there to tell its device",
                           (unsigned long long)i, snapshot->waves[i].module);
    return 0;
}

/* 0 where no ring has it. */
static int check_capacity(uint32_t slots, int has_rings, const char *which)
{
    if ((slots == 0 && has_rings) || (slots & (slots - 1)) != 0 || slots > WAVE_SLOTS_MAX)
        return kt_fail(KTRACE_ERROR_FORMAT, "%s rings of %u slots: not a power of two up to %u", which, slots,
                       WAVE_SLOTS_MAX);
    return 0;
}

static int check_ring(const struct kt_snapshot *snapshot, uint64_t number)
{
    const struct kt_ring *ring = &snapshot->rings[number];
    unsigned long long n = number;
    const uint32_t lanes = snapshot->arch == KTRACE_ARCH_AMDGCN ? 1 : KTRACE_MAX_LANES;
    if (ring->wave >= snapshot->wave_count || ring->lane >= lanes)
        return kt_fail(KTRACE_ERROR_FORMAT, "ring %llu: wave %u, lane %u is not there", n, ring->wave, ring->lane);
    if (number && (ring[-1].wave > ring->wave || (ring[-1].wave == ring->wave && ring[-1].lane >= ring->lane)))
        return kt_fail(KTRACE_ERROR_FORMAT, "ring %llu: rings are not in order", n);
    if (ring->first_slot > snapshot->slot_count ||
        kt_ring_stored_slots(snapshot, ring) > snapshot->slot_count - ring->first_slot)
        return kt_fail(KTRACE_ERROR_FORMAT, "ring %llu: its slots lie outside of the snapshot's", n);

    if (ring->whole > 1)
        return kt_fail(KTRACE_ERROR_FORMAT, "ring %llu: whole is %u, not 0 or 1", n, ring->whole);
    const struct kt_process *process = kt_snapshot_process_of(snapshot, &snapshot->waves[ring->wave]);
    uint32_t capacity = ring->lane ? process->lane_ring_slots : process->main_ring_slots;
    uint32_t final_bytes = snapshot->waves[ring->wave].final_count_bytes[ring->lane];
    if (capacity == 0 || (ring->whole ? ring->slot_count != capacity : ring->slot_count > capacity))
        return kt_fail(KTRACE_ERROR_FORMAT, "ring %llu: %u slots in a ring of %u", n, ring->slot_count, capacity);
    if (!ring->whole && (final_bytes < 8 || final_bytes % 8 != 0 || ring->slot_count > final_bytes / 8 - 1))
        return kt_fail(KTRACE_ERROR_FORMAT, "ring %llu: %u slots, but a final count of %u bytes", n, ring->slot_count,
                       final_bytes);
    return 0;
}

/* Of several processes, one without rings may have no capacities either. */
static int check_capacities(const struct kt_snapshot *snapshot)
{
    int status = 0;
    for (uint32_t i = 0; i < snapshot->process_count && status == 0; i++) {
        const struct kt_process *process = &snapshot->processes[i];
        const int has_rings = snapshot->ring_count &&
                              (snapshot->process_count == 1 || process->main_ring_slots || process->lane_ring_slots);
        status = check_capacity(process->main_ring_slots, has_rings, "lane 0's");
        if (status == 0 && snapshot->arch == KTRACE_ARCH_AMDGCN && process->lane_ring_slots != 0)
            status = kt_fail(KTRACE_ERROR_FORMAT, "other lanes' rings of %u slots: on amdgcn there are none",
                             process->lane_ring_slots);
        else if (status == 0 && snapshot->arch != KTRACE_ARCH_AMDGCN)
            status = check_capacity(process->lane_ring_slots, has_rings, "other lanes'");
    }
    return status;
}

static int check_rings(const struct kt_snapshot *snapshot)
{
    uint64_t total = 0, of_wave = 0;
    int status = check_capacities(snapshot);
    for (uint64_t i = 0; i < snapshot->ring_count && status == 0; i++) {
        const struct kt_ring *ring = &snapshot->rings[i];
        status = check_ring(snapshot, i);
        of_wave = (i && ring[-1].wave == ring->wave ? of_wave : 0) + ring->slot_count;
        total += kt_ring_stored_slots(snapshot, ring);
        if (status == 0 && of_wave > WAVE_SLOTS_MAX)
            status = kt_fail(KTRACE_ERROR_FORMAT, "wave %u: more than %u slots", ring->wave, WAVE_SLOTS_MAX);
        /* or slots would be decoded many times over */
        if (status == 0 && total > snapshot->slot_count)
            status = kt_fail(KTRACE_ERROR_FORMAT, "rings overlap: they have more than the snapshot's %llu slots",
                             (unsigned long long)snapshot->slot_count);
    }
    return status;
}

int kt_check_snapshot(const struct kt_snapshot *snapshot)
{
    int status = 0;
    if (snapshot->wave_count >= 0xFFFFFFFF || snapshot->module_count >= 0xFFFFFFFF)
        return kt_fail(KTRACE_ERROR_FORMAT, "more waves or modules than can be counted");
    if (snapshot->arch < KTRACE_ARCH_NVIDIA || snapshot->arch > KTRACE_ARCH_HOST)
        return kt_fail(KTRACE_ERROR_FORMAT, "architecture %u is unknown", snapshot->arch);
    for (uint64_t i = 0; i < snapshot->wave_count && status == 0; i++)
        status = kt_check_header(&snapshot->waves[i], snapshot->arch, i);
    if (status == 0)
        status = check_devices(snapshot);
    if (status == 0)
        status = check_processes(snapshot);
    if (status == 0)
        status = check_modules(snapshot);
    if (status == 0)
        status = check_devices_of_waves(snapshot);
    if (status == 0)
        status = check_rings(snapshot);
    return status;
}
