/* source.h - what a program was created from: copies of all that the caller gave. */
#ifndef KT_PROGRAM_SOURCE_H
#define KT_PROGRAM_SOURCE_H

#include <stddef.h>

#include "ktrace/ktrace.h"

struct kt_program_texts {
    char **texts;
    size_t count;
};

struct kt_program_source {
    char *text;
    char *name; /* NULL: the target's */
    struct kt_program_texts options, include_directories, kernels, header_names, header_texts;
    char *backend;         /* "" where none was asked for */
    char *cache_directory; /* NULL: the environment's; "": none */
    enum ktrace_program_trace trace;
};

/* KTRACE_ERROR_ARGUMENT, naming what cannot be right; then there is nothing to free. */
int kt_program_source_copy(struct kt_program_source *out, const char *text,
                           const struct ktrace_program_options *options);
void kt_program_source_free(struct kt_program_source *source);

/* Growing lists of copies. */
int kt_program_texts_add(struct kt_program_texts *texts, const char *text);
void kt_program_texts_free(struct kt_program_texts *texts);
int kt_program_texts_have(const struct kt_program_texts *texts, const char *text);

/* Does it choose the architecture, or the language's standard? Then ours stay away. */
int kt_program_option_is_architecture(const char *option);
int kt_program_option_is_standard(const char *option);

#endif
