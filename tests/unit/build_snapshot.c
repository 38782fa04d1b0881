#include "build_snapshot.h"

#include "array.h"

struct lane_ring {
    struct ktrace_slot *slots; /* NULL until the lane records */
    uint32_t count_bytes;
};

struct build {
    struct kt_snapshot *snapshot;
    struct lane_ring (*rings)[KTRACE_MAX_LANES]; /* one row a wave */
    size_t *site_capacities;                     /* one a module */
    size_t module_capacity, site_capacity_capacity, wave_capacity, row_capacity, ring_capacity, slot_capacity;
};

static void check(int condition)
{
    if (!condition)
        abort();
}

/* Room for `needed` items behind `items`, the address of a pointer to them. */
static void reserve(void *items, size_t *capacity, uint64_t needed, size_t item_bytes)
{
    check(kt_array_reserve(items, capacity, needed, item_bytes) == 0);
}

static char *copy(const char *text)
{
    char *result = strdup(text);
    check(result != NULL);
    return result;
}

void build_device(struct build *build, uint32_t ordinal)
{
    struct kt_snapshot *snapshot = build->snapshot;
    struct kt_device *device = kt_snapshot_add_device(snapshot, "Synthetic device");
    check(device != NULL);
    device->ordinal = ordinal;
    device->places = 8;
    device->clock_khz = 2000000;
    device->wall_tick_ns = 32;
    device->capability = 90;
    device->regions = 8192;
    snapshot->regions += device->regions;
}

struct build *build_begin(uint32_t main_ring_slots, uint32_t lane_ring_slots)
{
    struct build *build = calloc(1, sizeof *build);
    check(build && main_ring_slots && lane_ring_slots);
    check((main_ring_slots & (main_ring_slots - 1)) == 0 && (lane_ring_slots & (lane_ring_slots - 1)) == 0);
    build->snapshot = kt_snapshot_new();
    struct kt_snapshot *snapshot = build->snapshot;
    check(snapshot != NULL);
    free(snapshot->name);
    snapshot->name = copy("test");
    snapshot->arch = KTRACE_ARCH_NVIDIA;
    snapshot->flags = KT_SNAPSHOT_KEEP_LAST;
    snapshot->processes[0].main_ring_slots = main_ring_slots;
    snapshot->processes[0].lane_ring_slots = lane_ring_slots;
    snapshot->processes[0].buffer_bytes = 64u << 20;
    build_device(build, 0);
    return build;
}

uint32_t build_module(struct build *build, uint32_t control_offset)
{
    struct kt_snapshot *snapshot = build->snapshot;
    uint32_t number = (uint32_t)snapshot->module_count++;
    reserve(&snapshot->modules, &build->module_capacity, snapshot->module_count, sizeof *snapshot->modules);
    reserve(&build->site_capacities, &build->site_capacity_capacity, snapshot->module_count,
            sizeof *build->site_capacities);
    build->site_capacities[number] = 0;
    snapshot->modules[number] = (struct kt_module){.number = number, .device = snapshot->device_count - 1};
    /* until build_finish, the offset travels as the module's site 0, which no handle names */
    struct kt_module *module = &snapshot->modules[number];
    reserve(&module->sites, &build->site_capacities[number], 1, sizeof *module->sites);
    module->sites[0] = (struct kt_site){.id = control_offset};
    module->site_count = 1;
    return number;
}

static struct kt_site *site_of(const struct build *build, uint32_t site)
{
    uint32_t module = site >> 16, index = site & 0xFFFF;
    check(module < build->snapshot->module_count && index && index < build->snapshot->modules[module].site_count);
    return &build->snapshot->modules[module].sites[index];
}

static uint32_t control_offset_of(const struct build *build, uint32_t module)
{
    return (uint32_t)build->snapshot->modules[module].sites[0].id;
}

static uint32_t add_site(struct build *build, uint32_t number, uint64_t id, int wide, const struct kt_site *like)
{
    struct kt_module *module = &build->snapshot->modules[number];
    uint32_t index = module->site_count++;
    check(index < 0x10000);
    reserve(&module->sites, &build->site_capacities[number], module->site_count, sizeof *module->sites);
    struct kt_site *site = &module->sites[index];
    *site = *like;
    site->id = id;
    site->wide = (uint8_t)wide;
    site->line = index * 10;
    site->name = copy(like->name);
    site->file = copy("kernel.cu");
    return number << 16 | index;
}

uint32_t build_site(struct build *build, uint32_t module, enum ktrace_kind kind, enum ktrace_payload_type payload_type,
                    const char *name)
{
    check(module < build->snapshot->module_count);
    struct kt_site like = {.kind = (uint8_t)kind, .payload_type = (uint8_t)payload_type, .name = (char *)name};
    return add_site(build, module, build->snapshot->modules[module].site_count * 16ull, 0, &like);
}

uint32_t build_wide_site(struct build *build, uint32_t module, enum ktrace_kind kind,
                         enum ktrace_payload_type payload_type, const char *name)
{
    check(module < build->snapshot->module_count);
    struct kt_site like = {.kind = (uint8_t)kind, .payload_type = (uint8_t)payload_type, .name = (char *)name};
    uint64_t address = 0x700000000000ull + build->snapshot->modules[module].site_count * 16ull;
    return add_site(build, module, address, 1, &like);
}

uint16_t build_site_bits(const struct build *build, uint32_t site)
{
    const struct kt_site *known = site_of(build, site);
    return known->wide ? KTRACE_SITE_WIDE : (uint16_t)(known->id + control_offset_of(build, site >> 16));
}

uint64_t build_wall_ns(uint64_t clock)
{
    return (1000000000 + clock / 2) / 32 * 32;
}

uint32_t build_wave(struct build *build, const struct build_wave *options)
{
    struct kt_snapshot *snapshot = build->snapshot;
    const struct kt_site *kernel = site_of(build, options->kernel);
    uint32_t number = (uint32_t)snapshot->wave_count++;
    reserve(&snapshot->waves, &build->wave_capacity, snapshot->wave_count, sizeof *snapshot->waves);
    reserve(&build->rings, &build->row_capacity, snapshot->wave_count, sizeof *build->rings);
    memset(&build->rings[number], 0, sizeof build->rings[number]);

    struct ktrace_wave_header *header = &snapshot->waves[number];
    *header = (struct ktrace_wave_header){.magic = KTRACE_WAVE_MAGIC, .version = KTRACE_WIRE_VERSION};
    header->arch = (uint8_t)snapshot->arch;
    header->lane_count = options->lane_count ? options->lane_count : 32;
    header->module = options->kernel >> 16;
    header->control_offset = control_offset_of(build, header->module);
    header->kernel_site = kernel->wide ? kernel->id : build_site_bits(build, options->kernel);
    header->grid_id = options->grid_id;
    for (int i = 0; i < 3; i++) {
        header->grid[i] = options->grid[i] ? options->grid[i] : 1;
        header->block[i] = options->block[i] ? options->block[i] : i ? 1 : 32;
        header->workgroup[i] = options->workgroup[i];
    }
    header->wave = options->wave;
    header->place = options->place;
    header->place_count = snapshot->devices[0].places;
    header->start_clock_ticks = options->start_clock;
    header->start_wall_ns = options->start_wall_ns ? options->start_wall_ns : build_wall_ns(options->start_clock);
    return number;
}

static uint32_t capacity_of(const struct build *build, uint32_t lane)
{
    return lane ? build->snapshot->processes[0].lane_ring_slots : build->snapshot->processes[0].main_ring_slots;
}

static struct lane_ring *ring_of(struct build *build, uint32_t wave, uint32_t lane)
{
    check(wave < build->snapshot->wave_count && lane < KTRACE_MAX_LANES);
    struct lane_ring *ring = &build->rings[wave][lane];
    if (!ring->slots) {
        ring->slots = calloc(capacity_of(build, lane), sizeof *ring->slots);
        ring->count_bytes = 8;
        check(ring->slots != NULL);
    }
    return ring;
}

static void store(struct build *build, struct lane_ring *ring, uint32_t lane, struct ktrace_slot slot)
{
    ring->slots[(ring->count_bytes / 8) % capacity_of(build, lane)] = slot;
    ring->count_bytes += 8;
}

static void store_bits(struct build *build, struct lane_ring *ring, uint32_t lane, uint64_t bits)
{
    struct ktrace_slot slot;
    memcpy(&slot, &bits, sizeof slot);
    store(build, ring, lane, slot);
}

static struct lane_ring *store_event_with(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock,
                                          uint32_t site, uint16_t sequence)
{
    struct lane_ring *ring = ring_of(build, wave, lane);
    struct ktrace_slot slot = {(uint32_t)clock, build_site_bits(build, site), sequence};
    store(build, ring, lane, slot);
    if (slot.site == KTRACE_SITE_WIDE)
        store_bits(build, ring, lane, site_of(build, site)->id);
    return ring;
}

static struct lane_ring *store_event(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site)
{
    return store_event_with(build, wave, lane, clock, site, (uint16_t)(ring_of(build, wave, lane)->count_bytes / 8));
}

uint32_t build_event(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site)
{
    check(site_of(build, site)->payload_type == KTRACE_PAYLOAD_NONE);
    store_event(build, wave, lane, clock, site);
    return (uint32_t)clock | 1;
}

uint32_t build_payload(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site,
                       uint64_t payload)
{
    check(site_of(build, site)->payload_type != KTRACE_PAYLOAD_NONE);
    store_bits(build, store_event(build, wave, lane, clock, site), lane, payload);
    return (uint32_t)clock | 1;
}

void build_stop(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site, uint32_t token)
{
    check(site_of(build, site)->kind == KTRACE_KIND_STOP && token);
    store_event_with(build, wave, lane, clock, site, (uint16_t)token);
}

void build_stop_payload(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site,
                        uint32_t token, uint64_t payload)
{
    build_stop(build, wave, lane, clock, site, token);
    store_bits(build, ring_of(build, wave, lane), lane, payload);
}

uint32_t build_next(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site, uint32_t token)
{
    check(site_of(build, site)->kind == KTRACE_KIND_NEXT);
    store_event_with(build, wave, lane, clock, site, (uint16_t)token);
    return (uint32_t)clock | 1;
}

uint32_t build_next_payload(struct build *build, uint32_t wave, uint32_t lane, uint64_t clock, uint32_t site,
                            uint32_t token, uint64_t payload)
{
    build_next(build, wave, lane, clock, site, token);
    store_bits(build, ring_of(build, wave, lane), lane, payload);
    return (uint32_t)clock | 1;
}

void build_leave(struct build *build, uint32_t wave, uint32_t lane)
{
    const struct lane_ring *ring = &build->rings[wave][lane];
    build->snapshot->waves[wave].final_count_bytes[lane] = ring->count_bytes ? ring->count_bytes : 8;
}

void build_end(struct build *build, uint32_t wave, uint64_t clock)
{
    check(wave < build->snapshot->wave_count);
    struct ktrace_wave_header *header = &build->snapshot->waves[wave];
    for (uint32_t lane = 0; lane < KTRACE_MAX_LANES; lane++)
        if (lane < header->lane_count || build->rings[wave][lane].slots)
            build_leave(build, wave, lane);
    header->end_clock_ticks = clock;
    header->end_wall_ns = build_wall_ns(clock);
}

void build_overwrite(struct build *build, uint32_t wave, uint32_t lane, uint32_t place, struct ktrace_slot slot)
{
    check(place < capacity_of(build, lane));
    ring_of(build, wave, lane)->slots[place] = slot;
}

struct ktrace_wave_header *build_header(struct build *build, uint32_t wave)
{
    check(wave < build->snapshot->wave_count);
    return &build->snapshot->waves[wave];
}

static void emit(struct build *build, const struct ktrace_slot *slots, uint64_t count)
{
    struct kt_snapshot *snapshot = build->snapshot;
    reserve(&snapshot->slots, &build->slot_capacity, snapshot->slot_count + count, sizeof *snapshot->slots);
    memcpy(snapshot->slots + snapshot->slot_count, slots, count * sizeof *slots);
    snapshot->slot_count += count;
}

static void emit_ring(struct build *build, uint32_t wave, uint32_t lane)
{
    struct kt_snapshot *snapshot = build->snapshot;
    const struct lane_ring *ring = &build->rings[wave][lane];
    uint32_t capacity = capacity_of(build, lane), final_bytes = snapshot->waves[wave].final_count_bytes[lane];
    struct kt_ring out = {.wave = wave, .lane = (uint16_t)lane, .first_slot = snapshot->slot_count};
    if (!ring->slots || final_bytes == 8)
        return;
    if (final_bytes) {
        uint32_t recorded = final_bytes / 8 - 1;
        out.slot_count = recorded < capacity ? recorded : capacity;
        for (uint32_t i = recorded - out.slot_count + 1; i <= recorded; i++)
            emit(build, &ring->slots[i % capacity], 1);
    } else {
        out.whole = 1;
        out.slot_count = capacity;
        emit(build, ring->slots, capacity);
    }
    reserve(&snapshot->rings, &build->ring_capacity, snapshot->ring_count + 1, sizeof *snapshot->rings);
    snapshot->rings[snapshot->ring_count++] = out;
}

static int by_id(const void *a, const void *b)
{
    const struct kt_site *left = a, *right = b;
    if (left->wide != right->wide)
        return left->wide < right->wide ? -1 : 1;
    return (left->id > right->id) - (left->id < right->id);
}

struct kt_snapshot *build_finish(struct build *build)
{
    struct kt_snapshot *snapshot = build->snapshot;
    for (uint32_t wave = 0; wave < snapshot->wave_count; wave++)
        for (uint32_t lane = 0; lane < KTRACE_MAX_LANES; lane++) {
            emit_ring(build, wave, lane);
            free(build->rings[wave][lane].slots);
        }
    for (uint64_t i = 0; i < snapshot->module_count; i++) {
        struct kt_module *module = &snapshot->modules[i];
        memmove(module->sites, module->sites + 1, --module->site_count * sizeof *module->sites);
        qsort(module->sites, module->site_count, sizeof *module->sites, by_id);
    }
    /* exactly as long as it says, so that a sanitizer sees a read past the end */
    void *fitted =
        realloc(snapshot->slots, (snapshot->slot_count ? snapshot->slot_count : 1) * sizeof *snapshot->slots);
    check(fitted != NULL);
    snapshot->slots = fitted;
    free(build->site_capacities);
    free(build->rings);
    free(build);
    return snapshot;
}

struct kt_snapshot *build_nothing(void)
{
    struct kt_snapshot *snapshot = kt_snapshot_new();
    check(snapshot && kt_snapshot_add_device(snapshot, ""));
    snapshot->arch = KTRACE_ARCH_NVIDIA;
    return snapshot;
}

/* ---- The example ------------------------------------------------------------------------------------------------ */

struct example_sites {
    uint32_t gemm, prologue, mainloop, tile, k_tile, flags, value, scale, epilogue, pop, stop, stop_value;
    uint32_t reduce, sum;
};

static void example_gemm_wave(struct build *build, const struct example_sites *sites, uint32_t wave, uint64_t clock,
                              uint32_t iterations)
{
    uint32_t older = 0;
    build_payload(build, wave, 0, clock += 40, sites->prologue, wave);
    build_payload(build, wave, 0, clock += 20, sites->flags, wave & 1);
    build_event(build, wave, 0, clock += 300, sites->pop);
    build_event(build, wave, 0, clock += 10, sites->mainloop);
    for (uint32_t i = 0; i < iterations; i++) {
        build_payload(build, wave, 0, clock += 50, sites->tile, (uint64_t)(int64_t)((int32_t)i - 2));
        float value = 0.5f * (float)i;
        uint32_t bits, newer;
        memcpy(&bits, &value, sizeof bits);
        newer = build_payload(build, wave, 0, clock += 60, sites->k_tile, bits);
        if (older)
            build_stop(build, wave, 0, clock += 70, sites->stop, older);
        older = newer;
        if (i % 3 == 1)
            build_event(build, wave, 5, clock += 15, sites->value);
    }
    double scale = 1.0 / 3;
    uint64_t scale_bits;
    memcpy(&scale_bits, &scale, sizeof scale_bits);
    build_payload(build, wave, 0, clock += 30, sites->scale, scale_bits);
    if (older)
        build_stop_payload(build, wave, 0, clock += 30, sites->stop_value, older, iterations);
    build_event(build, wave, 0, clock += 10, sites->pop);
    build_event(build, wave, 0, clock += 10, sites->epilogue);
    build_event(build, wave, 0, clock += 200, sites->pop);
    build_end(build, wave, clock + 25);
}

static void example_reduce_wave(struct build *build, const struct example_sites *sites, uint32_t wave, uint64_t clock,
                                int unfinished)
{
    build_event(build, wave, 0, clock += 30, sites->mainloop);
    build_event(build, wave, 0, clock += 30, sites->sum);
    build_event(build, wave, 0, clock += 500, sites->value);
    if (unfinished)
        return;
    build_event(build, wave, 0, clock += 10, sites->pop);
    build_event(build, wave, 0, clock += 10, sites->pop);
    build_end(build, wave, clock + 25);
}

static struct example_sites example_sites(struct build *build)
{
    uint32_t module = build_module(build, 0x140);
    struct example_sites sites = {
        .gemm = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "gemm"),
        .prologue = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_UINT64, "prologue"),
        .mainloop = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "mainloop"),
        .tile = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_INT64, "tile"),
        .k_tile = build_site(build, module, KTRACE_KIND_START, KTRACE_PAYLOAD_FLOAT32, "k_tile"),
        .flags = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_BOOL, "flags"),
        .value = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "value"),
        .scale = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_FLOAT64, "scale"),
        .epilogue = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "epilogue"),
        .pop = build_site(build, module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, ""),
        .stop = build_site(build, module, KTRACE_KIND_STOP, KTRACE_PAYLOAD_NONE, ""),
        .stop_value = build_site(build, module, KTRACE_KIND_STOP, KTRACE_PAYLOAD_UINT64, ""),
        .reduce = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "reduce"),
        .sum = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "sum"),
    };
    return sites;
}

struct kt_snapshot *build_example(uint32_t launches, uint32_t workgroups, uint32_t iterations)
{
    struct build *build = build_begin(1024, 16);
    struct example_sites sites = example_sites(build);
    uint64_t launch_ticks = 10000 + iterations * 400ull;
    for (uint32_t launch = 0; launch < launches; launch++)
        for (uint32_t i = 0; i < workgroups * 4; i++) {
            int reduce = launch % 2 == 1;
            uint32_t workgroup = i / 4;
            uint64_t clock = 1000 + launch * launch_ticks + workgroup * 100 + i % 4 * 7;
            uint32_t wave = build_wave(build, &(struct build_wave){.kernel = reduce ? sites.reduce : sites.gemm,
                                                                   .grid_id = launch + 1,
                                                                   .grid = {workgroups, 1, 1},
                                                                   .block = {128, 1, 1},
                                                                   .workgroup = {workgroup, 0, 0},
                                                                   .wave = (uint16_t)(i % 4),
                                                                   .place = workgroup % 8,
                                                                   .start_clock = clock});
            if (launch == launches - 1 && i == workgroups * 4 - 1)
                example_reduce_wave(build, &sites, wave, clock, 1);
            else if (reduce)
                example_reduce_wave(build, &sites, wave, clock, 0);
            else
                example_gemm_wave(build, &sites, wave, clock, iterations);
        }
    return build_finish(build);
}

/* ---- Two devices ------------------------------------------------------------------------------------------------- */

/* Device 1's wall clock is this much ahead of device 0's, and the host's of both. */
#define AHEAD_NS 123456789024ull
#define HOST_AHEAD_NS 1700000000000000000ull

static void add_host_anchor(struct kt_device *device, uint64_t true_ns, uint64_t ahead_ns)
{
    device->anchors = realloc(device->anchors, (size_t)(device->anchor_count + 1) * sizeof *device->anchors);
    check(device->anchors != NULL);
    device->anchors[device->anchor_count++] =
        (struct kt_host_anchor){.host_before_ns = HOST_AHEAD_NS + true_ns - 3000,
                                .host_after_ns = HOST_AHEAD_NS + true_ns + 5000 + 1000 * device->anchor_count,
                                .device_ns = (true_ns + ahead_ns) / 32 * 32};
}

static void step_wave(struct build *build, uint32_t kernel, const uint32_t sites[4], uint16_t wave, uint64_t launch,
                      uint64_t clock, uint64_t ahead_ns)
{
    struct build_wave options = {
        .kernel = kernel, .grid_id = launch, .block = {64}, .wave = wave, .place = 2u + wave, .start_clock = clock};
    uint32_t number = build_wave(build, &options);
    build_event(build, number, 0, clock + 200, sites[0]);
    build_event(build, number, 0, clock + 2200, sites[3]);
    build_event(build, number, 0, clock + 2300, sites[1]);
    build_payload(build, number, 0, clock + 2600, sites[2], launch);
    build_event(build, number, 0, clock + 4000, sites[3]);
    build_end(build, number, clock + 4100);
    struct ktrace_wave_header *header = build_header(build, number);
    header->start_wall_ns += ahead_ns;
    header->end_wall_ns += ahead_ns;
}

struct kt_snapshot *build_two_devices(void)
{
    struct build *build = build_begin(64, 8);
    for (uint32_t d = 0; d < 2; d++) {
        if (d)
            build_device(build, 3);
        uint32_t module = build_module(build, 0x40);
        uint32_t kernel = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "step");
        const uint32_t sites[4] = {build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "compute"),
                                   build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "exchange"),
                                   build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_UINT32, "flag"),
                                   build_site(build, module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "")};
        for (uint64_t launch = 1; launch <= 2 + d; launch++)
            for (uint16_t wave = 0; wave < 2; wave++)
                step_wave(build, kernel, sites, wave, launch, 10000 * launch + 600 * d, d * AHEAD_NS);
    }
    struct kt_snapshot *snapshot = build_finish(build);
    free(snapshot->name);
    snapshot->name = copy("two devices");
    for (uint32_t d = 0; d < 2; d++)
        for (int i = 0; i < 3; i++)
            add_host_anchor(&snapshot->devices[d], build_wall_ns(20000) - 8000 + 8000 * (uint64_t)i, d * AHEAD_NS);
    snapshot->devices[1].waves_dropped = snapshot->waves_dropped = 2;
    snapshot->devices[0].waves_filtered = 40;
    snapshot->devices[1].waves_filtered = 2;
    snapshot->waves_filtered = 42;
    return snapshot;
}
