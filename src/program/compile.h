/* compile.h - one compilation: what goes into a compiler, and what comes out. */
#ifndef KT_PROGRAM_COMPILE_H
#define KT_PROGRAM_COMPILE_H

#include "backend/rtc_api.h"
#include "source.h"
#include "target.h"

/* All of it: equal ones give equal binaries. */
struct kt_compilation {
    const struct kt_rtc_api *compiler;
    const char *text, *name;
    struct kt_program_texts options, header_names, header_texts;
    struct kt_program_texts kernels; /* as in C++ */
};

/* What a compiler made, or the cache has of it. */
struct kt_binary {
    void *image;
    size_t image_bytes;
    struct kt_program_texts kernels; /* as in C++ */
    struct kt_program_texts lowered; /* the same, as they are called in `image` */
    char *log;
};

/* The specialization of `source` for `architecture` that has `kernel` and those which the source names. The compilation has
 * copies. */
int kt_compilation_make(struct kt_compilation *out, const struct kt_program_source *source,
                        const struct kt_program_target *target, const char *architecture, int traced,
                        const char *kernel);
void kt_compilation_free(struct kt_compilation *compilation);

/* KTRACE_ERROR_COMPILE, _UNSUPPORTED and so on as ktrace_program_kernel says. `out->log` is there on failure, too: whatever is
 * returned, kt_binary_free. */
int kt_compile(struct kt_binary *out, const struct kt_compilation *compilation);
void kt_binary_free(struct kt_binary *binary);

#endif
