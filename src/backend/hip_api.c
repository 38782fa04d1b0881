#include "hip_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../error.h"
#include "step.h"

#define SIMULATOR "libktrace_sim.so"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct kt_hip_api table;
static char table_path[PATH_MAX];
static int open_status;
static char open_reason[1024];
static char passed_over[sizeof open_reason];

/* What is in `open_reason` may be among the arguments. */
__attribute__((format(printf, 1, 2))) static void explain(const char *format, ...)
{
    char reason[sizeof open_reason];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    memcpy(open_reason, reason, sizeof reason);
}

/* ---- One library ------------------------------------------------------------------------------------------------- */

static int resolve(struct kt_hip_api *api, void *library, const char *name)
{
    struct {
        const char *name;
        void **slot;
    } const functions[] = {
#define KT_HIP_ENTRY(field, exported, parameters) {#exported, (void **)(void *)&api->field},
        KT_HIP_FUNCTIONS(KT_HIP_ENTRY) KT_HIP_TEXT_FUNCTIONS(KT_HIP_ENTRY)
#undef KT_HIP_ENTRY
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        *functions[i].slot = dlsym(library, functions[i].name);
        if (*functions[i].slot == NULL) {
            explain("%s has no %s: HIP 5 or newer is needed", name, functions[i].name);
            return KTRACE_ERROR_NO_DEVICE;
        }
    }
    return KTRACE_OK;
}

/* Descriptors of annotations lie in a section without a symbol: hipMemcpy copies between allocations, and variables that
 * have a symbol with a size, but does not know the rest of a loaded code object. HSA's loader does. */
static int resolve_loader(struct kt_hip_api *api, void *library, const char *name)
{
    kt_hsa_get_extension_table *get_table;
    *(void **)(void *)&get_table = dlsym(library, "hsa_system_get_major_extension_table");
    if (get_table == NULL ||
        get_table(KT_HSA_EXTENSION_AMD_LOADER, 1, sizeof api->loader, &api->loader) != KT_HIP_SUCCESS ||
        api->loader.query_host_address == NULL) {
        explain("%s gives no access to HSA's loader extension, which ktrace reads annotations with", name);
        return KTRACE_ERROR_NO_DEVICE;
    }
    return KTRACE_OK;
}

static int check_device(const struct kt_hip_api *api, void *library, const char *name)
{
    const char *(*simulator_error)(void);
    *(void **)(void *)&simulator_error = dlsym(library, "ktrace_simulator_error");
    int count = 0;
    kt_step(name, "started");
    kt_hip_result result = api->init(0);
    if (result == KT_HIP_SUCCESS)
        result = api->device_count(&count);
    if (result == KT_HIP_SUCCESS && count > 0)
        return KTRACE_OK;
    int status = KTRACE_ERROR_NO_DEVICE;
    if (simulator_error && *simulator_error()) { /* it has a device always, but for what it was told */
        explain("%s could not start: %s", name, simulator_error());
        status = KTRACE_ERROR_ARGUMENT;
    } else {
        explain("%s finds no AMD device (%s): is the driver loaded, and may this user open /dev/kfd?", name,
                result == KT_HIP_SUCCESS ? "it counts none" : api->error_text(result));
    }
    kt_hip_forget(api, result);
    return status;
}

/* Takes this library if it can be used; otherwise `open_reason` says why not. */
static int try_handle(void *library, const char *name)
{
    struct kt_hip_api api = {.path = table_path};
    const struct link_map *map = NULL;
    int status = resolve(&api, library, name);
    if (status == KTRACE_OK)
        status = check_device(&api, library, name);
    if (status == KTRACE_OK)
        status = resolve_loader(&api, library, name);
    if (status < 0)
        return status;
    const int found = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0];
    snprintf(table_path, sizeof table_path, "%s", found ? map->l_name : name);
    api.simulated = dlsym(library, "ktrace_simulator") != NULL;
    table = api;
    return KTRACE_OK;
}

/* Libraries stay open, used or not: runtimes with threads of their own do not take well to being closed. */
static int try_open(const char *name)
{
    kt_step(name, "loaded");
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        explain("%s", reason ? reason : name);
        return KTRACE_ERROR_NO_DEVICE;
    }
    return try_handle(library, name);
}

/* ---- The choice -------------------------------------------------------------------------------------------------- */

static const char *const rocm_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};
enum { ROCM_NAMES = sizeof rocm_names / sizeof rocm_names[0] };

/* What the process uses already is what it launches kernels with. 0: there is none; otherwise `*status` is that of the first
 * that can be used, or of the last. */
static int try_loaded(int *status)
{
    int found = 0;
    for (int i = 0; i <= ROCM_NAMES; i++) {
        const char *name = i < ROCM_NAMES ? rocm_names[i] : SIMULATOR;
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        if (library == NULL)
            continue;
        found = 1;
        *status = try_handle(library, name);
        if (*status == KTRACE_OK)
            break;
    }
    return found;
}

/* In a folder above a program anybody may have put a file: ours, or the system's, is what counts. */
static int is_trusted(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && (file.st_uid == 0 || file.st_uid == geteuid()) && !(file.st_mode & S_IWOTH);
}

/* Beside `file`, where installations and build folders have it. The first that is there decides: one that cannot start says why. */
static int try_beside(const char *file)
{
    /* The same folder; of an installed program, then of one in libexec/ktrace; of one in the build tree. */
    static const char *const places[] = {"", "../lib/", "../lib64/", "../../lib/", "../../lib64/", "../", "../../"};
    const char *slash = strrchr(file, '/');
    char place[PATH_MAX], path[PATH_MAX];
    int status = KTRACE_ERROR_NO_DEVICE;
    for (size_t i = 0; slash && i < sizeof places / sizeof places[0] && status == KTRACE_ERROR_NO_DEVICE; i++) {
        const int length = snprintf(place, sizeof place, "%.*s/%s%s", (int)(slash - file), file, places[i], SIMULATOR);
        if (length < (int)sizeof place && realpath(place, path) && is_trusted(path))
            status = try_open(path);
    }
    return status;
}

static int try_simulator(void)
{
    Dl_info here;
    char executable[PATH_MAX];
    int status = KTRACE_ERROR_NO_DEVICE;
    if (dladdr((const void *)&table, &here) && here.dli_fname)
        status = try_beside(here.dli_fname);
    const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
    if (status == KTRACE_ERROR_NO_DEVICE && length > 0) {
        executable[length] = 0;
        status = try_beside(executable);
    }
    return status == KTRACE_ERROR_NO_DEVICE ? try_open(SIMULATOR) : status;
}

static void open_once(void)
{
    const char *wanted = getenv("KTRACE_HIP_LIBRARY");
    if (wanted && *wanted) {
        open_status = try_open(wanted);
        if (open_status < 0)
            explain("KTRACE_HIP_LIBRARY names a library that cannot be used: %s", open_reason);
        return;
    }
    if (try_loaded(&open_status)) {
        if (open_status < 0)
            explain("the HIP runtime that this process has loaded cannot be used: %s", open_reason);
        return;
    }
    open_status = KTRACE_ERROR_NO_DEVICE;
    for (int i = 0; i < ROCM_NAMES && open_status < 0; i++)
        open_status = try_open(rocm_names[i]);
    if (open_status == KTRACE_OK)
        return;
    memcpy(passed_over, open_reason, sizeof passed_over);
    open_status = try_simulator();
    if (open_status == KTRACE_ERROR_NO_DEVICE)
        explain("no AMD device (%s) and no simulator (%s): install ROCm (AMD's package rocm-hip-runtime), or set "
                "KTRACE_HIP_LIBRARY to the path "
                "of " SIMULATOR,
                passed_over, open_reason);
}

int kt_hip_api_open(const struct kt_hip_api **out)
{
    pthread_once(&once, open_once);
    if (open_status < 0)
        return kt_fail(open_status, "%s", open_reason);
    *out = &table;
    return KTRACE_OK;
}

int kt_hip_fail(const struct kt_hip_api *api, kt_hip_result result, const char *attempted)
{
    const char *name = api->error_name(result), *text = api->error_text(result);
    kt_hip_forget(api, result);
    if (result >= KT_HIP_ERROR_STREAM_CAPTURE_FIRST && result <= KT_HIP_ERROR_STREAM_CAPTURE_LAST)
        return kt_fail(
            KTRACE_ERROR_STATE,
            "%s is not possible while a stream is being captured into a HIP graph (%s): begin, read and clear captures "
            "outside graph construction",
            attempted, name ? name : "stream capture");
    return kt_fail(KTRACE_ERROR_DEVICE, "%s failed: %s (%s)", attempted, text ? text : "unknown error",
                   name ? name : "?");
}

const char *kt_hip_api_passed_over(void)
{
    return passed_over;
}

int ktrace_hip_library(const char **path)
{
    const struct kt_hip_api *api;
    if (path == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_hip_library: `path` is NULL");
    const int status = kt_hip_api_open(&api);
    if (status == KTRACE_OK)
        *path = api->path;
    return status;
}
