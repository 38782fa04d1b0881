#include "fake_program.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "string_builder.h"

struct fake_program fake;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct kt_program_place here = {.id = 1, .architecture = "sm_90"};

void fake_program_reset(void)
{
    memset(&fake, 0, sizeof fake);
    sem_init(&fake.entered, 0, 0);
    sem_init(&fake.release, 0, 0);
    fake_program_go(1, "sm_90");
}

void fake_program_go(uint64_t id, const char *architecture)
{
    here = (struct kt_program_place){.id = id};
    snprintf(here.architecture, sizeof here.architecture, "%s", architecture);
}

static void count(int *counter, int by)
{
    pthread_mutex_lock(&lock);
    *counter += by;
    pthread_mutex_unlock(&lock);
}

/* ---- The compiler ----------------------------------------------------------------------------------------------- */

struct program {
    struct kt_string image; /* grows while the program is described */
    struct kt_string log;
    char lowered[16][64];
    int names, is_bad;
};

static int version(int *major, int *minor)
{
    *major = 1;
    *minor = 2;
    return KT_RTC_SUCCESS;
}

static int create(kt_rtc_program *out, const char *source, const char *name, int headers, const char *const *texts,
                  const char *const *names)
{
    struct program *program = calloc(1, sizeof *program);
    kt_string_printf(&program->image, "name %s\n", name);
    for (int i = 0; i < headers; i++)
        kt_string_printf(&program->image, "header %s of %zu bytes\n", names[i], strlen(texts[i]));
    kt_string_printf(&program->image, "source %s\n", source);
    program->is_bad = strstr(source, "ERROR") != NULL;
    if (strstr(source, "WARNING"))
        kt_string_printf(&program->log, "%s(1): warning: careful\n", name);
    count(&fake.programs, 1);
    *out = program;
    return KT_RTC_SUCCESS;
}

static int destroy(kt_rtc_program *out)
{
    struct program *program = *out;
    kt_string_destroy(&program->image);
    kt_string_destroy(&program->log);
    free(program);
    count(&fake.programs, -1);
    *out = NULL;
    return KT_RTC_SUCCESS;
}

/* As NVRTC and hipRTC do: a plain name is mangled, unless the source makes it extern "C". */
static int add_name(kt_rtc_program out, const char *name)
{
    struct program *program = out;
    char plain[64];
    snprintf(plain, sizeof plain, "extern \"C\" void %s(", name);
    const int is_plain = strstr(kt_string_text(&program->image), plain) != NULL;
    snprintf(program->lowered[program->names++], 64, "%s%s", is_plain ? "" : "_Z", name);
    kt_string_printf(&program->image, "kernel %s%s;\n", is_plain ? "" : "_Z", name);
    program->is_bad |= strcmp(name, "nosuch") == 0;
    return KT_RTC_SUCCESS;
}

static int compile(kt_rtc_program out, int option_count, const char *const *options)
{
    struct program *program = out;
    count(&fake.compilations, 1);
    if (fake.holds) {
        sem_post(&fake.entered);
        sem_wait(&fake.release);
    }
    for (int i = 0; i < option_count; i++)
        kt_string_printf(&program->image, "option %s\n", options[i]);
    if (fake.result == KT_RTC_SUCCESS && !program->is_bad)
        return KT_RTC_SUCCESS;
    kt_string_append(&program->log, "while compiling\nprogram.cu(3): error: no such thing\n  thing\n2 errors\n");
    return fake.result ? fake.result : KT_RTC_ERROR_COMPILATION;
}

static int log_bytes(kt_rtc_program program, size_t *bytes)
{
    *bytes = ((struct program *)program)->log.length + 1;
    return KT_RTC_SUCCESS;
}

static int get_log(kt_rtc_program program, char *log)
{
    strcpy(log, kt_string_text(&((struct program *)program)->log));
    return KT_RTC_SUCCESS;
}

static int code_bytes(kt_rtc_program program, size_t *bytes)
{
    *bytes = ((struct program *)program)->image.length + 1;
    return KT_RTC_SUCCESS;
}

static int code(kt_rtc_program program, char *image)
{
    strcpy(image, kt_string_text(&((struct program *)program)->image));
    return KT_RTC_SUCCESS;
}

static int lowered_name(kt_rtc_program out, const char *name, const char **lowered)
{
    struct program *program = out;
    for (int i = 0; i < program->names; i++) {
        const char *known = program->lowered[i];
        if (strcmp(known, name) == 0 || (strncmp(known, "_Z", 2) == 0 && strcmp(known + 2, name) == 0)) {
            *lowered = known;
            return KT_RTC_SUCCESS;
        }
    }
    return 10; /* ..._NAME_EXPRESSION_NOT_VALID */
}

static const char *error_text(int result)
{
    return result == KT_RTC_ERROR_INVALID_OPTION ? "an invalid option" : "something";
}

struct kt_rtc_api fake_compiler = {
    .version = version,
    .create = create,
    .destroy = destroy,
    .add_name = add_name,
    .compile = compile,
    .log_bytes = log_bytes,
    .log = get_log,
    .code_bytes = code_bytes,
    .code = code,
    .lowered_name = lowered_name,
    .error_text = error_text,
    .label = "FakeRTC",
    .identity = "FakeRTC 1.2",
};

/* ---- The device ------------------------------------------------------------------------------------------------- */

static int open_compiler(const struct kt_rtc_api **out)
{
    *out = &fake_compiler;
    return fake.open_status ? kt_fail(fake.open_status, "there is no FakeRTC") : KTRACE_OK;
}

static int check(void)
{
    return KTRACE_OK;
}

static int current(struct kt_program_place *out)
{
    *out = here;
    return KTRACE_OK;
}

static int load(void **module, const void *image)
{
    count(&fake.loads, 1);
    *module = strdup(image);
    return KTRACE_OK;
}

/* Its address is that of its line in the image. */
static int function(void **out, void *module, const char *name)
{
    char line[96];
    snprintf(line, sizeof line, "kernel %s;", name);
    char *found = strstr(module, line);
    if (found == NULL) {
        snprintf(line, sizeof line, "extern \"C\" void %s(", name);
        found = strstr(module, line);
    }
    *out = found;
    return found ? KTRACE_OK : kt_fail(KTRACE_ERROR_NOT_FOUND, "no kernel %s", name);
}

const char *fake_image_of(const void *function)
{
    const char *image = function;
    while (strncmp(image, "name ", 5) != 0) /* with which it begins, and no line of it */
        image--;
    return image;
}

static int attach(void *module)
{
    (void)module;
    count(&fake.attaches, 1);
    return fake.attach_status ? kt_fail(fake.attach_status, "cannot be attached") : KTRACE_OK;
}

static int detach(void *module)
{
    (void)module;
    count(&fake.detaches, 1);
    return KTRACE_OK;
}

static void unload(const struct kt_program_place *place, void *module)
{
    (void)place;
    count(&fake.unloads, 1);
    free(module);
}

const struct kt_program_target fake_target = {
    .backend = "cuda",
    .arch = KTRACE_ARCH_NVIDIA,
    .source_name = "program.cu",
    .architecture_option = "--gpu-architecture=",
    .open_compiler = open_compiler,
    .check = check,
    .current = current,
    .load = load,
    .function = function,
    .attach = attach,
    .detach = detach,
    .unload = unload,
};
