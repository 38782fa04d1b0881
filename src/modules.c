#include "modules.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

#define BANK_BYTES 65536u
#define TEXT_BYTES 4096u /* longest "name\0file\0" that is read */

/* The allocation that the last text lay in, so that a module's texts cost one lookup. */
struct text_source {
    struct kt_backend *backend;
    int peek;
    uint64_t base, bytes;
    uint64_t window_start, window_bytes;
    char window[TEXT_BYTES];
};

static int fetch(struct text_source *source, uint64_t address)
{
    struct kt_backend *backend = source->backend;
    if (source->bytes == 0 || address < source->base || address - source->base >= source->bytes) {
        source->bytes = 0;
        const int status = backend->ops->range_of(&source->base, &source->bytes, backend, address);
        if (status < 0)
            return status;
    }
    const uint64_t left = source->base + source->bytes - address;
    source->window_bytes = left < TEXT_BYTES ? left : TEXT_BYTES;
    source->window_start = address;
    if (backend->ops->read_constant)
        return backend->ops->read_constant(backend, source->window, address, source->window_bytes);
    return backend->ops->to_host(backend, source->window, address, source->window_bytes, source->window_bytes, 1,
                                 source->peek);
}

/* The two strings at `address`; 1 when the window holds both whole. */
static int find_strings(const struct text_source *source, uint64_t address, const char **name, const char **file)
{
    if (address < source->window_start || address - source->window_start >= source->window_bytes)
        return 0;
    const char *text = source->window + (address - source->window_start);
    const char *end = source->window + source->window_bytes;
    const char *name_end = memchr(text, 0, (size_t)(end - text));
    if (name_end == NULL || name_end + 1 >= end)
        return 0;
    if (memchr(name_end + 1, 0, (size_t)(end - name_end - 1)) == NULL)
        return 0;
    *name = text;
    *file = name_end + 1;
    return 1;
}

static int read_text(struct kt_site *site, struct text_source *source, uint64_t address)
{
    const char *name, *file;
    if (!find_strings(source, address, &name, &file)) {
        const int status = fetch(source, address);
        if (status < 0)
            return status;
        if (!find_strings(source, address, &name, &file))
            return kt_fail(KTRACE_ERROR_FORMAT, "a site's name and file take more than %u bytes", TEXT_BYTES);
    }
    site->name = strdup(name);
    site->file = strdup(file);
    if (site->name == NULL || site->file == NULL) {
        free(site->name);
        free(site->file);
        return kt_fail_memory(strlen(name) + strlen(file) + 2);
    }
    return KTRACE_OK;
}

static int is_descriptor(const struct ktrace_site *site)
{
    return site->magic == KTRACE_SITE_MAGIC && site->kind >= KTRACE_KIND_KERNEL && site->kind <= KTRACE_KIND_NEXT &&
           site->payload_type <= KTRACE_PAYLOAD_UINT32 && site->version_line >> 24 == KTRACE_WIRE_VERSION;
}

/* `text`: where the descriptor says that its strings are. */
static int add_site(struct kt_module *module, struct text_source *source, const struct ktrace_site *descriptor,
                    uint64_t text, uint64_t id, int wide)
{
    struct kt_site *sites = realloc(module->sites, (module->site_count + 1) * sizeof *sites);
    if (sites == NULL)
        return kt_fail_memory((module->site_count + 1) * sizeof *sites);
    module->sites = sites;
    struct kt_site site = {.id = id,
                           .line = descriptor->version_line & 0xFFFFFFu,
                           .kind = descriptor->kind,
                           .payload_type = descriptor->payload_type,
                           .wide = (uint8_t)wide};
    const int status = read_text(&site, source, text);
    if (status < 0)
        return status;
    sites[module->site_count++] = site;
    return KTRACE_OK;
}

static int by_id(const void *left, const void *right)
{
    const struct kt_site *a = left, *b = right;
    if (a->wide != b->wide)
        return a->wide < b->wide ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* Every aligned place of the bank that looks like a descriptor. One of the user's own constants might, too; its text is
 * no device address then, and it is left out. */
static int scan_bank(struct kt_module *module, struct text_source *source, const unsigned char *bank,
                     uint64_t bank_bytes, uint64_t control_place)
{
    for (uint64_t place = 0; place + sizeof(struct ktrace_site) <= bank_bytes; place += 8) {
        struct ktrace_site descriptor;
        memcpy(&descriptor, bank + place, sizeof descriptor);
        if (!is_descriptor(&descriptor))
            continue;
        const int status = add_site(module, source, &descriptor, descriptor.text, (place - control_place) & 0xFFFFu, 0);
        if (status < 0 && status != KTRACE_ERROR_NOT_FOUND && status != KTRACE_ERROR_FORMAT)
            return status;
    }
    qsort(module->sites, module->site_count, sizeof *module->sites, by_id);
    return KTRACE_OK;
}

static int check_control(struct ktrace_control_amdgcn *block, struct kt_backend *backend, uint32_t arch,
                         uint64_t control)
{
    const uint64_t bytes = arch == KTRACE_ARCH_AMDGCN ? sizeof *block : sizeof block->base;
    const int status = backend->ops->to_host(backend, block, control, bytes, bytes, 1, 0);
    if (status < 0)
        return status;
    if (block->base.magic != KTRACE_CONTROL_MAGIC)
        return kt_fail(KTRACE_ERROR_FORMAT, "the module's control block does not begin with ktrace's magic");
    if (block->base.version != KTRACE_WIRE_VERSION || block->base.bytes != bytes)
        return kt_fail(
            KTRACE_ERROR_VERSION,
            "the module was compiled with wire version %u of ktrace/device.h, this library reads %u: recompile "
            "it with the header that belongs to the library",
            block->base.version, KTRACE_WIRE_VERSION);
    return KTRACE_OK;
}

static int read_bank(struct kt_module *module, struct text_source *source, uint64_t control)
{
    struct kt_backend *backend = source->backend;
    uint64_t base, bytes;
    int status = backend->ops->range_of(&base, &bytes, backend, control);
    if (status < 0)
        return status;
    /* The bank is 64 KiB at most; where the range is larger, what an offset of 16 bits can reach. */
    uint64_t start = base, end = base + bytes;
    if (control - start > BANK_BYTES)
        start = control - BANK_BYTES;
    if (end - control > BANK_BYTES)
        end = control + BANK_BYTES;

    unsigned char *bank = malloc(end - start);
    if (bank == NULL)
        return kt_fail_memory(end - start);
    status = backend->ops->to_host(backend, bank, start, end - start, end - start, 1, 0);
    if (status == KTRACE_OK)
        status = scan_bank(module, source, bank, end - start, control - start);
    free(bank);
    return status;
}

/* ---- The section of an amdgcn module ----------------------------------------------------------------------------- */

/* An event has 16 bits for the index among its translation unit's; what units there are, a module does not say. */
#define SECTION_SITES_MAX 0x10000u

static int read_constants(struct kt_backend *backend, unsigned char *data, uint64_t address, uint64_t bytes)
{
    while (bytes) {
        uint64_t base, there;
        int status = backend->ops->range_of(&base, &there, backend, address);
        if (status < 0)
            return status;
        there = base + there - address;
        const uint64_t part = there < bytes ? there : bytes;
        status = backend->ops->read_constant ? backend->ops->read_constant(backend, data, address, part)
                                             : backend->ops->to_host(backend, data, address, part, part, 1, 0);
        if (status < 0)
            return status;
        data += part;
        address += part;
        bytes -= part;
    }
    return KTRACE_OK;
}

/* Every descriptor is ours, and its index is its id. */
static int add_section(struct kt_module *module, struct text_source *source, const struct ktrace_site *descriptors,
                       uint64_t address, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct ktrace_site *descriptor = &descriptors[i];
        const uint64_t own = address + i * sizeof *descriptor;
        if (!is_descriptor(descriptor))
            return kt_fail(KTRACE_ERROR_FORMAT,
                           "descriptor %u of %u in the module's section ktrace_sites is none of this version: compile "
                           "all its parts with the header that belongs to the library",
                           i, count);
        const int64_t distance = (int32_t)(uint32_t)descriptor->text;
        const int status = add_site(module, source, descriptor, own + (uint64_t)distance, i, 0);
        if (status < 0)
            return status;
    }
    return KTRACE_OK;
}

static int read_section(struct kt_module *module, struct text_source *source, const struct ktrace_control_amdgcn *block)
{
    const uint64_t bytes = block->sites_end - block->sites_begin, count = bytes / sizeof(struct ktrace_site);
    if (block->sites_end < block->sites_begin || bytes % sizeof(struct ktrace_site))
        return kt_fail(KTRACE_ERROR_FORMAT,
                       "the module's control block says that its annotations lie from 0x%llx to 0x%llx, which is no "
                       "array of descriptors",
                       (unsigned long long)block->sites_begin, (unsigned long long)block->sites_end);
    if (count > SECTION_SITES_MAX)
        return kt_fail(KTRACE_ERROR_UNSUPPORTED,
                       "the module has %llu annotations, counting every copy that inlining, unrolling and templates "
                       "make, and an event's id tells %u apart: annotate less, or divide it into several modules",
                       (unsigned long long)count, SECTION_SITES_MAX);
    struct ktrace_site *descriptors = malloc(bytes ? bytes : 1);
    if (descriptors == NULL)
        return kt_fail_memory(bytes);
    int status = read_constants(source->backend, (unsigned char *)descriptors, block->sites_begin, bytes);
    if (status == KTRACE_OK)
        status = add_section(module, source, descriptors, block->sites_begin, (uint32_t)count);
    free(descriptors);
    return status;
}

int kt_module_read(struct kt_module *out, struct kt_backend *backend, uint32_t arch, uint64_t control, uint32_t number)
{
    struct ktrace_control_amdgcn block;
    int status = check_control(&block, backend, arch, control);
    if (status < 0)
        return status;
    struct text_source *source = calloc(1, sizeof *source);
    struct kt_module module = {.number = number};
    if (source == NULL)
        return kt_fail_memory(sizeof *source);
    source->backend = backend;
    status = arch == KTRACE_ARCH_AMDGCN ? read_section(&module, source, &block) : read_bank(&module, source, control);
    free(source);
    if (status < 0)
        kt_module_free(&module);
    else
        *out = module;
    return status;
}

int kt_module_add_wide(struct kt_module *module, struct kt_backend *backend, uint64_t id, int peek)
{
    if (kt_module_site(module, 0, id, 1))
        return KTRACE_OK;
    uint64_t base, bytes;
    int status = backend->ops->range_of(&base, &bytes, backend, id);
    if (status < 0)
        return status;
    struct ktrace_site descriptor;
    if (base + bytes - id < sizeof descriptor)
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "no site at 0x%llx", (unsigned long long)id);
    status = backend->ops->to_host(backend, &descriptor, id, sizeof descriptor, sizeof descriptor, 1, peek);
    if (status < 0)
        return status;
    if (!is_descriptor(&descriptor))
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "no site at 0x%llx", (unsigned long long)id);
    struct text_source *source = calloc(1, sizeof *source);
    if (source == NULL)
        return kt_fail_memory(sizeof *source);
    source->backend = backend;
    source->peek = peek;
    status = add_site(module, source, &descriptor, descriptor.text, id, 1);
    free(source);
    if (status == KTRACE_OK)
        qsort(module->sites, module->site_count, sizeof *module->sites, by_id);
    return status;
}

int kt_module_copy(struct kt_module *out, const struct kt_module *module)
{
    struct kt_module copy = {.number = module->number, .device = module->device};
    copy.sites = calloc(module->site_count ? module->site_count : 1, sizeof *copy.sites);
    if (copy.sites == NULL)
        return kt_fail_memory(module->site_count * sizeof *copy.sites);
    for (; copy.site_count < module->site_count; copy.site_count++) {
        struct kt_site *site = &copy.sites[copy.site_count];
        *site = module->sites[copy.site_count];
        site->name = strdup(site->name);
        site->file = strdup(site->file);
        if (site->name == NULL || site->file == NULL) {
            copy.site_count++;
            kt_module_free(&copy);
            return kt_fail_memory(64);
        }
    }
    *out = copy;
    return KTRACE_OK;
}
