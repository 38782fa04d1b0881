#include "compile.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "error.h"
#include "headers.h"
#include "string_builder.h"

/* ---- What goes in ----------------------------------------------------------------------------------------------- */

static int add_joined(struct kt_program_texts *texts, const char *first, const char *second)
{
    struct kt_string text = KT_STRING_INIT;
    char *joined;
    kt_string_append(&text, first);
    kt_string_append(&text, second);
    int status = kt_string_take(&joined, &text);
    if (status < 0)
        return status;
    status = kt_program_texts_add(texts, joined);
    free(joined);
    return status;
}

static int add_all(struct kt_program_texts *texts, const struct kt_program_texts *others)
{
    int status = KTRACE_OK;
    for (size_t i = 0; i < others->count && status == KTRACE_OK; i++)
        status = kt_program_texts_add(texts, others->texts[i]);
    return status;
}

static int add_options(struct kt_program_texts *options, const struct kt_program_source *source,
                       const struct kt_program_target *target, const char *architecture, int traced)
{
    int architecture_given = 0, standard_given = 0, status = KTRACE_OK;
    for (size_t i = 0; i < source->options.count; i++) {
        architecture_given |= kt_program_option_is_architecture(source->options.texts[i]);
        standard_given |= kt_program_option_is_standard(source->options.texts[i]);
    }
    if (!architecture_given)
        status = add_joined(options, target->architecture_option, architecture);
    if (status == KTRACE_OK && !standard_given)
        status = kt_program_texts_add(options, "--std=c++17");
    if (status == KTRACE_OK)
        status = kt_program_texts_add(options, traced ? "-DKTRACE_ENABLE=1" : "-DKTRACE_ENABLE=0");
    for (size_t i = 0; i < source->include_directories.count && status == KTRACE_OK; i++)
        status = add_joined(options, "-I", source->include_directories.texts[i]);
    return status == KTRACE_OK ? add_all(options, &source->options) : status;
}

static int add_headers(struct kt_compilation *compilation, const struct kt_program_source *source)
{
    int status = KTRACE_OK;
    for (int i = 0; i < KT_PROGRAM_HEADERS && status == KTRACE_OK; i++) {
        char *text = NULL;
        status = kt_program_header(&text, kt_program_header_names[i]);
        if (status == KTRACE_OK)
            status = kt_program_texts_add(&compilation->header_names, kt_program_header_names[i]);
        if (status == KTRACE_OK)
            status = kt_program_texts_add(&compilation->header_texts, text);
        free(text);
    }
    if (status == KTRACE_OK)
        status = add_all(&compilation->header_names, &source->header_names);
    return status == KTRACE_OK ? add_all(&compilation->header_texts, &source->header_texts) : status;
}

int kt_compilation_make(struct kt_compilation *out, const struct kt_program_source *source,
                        const struct kt_program_target *target, const char *architecture, int traced,
                        const char *kernel)
{
    struct kt_compilation compilation = {.text = source->text,
                                         .name = source->name ? source->name : target->source_name};
    int status = target->open_compiler(&compilation.compiler);
    if (status == KTRACE_OK)
        status = add_options(&compilation.options, source, target, architecture, traced);
    if (status == KTRACE_OK)
        status = add_headers(&compilation, source);
    if (status == KTRACE_OK)
        status = add_all(&compilation.kernels, &source->kernels);
    if (status == KTRACE_OK && !kt_program_texts_have(&compilation.kernels, kernel))
        status = kt_program_texts_add(&compilation.kernels, kernel);
    if (status < 0)
        kt_compilation_free(&compilation);
    else
        *out = compilation;
    return status;
}

void kt_compilation_free(struct kt_compilation *compilation)
{
    kt_program_texts_free(&compilation->options);
    kt_program_texts_free(&compilation->header_names);
    kt_program_texts_free(&compilation->header_texts);
    kt_program_texts_free(&compilation->kernels);
}

/* ---- What comes out --------------------------------------------------------------------------------------------- */

/* The first line that speaks of an error, or else the first that says anything; with its length. */
static const char *first_error(const char *log, int *length)
{
    const char *first = NULL;
    for (const char *line = log; *line;) {
        const size_t bytes = strcspn(line, "\n");
        if (bytes && (first == NULL || memmem(line, bytes, "error", 5))) {
            first = line;
            *length = (int)bytes;
            if (memmem(line, bytes, "error", 5))
                break;
        }
        line += bytes + (line[bytes] == '\n');
    }
    return first;
}

static int fail_compilation(const struct kt_compilation *compilation, kt_rtc_result result, const char *log)
{
    const struct kt_rtc_api *compiler = compilation->compiler;
    int length = 0;
    const char *line = first_error(log, &length);
    if (result == KT_RTC_ERROR_OUT_OF_MEMORY)
        return kt_fail(KTRACE_ERROR_MEMORY, "%s ran out of host memory", compiler->label);
    if (line == NULL) {
        line = compiler->error_text(result);
        length = (int)strlen(line);
    }
    if (result == KT_RTC_ERROR_BUILTIN_OPERATION_FAILURE)
        return kt_fail(KTRACE_ERROR_UNSUPPORTED, "%s cannot compile here: %.*s", compiler->label, length, line);
    return kt_fail(KTRACE_ERROR_COMPILE, "%s does not compile: %.*s (%s; ktrace_program_log has all)",
                   compilation->name, length, line, compiler->label);
}

static int fail_rtc(const struct kt_rtc_api *compiler, kt_rtc_result result, const char *attempted)
{
    return kt_fail(result == KT_RTC_ERROR_OUT_OF_MEMORY ? KTRACE_ERROR_MEMORY : KTRACE_ERROR_DEVICE,
                   "%s failed at %s: %s", compiler->label, attempted, compiler->error_text(result));
}

static int take_log(char **out, const struct kt_rtc_api *compiler, kt_rtc_program program)
{
    size_t bytes = 0;
    kt_rtc_result result = compiler->log_bytes(program, &bytes);
    if (result != KT_RTC_SUCCESS)
        return fail_rtc(compiler, result, "asking for the log");
    char *log = kt_array_new_zeroed(bytes + 1, 1);
    if (log == NULL)
        return KTRACE_ERROR_MEMORY;
    if (bytes)
        result = compiler->log(program, log);
    *out = log;
    return result == KT_RTC_SUCCESS ? KTRACE_OK : fail_rtc(compiler, result, "asking for the log");
}

static int take_image(struct kt_binary *out, const struct kt_compilation *compilation, kt_rtc_program program)
{
    const struct kt_rtc_api *compiler = compilation->compiler;
    size_t bytes = 0;
    kt_rtc_result result = compiler->code_bytes(program, &bytes);
    if (result != KT_RTC_SUCCESS)
        return fail_rtc(compiler, result, "asking for the machine code");
    if (bytes == 0)
        return kt_fail(
            KTRACE_ERROR_ARGUMENT,
            "%s: %s made no machine code: the compiler options ask for a virtual architecture (compute_...), use a "
            "real one (sm_...)",
            compilation->name, compiler->label);
    out->image = kt_array_new(bytes, 1);
    if (out->image == NULL)
        return KTRACE_ERROR_MEMORY;
    out->image_bytes = bytes;
    result = compiler->code(program, out->image);
    return result == KT_RTC_SUCCESS ? KTRACE_OK : fail_rtc(compiler, result, "asking for the machine code");
}

static int take_names(struct kt_binary *out, const struct kt_compilation *compilation, kt_rtc_program program)
{
    const struct kt_rtc_api *compiler = compilation->compiler;
    int status = add_all(&out->kernels, &compilation->kernels);
    for (size_t i = 0; i < out->kernels.count && status == KTRACE_OK; i++) {
        const char *lowered = NULL;
        const kt_rtc_result result = compiler->lowered_name(program, out->kernels.texts[i], &lowered);
        if (result != KT_RTC_SUCCESS || lowered == NULL)
            return fail_rtc(compiler, result, "telling how a kernel is called in machine code");
        status = kt_program_texts_add(&out->lowered, lowered);
    }
    return status;
}

static int run(struct kt_binary *out, const struct kt_compilation *compilation, kt_rtc_program program)
{
    const struct kt_rtc_api *compiler = compilation->compiler;
    for (size_t i = 0; i < compilation->kernels.count; i++) {
        const kt_rtc_result result = compiler->add_name(program, compilation->kernels.texts[i]);
        if (result != KT_RTC_SUCCESS)
            return fail_rtc(compiler, result, "taking the name of a kernel");
    }
    const kt_rtc_result result =
        compiler->compile(program, (int)compilation->options.count, (const char *const *)compilation->options.texts);
    int status = take_log(&out->log, compiler, program);
    if (result != KT_RTC_SUCCESS)
        return fail_compilation(compilation, result, out->log ? out->log : "");
    if (status == KTRACE_OK)
        status = take_image(out, compilation, program);
    return status == KTRACE_OK ? take_names(out, compilation, program) : status;
}

int kt_compile(struct kt_binary *out, const struct kt_compilation *compilation)
{
    const struct kt_rtc_api *compiler = compilation->compiler;
    kt_rtc_program program = NULL;
    *out = (struct kt_binary){0};
    const kt_rtc_result result = compiler->create(
        &program, compilation->text, compilation->name, (int)compilation->header_names.count,
        (const char *const *)compilation->header_texts.texts, (const char *const *)compilation->header_names.texts);
    if (result != KT_RTC_SUCCESS)
        return fail_rtc(compiler, result, "creating a program");
    const int status = run(out, compilation, program);
    compiler->destroy(&program);
    return status;
}

void kt_binary_free(struct kt_binary *binary)
{
    free(binary->image);
    free(binary->log);
    kt_program_texts_free(&binary->kernels);
    kt_program_texts_free(&binary->lowered);
    *binary = (struct kt_binary){0};
}
