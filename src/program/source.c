#include "source.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "headers.h"
#include "options.h"

int kt_program_texts_add(struct kt_program_texts *texts, const char *text)
{
    char **grown = realloc(texts->texts, (texts->count + 1) * sizeof *grown);
    if (grown == NULL)
        return kt_fail_memory((texts->count + 1) * sizeof *grown);
    texts->texts = grown;
    grown[texts->count] = strdup(text);
    if (grown[texts->count] == NULL)
        return kt_fail_memory(strlen(text) + 1);
    texts->count++;
    return KTRACE_OK;
}

void kt_program_texts_free(struct kt_program_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->texts[i]);
    free(texts->texts);
    *texts = (struct kt_program_texts){0};
}

int kt_program_texts_have(const struct kt_program_texts *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(texts->texts[i], text) == 0)
            return 1;
    return 0;
}

static int begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* With its value in the same option, or in the next. */
int kt_program_option_is_architecture(const char *option)
{
    return begins(option, "--gpu-architecture") || begins(option, "-arch") || begins(option, "--offload-arch");
}

int kt_program_option_is_standard(const char *option)
{
    return begins(option, "-std") || begins(option, "--std");
}

/* ---- The caller's ----------------------------------------------------------------------------------------------- */

static int read_options(struct ktrace_program_options *out, const struct ktrace_program_options *given)
{
    const struct ktrace_program_options defaults = KTRACE_PROGRAM_OPTIONS_INIT;
    *out = defaults;
    return kt_options_read(out, sizeof *out, given, "ktrace_program_options");
}

static int copy_list(struct kt_program_texts *out, const char *const *list, size_t count, const char *field)
{
    int status = KTRACE_OK;
    if (count && list == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_program_options.%s is NULL, and its count is %zu", field, count);
    for (size_t i = 0; i < count && status == KTRACE_OK; i++) {
        if (list[i] == NULL || !*list[i])
            return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_program_options.%s[%zu] is %s", field, i,
                           list[i] ? "empty" : "NULL");
        status = kt_program_texts_add(out, list[i]);
    }
    return status;
}

static int copy_headers(struct kt_program_source *out, const struct ktrace_program_options *options)
{
    int status = KTRACE_OK;
    if (options->header_count && options->headers == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_program_options.headers is NULL, and its count is %zu",
                       options->header_count);
    for (size_t i = 0; i < options->header_count && status == KTRACE_OK; i++) {
        const struct ktrace_program_header *header = &options->headers[i];
        if (header->name == NULL || !*header->name || header->text == NULL)
            return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_program_options.headers[%zu] has no %s", i,
                           header->text ? "name" : "text");
        if (kt_program_texts_have(&out->header_names, header->name))
            return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_program_options.headers has \"%s\" twice", header->name);
        if (kt_program_header_is_own(header->name))
            return kt_fail(KTRACE_ERROR_ARGUMENT,
                           "ktrace_program_options.headers has \"%s\", which the library brings itself", header->name);
        status = kt_program_texts_add(&out->header_names, header->name);
        if (status == KTRACE_OK)
            status = kt_program_texts_add(&out->header_texts, header->text);
    }
    return status;
}

/* -DKTRACE_ENABLE, -D KTRACE_ENABLE=1, --define-macro=KTRACE_ENABLE, -UKTRACE_ENABLE */
static int check_options(const struct kt_program_texts *options)
{
    for (size_t i = 0; i < options->count; i++)
        if (strstr(options->texts[i], "KTRACE_ENABLE"))
            return kt_fail(KTRACE_ERROR_ARGUMENT,
                           "the compiler option \"%s\" sets KTRACE_ENABLE, which each specialization of a program sets "
                           "itself: say "
                           "which one is wanted by ktrace_program_options.trace",
                           options->texts[i]);
    return KTRACE_OK;
}

static int copy_text(char **out, const char *text)
{
    *out = text ? strdup(text) : NULL;
    return text && *out == NULL ? kt_fail_memory(strlen(text) + 1) : KTRACE_OK;
}

static int check_words(const struct ktrace_program_options *options)
{
    const char *backend = options->backend;
    if (options->trace < KTRACE_PROGRAM_TRACE_AUTO || options->trace > KTRACE_PROGRAM_TRACE_NEVER)
        return kt_fail(
            KTRACE_ERROR_ARGUMENT,
            "ktrace_program_options.trace is %d: there are KTRACE_PROGRAM_TRACE_AUTO (0), _ALWAYS (1) and _NEVER (2)",
            options->trace);
    if (backend && *backend && strcmp(backend, "cuda") != 0 && strcmp(backend, "hip") != 0)
        return kt_fail(KTRACE_ERROR_ARGUMENT,
                       "ktrace_program_options.backend is \"%s\": there are \"cuda\" and \"hip\"", backend);
    return KTRACE_OK;
}

int kt_program_source_copy(struct kt_program_source *out, const char *text, const struct ktrace_program_options *given)
{
    struct ktrace_program_options options;
    struct kt_program_source source = {0};
    int status = text == NULL ? kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_program_create: the source is NULL")
                              : read_options(&options, given);
    if (status < 0)
        return status;
    status = check_words(&options);
    if (status == KTRACE_OK)
        status = copy_text(&source.text, text);
    if (status == KTRACE_OK)
        status = copy_text(&source.name, options.name && *options.name ? options.name : NULL);
    if (status == KTRACE_OK)
        status = copy_text(&source.backend, options.backend ? options.backend : "");
    if (status == KTRACE_OK)
        status = copy_text(&source.cache_directory, options.cache_directory);
    if (status == KTRACE_OK)
        status =
            copy_list(&source.options, options.compiler_options, options.compiler_option_count, "compiler_options");
    if (status == KTRACE_OK)
        status = check_options(&source.options);
    if (status == KTRACE_OK)
        status = copy_list(&source.include_directories, options.include_directories, options.include_directory_count,
                           "include_directories");
    if (status == KTRACE_OK)
        status = copy_list(&source.kernels, options.kernels, options.kernel_count, "kernels");
    if (status == KTRACE_OK)
        status = copy_headers(&source, &options);
    source.trace = (enum ktrace_program_trace)options.trace;
    if (status < 0)
        kt_program_source_free(&source);
    else
        *out = source;
    return status;
}

void kt_program_source_free(struct kt_program_source *source)
{
    free(source->text);
    free(source->name);
    free(source->backend);
    free(source->cache_directory);
    kt_program_texts_free(&source->options);
    kt_program_texts_free(&source->include_directories);
    kt_program_texts_free(&source->kernels);
    kt_program_texts_free(&source->header_names);
    kt_program_texts_free(&source->header_texts);
    *source = (struct kt_program_source){0};
}
