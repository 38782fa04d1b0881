/* resources.h - what a kernel asks for: registers, stack, shared memory. As the compiler wrote it into the file. */
#ifndef LINT_RESOURCES_H
#define LINT_RESOURCES_H

#include "elf.h"

struct lint_resources {
    uint32_t registers;        /* of a thread; AMD: vector registers, accumulation registers among them */
    uint32_t accumulators;     /* AMD: how many of them are accumulation registers */
    uint32_t scalar_registers; /* AMD: of a wave */
    uint32_t spills;           /* AMD: registers that were spilled */
    uint64_t stack_bytes;      /* of a thread */
    uint64_t shared_bytes;     /* of a workgroup, as far as it is known when compiled */
    uint64_t code_bytes;       /* with what fills it up */
};

struct lint_kernel {
    const char *name; /* its symbol, in the file's bytes; of AMD's owned */
    char *owned_name;
    struct lint_resources resources;
};
struct lint_kernels {
    struct lint_kernel *kernels; /* owned */
    size_t count, capacity;
    char target[24]; /* "sm_90", "gfx942" */
};

/* Free `out` in any case. */
int lint_kernels_nvidia(struct lint_kernels *out, const struct lint_elf *elf);
int lint_kernels_amdgcn(struct lint_kernels *out, const struct lint_elf *elf);
void lint_kernels_free(struct lint_kernels *kernels);

/* How many waves registers leave room for: on an SM of NVIDIA, on a SIMD of AMD. */
uint32_t lint_waves(const char *target, const struct lint_resources *resources);

#endif
