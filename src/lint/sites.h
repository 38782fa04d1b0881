/* sites.h - the annotations that a module has: the descriptors of its events, as its file holds them. */
#ifndef LINT_SITES_H
#define LINT_SITES_H

#include "elf.h"

struct lint_site {
    uint64_t
        id; /* NVIDIA: where in the constant bank, or of a wide one in global memory; AMD: its number in the module */
    uint32_t distance; /* AMD: bytes from where its kernel begins to its event's code */
    uint32_t line;
    uint8_t kind, payload_type;
    bool wide;
    const char *name, *file; /* in the module's bytes */
};

struct lint_sites {
    struct lint_site *sites; /* owned; by wide, then id */
    size_t count, capacity;
    uint64_t address;       /* AMD: of the first descriptor */
    uint32_t other_version; /* of descriptors that this command cannot read; 0: there are none */
};

/* Free `out` in any case. A module without annotations has none. */
int lint_sites_nvidia(struct lint_sites *out, const struct lint_elf *elf);
int lint_sites_amdgcn(struct lint_sites *out, const struct lint_elf *elf);
void lint_sites_free(struct lint_sites *sites);

/* NULL: there is none. */
const struct lint_site *lint_find_site(const struct lint_sites *sites, uint64_t id, bool wide);

#endif
