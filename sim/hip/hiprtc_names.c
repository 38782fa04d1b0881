#include "hiprtc_names.h"

#include <elf.h>
#include <string.h>

#include "hiprtc_clang.h"

#define SECTION ".hiprtc_names"

int sim_hiprtc_write_expressions(FILE *file, const struct sim_hiprtc_source *source)
{
    if (source->expression_count == 0)
        return 0;
    int failed = fprintf(file, "#line 1 \"name expression\"\n"
                               "extern \"C\" __attribute__((device, used, noinline)) void ktrace_hiprtc_names() {") < 0;
    for (size_t i = 0; i < source->expression_count; i++) {
        const char *name = source->expressions[i];
        name += *name == '&'; /* kernels or variables, and nothing that is computed: as ROCm's hipRTC has it */
        failed |= fprintf(file,
                          "\n#line 1 \"name expression\"\n"
                          "__asm__ volatile(\".pushsection " SECTION
                          ",\\\"\\\",@progbits\\n\\t.asciz \\\"%%c0\\\"\\n\\t.popsection\" :: \"i\"((const void *)\n"
                          "&%s\n));",
                          name) < 0;
    }
    failed |= fprintf(file, "\n}\n") < 0;
    return failed ? -1 : 0;
}

/* A part of `code` that lies within it. */
static const unsigned char *part(const unsigned char *code, size_t bytes, uint64_t offset, uint64_t length)
{
    return offset <= bytes && length <= bytes - offset ? code + offset : NULL;
}

static int is_names(const unsigned char *code, size_t bytes, const Elf64_Shdr *strings, uint32_t name)
{
    const unsigned char *text = part(code, bytes, strings->sh_offset, strings->sh_size);
    return text && name <= strings->sh_size && strings->sh_size - name >= sizeof SECTION &&
           memcmp(text + name, SECTION, sizeof SECTION) == 0;
}

/* The section's header in `*out`; 0: there is none. */
static int find_section(Elf64_Shdr *out, const unsigned char *code, size_t bytes)
{
    Elf64_Ehdr header;
    Elf64_Shdr strings;
    if (bytes < sizeof header)
        return 0;
    memcpy(&header, code, sizeof header);
    const unsigned char *table = part(code, bytes, header.e_shoff, (uint64_t)header.e_shnum * sizeof *out);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof *out || table == NULL ||
        header.e_shstrndx >= header.e_shnum)
        return 0;
    memcpy(&strings, table + header.e_shstrndx * sizeof strings, sizeof strings);
    for (unsigned i = 0; i < header.e_shnum; i++) {
        memcpy(out, table + i * sizeof *out, sizeof *out);
        if (is_names(code, bytes, &strings, out->sh_name))
            return 1;
    }
    return 0;
}

const char *sim_hiprtc_lowered_name(const unsigned char *code, size_t bytes, size_t index)
{
    Elf64_Shdr section;
    if (!find_section(&section, code, bytes))
        return NULL;
    const char *name = (const char *)part(code, bytes, section.sh_offset, section.sh_size);
    if (name == NULL)
        return NULL;
    const char *end = name + section.sh_size;
    for (;; index--) {
        const char *stop = memchr(name, 0, (size_t)(end - name));
        if (stop == NULL)
            return NULL;
        if (index == 0)
            return name;
        name = stop + 1;
    }
}
