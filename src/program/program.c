/* program.c - ktrace_program: which specialization a caller gets, and how many there are of each. */
#include "program.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "error.h"
#include "obtain.h"
#include "program_explain.h"

/* A binary, loaded in one place. */
struct instance {
    struct instance *next;
    struct kt_program_place place;
    void *module;
    int attached;
};

/* What one compilation made: some kernels, traced or not, for one architecture. */
struct unit {
    struct unit *next;
    int traced;
    char architecture[sizeof((struct kt_program_place *)NULL)->architecture];
    char *kernel; /* for which it was compiled, beside those that the source names */
    enum { COMPILING, READY, REFUSED } state;
    char sentence[1024]; /* why it was refused */
    struct kt_binary binary;
    struct instance *instances;
};

/* Loading and attaching happen with the lock held, compilations without. The lock comes before all of locks.h. */
struct ktrace_program {
    struct kt_program_source source;
    pthread_mutex_t lock;
    pthread_cond_t compiled;                /* a unit is no longer COMPILING */
    const struct kt_program_target *target; /* NULL: not chosen yet */
    struct unit *units;
    const char *log; /* some unit's */
    struct ktrace_program_info info;
    char not_cached[KT_NOT_SELF_CONTAINED_BYTES]; /* written once */
};

/* What is asked for. */
struct wanted {
    struct kt_program_place place;
    int traced;
    const char *kernel;
};

/* ---- Units ------------------------------------------------------------------------------------------------------ */

static int is_for(const struct unit *unit, const struct wanted *wanted)
{
    return unit->traced == wanted->traced && strcmp(unit->architecture, wanted->place.architecture) == 0;
}

static struct unit *with_kernel(const struct ktrace_program *program, const struct wanted *wanted)
{
    const int is_named = kt_program_texts_have(&program->source.kernels, wanted->kernel);
    for (struct unit *unit = program->units; unit; unit = unit->next)
        if (is_for(unit, wanted) && (strcmp(unit->kernel, wanted->kernel) == 0 || (is_named && unit->state != REFUSED)))
            return unit;
    return NULL;
}

static int is_compiling(const struct ktrace_program *program, const struct wanted *wanted)
{
    const struct unit *unit = program->units;
    while (unit && !(is_for(unit, wanted) && unit->state == COMPILING))
        unit = unit->next;
    return unit != NULL;
}

static void free_unit(struct unit *unit)
{
    kt_binary_free(&unit->binary);
    free(unit->kernel);
    free(unit);
}

static struct unit *add_unit(struct ktrace_program *program, const struct wanted *wanted)
{
    struct unit *unit = kt_array_new_zeroed(1, sizeof *unit);
    char *kernel = strdup(wanted->kernel);
    if (unit == NULL || kernel == NULL) {
        free(unit);
        free(kernel);
        kt_fail_memory(sizeof *unit);
        return NULL;
    }
    unit->traced = wanted->traced;
    unit->kernel = kernel;
    memcpy(unit->architecture, wanted->place.architecture, sizeof unit->architecture);
    unit->next = program->units;
    program->units = unit;
    return unit;
}

static void remove_unit(struct ktrace_program *program, struct unit *unit)
{
    struct unit **link = &program->units;
    while (*link != unit)
        link = &(*link)->next;
    *link = unit->next;
    free_unit(unit);
}

static void account(struct ktrace_program *program, const struct kt_obtained *obtained)
{
    program->info.compilations += (uint64_t)obtained->compiled;
    program->info.disk_hits += (uint64_t)obtained->found;
    program->info.disk_writes += (uint64_t)obtained->written;
    program->info.disk_failures += (uint64_t)obtained->write_failed;
    if (*obtained->not_cached && !*program->not_cached)
        memcpy(program->not_cached, obtained->not_cached, sizeof program->not_cached);
}

/* Gives the lock back meanwhile. What the compiler refuses it will refuse again; other failures may pass. */
static int compile(struct ktrace_program *program, const struct wanted *wanted)
{
    struct unit *unit = add_unit(program, wanted);
    struct kt_binary binary;
    struct kt_obtained obtained;
    if (unit == NULL)
        return KTRACE_ERROR_MEMORY;
    pthread_mutex_unlock(&program->lock);
    const int status = kt_obtain(&binary, &obtained, &program->source, program->target, unit->architecture,
                                 unit->traced, unit->kernel);
    pthread_mutex_lock(&program->lock);
    account(program, &obtained);
    unit->binary = binary;
    if (status == KTRACE_OK) {
        unit->state = READY;
    } else if (status == KTRACE_ERROR_COMPILE) {
        unit->state = REFUSED;
        strncat(unit->sentence, ktrace_last_error(), sizeof unit->sentence - 1);
    }
    if (unit->state == COMPILING)
        remove_unit(program, unit);
    else
        program->log = unit->binary.log;
    pthread_cond_broadcast(&program->compiled);
    return status;
}

/* ---- Modules ---------------------------------------------------------------------------------------------------- */

/* What the place's context took with it stays in the list and is never found: ids are not used twice. */
static struct instance *loaded(const struct unit *unit, const struct kt_program_place *place)
{
    struct instance *instance = unit->instances;
    while (instance && instance->place.id != place->id)
        instance = instance->next;
    return instance;
}

/* A program without annotations has nothing to attach, and is no less a program. */
static int attach(struct instance *instance, const struct kt_program_target *target)
{
    const int status = target->attach(instance->module);
    instance->attached = status == KTRACE_OK;
    return status == KTRACE_ERROR_NOT_FOUND ? KTRACE_OK : status;
}

static int load(struct instance **out, struct ktrace_program *program, struct unit *unit,
                const struct kt_program_place *place)
{
    struct instance *instance = kt_array_new_zeroed(1, sizeof *instance);
    if (instance == NULL)
        return KTRACE_ERROR_MEMORY;
    instance->place = *place;
    int status = program->target->load(&instance->module, unit->binary.image);
    if (status == KTRACE_OK && unit->traced) {
        status = attach(instance, program->target);
        if (status < 0)
            program->target->unload(place, instance->module);
    }
    if (status < 0) {
        free(instance);
        return status;
    }
    instance->next = unit->instances;
    unit->instances = instance;
    program->info.modules++;
    *out = instance;
    return KTRACE_OK;
}

static void unload(struct instance *instance, const struct kt_program_target *target)
{
    if (instance->attached)
        target->detach(instance->module);
    target->unload(&instance->place, instance->module);
    free(instance);
}

/* `name` as it is in machine code. */
static int function_of(void **out, struct ktrace_program *program, struct unit *unit, const struct wanted *wanted,
                       const char *name)
{
    struct instance *instance = loaded(unit, &wanted->place);
    const int status = instance ? KTRACE_OK : load(&instance, program, unit, &wanted->place);
    return status == KTRACE_OK ? program->target->function(out, instance->module, name) : status;
}

static const char *lowered(const struct unit *unit, const char *kernel)
{
    for (size_t i = 0; i < unit->binary.kernels.count; i++)
        if (strcmp(unit->binary.kernels.texts[i], kernel) == 0)
            return unit->binary.lowered.texts[i];
    return kernel;
}

/* One that is extern "C" is in every unit, also in those that were compiled for others. */
static int find_by_own_name(void **out, struct ktrace_program *program, const struct wanted *wanted)
{
    int status = KTRACE_ERROR_NOT_FOUND;
    for (struct unit *unit = program->units; unit && status == KTRACE_ERROR_NOT_FOUND; unit = unit->next)
        if (is_for(unit, wanted) && unit->state == READY)
            status = function_of(out, program, unit, wanted, wanted->kernel);
    return status;
}

/* With the lock held. */
static int find(void **out, struct ktrace_program *program, const struct wanted *wanted)
{
    for (;;) {
        struct unit *unit = with_kernel(program, wanted);
        if (unit && unit->state == READY)
            return function_of(out, program, unit, wanted, lowered(unit, wanted->kernel));
        if (unit && unit->state == REFUSED)
            return kt_fail(KTRACE_ERROR_COMPILE, "%s", unit->sentence);
        if (unit || is_compiling(program, wanted)) {
            pthread_cond_wait(&program->compiled, &program->lock);
            continue;
        }
        int status = find_by_own_name(out, program, wanted);
        if (status != KTRACE_ERROR_NOT_FOUND)
            return status;
        status = compile(program, wanted);
        if (status < 0)
            return status;
    }
}

/* ---- The public calls ------------------------------------------------------------------------------------------- */

int kt_program_create_for(struct ktrace_program **out, const char *source, const struct ktrace_program_options *options,
                          const struct kt_program_target *target)
{
    if (out == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_program_create: `out` is NULL");
    struct ktrace_program *program = kt_array_new_zeroed(1, sizeof *program);
    if (program == NULL)
        return KTRACE_ERROR_MEMORY;
    const int status = kt_program_source_copy(&program->source, source, options);
    if (status < 0) {
        free(program);
        return status;
    }
    program->target = target;
    pthread_mutex_init(&program->lock, NULL);
    pthread_cond_init(&program->compiled, NULL);
    *out = program;
    return KTRACE_OK;
}

int ktrace_program_create(struct ktrace_program **out, const char *source, const struct ktrace_program_options *options)
{
    return kt_program_create_for(out, source, options, NULL);
}

static int is_traced(const struct ktrace_program *program)
{
    if (program->source.trace == KTRACE_PROGRAM_TRACE_AUTO)
        return ktrace_active();
    return program->source.trace == KTRACE_PROGRAM_TRACE_ALWAYS;
}

int ktrace_program_kernel(void **function, struct ktrace_program *program, const char *kernel)
{
    if (function == NULL || program == NULL || kernel == NULL || !*kernel)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_program_kernel: %s",
                       function == NULL  ? "`function` is NULL"
                       : program == NULL ? "the program is NULL"
                       : kernel == NULL  ? "the kernel's name is NULL"
                                         : "the kernel's name is empty");
    struct wanted wanted = {.traced = is_traced(program), .kernel = kernel};
    void *found = NULL;
    int status = KTRACE_OK;
    pthread_mutex_lock(&program->lock);
    if (program->target == NULL)
        status = kt_program_target_choose(&program->target, program->source.backend);
    if (status == KTRACE_OK)
        status = program->target->current(&wanted.place);
    if (status == KTRACE_OK)
        status = find(&found, program, &wanted);
    pthread_mutex_unlock(&program->lock);
    if (status < 0)
        return status;
    kt_program_note(program, kernel, program->target->arch,
                    !wanted.traced && program->source.trace == KTRACE_PROGRAM_TRACE_AUTO);
    *function = found;
    return KTRACE_OK;
}

const char *ktrace_program_log(struct ktrace_program *program)
{
    if (program == NULL)
        return "";
    pthread_mutex_lock(&program->lock);
    const char *log = program->log;
    pthread_mutex_unlock(&program->lock);
    return log ? log : "";
}

int ktrace_program_get_info(struct ktrace_program_info *out, struct ktrace_program *program)
{
    if (out == NULL || program == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_program_get_info: %s is NULL", out ? "the program" : "`out`");
    if (out->struct_size < sizeof out->struct_size)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_program_get_info: set `struct_size` of `*out` before");
    pthread_mutex_lock(&program->lock);
    struct ktrace_program_info info = program->info;
    info.not_cached = program->not_cached;
    pthread_mutex_unlock(&program->lock);
    const size_t bytes = out->struct_size;
    info.struct_size = bytes;
    if (bytes > sizeof info)
        memset((char *)out + sizeof info, 0, bytes - sizeof info);
    memcpy(out, &info, bytes < sizeof info ? bytes : sizeof info);
    return KTRACE_OK;
}

void ktrace_program_destroy(struct ktrace_program *program)
{
    if (program == NULL)
        return;
    kt_program_forget(program);
    while (program->units) {
        struct unit *unit = program->units;
        program->units = unit->next;
        while (unit->instances) {
            struct instance *instance = unit->instances;
            unit->instances = instance->next;
            unload(instance, program->target);
        }
        free_unit(unit);
    }
    kt_program_source_free(&program->source);
    pthread_cond_destroy(&program->compiled);
    pthread_mutex_destroy(&program->lock);
    free(program);
}
