#include "fake_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

struct block {
    struct block *next;
    uint64_t base, bytes;
};
static struct block *blocks;
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;

static void *block_new(size_t bytes)
{
    struct block *block = malloc(sizeof *block);
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (block == NULL || memory == NULL)
        abort();
    pthread_mutex_lock(&blocks_lock);
    *block = (struct block){blocks, (uint64_t)(uintptr_t)memory, bytes};
    blocks = block;
    pthread_mutex_unlock(&blocks_lock);
    return memory;
}

static void block_free(uint64_t address)
{
    struct block *found = NULL;
    pthread_mutex_lock(&blocks_lock);
    for (struct block **link = &blocks; *link && !found; link = *link ? &(*link)->next : link)
        if ((*link)->base == address) {
            found = *link;
            *link = found->next;
        }
    pthread_mutex_unlock(&blocks_lock);
    if (found == NULL)
        abort();
    free((void *)(uintptr_t)found->base);
    free(found);
}

/* ---- The backend ------------------------------------------------------------------------------------------------- */

static struct fake_device *of(struct kt_backend *backend)
{
    return (struct fake_device *)backend;
}

static void fake_close(struct kt_backend *backend)
{
    of(backend)->open = 0;
}

static int fake_facts(struct kt_device_facts *out, struct kt_backend *backend)
{
    const struct fake_device *device = of(backend);
    if (device->arch == KTRACE_ARCH_AMDGCN)
        *out = (struct kt_device_facts){"Fake CUs", device->ordinal,   KTRACE_ARCH_AMDGCN, 304, 100000, 40,
                                        94,         device->simulated, {{0}, ""}};
    else
        *out = (struct kt_device_facts){"Fake device", device->ordinal, KTRACE_ARCH_NVIDIA, 132, 2000000, 32, 90, 0,
                                        {{0}, ""}};
    out->identity.uuid[0] = 0xFA;
    out->identity.uuid[15] = (uint8_t)device->ordinal;
    snprintf(out->identity.pci_bus_id, sizeof out->identity.pci_bus_id, "0000:%02x:00.0", device->ordinal & 0xFF);
    return KTRACE_OK;
}

static int fake_allocate(uint64_t *address, struct kt_backend *backend, uint64_t bytes)
{
    struct fake_device *device = of(backend);
    if (device->fail_allocation && --device->fail_allocation == 0)
        return kt_fail(KTRACE_ERROR_DEVICE, "allocating failed: the test wants it so");
    *address = (uint64_t)(uintptr_t)block_new(bytes);
    device->allocations++;
    return KTRACE_OK;
}

static void fake_release(struct kt_backend *backend, uint64_t address)
{
    of(backend)->allocations--;
    block_free(address);
}

static int fake_clear(struct kt_backend *backend, uint64_t address, uint64_t bytes)
{
    (void)backend;
    memset((void *)(uintptr_t)address, 0, bytes);
    return KTRACE_OK;
}

static int fake_to_device(struct kt_backend *backend, uint64_t address, const void *data, uint64_t bytes)
{
    struct fake_device *device = of(backend);
    if (device->fail_writes)
        return kt_fail(KTRACE_ERROR_DEVICE, "writing failed: the test wants it so");
    device->writes++;
    device->last_write = bytes;
    /* As a device does: a wave sees each word before or after. */
    const uint32_t *words = data;
    for (uint64_t i = 0; i < bytes / sizeof *words; i++)
        __atomic_store_n((uint32_t *)(uintptr_t)address + i, words[i], __ATOMIC_RELEASE);
    return KTRACE_OK;
}

void *fake_memory(size_t bytes)
{
    return memset(block_new(bytes), 0, bytes);
}

void fake_memory_free(void *memory)
{
    block_free((uint64_t)(uintptr_t)memory);
}

static int fake_to_host(struct kt_backend *backend, void *data, uint64_t address, uint64_t row_bytes,
                        uint64_t pitch_bytes, uint64_t rows, int peek)
{
    while (peek && __atomic_load_n(&of(backend)->hang_peek, __ATOMIC_ACQUIRE))
        usleep(1000);
    for (uint64_t row = 0; row < rows; row++)
        memcpy((unsigned char *)data + row * row_bytes, (const void *)(uintptr_t)(address + row * pitch_bytes),
               row_bytes);
    of(backend)->bytes_to_host += row_bytes * rows;
    return KTRACE_OK;
}

static uint64_t exchanged(uint64_t *counter, uint64_t value)
{
    return __atomic_exchange_n(counter, value, __ATOMIC_ACQ_REL);
}

static int fake_exchange(struct kt_backend *backend, struct ktrace_counters *before, uint64_t address, uint64_t claims)
{
    struct ktrace_counters *counters = (struct ktrace_counters *)(uintptr_t)address;
    if (of(backend)->cannot_exchange)
        return kt_fail(KTRACE_ERROR_UNSUPPORTED, "exchanging failed: the test wants it so");
    memset(before, 0, sizeof *before);
    for (uint32_t i = 0; i <= KTRACE_MAX_PARTITIONS; i++) {
        struct ktrace_counter_line *line = i < KTRACE_MAX_PARTITIONS ? &counters->partition[i] : &counters->all;
        struct ktrace_counter_line *old = i < KTRACE_MAX_PARTITIONS ? &before->partition[i] : &before->all;
        old->claims = exchanged(&line->claims, i < KTRACE_MAX_PARTITIONS ? claims : 0);
        old->full = exchanged(&line->full, 0);
        old->filtered = exchanged(&line->filtered, 0);
    }
    return KTRACE_OK;
}

uint32_t fake_launch(struct fake_device *device)
{
    uint32_t launch = 0;
    pthread_mutex_lock(&device->lock);
    while (device->running[launch])
        if (++launch == FAKE_LAUNCHES)
            abort();
    device->running[launch] = ++device->launches;
    pthread_mutex_unlock(&device->lock);
    return launch;
}

void fake_launch_end(struct fake_device *device, uint32_t launch)
{
    pthread_mutex_lock(&device->lock);
    device->running[launch] = 0;
    pthread_cond_broadcast(&device->ended);
    pthread_mutex_unlock(&device->lock);
}

static int is_running(const struct fake_device *device, uint64_t last)
{
    for (uint32_t i = 0; i < FAKE_LAUNCHES; i++)
        if (device->running[i] && device->running[i] <= last)
            return 1;
    return 0;
}

static void wait_for_launches(struct fake_device *device)
{
    pthread_mutex_lock(&device->lock);
    const uint64_t last = device->launches;
    while (is_running(device, last))
        pthread_cond_wait(&device->ended, &device->lock);
    pthread_mutex_unlock(&device->lock);
}

static int fake_synchronize(struct kt_backend *backend)
{
    struct fake_device *device = of(backend);
    if (device->building_graph == 0)
        wait_for_launches(device);
    while (__atomic_load_n(&device->hang, __ATOMIC_ACQUIRE))
        __atomic_store_n(&device->waiting, 1, __ATOMIC_RELEASE);
    const int building = device->building_graph;
    if (device->graph_after && --device->graph_after == 0)
        device->building_graph = 1;
    return building ? kt_fail(KTRACE_ERROR_STATE, "a stream is being captured into a graph") : KTRACE_OK;
}

static int fake_range_of(uint64_t *base, uint64_t *bytes, struct kt_backend *backend, uint64_t address)
{
    (void)backend;
    for (const struct block *block = blocks; block; block = block->next)
        if (address >= block->base && address - block->base < block->bytes) {
            *base = block->base;
            *bytes = block->bytes;
            return KTRACE_OK;
        }
    return kt_fail(KTRACE_ERROR_NOT_FOUND, "no device memory there");
}

static int fake_module_control(uint64_t *address, struct kt_backend *backend, void *module)
{
    (void)backend;
    *address = (uint64_t)(uintptr_t)fake_control(module);
    return KTRACE_OK;
}

static int fake_registered_control(uint64_t *address, struct kt_backend *backend,
                                   const struct ktrace_registration *registration)
{
    (void)backend;
    void *symbol = NULL;
    const int error = registration->symbol_address(&symbol, registration->symbol);
    *address = (uint64_t)(uintptr_t)symbol;
    return error ? kt_fail(KTRACE_ERROR_DEVICE, "%s: error %d", registration->file, error) : KTRACE_OK;
}

static int fake_host_anchor(struct kt_host_anchor *out, struct kt_backend *backend)
{
    if (of(backend)->arch == KTRACE_ARCH_AMDGCN)
        return kt_fail(KTRACE_ERROR_UNSUPPORTED, "there is none");
    *out = (struct kt_host_anchor){1000, 1020, 5000};
    return KTRACE_OK;
}

static const struct kt_backend_ops fake_ops = {
    .name = "fake",
    .close = fake_close,
    .facts = fake_facts,
    .allocate = fake_allocate,
    .release = fake_release,
    .clear = fake_clear,
    .to_device = fake_to_device,
    .to_host = fake_to_host,
    .exchange = fake_exchange,
    .synchronize = fake_synchronize,
    .range_of = fake_range_of,
    .module_control = fake_module_control,
    .registered_control = fake_registered_control,
    .host_anchor = fake_host_anchor,
};

void fake_device_init(struct fake_device *device)
{
    *device = (struct fake_device){.base.ops = &fake_ops, .open = 1};
    pthread_mutex_init(&device->lock, NULL);
    pthread_cond_init(&device->ended, NULL);
}

int fake_begin(struct ktrace_capture **out, struct fake_device *device, const struct ktrace_capture_options *options)
{
    struct kt_backend *const backends[] = {&device->base};
    return kt_capture_begin_on(out, backends, 1, options);
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */

static int symbol_address(void **address, const void *symbol)
{
    *address = (void *)(uintptr_t)symbol;
    return 0;
}

void fake_module_init(struct fake_module *module, uint32_t control_offset)
{
    *module = (struct fake_module){.bank = block_new(65536), .control_offset = control_offset};
    memset(module->bank, 0, 65536);
    struct ktrace_control *control = fake_control(module);
    control->magic = KTRACE_CONTROL_MAGIC;
    control->version = KTRACE_WIRE_VERSION;
    control->bytes = sizeof *control;
    module->registration =
        (struct ktrace_registration){sizeof module->registration, NULL, control, symbol_address, "fake.cu", 0};
}

void fake_module_free(struct fake_module *module)
{
    for (uint32_t i = 0; i < module->site_count; i++) {
        const struct ktrace_site *site = (const struct ktrace_site *)(const void *)(module->bank + 0x400 + i * 16);
        block_free(site->text);
    }
    block_free((uint64_t)(uintptr_t)module->bank);
}

struct ktrace_control *fake_control(struct fake_module *module)
{
    return (struct ktrace_control *)(void *)(module->bank + module->control_offset);
}

uint16_t fake_site(struct fake_module *module, enum ktrace_kind kind, enum ktrace_payload_type type, const char *text)
{
    const size_t name_bytes = strlen(text) + 1, bytes = name_bytes + strlen(text + name_bytes) + 1;
    char *copy = block_new(bytes);
    memcpy(copy, text, bytes);
    const uint32_t offset = 0x400 + module->site_count++ * 16;
    const struct ktrace_site site = {KTRACE_SITE_MAGIC, (ktrace_u8)kind, (ktrace_u8)type,
                                     (ktrace_u32)KTRACE_WIRE_VERSION << 24 | module->site_count,
                                     (uint64_t)(uintptr_t)copy};
    memcpy(module->bank + offset, &site, sizeof site);
    return (uint16_t)offset;
}

/* ---- Waves, as device/nvidia.h has them -------------------------------------------------------------------------- */

int fake_claim(uint32_t *region, struct ktrace_dropped **dropped, const struct ktrace_control *control,
               uint32_t partition, uint32_t shares)
{
    struct ktrace_counters *counters = (struct ktrace_counters *)(uintptr_t)control->counters;
    uint64_t half = 0;
    for (uint32_t step = 0; step < control->partitions; step++) {
        const uint32_t next = (partition + step) & (control->partitions - 1);
        const uint64_t claim = __atomic_fetch_add(&counters->partition[next].claims, 1, __ATOMIC_ACQ_REL);
        const uint64_t index = claim & ~KTRACE_CLAIM_HALF;
        const uint64_t first = claim & KTRACE_CLAIM_HALF ? control->regions_per_partition : 0;
        if (step == 0)
            half = claim >> 63;
        if (index >= control->regions_per_partition)
            continue;
        *region = (uint32_t)(index + first) * control->partitions + next;
        return 1;
    }
    const uint64_t share = half * shares + partition % shares;
    *dropped = (struct ktrace_dropped *)(counters + 1) + share;
    __atomic_fetch_add(&(*dropped)->waves, 1, __ATOMIC_ACQ_REL);
    return 0;
}

void fake_dropped_end(struct ktrace_dropped *dropped, uint32_t lane, uint32_t count_bytes)
{
    uint32_t *most = &dropped->most_count_bytes[lane != 0], before = __atomic_load_n(most, __ATOMIC_ACQUIRE);
    while (before < count_bytes &&
           !__atomic_compare_exchange_n(most, &before, count_bytes, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        continue;
}

struct ktrace_wave_header *fake_header(const struct fake_wave *wave)
{
    return (struct ktrace_wave_header *)(uintptr_t)wave->control.headers + wave->region;
}

/* Word by word, while the host may be writing. */
static struct ktrace_control seen_by_wave(struct fake_module *module)
{
    struct ktrace_control control;
    const uint32_t *from = (const uint32_t *)(const void *)fake_control(module);
    uint32_t words[sizeof control / sizeof(uint32_t)];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        words[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
    memcpy(&control, words, sizeof control);
    return control;
}

void fake_wave_begin(struct fake_wave *wave, struct fake_module *module, uint16_t kernel, uint32_t workgroup,
                     uint32_t grid, uint64_t grid_id, uint64_t clock)
{
    *wave = (struct fake_wave){.control = seen_by_wave(module)};
    if (!wave->control.mode || !wave->control.regions_per_partition)
        return;
    const uint32_t partition = (workgroup + (uint32_t)grid_id * 3) & (wave->control.partitions - 1);
    if (workgroup < wave->control.filter.block_first[0] || workgroup > wave->control.filter.block_last[0]) {
        ((struct ktrace_counters *)(uintptr_t)wave->control.counters)->partition[partition].filtered++;
        return;
    }
    for (uint32_t lane = 0; lane < KTRACE_MAX_LANES; lane++)
        wave->count_bytes[lane] = KTRACE_SLOT_BYTES;
    wave->records = fake_claim(&wave->region, &wave->dropped, &wave->control, partition, KTRACE_DROPPED_SHARES);
    if (!wave->records)
        return;
    struct ktrace_wave_header *header = fake_header(wave);
    header->magic = KTRACE_WAVE_MAGIC;
    header->version = KTRACE_WIRE_VERSION;
    header->arch = KTRACE_ARCH_NVIDIA;
    header->lane_count = 32;
    header->module = wave->control.module;
    header->control_offset = module->control_offset;
    header->kernel_site = kernel;
    header->grid_id = grid_id;
    header->grid[0] = grid;
    header->grid[1] = header->grid[2] = 1;
    header->workgroup[0] = workgroup;
    header->block[0] = 32;
    header->block[1] = header->block[2] = 1;
    header->place = workgroup % 132;
    header->place_count = 132;
    header->start_clock_ticks = clock;
    header->start_wall_ns = (clock / 2) & ~(uint64_t)31;
}

static void put_slot(struct fake_wave *wave, uint32_t lane, const void *slot)
{
    const uint32_t bytes = lane == 0 ? wave->control.main_ring_bytes : wave->control.lane_ring_bytes;
    const uint64_t ring = lane == 0 ? wave->control.main_rings + (uint64_t)wave->region * bytes
                                    : wave->control.lane_rings + ((uint64_t)wave->region * 31 + lane - 1) * bytes;
    if (wave->records)
        memcpy((void *)(uintptr_t)(ring + (wave->count_bytes[lane] & (bytes - 1))), slot, KTRACE_SLOT_BYTES);
    wave->count_bytes[lane] += KTRACE_SLOT_BYTES;
}

void fake_event(struct fake_wave *wave, uint32_t lane, uint16_t site, uint64_t clock)
{
    if (!wave->records && !wave->dropped)
        return;
    const struct ktrace_slot slot = {(uint32_t)clock, site, (uint16_t)(wave->count_bytes[lane] / KTRACE_SLOT_BYTES)};
    put_slot(wave, lane, &slot);
}

void fake_event_payload(struct fake_wave *wave, uint32_t lane, uint16_t site, uint64_t clock, uint64_t payload)
{
    if (!wave->records && !wave->dropped)
        return;
    fake_event(wave, lane, site, clock);
    put_slot(wave, lane, &payload);
}

void fake_wave_end(struct fake_wave *wave, uint64_t clock)
{
    for (uint32_t lane = 0; wave->dropped && lane < KTRACE_MAX_LANES; lane++)
        fake_dropped_end(wave->dropped, lane, wave->count_bytes[lane]);
    if (!wave->records)
        return;
    struct ktrace_wave_header *header = fake_header(wave);
    for (uint32_t lane = 0; lane < KTRACE_MAX_LANES; lane++)
        header->final_count_bytes[lane] = wave->count_bytes[lane];
    header->end_clock_ticks = clock;
    header->end_wall_ns = (clock / 2) & ~(uint64_t)31;
}
