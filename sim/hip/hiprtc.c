/* hiprtc.c - hipRTC's functions: programs, what is asked of them, and in which order that may be. */
#include "hiprtc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "hiprtc_clang.h"
#include "hiprtc_folder.h"
#include "hiprtc_names.h"

struct sim_hiprtc_program {
    struct sim_hiprtc_program *next;
    struct sim_hiprtc_source source; /* all of it copies */
    struct sim_hiprtc_output output;
    int is_compiled; /* whether it succeeded or not */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */
static struct sim_hiprtc_program *programs;

static int exists(const struct sim_hiprtc_program *program)
{
    pthread_mutex_lock(&lock);
    const struct sim_hiprtc_program *found = programs;
    while (found && found != program)
        found = found->next;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

const char *hiprtcGetErrorString(hiprtcResult result)
{
    static const char *const names[] = {
        "HIPRTC_SUCCESS",
        "HIPRTC_ERROR_OUT_OF_MEMORY",
        "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
        "HIPRTC_ERROR_INVALID_INPUT",
        "HIPRTC_ERROR_INVALID_PROGRAM",
        "HIPRTC_ERROR_INVALID_OPTION",
        "HIPRTC_ERROR_COMPILATION",
        "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
        "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
        "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
        "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
        "HIPRTC_ERROR_INTERNAL_ERROR",
    };
    return (size_t)result < sizeof names / sizeof names[0] ? names[result] : "an unknown result of hipRTC";
}

/* That of HIP 6. */
hiprtcResult hiprtcVersion(int *major, int *minor)
{
    if (major == NULL || minor == NULL)
        return HIPRTC_ERROR_INVALID_INPUT;
    *major = 6;
    *minor = 0;
    return HIPRTC_SUCCESS;
}

/* ---- Creating --------------------------------------------------------------------------------------------------- */

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; texts && i < count; i++)
        free(texts[i]);
    free(texts);
}

static void free_program(struct sim_hiprtc_program *program)
{
    free((char *)program->source.text);
    free((char *)program->source.name);
    free_texts(program->source.headers, program->source.header_count);
    free_texts(program->source.include_names, program->source.header_count);
    free_texts(program->source.expressions, program->source.expression_count);
    free(program->output.log);
    free(program->output.code);
    free(program);
}

static char **copy_texts(const char *const *texts, size_t count)
{
    char **copies = calloc(count ? count : 1, sizeof *copies);
    for (size_t i = 0; copies && i < count; i++) {
        copies[i] = strdup(texts[i]);
        if (copies[i] == NULL) {
            free_texts(copies, count);
            return NULL;
        }
    }
    return copies;
}

static int are_headers(size_t count, const char *const *headers, const char *const *names)
{
    for (size_t i = 0; i < count; i++) {
        if (headers == NULL || names == NULL || headers[i] == NULL || names[i] == NULL ||
            !sim_hiprtc_name_is_below(names[i]))
            return 0;
        for (size_t j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0)
                return 0;
    }
    return 1;
}

hiprtcResult hiprtcCreateProgram(hiprtcProgram *out, const char *source, const char *name, int header_count,
                                 const char *const *headers, const char *const *include_names)
{
    if (out == NULL || source == NULL || header_count < 0 || !are_headers((size_t)header_count, headers, include_names))
        return HIPRTC_ERROR_INVALID_INPUT;
    struct sim_hiprtc_program *program = calloc(1, sizeof *program);
    if (program == NULL)
        return HIPRTC_ERROR_OUT_OF_MEMORY;
    program->source.text = strdup(source);
    program->source.name = strdup(name && *name ? name : "CompileSource");
    program->source.header_count = (size_t)header_count;
    program->source.headers = copy_texts(headers, (size_t)header_count);
    program->source.include_names = copy_texts(include_names, (size_t)header_count);
    if (!program->source.text || !program->source.name || !program->source.headers || !program->source.include_names) {
        free_program(program);
        return HIPRTC_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&lock);
    program->next = programs;
    programs = program;
    pthread_mutex_unlock(&lock);
    *out = program;
    return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcDestroyProgram(hiprtcProgram *program)
{
    if (program == NULL)
        return HIPRTC_ERROR_INVALID_INPUT;
    pthread_mutex_lock(&lock);
    struct sim_hiprtc_program **link = &programs, *found;
    while (*link && *link != *program)
        link = &(*link)->next;
    found = *link;
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&lock);
    if (found == NULL)
        return HIPRTC_ERROR_INVALID_PROGRAM;
    free_program(found);
    *program = NULL;
    return HIPRTC_SUCCESS;
}

/* ---- Compiling -------------------------------------------------------------------------------------------------- */

hiprtcResult hiprtcAddNameExpression(hiprtcProgram program, const char *name)
{
    if (name == NULL || !*name)
        return HIPRTC_ERROR_INVALID_INPUT;
    if (!exists(program))
        return HIPRTC_ERROR_INVALID_PROGRAM;
    if (program->is_compiled)
        return HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    struct sim_hiprtc_source *source = &program->source;
    char **grown = realloc(source->expressions, (source->expression_count + 1) * sizeof *grown);
    if (grown == NULL)
        return HIPRTC_ERROR_OUT_OF_MEMORY;
    source->expressions = grown;
    grown[source->expression_count] = strdup(name);
    if (grown[source->expression_count] == NULL)
        return HIPRTC_ERROR_OUT_OF_MEMORY;
    source->expression_count++;
    return HIPRTC_SUCCESS;
}

/* The caller's options as clang has them; the last one is ours if the caller names no architecture. */
struct options {
    const char **items;
    size_t count;
    char architecture[64];
};

/* Not what names other files to compile or to write. */
static int is_allowed(const char *option)
{
    static const char *const forbidden[] = {"-o", "-c", "-S", "-E", "-x", "-M", "--cuda-host-only", "-fsyntax-only"};
    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
        if (strcmp(option, forbidden[i]) == 0)
            return 0;
    return option[0] == '-' && strncmp(option, "--output", 8) != 0;
}

static int takes_value(const char *option)
{
    static const char *const names[] = {"-D",      "-U",         "-I",     "-include", "-isystem",
                                        "-iquote", "-idirafter", "-mllvm", "-Xclang"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(option, names[i]) == 0)
            return 1;
    return 0;
}

static void add_device(struct options *out)
{
    char target[48] = "";
    if (sim_enter(SIM_CALL_QUERY) == hipSuccess)
        snprintf(target, sizeof target, "%s", sim_device_target(sim_current_device()));
    sim_leave(hipSuccess);
    snprintf(out->architecture, sizeof out->architecture, "--offload-arch=%.*s", (int)strcspn(target, ":"), target);
    out->items[out->count++] = out->architecture;
}

/* `*refused` is the first that is no option of hipRTC. */
static hiprtcResult read_options(struct options *out, int count, const char *const *given, const char **refused)
{
    static const char gpu[] = "--gpu-architecture=", offload[] = "--offload-arch=";
    int named = 0;
    out->items = calloc((size_t)count + 1, sizeof *out->items);
    if (out->items == NULL)
        return HIPRTC_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < count; i++) {
        const char *option = given[i];
        const int is_value = i > 0 && takes_value(given[i - 1]);
        if (option == NULL || (!is_value && !is_allowed(option))) {
            *refused = option ? option : "NULL";
            return HIPRTC_ERROR_INVALID_OPTION;
        }
        if (strncmp(option, gpu, sizeof gpu - 1) == 0) {
            snprintf(out->architecture, sizeof out->architecture, "%s%s", offload, option + sizeof gpu - 1);
            option = out->architecture;
        }
        named |= strncmp(option, offload, sizeof offload - 1) == 0;
        out->items[out->count++] = option;
    }
    if (!named)
        add_device(out);
    return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int option_count, const char *const *options)
{
    struct options read = {0};
    const char *refused = NULL;
    if (option_count < 0 || (option_count && options == NULL))
        return HIPRTC_ERROR_INVALID_INPUT;
    if (!exists(program))
        return HIPRTC_ERROR_INVALID_PROGRAM;
    free(program->output.log);
    free(program->output.code);
    program->output = (struct sim_hiprtc_output){0};
    program->is_compiled = 1;
    hiprtcResult result = read_options(&read, option_count, options, &refused);
    if (refused && asprintf(&program->output.log, "error: hipRTC has no option '%s'\n", refused) < 0)
        program->output.log = NULL;
    if (result == HIPRTC_SUCCESS)
        result = sim_hiprtc_run_clang(&program->output, &program->source, read.items, read.count);
    free(read.items);
    return result;
}

/* ---- Results ---------------------------------------------------------------------------------------------------- */

hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t *bytes)
{
    if (bytes == NULL)
        return HIPRTC_ERROR_INVALID_INPUT;
    if (!exists(program))
        return HIPRTC_ERROR_INVALID_PROGRAM;
    *bytes = program->output.log ? strlen(program->output.log) + 1 : 0;
    return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char *log)
{
    if (log == NULL)
        return HIPRTC_ERROR_INVALID_INPUT;
    if (!exists(program))
        return HIPRTC_ERROR_INVALID_PROGRAM;
    if (program->output.log)
        memcpy(log, program->output.log, strlen(program->output.log) + 1);
    return HIPRTC_SUCCESS;
}

static hiprtcResult check_code(hiprtcProgram program, const void *out)
{
    if (out == NULL)
        return HIPRTC_ERROR_INVALID_INPUT;
    return exists(program) && program->output.code ? HIPRTC_SUCCESS : HIPRTC_ERROR_INVALID_PROGRAM;
}

hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t *bytes)
{
    const hiprtcResult result = check_code(program, bytes);
    if (result == HIPRTC_SUCCESS)
        *bytes = program->output.code_bytes;
    return result;
}

hiprtcResult hiprtcGetCode(hiprtcProgram program, char *code)
{
    const hiprtcResult result = check_code(program, code);
    if (result == HIPRTC_SUCCESS)
        memcpy(code, program->output.code, program->output.code_bytes);
    return result;
}

hiprtcResult hiprtcGetLoweredName(hiprtcProgram program, const char *name, const char **lowered)
{
    if (name == NULL || lowered == NULL)
        return HIPRTC_ERROR_INVALID_INPUT;
    if (!exists(program))
        return HIPRTC_ERROR_INVALID_PROGRAM;
    if (program->output.code == NULL)
        return HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    const struct sim_hiprtc_source *source = &program->source;
    for (size_t i = 0; i < source->expression_count; i++) {
        if (strcmp(source->expressions[i], name) != 0)
            continue;
        *lowered = sim_hiprtc_lowered_name(program->output.code, program->output.code_bytes, i);
        return *lowered ? HIPRTC_SUCCESS : HIPRTC_ERROR_INTERNAL_ERROR;
    }
    return HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}
