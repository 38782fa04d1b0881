#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"

/* ---- Segments ------------------------------------------------------------------------------------------------------- */

unsigned char *module_bytes(const struct sim_module *module, uint64_t address, uint64_t bytes)
{
    uint64_t virtual = address - module->load_bias;
    for (size_t i = 0; i < module->elf->segment_count; i++) {
        const struct elf_segment *segment = &module->elf->segments[i];
        uint64_t offset = virtual - segment->address;
        if (offset < segment->memory_bytes && bytes <= segment->memory_bytes - offset)
            return (unsigned char *)(uintptr_t)address;
    }
    return NULL;
}

struct code *module_code(const struct sim_module *module, uint64_t address)
{
    for (size_t i = 0; i < module->code_count; i++)
        if (address - module->codes[i].base < module->codes[i].bytes)
            return &module->codes[i];
    return NULL;
}

static int load_segments(struct sim_module *module)
{
    const struct elf_view *elf = module->elf;
    uint64_t begin = elf->begin & ~4095ull;
    if (memory_map(&module->block, elf->end - begin))
        return -1;
    module->load_bias = (uintptr_t)module->block.data - begin;
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *segment = &elf->segments[i];
        uint64_t address = module->load_bias + segment->address;
        if (segment->content.count)
            memcpy((void *)(uintptr_t)address, segment->content.data, segment->content.count);
        struct range range = {.base = address,
                              .bytes = segment->memory_bytes,
                              .kind = RANGE_SEGMENT,
                              .writable = (segment->flags & ELF_WRITE) != 0};
        if (memory_add_range(&module->machine->memory, range))
            return -1;
        if (!(segment->flags & ELF_EXECUTE))
            continue;
        struct code *code = &module->codes[module->code_count++];
        *code = (struct code){.base = address, .bytes = segment->memory_bytes & ~3ull};
        code->decoded = calloc(code->bytes / 4 + 1, sizeof *code->decoded);
        if (!code->decoded)
            return sim_fail("the host has no memory for the instructions of a module");
        if (address % 4)
            return sim_fail("the code object is damaged: its code lies at 0x%" PRIx64 ", not a multiple of 4",
                            segment->address);
    }
    return 0;
}

static int load(struct sim_module *module)
{
    struct bytes image = {module->image, module->image_bytes};
    if (elf_open(module->elf, image, module->machine->config.chip) || load_segments(module) || relocate(module) ||
        metadata_read(module, module->elf->metadata, module->elf->metadata_count))
        return -1;
    for (size_t i = 0; i < module->kernel_count; i++)
        if (descriptor_read(&module->kernels[i], module->kernels[i].descriptor_address))
            return -1;
    return 0;
}

static void destroy(struct sim_module *module)
{
    metadata_free(module);
    for (size_t i = 0; i < module->code_count; i++)
        code_free(&module->codes[i]);
    if (module->block.data)
        for (size_t i = 0; i < module->elf->segment_count; i++)
            memory_remove_range(&module->machine->memory, module->load_bias + module->elf->segments[i].address);
    memory_unmap(&module->block);
    free(module->codes);
    free(module->elf);
    free(module->image);
    free(module);
}

int sim_module_load(struct sim_module **out, struct sim_machine *machine, const void *image, size_t bytes)
{
    if (!image)
        return sim_fail("there is no code object to load");
    struct sim_module *module = calloc(1, sizeof *module);
    if (!module)
        return sim_fail("the host has no memory for a module");
    module->machine = machine;
    module->image = malloc(bytes + 1);
    module->elf = calloc(1, sizeof *module->elf);
    module->codes = calloc(ELF_MAX_SEGMENTS, sizeof *module->codes);
    int status = -1;
    if (!module->image || !module->elf || !module->codes) {
        sim_fail("the host has no memory for a module of %zu bytes", bytes);
    } else {
        memcpy(module->image, image, bytes);
        module->image_bytes = bytes;
        status = load(module);
    }
    if (status) {
        destroy(module);
        return -1;
    }
    module->next = machine->modules;
    machine->modules = module;
    *out = module;
    return 0;
}

void sim_module_unload(struct sim_module *module)
{
    if (!module)
        return;
    struct sim_machine *machine = module->machine;
    for (struct sim_dispatch *dispatch = machine->dispatches, *next; dispatch; dispatch = next) {
        next = dispatch->next;
        if (dispatch->kernel->module == module)
            dispatch_fail(dispatch, SIM_FAILURE_OTHER, "its module was unloaded while it ran");
    }
    struct sim_module **link = &machine->modules;
    while (*link != module)
        link = &(*link)->next;
    *link = module->next;
    destroy(module);
}

/* ---- What is in it -------------------------------------------------------------------------------------------------- */

int sim_module_symbol(void **address, uint64_t *bytes, const struct sim_module *module, const char *name)
{
    size_t index = elf_find_symbol(module->elf, name);
    if (!index)
        return sim_fail("the module has no symbol '%s'", name);
    struct elf_symbol symbol = elf_symbol_at(module->elf, index);
    unsigned char *p = module_bytes(module, module->load_bias + symbol.value, symbol.bytes);
    if (!p)
        return sim_fail("the code object is damaged: '%s' lies outside of what is loaded", name);
    *address = p;
    *bytes = symbol.bytes;
    return 0;
}

const void *sim_module_host_address(const struct sim_machine *machine, const void *device_address)
{
    for (const struct sim_module *module = machine->modules; module; module = module->next) {
        uint64_t virtual = (uintptr_t)device_address - module->load_bias;
        for (size_t i = 0; i < module->elf->segment_count; i++) {
            const struct elf_segment *segment = &module->elf->segments[i];
            if (virtual - segment->address < segment->content.count)
                return segment->content.data + (virtual - segment->address);
        }
    }
    return NULL;
}

const struct sim_kernel *sim_module_kernel(const struct sim_module *module, const char *name)
{
    for (size_t i = 0; i < module->kernel_count; i++)
        if (!strcmp(module->kernels[i].name, name))
            return &module->kernels[i];
    sim_fail("the module has no kernel '%s'", name);
    return NULL;
}

size_t sim_module_kernel_count(const struct sim_module *module)
{
    return module->kernel_count;
}

const struct sim_kernel *sim_module_kernel_at(const struct sim_module *module, size_t index)
{
    return index < module->kernel_count ? &module->kernels[index] : NULL;
}

const struct sim_kernel_facts *sim_kernel_facts(const struct sim_kernel *kernel)
{
    return &kernel->facts;
}
