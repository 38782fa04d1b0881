/* fuzz_lint.c - a file with machine code from anywhere, as `ktrace doctor --lint` reads it; or what a disassembler printed, which
 * begins with the name of one: "nvdisasm\n", "llvm-objdump\n". */
#include "ktrace/record.h"
#include "lint/events.h"
#include "lint/name.h"
#include "lint/objects.h"
#include "lint/ranges.h"
#include "lint/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Annotations that listings can name: one of each kind, at each place of the constant bank where ptxas puts them. */
enum { SITES = 64, FIRST_PLACE = 0x78 };

static void make_sites(struct lint_sites *out, struct lint_site sites[SITES], bool is_nvidia)
{
    for (uint32_t i = 0; i < SITES; i++)
        sites[i] = (struct lint_site){.id = is_nvidia ? FIRST_PLACE + 16 * i : i,
                                      .distance = 0x40 * i,
                                      .line = i,
                                      .kind = (uint8_t)(KTRACE_KIND_MARK + i % 6),
                                      .name = i % 3 ? "name" : "",
                                      .file = "file"};
    *out = (struct lint_sites){.sites = sites, .count = SITES, .address = 0x1220};
}

static void walk(struct lint_listing *listing, const struct lint_sites *sites, bool is_nvidia)
{
    const struct lint_elf none = {0};
    for (size_t i = 0; i < listing->count; i++) {
        struct lint_code *code = &listing->codes[i];
        struct lint_range *ranges;
        size_t count;
        const int status = is_nvidia ? lint_find_sass_events(code, sites, &none) : lint_find_gcn_events(code, sites);
        if (status < 0 || lint_find_ranges(&ranges, &count, code) < 0)
            continue;
        for (size_t k = 0; k < count; k++)
            if (ranges[k].work > ranges[k].inside || ranges[k].inside > code->count ||
                ranges[k].begin >= code->event_count)
                abort();
        free(ranges);
    }
}

static void read_listing(const uint8_t *data, size_t bytes, bool is_nvidia)
{
    struct lint_listing listing;
    struct lint_site sites[SITES];
    struct lint_sites all;
    char *text = malloc(bytes + 1);
    if (!text)
        return;
    memcpy(text, data, bytes);
    text[bytes] = 0;
    make_sites(&all, sites, is_nvidia);
    if ((is_nvidia ? lint_read_sass(&listing, text) : lint_read_gcn(&listing, text)) == 0)
        walk(&listing, &all, is_nvidia);
    lint_listing_free(&listing);
}

static void read_module(const struct lint_object *object)
{
    struct lint_module module;
    char name[64];
    if (lint_module_open(&module, object->is_nvidia, object->data, object->bytes) == 0)
        for (size_t i = 0; i < module.kernels.count; i++) {
            lint_readable_name(name, sizeof name, module.kernels.kernels[i].name);
            (void)lint_waves(module.kernels.target, &module.kernels.kernels[i].resources);
        }
    lint_module_free(&module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char sass[] = "nvdisasm\n", gcn[] = "llvm-objdump\n";
    struct lint_objects objects;
    if (bytes >= sizeof sass - 1 && memcmp(data, sass, sizeof sass - 1) == 0)
        read_listing(data, bytes, true);
    else if (bytes >= sizeof gcn - 1 && memcmp(data, gcn, sizeof gcn - 1) == 0)
        read_listing(data, bytes, false);
    if (lint_find_objects(&objects, data, bytes) == 0)
        for (size_t i = 0; i < objects.count; i++)
            read_module(&objects.objects[i]);
    lint_objects_free(&objects);
    return 0;
}
