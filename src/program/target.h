/* target.h - where a program's kernels run: what ktrace_program needs of CUDA and of HIP. */
#ifndef KT_PROGRAM_TARGET_H
#define KT_PROGRAM_TARGET_H

#include <stdint.h>

#include "backend/rtc_api.h"

/* A context of CUDA, or a device of HIP. */
struct kt_program_place {
    uint64_t id;           /* of no other in this process, also not of a later one */
    void *context;         /* CUcontext; NULL for HIP */
    int device;            /* ordinal; for HIP */
    char architecture[32]; /* "sm_90", "gfx942" */
};

/* All return 0 or a negative status with the error set. */
struct kt_program_target {
    const char *backend;             /* "cuda", "hip" */
    uint32_t arch;                   /* enum ktrace_arch: whose modules */
    const char *source_name;         /* of a program that has none */
    const char *architecture_option; /* what the architecture is written behind */
    int (*open_compiler)(const struct kt_rtc_api **out);
    /* Is there a device at all? */
    int (*check)(void);
    /* The calling thread's. */
    int (*current)(struct kt_program_place *out);
    /* In the current place. */
    int (*load)(void **module, const void *image);
    /* KTRACE_ERROR_NOT_FOUND: no kernel of that name, as it is in machine code. */
    int (*function)(void **out, void *module, const char *name);
    int (*attach)(void *module);
    int (*detach)(void *module);
    /* Wherever the calling thread is. */
    void (*unload)(const struct kt_program_place *place, void *module);
};

extern const struct kt_program_target kt_program_cuda, kt_program_hip;

/* As ktrace_program_options says of `wanted`. */
int kt_program_target_choose(const struct kt_program_target **out, const char *wanted);

#endif
