#include "resources.h"

#include "../array.h"
#include "../reader.h"

#include <stdio.h>

/* Of NVIDIA's .nv.info sections (as cuobjdump -elf names them). */
enum { FORMAT_NONE = 1, FORMAT_BYTE = 2, FORMAT_HALF = 3, FORMAT_SIZED = 4 };
enum { ATTRIBUTE_FRAME_SIZE = 0x11, ATTRIBUTE_MIN_STACK_SIZE = 0x12, ATTRIBUTE_REGISTERS = 0x2F };
enum { SYMBOL_IS_ENTRY = 0x10, ABI_OF_CUDA_13 = 0x41 };

static void read_target(struct lint_kernels *out, const struct lint_elf *elf)
{
    const uint32_t version = elf->os_abi == ABI_OF_CUDA_13 ? elf->flags >> 8 & 0xFF : elf->flags & 0xFF;
    snprintf(out->target, sizeof out->target, "sm_%u", version);
}

static struct lint_kernel *find_kernel(struct lint_kernels *kernels, const char *name)
{
    for (size_t i = 0; i < kernels->count; i++)
        if (strcmp(kernels->kernels[i].name, name) == 0)
            return &kernels->kernels[i];
    return NULL;
}

static void take_attribute(struct lint_kernels *out, const struct lint_symbols *symbols, uint8_t attribute,
                           const uint8_t *payload, size_t bytes)
{
    struct kt_reader reader = kt_reader_over(payload, bytes);
    const uint32_t index = kt_read_u32(&reader), value = kt_read_u32(&reader);
    struct lint_symbol symbol;
    if (reader.failed || !lint_elf_symbol(&symbol, symbols, index))
        return;
    struct lint_kernel *kernel = find_kernel(out, symbol.name);
    if (!kernel)
        return;
    if (attribute == ATTRIBUTE_REGISTERS)
        kernel->resources.registers = value;
    if (attribute == ATTRIBUTE_FRAME_SIZE && value > kernel->resources.stack_bytes)
        kernel->resources.stack_bytes = value;
    if (attribute == ATTRIBUTE_MIN_STACK_SIZE && value > kernel->resources.stack_bytes)
        kernel->resources.stack_bytes = value; /* with what it calls */
}

static void read_info(struct lint_kernels *out, const struct lint_symbols *symbols, const struct lint_section *info)
{
    struct kt_reader reader = kt_reader_over(info->data, info->data ? (size_t)info->bytes : 0);
    while (kt_reader_left(&reader) >= 4) {
        const uint8_t format = kt_read_u8(&reader), attribute = kt_read_u8(&reader);
        const uint16_t size = kt_read_u16(&reader);
        if (format < FORMAT_NONE || format > FORMAT_SIZED)
            return; /* not known: nothing behind it can be told */
        const uint8_t *payload = format == FORMAT_SIZED ? kt_read_bytes(&reader, size) : NULL;
        if (payload)
            take_attribute(out, symbols, attribute, payload, size);
    }
}

int lint_kernels_nvidia(struct lint_kernels *out, const struct lint_elf *elf)
{
    struct lint_symbols symbols;
    struct lint_symbol symbol;
    struct lint_section section;
    *out = (struct lint_kernels){0};
    read_target(out, elf);
    lint_elf_symbols(&symbols, elf);
    for (uint32_t i = 0; lint_elf_symbol(&symbol, &symbols, i); i++) {
        if (symbol.type != LINT_SYMBOL_FUNCTION || !(symbol.other & SYMBOL_IS_ENTRY) || symbol.section == 0)
            continue;
        const int status = kt_array_reserve(&out->kernels, &out->capacity, out->count + 1, sizeof *out->kernels);
        if (status < 0)
            return status;
        out->kernels[out->count++] = (struct lint_kernel){.name = symbol.name, .resources.code_bytes = symbol.bytes};
    }
    for (uint32_t i = 0; i < elf->section_count; i++) {
        static const char shared[] = ".nv.shared.";
        if (!lint_elf_section(&section, elf, i))
            continue;
        if (strcmp(section.name, ".nv.info") == 0)
            read_info(out, &symbols, &section);
        struct lint_kernel *kernel = strncmp(section.name, shared, sizeof shared - 1) == 0
                                         ? find_kernel(out, section.name + sizeof shared - 1)
                                         : NULL;
        if (kernel)
            kernel->resources.shared_bytes = section.bytes;
    }
    return KTRACE_OK;
}

void lint_kernels_free(struct lint_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        free(kernels->kernels[i].owned_name);
    free(kernels->kernels);
    *kernels = (struct lint_kernels){0};
}

/* ---- Room ---------------------------------------------------------------------------------------------------------- */

static uint32_t round_up(uint32_t value, uint32_t step)
{
    return (value + step - 1) / step * step;
}

/* CUDA C++ Programming Guide, "Compute Capabilities": 64 Ki registers an SM, in four parts, given to warps by 256. */
static uint32_t nvidia_waves(uint32_t capability, uint32_t registers)
{
    const uint32_t parts = 4, in_part = 65536 / parts;
    const uint32_t most = capability == 75                                                                ? 32
                          : capability == 86 || capability == 87 || capability == 89 || capability >= 120 ? 48
                                                                                                          : 64;
    const uint32_t of_warp = round_up((registers ? registers : 1) * 32, 256);
    const uint32_t fit = in_part / of_warp * parts;
    return fit < most ? fit : most;
}

/* "AMD Instinct MI300 ISA": 512 vector registers a lane of a SIMD, given out by 8; 8 waves at the most. Of the 800 scalar ones
 * given out by 16, a wave can have 102: they leave room for 7 at least. */
static uint32_t amdgcn_waves(const struct lint_resources *resources)
{
    const uint32_t vectors = 512 / round_up(resources->registers ? resources->registers : 1, 8);
    const uint32_t scalars = 800 / round_up(resources->scalar_registers ? resources->scalar_registers : 1, 16);
    const uint32_t fit = vectors < scalars ? vectors : scalars;
    return fit < 8 ? fit : 8;
}

uint32_t lint_waves(const char *target, const struct lint_resources *resources)
{
    return strncmp(target, "sm_", 3) == 0 ? nvidia_waves((uint32_t)strtoul(target + 3, NULL, 10), resources->registers)
                                          : amdgcn_waves(resources);
}
