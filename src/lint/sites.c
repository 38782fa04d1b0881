#include "sites.h"

#include "../array.h"
#include "../reader.h"
#include "ktrace/record.h"

/* What a descriptor at `data` says, but for its texts. False: there is none. */
static bool read_descriptor(struct lint_site *out, uint32_t *version, uint64_t *text, const uint8_t *data, size_t bytes)
{
    struct kt_reader reader = kt_reader_over(data, bytes);
    const uint16_t magic = kt_read_u16(&reader);
    const uint8_t kind = kt_read_u8(&reader), payload_type = kt_read_u8(&reader);
    const uint32_t version_line = kt_read_u32(&reader);
    *text = kt_read_u64(&reader);
    if (reader.failed || magic != KTRACE_SITE_MAGIC || kind < KTRACE_KIND_KERNEL || kind > KTRACE_KIND_NEXT ||
        payload_type > KTRACE_PAYLOAD_UINT32)
        return false;
    *out = (struct lint_site){.kind = kind, .payload_type = payload_type, .line = version_line & 0xFFFFFF};
    *version = version_line >> 24;
    return true;
}

/* "name\0file\0" at `text`. */
static bool read_texts(struct lint_site *site, const uint8_t *text, size_t bytes)
{
    site->name = lint_string_at(text, bytes, 0);
    site->file = site->name ? lint_string_at(text, bytes, strlen(site->name) + 1) : NULL;
    return site->file != NULL;
}

static int add(struct lint_sites *out, const struct lint_site *site, uint32_t version)
{
    if (version < 1 || version > KTRACE_WIRE_VERSION) { /* all of these have the same descriptors */
        out->other_version = version;
        return KTRACE_OK;
    }
    const int status = kt_array_reserve(&out->sites, &out->capacity, out->count + 1, sizeof *out->sites);
    if (status == KTRACE_OK)
        out->sites[out->count++] = *site;
    return status;
}

/* ---- NVIDIA -------------------------------------------------------------------------------------------------------- */

/* Where the relocation at `offset` of a section points to, in the file. */
static const uint8_t *relocated(size_t *bytes, const struct lint_elf *elf, const struct lint_symbols *symbols,
                                const struct lint_section *relocations, uint64_t offset, uint64_t in_place)
{
    struct lint_relocation relocation;
    struct lint_symbol symbol;
    struct lint_section target;
    for (uint64_t i = 0; lint_elf_relocation(&relocation, relocations, i); i++) {
        if (relocation.offset != offset || !lint_elf_symbol(&symbol, symbols, relocation.symbol) ||
            !lint_elf_section(&target, elf, symbol.section) || !target.data)
            continue;
        const uint64_t addend = relocations->type == LINT_SECTION_RELA ? (uint64_t)relocation.addend : in_place;
        const uint64_t place = symbol.value + addend;
        if (place >= target.bytes)
            return NULL;
        *bytes = (size_t)(target.bytes - place);
        return target.data + place;
    }
    return NULL;
}

/* Every aligned place that looks like a descriptor and whose text is one: the user's own constants are not. */
static int scan(struct lint_sites *out, const struct lint_elf *elf, const char *name, bool wide)
{
    struct lint_section section, relocations;
    struct lint_symbols symbols;
    if (!lint_elf_find(&section, elf, name) || !section.data ||
        !lint_elf_find_relocations(&relocations, elf, section.index))
        return KTRACE_OK;
    lint_elf_symbols(&symbols, elf);
    for (uint64_t place = 0; place + sizeof(struct ktrace_site) <= section.bytes; place += 8) {
        struct lint_site site;
        uint32_t version;
        uint64_t in_place;
        size_t bytes = 0;
        if (!read_descriptor(&site, &version, &in_place, section.data + place, (size_t)(section.bytes - place)))
            continue;
        const uint8_t *text =
            relocated(&bytes, elf, &symbols, &relocations, place + offsetof(struct ktrace_site, text), in_place);
        if (!text || !read_texts(&site, text, bytes))
            continue;
        site.id = place;
        site.wide = wide;
        const int status = add(out, &site, version);
        if (status < 0)
            return status;
    }
    return KTRACE_OK;
}

int lint_sites_nvidia(struct lint_sites *out, const struct lint_elf *elf)
{
    *out = (struct lint_sites){0};
    const int status = scan(out, elf, ".nv.constant3", false);
    return status < 0 ? status : scan(out, elf, ".nv.global.init", true);
}

/* ---- AMD ----------------------------------------------------------------------------------------------------------- */

int lint_sites_amdgcn(struct lint_sites *out, const struct lint_elf *elf)
{
    struct lint_section section;
    *out = (struct lint_sites){0};
    if (!lint_elf_find(&section, elf, "ktrace_sites") || !section.data)
        return KTRACE_OK;
    const uint64_t count = section.bytes / sizeof(struct ktrace_site);
    out->address = section.address;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t place = i * sizeof(struct ktrace_site);
        struct lint_site site;
        uint32_t version;
        uint64_t word;
        size_t bytes = 0;
        if (!read_descriptor(&site, &version, &word, section.data + place, sizeof(struct ktrace_site)))
            return kt_fail(
                KTRACE_ERROR_FORMAT,
                "number %llu of the descriptors in its section ktrace_sites is none: the file is damaged, or "
                "relocatable and not linked yet",
                (unsigned long long)i);
        const uint64_t address = section.address + place + (uint64_t)(int64_t)(int32_t)(uint32_t)word;
        const uint8_t *text = lint_elf_at_address(&bytes, elf, address);
        if (!text || !read_texts(&site, text, bytes))
            return kt_fail(
                KTRACE_ERROR_FORMAT,
                "the name of annotation %llu (line %u) lies outside of the file: it is damaged, or relocatable "
                "and not linked yet",
                (unsigned long long)i, site.line);
        site.id = i;
        site.distance = (uint32_t)(word >> 32);
        const int status = add(out, &site, version);
        if (status < 0)
            return status;
    }
    return KTRACE_OK;
}

/* ---- Both ---------------------------------------------------------------------------------------------------------- */

void lint_sites_free(struct lint_sites *sites)
{
    free(sites->sites);
    *sites = (struct lint_sites){0};
}

const struct lint_site *lint_find_site(const struct lint_sites *sites, uint64_t id, bool wide)
{
    size_t low = 0, high = sites->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct lint_site *site = &sites->sites[middle];
        if (site->wide < wide || (site->wide == wide && site->id < id))
            low = middle + 1;
        else
            high = middle;
    }
    return low < sites->count && sites->sites[low].id == id && sites->sites[low].wide == wide ? &sites->sites[low]
                                                                                              : NULL;
}
