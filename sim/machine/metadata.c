/* The AMDGPU metadata note: MessagePack, keys as in LLVM's AMDGPUUsage, "Code Object V3/V4/V5 Metadata". */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"
#include "msgpack.h"

static int damaged(const char *what)
{
    sim_fail("the code object is damaged: %s in its metadata note cannot be read", what);
    return -1;
}

/* ---- Values ----------------------------------------------------------------------------------------------------------- */

static int read_u32(uint32_t *out, struct msgpack *reader, const char *what)
{
    struct msgpack_value value = msgpack_next(reader);
    if (reader->failed || value.type != MSGPACK_INTEGER || value.integer > UINT32_MAX)
        return damaged(what);
    *out = (uint32_t)value.integer;
    return 0;
}

static int read_name(char **out, struct msgpack *reader, const char *what)
{
    struct msgpack_value value = msgpack_next(reader);
    if (reader->failed || value.type != MSGPACK_TEXT || memchr(value.bytes.data, 0, value.bytes.count))
        return damaged(what);
    free(*out);
    *out = strndup((const char *)value.bytes.data, value.bytes.count);
    return *out ? 0 : sim_fail("the host has no memory for the names of kernels");
}

static int read_head(uint64_t *count, struct msgpack *reader, enum msgpack_type type, const char *what)
{
    struct msgpack_value value = msgpack_next(reader);
    if (reader->failed || value.type != type)
        return damaged(what);
    *count = value.integer;
    return 0;
}

/* ---- Arguments -------------------------------------------------------------------------------------------------------- */

static int set_kind(struct sim_argument *argument, struct msgpack_value kind)
{
    if (kind.type != MSGPACK_TEXT)
        return damaged("the kind of an argument");
    if (msgpack_is(kind, "global_buffer") || msgpack_is(kind, "image") || msgpack_is(kind, "sampler") ||
        msgpack_is(kind, "pipe") || msgpack_is(kind, "queue")) {
        argument->kind = SIM_ARGUMENT_POINTER;
    } else if (msgpack_is(kind, "by_value")) {
        argument->kind = SIM_ARGUMENT_VALUE;
    } else if (msgpack_is(kind, "dynamic_shared_pointer")) {
        argument->kind = SIM_ARGUMENT_DYNAMIC_LDS;
    } else if (kind.bytes.count >= 7 && !memcmp(kind.bytes.data, "hidden_", 7) &&
               kind.bytes.count < sizeof argument->hidden) {
        argument->kind = SIM_ARGUMENT_HIDDEN;
        memcpy(argument->hidden, kind.bytes.data, kind.bytes.count);
        argument->hidden[kind.bytes.count] = 0;
    } else {
        return sim_fail("an argument of the code object is of the unknown kind '%.*s'", (int)(kind.bytes.count & 63),
                        (const char *)kind.bytes.data);
    }
    return 0;
}

static int read_argument(struct sim_argument *argument, struct msgpack *reader)
{
    uint64_t pairs;
    if (read_head(&pairs, reader, MSGPACK_MAP, "an argument"))
        return -1;
    int has_kind = 0;
    for (uint64_t i = 0; i < pairs; i++) {
        struct msgpack_value key = msgpack_next(reader);
        if (msgpack_is(key, ".offset")) {
            if (read_u32(&argument->offset, reader, "the offset of an argument"))
                return -1;
        } else if (msgpack_is(key, ".size")) {
            if (read_u32(&argument->bytes, reader, "the size of an argument"))
                return -1;
        } else if (msgpack_is(key, ".value_kind")) {
            if (set_kind(argument, msgpack_next(reader)))
                return -1;
            has_kind = 1;
        } else {
            msgpack_skip(reader);
        }
    }
    return reader->failed || !has_kind ? damaged("an argument") : 0;
}

static int read_arguments(struct sim_kernel *kernel, struct msgpack *reader)
{
    uint64_t count;
    if (read_head(&count, reader, MSGPACK_ARRAY, "the arguments of a kernel"))
        return -1;
    if (kernel->arguments)
        return damaged("a kernel with two lists of arguments");
    size_t capacity = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i == capacity) {
            capacity = capacity ? 2 * capacity : 16;
            struct sim_argument *bigger = realloc(kernel->arguments, capacity * sizeof *bigger);
            if (!bigger)
                return sim_fail("the host has no memory for the arguments of kernels");
            kernel->arguments = bigger;
        }
        kernel->arguments[i] = (struct sim_argument){0};
        if (read_argument(&kernel->arguments[i], reader))
            return -1;
    }
    kernel->facts.argument_count = (uint32_t)count;
    kernel->facts.arguments = kernel->arguments;
    return 0;
}

/* ---- Kernels ------------------------------------------------------------------------------------------------------------ */

static int read_required_workgroup(uint32_t size[3], struct msgpack *reader)
{
    uint64_t count;
    if (read_head(&count, reader, MSGPACK_ARRAY, ".reqd_workgroup_size"))
        return -1;
    if (count != 3)
        return damaged(".reqd_workgroup_size");
    for (int i = 0; i < 3; i++)
        if (read_u32(&size[i], reader, ".reqd_workgroup_size"))
            return -1;
    return 0;
}

static int read_kernel(struct sim_kernel *kernel, char **symbol, struct msgpack *reader)
{
    struct sim_kernel_facts *facts = &kernel->facts;
    const struct {
        const char *key;
        uint32_t *value;
    } numbers[] = {
        {".kernarg_segment_size", &facts->kernarg_bytes},
        {".kernarg_segment_align", &facts->kernarg_alignment},
        {".group_segment_fixed_size", &facts->group_segment_bytes},
        {".private_segment_fixed_size", &facts->private_segment_bytes},
        {".wavefront_size", &facts->wavefront_size},
        {".sgpr_count", &facts->sgprs},
        {".vgpr_count", &facts->vgprs},
        {".agpr_count", &facts->agprs},
        {".max_flat_workgroup_size", &facts->max_workgroup_size},
    };
    uint64_t pairs;
    if (read_head(&pairs, reader, MSGPACK_MAP, "a kernel"))
        return -1;
    for (uint64_t i = 0; i < pairs; i++) {
        struct msgpack_value key = msgpack_next(reader);
        int known = 0;
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
            if (msgpack_is(key, numbers[n].key)) {
                known = 1;
                if (read_u32(numbers[n].value, reader, numbers[n].key))
                    return -1;
            }
        if (known)
            continue;
        int status = 0;
        if (msgpack_is(key, ".name"))
            status = read_name(&kernel->name, reader, "the name of a kernel");
        else if (msgpack_is(key, ".symbol"))
            status = read_name(symbol, reader, "the symbol of a kernel");
        else if (msgpack_is(key, ".args"))
            status = read_arguments(kernel, reader);
        else if (msgpack_is(key, ".reqd_workgroup_size"))
            status = read_required_workgroup(kernel->required_workgroup, reader);
        else
            msgpack_skip(reader);
        if (status)
            return -1;
    }
    if (reader->failed || !kernel->name || !*symbol)
        return damaged("a kernel");
    facts->name = kernel->name;
    return 0;
}

static int check_kernel(const struct sim_kernel *kernel)
{
    const struct sim_kernel_facts *facts = &kernel->facts;
    if (facts->wavefront_size != SIM_LANES)
        return sim_fail("kernel '%s' has waves of %u lanes, this chip's have %d", kernel->name, facts->wavefront_size,
                        SIM_LANES);
    if (facts->kernarg_bytes > 1u << 20)
        return sim_fail("the code object is damaged: kernel '%s' has %u bytes of arguments", kernel->name,
                        facts->kernarg_bytes);
    for (uint32_t i = 0; i < facts->argument_count; i++) {
        const struct sim_argument *argument = &facts->arguments[i];
        if (argument->bytes > facts->kernarg_bytes || argument->offset > facts->kernarg_bytes - argument->bytes)
            return sim_fail("the code object is damaged: argument %u of kernel '%s' has %u bytes at offset %u of %u", i,
                            kernel->name, argument->bytes, argument->offset, facts->kernarg_bytes);
    }
    return 0;
}

static int add_kernel(struct sim_module *module, struct msgpack *reader, size_t *capacity)
{
    if (module->kernel_count == *capacity) {
        *capacity = *capacity ? 2 * *capacity : 8;
        struct sim_kernel *bigger = realloc(module->kernels, *capacity * sizeof *bigger);
        if (!bigger)
            return sim_fail("the host has no memory for the kernels of a module");
        module->kernels = bigger;
    }
    struct sim_kernel *kernel = &module->kernels[module->kernel_count++];
    *kernel = (struct sim_kernel){.module = module};
    char *symbol = NULL;
    int status = read_kernel(kernel, &symbol, reader);
    if (!status)
        status = check_kernel(kernel);
    if (!status) {
        size_t index = elf_find_symbol(module->elf, symbol);
        if (index)
            kernel->descriptor_address = module->load_bias + elf_symbol_at(module->elf, index).value;
        else
            status = sim_fail("the code object is damaged: it names kernel '%s' and has no symbol '%s'", kernel->name,
                              symbol);
    }
    free(symbol);
    return status;
}

static int read_version(struct msgpack *reader)
{
    uint64_t count;
    uint32_t major, minor;
    if (read_head(&count, reader, MSGPACK_ARRAY, "amdhsa.version") || count != 2 ||
        read_u32(&major, reader, "amdhsa.version") || read_u32(&minor, reader, "amdhsa.version"))
        return damaged("amdhsa.version");
    if (major != 1 || minor > 2)
        return sim_fail("the code object's metadata are of version %u.%u; 1.0 to 1.2 are known", major, minor);
    return 0;
}

static int read_note(struct sim_module *module, struct bytes note, size_t *capacity)
{
    struct msgpack reader = {.input = note};
    uint64_t pairs, kernels;
    int listed = 0;
    if (read_head(&pairs, &reader, MSGPACK_MAP, "its outer map"))
        return -1;
    for (uint64_t i = 0; i < pairs; i++) {
        struct msgpack_value key = msgpack_next(&reader);
        if (msgpack_is(key, "amdhsa.version")) {
            if (read_version(&reader))
                return -1;
        } else if (msgpack_is(key, "amdhsa.kernels")) {
            if (listed++ || read_head(&kernels, &reader, MSGPACK_ARRAY, "the list of kernels"))
                return damaged("the list of kernels");
            for (uint64_t k = 0; k < kernels; k++)
                if (add_kernel(module, &reader, capacity))
                    return -1;
        } else {
            msgpack_skip(&reader);
        }
    }
    return reader.failed ? damaged("a value") : 0;
}

int metadata_read(struct sim_module *module, const struct bytes *notes, size_t count)
{
    size_t capacity = 0;
    for (size_t i = 0; i < count; i++)
        if (read_note(module, notes[i], &capacity))
            return -1;
    return 0;
}

void metadata_free(struct sim_module *module)
{
    for (size_t i = 0; i < module->kernel_count; i++) {
        free(module->kernels[i].name);
        free(module->kernels[i].arguments);
    }
    free(module->kernels);
    module->kernels = NULL;
    module->kernel_count = 0;
}
