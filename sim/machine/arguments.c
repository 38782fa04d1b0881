/* What a kernel finds in memory: its dispatch packet (HSA Platform System Architecture, "AQL kernel dispatch packet"), its
 * arguments with the hidden ones filled in (LLVM's AMDGPUUsage, "Code Object V4/V5 Metadata"), and its queue (amd_queue_t
 * of ROCr's amd_hsa_queue.h). */
#include <inttypes.h>
#include <string.h>

#include "internal.h"

enum { PACKET_BYTES = 64, QUEUE_BYTES = 256 };

static void store(unsigned char *p, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t dimensions(const struct sim_dispatch_config *config)
{
    for (uint32_t i = 3; i > 1; i--)
        if (config->grid[i - 1] > 1 || config->block[i - 1] > 1)
            return i;
    return 1;
}

static uint64_t grid_items(const struct sim_dispatch_config *config, int i)
{
    return (uint64_t)(config->grid[i] - 1) * config->block[i] + config->last_block[i];
}

static void write_packet(unsigned char *p, const struct sim_dispatch *dispatch)
{
    const struct sim_dispatch_config *config = &dispatch->config;
    store(p, 2, 2); /* a kernel dispatch */
    store(p + 2, dimensions(config), 2);
    for (int i = 0; i < 3; i++) {
        store(p + 4 + 2 * i, config->block[i], 2);
        store(p + 12 + 4 * i, grid_items(config, i), 4);
    }
    store(p + 24, dispatch->scratch_lane_bytes, 4);
    store(p + 28, dispatch->lds_bytes, 4);
    store(p + 32, dispatch->kernel->descriptor_address, 8);
    store(p + 40, dispatch->kernarg_address, 8);
}

/* ---- Hidden arguments ------------------------------------------------------------------------------------------------------- */

/* 0 and the value; -1: unknown. */
static int hidden_value(uint64_t *value, const struct sim_dispatch *dispatch, const char *kind)
{
    static const char *const nulls[] = {
        /* nothing there: printf goes through hostcall, and there is no host to call */
        "hidden_none",           "hidden_printf_buffer",     "hidden_hostcall_buffer",
        "hidden_default_queue",  "hidden_completion_action", "hidden_multigrid_sync_arg",
        "hidden_heap_v1",        "hidden_global_offset_x",   "hidden_global_offset_y",
        "hidden_global_offset_z"};
    static const char *const counted[] = {"hidden_block_count_", "hidden_group_size_", "hidden_remainder_"};
    const struct sim_dispatch_config *config = &dispatch->config;
    *value = 0;
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
        if (!strcmp(kind, nulls[i]))
            return 0;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        size_t length = strlen(counted[i]);
        if (strncmp(kind, counted[i], length) || kind[length] < 'x' || kind[length] > 'z' || kind[length + 1])
            continue;
        int d = kind[length] - 'x';
        uint64_t items = grid_items(config, d);
        *value = i == 0 ? items / config->block[d] : i == 1 ? config->block[d] : items % config->block[d];
        return 0;
    }
    if (!strcmp(kind, "hidden_grid_dims"))
        *value = dimensions(config);
    else if (!strcmp(kind, "hidden_dynamic_lds_size"))
        *value = config->dynamic_lds_bytes;
    else if (!strcmp(kind, "hidden_private_base"))
        *value = SIM_PRIVATE_APERTURE >> 32;
    else if (!strcmp(kind, "hidden_shared_base"))
        *value = SIM_SHARED_APERTURE >> 32;
    else if (!strcmp(kind, "hidden_queue_ptr"))
        *value = config->queue_address;
    else
        return -1;
    return 0;
}

static int write_hidden(unsigned char *arguments, const struct sim_dispatch *dispatch)
{
    const struct sim_kernel_facts *facts = &dispatch->kernel->facts;
    for (uint32_t i = 0; i < facts->argument_count; i++) {
        const struct sim_argument *argument = &facts->arguments[i];
        uint64_t value;
        if (argument->kind != SIM_ARGUMENT_HIDDEN)
            continue;
        if (hidden_value(&value, dispatch, argument->hidden))
            return sim_fail("kernel '%s' has the hidden argument '%s', which is not known", facts->name,
                            argument->hidden);
        store(arguments + argument->offset, value, argument->bytes < 8 ? argument->bytes : 8);
    }
    return 0;
}

int arguments_build(struct sim_dispatch *dispatch)
{
    uint32_t bytes = dispatch->kernel->facts.kernarg_bytes;
    uint64_t all = PACKET_BYTES + ((uint64_t)bytes + 63) / 64 * 64;
    if (memory_map(&dispatch->block, all))
        return -1;
    unsigned char *p = dispatch->block.data;
    dispatch->packet_address = (uintptr_t)p;
    dispatch->kernarg_address = (uintptr_t)p + PACKET_BYTES;
    write_packet(p, dispatch);
    if (dispatch->config.kernarg)
        memcpy(p + PACKET_BYTES, dispatch->config.kernarg, bytes);
    dispatch->config.kernarg = NULL; /* the caller's */
    if (write_hidden(p + PACKET_BYTES, dispatch))
        return -1;
    return memory_add_range(&dispatch->machine->memory,
                            (struct range){.base = (uintptr_t)p, .bytes = all, .kind = RANGE_INTERNAL});
}

/* ---- Queues ------------------------------------------------------------------------------------------------------------------- */

/* Queues lie at addresses that are the same in every run, and none is used twice: traces name queues by them. */
#define QUEUES_BEGIN 0x400000000000u
#define QUEUE_PITCH 0x10000u
static uint64_t queues_created; /* in this process, on any device */

int sim_queue_create(uint64_t *address, struct sim_machine *machine)
{
    if (machine->queue_count == SIM_MAX_QUEUES)
        return sim_fail("%d queues are the most that a device has here", SIM_MAX_QUEUES);
    struct memory_block *block = &machine->queues[machine->queue_count];
    if (memory_map_near(block, QUEUE_BYTES, QUEUES_BEGIN + queues_created++ * QUEUE_PITCH))
        return -1;
    unsigned char *p = block->data;
    /* No ring: packets are not read from memory, so that base address and size are 0. */
    store(p, 0, 4);                                                           /* type: multiple producers */
    store(p + 4, 1, 4);                                                       /* features: kernel dispatch */
    store(p + 32, ++machine->queue_id, 8);                                    /* id */
    store(p + 64, SIM_SHARED_APERTURE >> 32, 4);                              /* group_segment_aperture_base_hi */
    store(p + 68, SIM_PRIVATE_APERTURE >> 32, 4);                             /* private_segment_aperture_base_hi */
    store(p + 72, machine->active_cus_per_xcc * machine->config.xccs - 1, 4); /* max_cu_id */
    store(p + 76, machine->config.simds_per_cu * machine->config.waves_per_simd - 1, 4); /* max_wave_id */
    *address = (uintptr_t)p;
    if (memory_add_range(&machine->memory,
                         (struct range){.base = *address, .bytes = QUEUE_BYTES, .kind = RANGE_INTERNAL})) {
        memory_unmap(block);
        return -1;
    }
    machine->queue_count++;
    return 0;
}

void sim_queue_destroy(struct sim_machine *machine, uint64_t address)
{
    for (size_t i = 0; i < machine->queue_count; i++)
        if ((uintptr_t)machine->queues[i].data == address) {
            memory_remove_range(&machine->memory, address);
            /* The host may have had no room there: the thread sanitizer has not. */
            if (address - QUEUES_BEGIN < queues_created * QUEUE_PITCH)
                memory_unmap(&machine->queues[i]);
            else
                memory_retire(&machine->queues[i]);
            machine->queues[i] = machine->queues[--machine->queue_count];
            return;
        }
}
