#include "hiprtc_clang.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hiprtc_folder.h"
#include "hiprtc_names.h"

extern char **environ;

/* ---- Which clang ------------------------------------------------------------------------------------------------ */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char clang[SIM_PATH_BYTES]; /* "": none */
static char identity[SIM_PATH_BYTES + 64];

static int is_program(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

static int find_in_path(const char *name)
{
    const char *folders = getenv("PATH");
    for (const char *folder = folders ? folders : ""; *folder;) {
        const size_t length = strcspn(folder, ":");
        snprintf(clang, sizeof clang, "%.*s/%s", (int)length, folder, name);
        if (length && is_program(clang))
            return 1;
        folder += length + (folder[length] == ':');
    }
    return 0;
}

static int find_wanted(const char *wanted)
{
    if (strchr(wanted, '/') == NULL)
        return find_in_path(wanted);
    snprintf(clang, sizeof clang, "%s", wanted);
    return is_program(clang);
}

static void find_clang(void)
{
    /* 20 is the first that knows gfx950. */
    static const char *const names[] = {
        "clang-22", "clang-23", "clang-21", "clang-20", "clang-19", "/opt/rocm/llvm/bin/clang", "clang"};
    const char *wanted = getenv("KTRACE_SIM_CLANG");
    int found = wanted && *wanted && find_wanted(wanted);
    for (size_t i = 0; !(wanted && *wanted) && i < sizeof names / sizeof names[0] && !found; i++)
        found = find_wanted(names[i]);
    struct stat facts;
    if (!found || stat(clang, &facts) < 0)
        clang[0] = 0;
    else
        snprintf(identity, sizeof identity, "%lld %lld %s", (long long)facts.st_size, (long long)facts.st_mtime, clang);
}

const char *ktrace_simulator_compiler(void)
{
    pthread_once(&once, find_clang);
    return identity;
}

/* ---- Arguments -------------------------------------------------------------------------------------------------- */

#define OWN_ARGUMENTS 32

struct arguments {
    char **items;
    size_t count;
    int failed;
};

__attribute__((format(printf, 2, 3))) static void add(struct arguments *arguments, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    char *text;
    if (vasprintf(&text, format, values) < 0)
        arguments->failed = 1;
    else
        arguments->items[arguments->count++] = text;
    va_end(values);
}

static void free_arguments(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->items[i]);
    free(arguments->items);
}

/* Ends with a NULL. File names are those of what the program was given: the folder's would be others every time. */
static hiprtcResult make_arguments(struct arguments *out, const char *folder, const char *const *options, size_t count)
{
    out->items = calloc(OWN_ARGUMENTS + count, sizeof *out->items);
    if (out->items == NULL)
        return HIPRTC_ERROR_OUT_OF_MEMORY;
    static const char *const own[] = {"-x",
                                      "hip",
                                      "--cuda-device-only",
                                      "--no-gpu-bundle-output",
                                      "-nogpuinc",
                                      "-nogpulib",
                                      "-fuse-cuid=none",
                                      "-fdeclspec",
                                      "-D__HIPCC_RTC__=1",
                                      "-fno-color-diagnostics",
                                      "-O3"};
    add(out, "%s", clang);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        add(out, "%s", own[i]);
    add(out, "-ffile-prefix-map=%s/" SIM_HIPRTC_HEADERS "/=", folder);
    add(out, "-ffile-prefix-map=%s/=", folder);
    for (const struct sim_hiprtc_text *text = sim_hiprtc_prelude; text->name; text++) {
        add(out, "-include");
        add(out, "%s/%s", folder, text->name);
    }
    add(out, "-I%s/" SIM_HIPRTC_HEADERS, folder);
    for (size_t i = 0; i < count; i++)
        add(out, "%s", options[i]);
    add(out, "%s/" SIM_HIPRTC_SOURCE, folder);
    add(out, "-o");
    add(out, "%s/" SIM_HIPRTC_CODE, folder);
    return out->failed ? HIPRTC_ERROR_OUT_OF_MEMORY : HIPRTC_SUCCESS;
}

/* ---- The run ---------------------------------------------------------------------------------------------------- */

/* 0: it ran and was content. What it says goes to the folder's log. */
static int spawn(char *const *arguments, const char *folder)
{
    posix_spawn_file_actions_t actions;
    char log[SIM_PATH_BYTES];
    pid_t child;
    int state = -1;
    snprintf(log, sizeof log, "%s/" SIM_HIPRTC_LOG, folder);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (posix_spawn(&child, arguments[0], &actions, NULL, arguments, environ) == 0)
        while (waitpid(child, &state, 0) < 0 && errno == EINTR)
            ;
    posix_spawn_file_actions_destroy(&actions);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

/* The folder's name in what clang says is of no use to anybody, and another one every time. */
static void hide_folder(char *log, const char *folder)
{
    static const char *const below[] = {"/" SIM_HIPRTC_HEADERS "/", "/"};
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        char path[SIM_PATH_BYTES];
        snprintf(path, sizeof path, "%s%s", folder, below[i]);
        for (char *place = strstr(log, path); place; place = strstr(place, path))
            memmove(place, place + strlen(path), strlen(place + strlen(path)) + 1);
    }
}

static char *say(const char *sentence, const char *what)
{
    char *text = NULL;
    return asprintf(&text, sentence, what) < 0 ? NULL : text;
}

static hiprtcResult compile(struct sim_hiprtc_output *out, const char *folder, const char *const *options, size_t count)
{
    struct arguments arguments = {0};
    hiprtcResult result = make_arguments(&arguments, folder, options, count);
    const int failed = result == HIPRTC_SUCCESS ? spawn(arguments.items, folder) : 0;
    free_arguments(&arguments);
    if (result != HIPRTC_SUCCESS)
        return result;
    size_t log_bytes;
    out->log = (char *)sim_hiprtc_read(&log_bytes, folder, SIM_HIPRTC_LOG);
    if (out->log)
        hide_folder(out->log, folder);
    if (failed == 0)
        out->code = sim_hiprtc_read(&out->code_bytes, folder, SIM_HIPRTC_CODE);
    if (out->code)
        return HIPRTC_SUCCESS;
    if (out->log == NULL || !*out->log) {
        free(out->log);
        out->log = say("error: %s could not be run", clang);
        return HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE;
    }
    return HIPRTC_ERROR_COMPILATION;
}

hiprtcResult sim_hiprtc_run_clang(struct sim_hiprtc_output *out, const struct sim_hiprtc_source *source,
                                  const char *const *options, size_t option_count)
{
    char folder[SIM_FOLDER_BYTES];
    *out = (struct sim_hiprtc_output){0};
    ktrace_simulator_compiler();
    if (!*clang) {
        const char *wanted = getenv("KTRACE_SIM_CLANG");
        out->log =
            wanted && *wanted
                ? say("error: KTRACE_SIM_CLANG names no program that can be run: %s", wanted)
                : say("error: the simulator compiles with %s, which is not in PATH: install clang-22 and lld-22, or "
                      "set KTRACE_SIM_CLANG to a clang that knows gfx942",
                      "clang-22");
        return HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE;
    }
    if (sim_hiprtc_folder_make(folder) < 0) {
        out->log = say("error: no folder for the compiler can be made below %s", sim_hiprtc_folder_parent());
        return HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE;
    }
    hiprtcResult result = HIPRTC_SUCCESS;
    if (sim_hiprtc_write_source(folder, source) < 0) {
        out->log = say("error: the compiler's input cannot be written to %s", folder);
        result = HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE;
    }
    if (result == HIPRTC_SUCCESS)
        result = compile(out, folder, options, option_count);
    sim_hiprtc_folder_remove(folder);
    return result;
}
