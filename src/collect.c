#include "collect.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "error.h"
#include "modules.h"

/* ---- Copying ---------------------------------------------------------------------------------------------------- */

/* Where a wave's rings are in host memory. */
struct wave_source {
    uint64_t region;
    const unsigned char *main_ring;  /* main_bytes of it; on amdgcn its overhang's first slot may be among them */
    const unsigned char *lane_rings; /* 31 pieces of lane_bytes, or NULL: no lane but 0 recorded */
    int inside;                      /* not 0: some lane that was there at the start has not left */
};

struct collection {
    struct kt_backend *backend;
    const struct kt_buffer *buffer;
    struct kt_half half; /* where it begins */
    struct kt_usage *usage;
    int peek;
    struct kt_snapshot *snapshot;
    struct wave_source *sources;     /* one a snapshot wave */
    uint64_t main_bytes, lane_bytes; /* columns copied of each ring */
    unsigned char *main_data, *lane_data;
};

static uint64_t ring_bytes(const struct collection *work, uint32_t lane)
{
    const struct kt_layout *layout = &work->buffer->layout;
    return lane == 0 ? kt_layout_main_ring_bytes(layout) : kt_layout_lane_ring_bytes(layout);
}

static int is_amdgcn(const struct collection *work)
{
    return work->buffer->layout.arch == KTRACE_ARCH_AMDGCN;
}

/* Lanes that have a ring. */
static uint32_t lanes_of(const struct collection *work)
{
    return is_amdgcn(work) ? 1 : KTRACE_MAX_LANES;
}

/* The header counts the lanes that were there at the start and does not say which: any may have returned before. Once as
 * many have left, a lane without a final count never was there; until then each of them may be inside. On amdgcn the wave
 * records as one. */
static int some_lane_inside(const struct collection *work, const struct ktrace_wave_header *wave)
{
    uint32_t left = 0;
    if (is_amdgcn(work))
        return wave->final_count_bytes[0] == 0;
    for (uint32_t lane = 0; lane < KTRACE_MAX_LANES; lane++)
        left += wave->final_count_bytes[lane] != 0;
    return left < wave->lane_count;
}

/* Bytes of a lane's ring that may hold something. */
static uint64_t used_bytes(const struct collection *work, uint64_t wave, uint32_t lane)
{
    const uint64_t whole = ring_bytes(work, lane), count = work->snapshot->waves[wave].final_count_bytes[lane];
    if (count == 0)
        return work->sources[wave].inside ? whole : 0;
    if (count <= KTRACE_SLOT_BYTES)
        return 0;
    return count < whole ? count : whole;
}

static int lanes_used(const struct collection *work, uint64_t wave)
{
    for (uint32_t lane = 1; lane < lanes_of(work); lane++)
        if (used_bytes(work, wave, lane))
            return 1;
    return 0;
}

/* A peek can meet a wave that is writing its header. Otherwise a bad header is an error, of kt_check_snapshot. */
static int is_there(const struct collection *work, const struct ktrace_wave_header *header, uint64_t region)
{
    return header->magic == KTRACE_WAVE_MAGIC &&
           (!work->peek || kt_check_header(header, work->buffer->layout.arch, region) == KTRACE_OK);
}

/* On amdgcn a wave knows the grid in workitems, and a division would cost it more than all else at its start. */
static void count_workgroups(struct ktrace_wave_header *header)
{
    for (int i = 0; i < 3; i++)
        if (header->block[i])
            header->grid[i] = (uint32_t)(((uint64_t)header->grid[i] + header->block[i] - 1) / header->block[i]);
}

static int copy_headers(struct collection *work)
{
    struct kt_snapshot *snapshot = work->snapshot;
    const uint64_t regions = work->usage->rows * work->buffer->layout.partitions;
    const size_t bytes = sizeof(struct ktrace_wave_header);
    snapshot->waves = malloc(regions ? regions * bytes : bytes);
    work->sources = calloc(regions ? regions : 1, sizeof *work->sources);
    if (snapshot->waves == NULL || work->sources == NULL)
        return kt_fail_memory(regions * bytes);
    const int status = work->backend->ops->to_host(work->backend, snapshot->waves, work->half.headers, bytes, bytes,
                                                   regions, work->peek);
    if (status < 0)
        return status;
    for (uint64_t region = 0; region < regions; region++) {
        if (is_amdgcn(work))
            count_workgroups(&snapshot->waves[region]);
        if (!is_there(work, &snapshot->waves[region], region))
            continue;
        const uint64_t wave = snapshot->wave_count++;
        snapshot->waves[wave] = snapshot->waves[region];
        work->sources[wave] =
            (struct wave_source){.region = region, .inside = some_lane_inside(work, &snapshot->waves[wave])};
    }
    if (snapshot->wave_count < work->usage->waves_recorded)
        work->usage->headers_missing = work->usage->waves_recorded - snapshot->wave_count;
    return KTRACE_OK;
}

/* A wave of 2^29 slots wraps its count, which then looks like that of a short wave. What tells is a ring with something
 * behind its count, where nothing was written yet: at place 0, since indexes begin at 1, or at the next two places. Of two
 * neighbours, one is not zero: only a payload can be, and what follows it is an event. */
#define BEHIND_BYTES (2 * KTRACE_SLOT_BYTES)

static void measure(struct collection *work)
{
    struct kt_usage *usage = work->usage;
    work->main_bytes = work->lane_bytes = 0;
    for (uint64_t i = 0; i < work->snapshot->wave_count; i++) {
        const struct ktrace_wave_header *wave = &work->snapshot->waves[i];
        for (uint32_t lane = 0; lane < lanes_of(work); lane++) {
            const uint64_t used = used_bytes(work, i, lane), whole = ring_bytes(work, lane);
            const uint64_t slots =
                wave->final_count_bytes[lane] ? wave->final_count_bytes[lane] / KTRACE_SLOT_BYTES - 1 : 0;
            uint64_t *columns = lane ? &work->lane_bytes : &work->main_bytes;
            uint64_t *most = lane ? &usage->most_lane_slots : &usage->most_main_slots;
            const uint64_t looked_at = used && used + BEHIND_BYTES < whole ? used + BEHIND_BYTES : used ? whole : 0;
            if (looked_at > *columns)
                *columns = looked_at;
            if (slots > *most)
                *most = slots;
        }
    }
    /* Only an event in the last slot has something in the overhang. */
    if (is_amdgcn(work) && work->main_bytes == ring_bytes(work, 0))
        work->main_bytes += KTRACE_SLOT_BYTES;
}

static int copy_main_rings(struct collection *work)
{
    const uint64_t regions = work->usage->rows * work->buffer->layout.partitions;
    const uint64_t pitch = kt_layout_main_pitch_bytes(&work->buffer->layout);
    if (work->main_bytes == 0)
        return KTRACE_OK;
    work->main_data = malloc(regions * work->main_bytes);
    if (work->main_data == NULL)
        return kt_fail_memory(regions * work->main_bytes);
    const int status = work->backend->ops->to_host(work->backend, work->main_data, work->half.main_rings,
                                                   work->main_bytes, pitch, regions, work->peek);
    for (uint64_t i = 0; i < work->snapshot->wave_count; i++)
        work->sources[i].main_ring = work->main_data + work->sources[i].region * work->main_bytes;
    return status;
}

/* Lanes other than 0 record in divergent code only: mostly nowhere, sometimes in a few waves, rarely in all. */
static int copy_lane_rings(struct collection *work)
{
    const uint64_t pitch = ring_bytes(work, 1), wave_count = work->snapshot->wave_count;
    if (work->lane_bytes == 0)
        return KTRACE_OK;
    uint64_t users = 0;
    for (uint64_t i = 0; i < wave_count; i++)
        users += (uint64_t)lanes_used(work, i);
    const uint64_t rows = work->usage->rows * work->buffer->layout.partitions;
    const int all = users > 64 && users * 8 > rows;
    const uint64_t wave_bytes = KT_LANE_RINGS * work->lane_bytes;
    const uint64_t bytes = (all ? rows : users) * wave_bytes;
    work->lane_data = malloc(bytes ? bytes : 1);
    if (work->lane_data == NULL)
        return kt_fail_memory(bytes);

    int status = KTRACE_OK;
    if (all)
        status = work->backend->ops->to_host(work->backend, work->lane_data, work->half.lane_rings, work->lane_bytes,
                                             pitch, rows * KT_LANE_RINGS, work->peek);
    unsigned char *next = work->lane_data;
    for (uint64_t i = 0; i < wave_count && status == KTRACE_OK; i++) {
        if (!lanes_used(work, i))
            continue;
        const uint64_t region = work->sources[i].region;
        if (all) {
            work->sources[i].lane_rings = work->lane_data + region * wave_bytes;
            continue;
        }
        status =
            work->backend->ops->to_host(work->backend, next, work->half.lane_rings + region * KT_LANE_RINGS * pitch,
                                        work->lane_bytes, pitch, KT_LANE_RINGS, work->peek);
        work->sources[i].lane_rings = next;
        next += wave_bytes;
    }
    return status;
}

static int copy_rings(struct collection *work)
{
    measure(work);
    const int status = copy_main_rings(work);
    return status == KTRACE_OK ? copy_lane_rings(work) : status;
}

/* ---- Counts that wrapped ---------------------------------------------------------------------------------------- */

static const unsigned char *ring_of(const struct collection *work, uint64_t wave, uint32_t lane)
{
    const struct wave_source *source = &work->sources[wave];
    if (lane == 0)
        return source->main_ring;
    return source->lane_rings ? source->lane_rings + (lane - 1) * work->lane_bytes : NULL;
}

static int is_empty(const unsigned char *ring, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (ring[i])
            return 0;
    return 1;
}

static int count_wrapped(const struct collection *work, uint64_t wave, uint32_t lane)
{
    const uint64_t count = work->snapshot->waves[wave].final_count_bytes[lane], whole = ring_bytes(work, lane);
    const unsigned char *ring = ring_of(work, wave, lane);
    if (count <= KTRACE_SLOT_BYTES || count > whole || count % KTRACE_SLOT_BYTES || ring == NULL)
        return 0;
    if (is_amdgcn(work) && work->main_bytes > whole && !is_empty(ring + whole, KTRACE_SLOT_BYTES))
        return 1;
    return !is_empty(ring, KTRACE_SLOT_BYTES) ||
           !is_empty(ring + count, count + BEHIND_BYTES < whole ? BEHIND_BYTES : whole - count);
}

/* Counts that wrapped become the largest that puts the newest slot at its place and gives it its sequence number. What was
 * lost is then right to within the period of both, in more than 2^28; a second wrap is not seen. Returns whether there were
 * any. */
static int raise_wrapped_counts(struct collection *work)
{
    int raised = 0;
    for (uint64_t wave = 0; wave < work->snapshot->wave_count; wave++)
        for (uint32_t lane = 0; lane < lanes_of(work); lane++) {
            if (!count_wrapped(work, wave, lane))
                continue;
            const uint64_t sequences = (uint64_t)0x10000 * KTRACE_SLOT_BYTES, whole = ring_bytes(work, lane);
            const uint64_t period = whole > sequences ? whole : sequences;
            uint32_t *count = &work->snapshot->waves[wave].final_count_bytes[lane];
            *count = (uint32_t)((UINT64_C(1) << 32) - period + *count % period);
            raised = 1;
        }
    return raised;
}

static int copy_rings_again(struct collection *work)
{
    free(work->main_data);
    free(work->lane_data);
    work->main_data = work->lane_data = NULL;
    for (uint64_t wave = 0; wave < work->snapshot->wave_count; wave++)
        work->sources[wave].main_ring = work->sources[wave].lane_rings = NULL;
    return copy_rings(work);
}

/* ---- Packing ---------------------------------------------------------------------------------------------------- */

/* Slots worth keeping of one ring: see struct kt_ring. */
static uint64_t kept_slots(const struct collection *work, uint64_t wave, uint32_t lane)
{
    const uint64_t count = work->snapshot->waves[wave].final_count_bytes[lane], used = used_bytes(work, wave, lane);
    if (used == 0)
        return 0;
    if (count && count < ring_bytes(work, lane) + KTRACE_SLOT_BYTES)
        return count / KTRACE_SLOT_BYTES - 1;
    return ring_bytes(work, lane) / KTRACE_SLOT_BYTES;
}

static void pack_ring(struct collection *work, uint64_t wave_index, uint32_t lane)
{
    struct kt_snapshot *snapshot = work->snapshot;
    const struct ktrace_wave_header *wave = &snapshot->waves[wave_index];
    const unsigned char *ring = ring_of(work, wave_index, lane);
    if (ring == NULL)
        return;
    const uint64_t slots = kept_slots(work, wave_index, lane), capacity = ring_bytes(work, lane) / KTRACE_SLOT_BYTES;
    const int whole = wave->final_count_bytes[lane] == 0;
    if (slots == 0 || (whole && is_empty(ring, slots * KTRACE_SLOT_BYTES)))
        return;

    struct ktrace_slot *target = snapshot->slots + snapshot->slot_count;
    const uint64_t recorded = whole ? 0 : wave->final_count_bytes[lane] / KTRACE_SLOT_BYTES - 1;
    const uint64_t first_place = whole ? 0 : (recorded - slots + 1) % capacity;
    const uint64_t before_end = capacity - first_place < slots ? capacity - first_place : slots;
    memcpy(target, ring + first_place * KTRACE_SLOT_BYTES, before_end * KTRACE_SLOT_BYTES);
    memcpy(target + before_end, ring, (slots - before_end) * KTRACE_SLOT_BYTES);
    snapshot->rings[snapshot->ring_count++] = (struct kt_ring){.wave = (uint32_t)wave_index,
                                                               .lane = (uint16_t)lane,
                                                               .whole = (uint16_t)whole,
                                                               .slot_count = (uint32_t)slots,
                                                               .first_slot = snapshot->slot_count};
    snapshot->slot_count += slots;
    if (is_amdgcn(work)) {
        struct ktrace_slot *overhang = &snapshot->slots[snapshot->slot_count++];
        memset(overhang, 0, sizeof *overhang);
        if (work->main_bytes > capacity * KTRACE_SLOT_BYTES)
            memcpy(overhang, ring + capacity * KTRACE_SLOT_BYTES, sizeof *overhang);
    }
}

static int pack(struct collection *work)
{
    struct kt_snapshot *snapshot = work->snapshot;
    uint64_t rings = 0, slots = 0;
    for (uint64_t i = 0; i < snapshot->wave_count; i++)
        for (uint32_t lane = 0; lane < lanes_of(work); lane++) {
            const uint64_t kept = kept_slots(work, i, lane);
            rings += kept != 0;
            slots += kept + (kept && is_amdgcn(work));
        }
    snapshot->rings = malloc(rings ? rings * sizeof *snapshot->rings : 1);
    snapshot->slots = malloc(slots ? slots * sizeof *snapshot->slots : 1);
    if (snapshot->rings == NULL || snapshot->slots == NULL)
        return kt_fail_memory(slots * sizeof *snapshot->slots);
    for (uint64_t i = 0; i < snapshot->wave_count; i++)
        for (uint32_t lane = 0; lane < lanes_of(work); lane++)
            pack_ring(work, i, lane);
    return KTRACE_OK;
}

/* ---- Sites ------------------------------------------------------------------------------------------------------ */

static struct kt_module *module_numbered(struct kt_snapshot *snapshot, uint32_t number)
{
    for (uint64_t i = 0; i < snapshot->module_count; i++)
        if (snapshot->modules[i].number == number)
            return &snapshot->modules[i];
    return NULL;
}

/* Descriptors in global memory are known by the addresses that events carry. What is no descriptor is left to the decoder,
 * which counts it. */
static int add_wide_sites(struct collection *work)
{
    struct kt_snapshot *snapshot = work->snapshot;
    for (uint64_t i = 0; i < snapshot->wave_count; i++) {
        const struct ktrace_wave_header *wave = &snapshot->waves[i];
        struct kt_module *module = module_numbered(snapshot, wave->module);
        if (wave->kernel_site <= UINT16_MAX || module == NULL)
            continue;
        if (kt_module_add_wide(module, work->backend, wave->kernel_site, work->peek) == KTRACE_ERROR_MEMORY)
            return KTRACE_ERROR_MEMORY;
    }
    for (uint64_t i = 0; i < snapshot->ring_count; i++) {
        const struct kt_ring *ring = &snapshot->rings[i];
        const struct ktrace_wave_header *wave = &snapshot->waves[ring->wave];
        struct kt_module *module = module_numbered(snapshot, wave->module);
        if (wave->kernel_site <= UINT16_MAX || module == NULL)
            continue;
        for (uint32_t slot = 0; slot + 1 < ring->slot_count; slot++) {
            const struct ktrace_slot *event = &snapshot->slots[ring->first_slot + slot];
            if (event->site != KTRACE_SITE_WIDE)
                continue;
            uint64_t address;
            memcpy(&address, event + 1, sizeof address);
            if (kt_module_add_wide(module, work->backend, address, work->peek) == KTRACE_ERROR_MEMORY)
                return KTRACE_ERROR_MEMORY;
        }
    }
    return KTRACE_OK;
}

static int copy_modules(struct kt_snapshot *snapshot, const struct kt_arming *arming)
{
    snapshot->modules = calloc(arming->count ? arming->count : 1, sizeof *snapshot->modules);
    if (snapshot->modules == NULL)
        return kt_fail_memory(arming->count * sizeof *snapshot->modules);
    for (; snapshot->module_count < arming->count; snapshot->module_count++) {
        const int status =
            kt_module_copy(&snapshot->modules[snapshot->module_count], &arming->modules[snapshot->module_count].module);
        if (status < 0)
            return status;
    }
    return KTRACE_OK;
}

int kt_collect(struct kt_snapshot **out, struct kt_usage *usage, struct kt_backend *backend,
               const struct kt_buffer *buffer, const struct kt_arming *arming, int peek)
{
    struct collection work = {.backend = backend,
                              .buffer = buffer,
                              .half = kt_buffer_half(buffer, usage->half),
                              .usage = usage,
                              .peek = peek};
    work.snapshot = kt_snapshot_new();
    if (work.snapshot == NULL)
        return KTRACE_ERROR_MEMORY;
    int status = copy_headers(&work);
    if (status == KTRACE_OK)
        status = copy_rings(&work);
    if (status == KTRACE_OK && raise_wrapped_counts(&work))
        status = copy_rings_again(&work);
    if (status == KTRACE_OK)
        status = pack(&work);
    if (status == KTRACE_OK)
        status = copy_modules(work.snapshot, arming);
    if (status == KTRACE_OK && !is_amdgcn(&work))
        status = add_wide_sites(&work);
    free(work.sources);
    free(work.main_data);
    free(work.lane_data);
    if (status < 0) {
        kt_snapshot_destroy(work.snapshot);
        return status;
    }
    work.snapshot->arch = buffer->layout.arch;
    work.snapshot->processes[0].main_ring_slots = buffer->layout.main_ring_slots;
    work.snapshot->processes[0].lane_ring_slots = buffer->layout.lane_ring_slots;
    work.snapshot->processes[0].buffer_bytes = buffer->layout.buffer_bytes;
    work.snapshot->regions = buffer->layout.regions;
    work.snapshot->waves_dropped = usage->waves_dropped;
    work.snapshot->waves_filtered = usage->waves_filtered;
    *out = work.snapshot;
    return KTRACE_OK;
}
