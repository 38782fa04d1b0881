#include "nvrtc_api.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../error.h"
#include "step.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct kt_rtc_api table;
static int open_status;
static char open_reason[1024];

/* Newest first. CUDA 11's library kept the name of 11.2, the first that makes machine code and not PTX alone. */
static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
enum { NAMES = sizeof names / sizeof names[0] };

/* Where it lies below a folder of an installation: CUDA's own and conda's; pip's nvidia-cuda-nvrtc, as of CUDA 13 and before. */
static const char *const folders[] = {"lib64",
                                      "targets/x86_64-linux/lib",
                                      "lib",
                                      "lib/python3*/site-packages/nvidia/cu13/lib",
                                      "lib/python3*/site-packages/nvidia/cuda_nvrtc/lib",
                                      "lib/python3*/dist-packages/nvidia/cu13/lib",
                                      "lib/python3*/dist-packages/nvidia/cuda_nvrtc/lib"};

/* NVRTC opens a second library by its name, libnvrtc-builtins.so.13.0, which the loader does not look for beside the first. It finds
 * what is loaded already. */
static void open_builtins(const char *path)
{
    const char *slash = strrchr(path, '/');
    int major = 0, minor = 0;
    char builtins[PATH_MAX];
    if (slash == NULL || table.version(&major, &minor) != KT_RTC_SUCCESS)
        return;
    if (snprintf(builtins, sizeof builtins, "%.*s/libnvrtc-builtins.so.%d.%d", (int)(slash - path), path, major,
                 minor) < (int)sizeof builtins)
        dlopen(builtins, RTLD_NOW | RTLD_LOCAL);
}

static int try_open(const char *name, int flags)
{
    if (!(flags & RTLD_NOLOAD))
        kt_step(name, "loaded");
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
    if (library == NULL)
        return KTRACE_ERROR_NOT_FOUND;
    const int status = kt_rtc_resolve(&table, library, KT_RTC_NVIDIA, name);
    if (status == KTRACE_OK)
        open_builtins(name);
    return status;
}

static int try_folder(const char *base, const char *folder)
{
    int status = KTRACE_ERROR_NOT_FOUND;
    for (size_t i = 0; i < NAMES && status == KTRACE_ERROR_NOT_FOUND; i++) {
        char pattern[PATH_MAX];
        glob_t found;
        const int length = snprintf(pattern, sizeof pattern, "%s/%s/%s", base, folder, names[i]);
        if (length >= (int)sizeof pattern || glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t j = found.gl_pathc; j > 0 && status == KTRACE_ERROR_NOT_FOUND; j--) /* the newest Python */
            status = try_open(found.gl_pathv[j - 1], 0);
        globfree(&found);
    }
    return status;
}

static int try_below(const char *base)
{
    int status = KTRACE_ERROR_NOT_FOUND;
    for (size_t i = 0; base && *base && i < sizeof folders / sizeof folders[0] && status == KTRACE_ERROR_NOT_FOUND; i++)
        status = try_folder(base, folders[i]);
    return status;
}

/* This process's Python, if it is one, has its packages beside its interpreter: bin/python3. */
static int try_executable(void)
{
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return KTRACE_ERROR_NOT_FOUND;
        *slash = 0;
    }
    return try_below(path);
}

static int try_places(void)
{
    static const char *const variables[] = {"CUDA_PATH", "CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"};
    int status = KTRACE_ERROR_NOT_FOUND;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && status == KTRACE_ERROR_NOT_FOUND; i++)
        status = try_below(getenv(variables[i]));
    if (status == KTRACE_ERROR_NOT_FOUND)
        status = try_executable();
    if (status == KTRACE_ERROR_NOT_FOUND)
        status = try_below("/usr/local/cuda");
    if (status == KTRACE_ERROR_NOT_FOUND)
        status = try_below("/usr/local");
    if (status == KTRACE_ERROR_NOT_FOUND && getenv("HOME")) {
        char base[PATH_MAX];
        if (snprintf(base, sizeof base, "%s/.local", getenv("HOME")) < (int)sizeof base)
            status = try_below(base);
    }
    return status;
}

static int search(void)
{
    int status = KTRACE_ERROR_NOT_FOUND;
    for (size_t i = 0; i < NAMES && status == KTRACE_ERROR_NOT_FOUND; i++)
        status = try_open(names[i], RTLD_NOLOAD);
    for (size_t i = 0; i < NAMES && status == KTRACE_ERROR_NOT_FOUND; i++)
        status = try_open(names[i], 0);
    return status == KTRACE_ERROR_NOT_FOUND ? try_places() : status;
}

static void open_once(void)
{
    const char *wanted = getenv("KTRACE_NVRTC_LIBRARY");
    open_status = wanted && *wanted ? try_open(wanted, 0) : search();
    if (open_status == KTRACE_OK)
        return;
    const int found = open_status != KTRACE_ERROR_NOT_FOUND; /* but of no use */
    open_status = KTRACE_ERROR_UNSUPPORTED;
    if (wanted && *wanted)
        snprintf(open_reason, sizeof open_reason, "KTRACE_NVRTC_LIBRARY names a library that cannot be used: %s",
                 found ? ktrace_last_error() : wanted);
    else if (found)
        snprintf(open_reason, sizeof open_reason, "the NVRTC that was found cannot be used: %s", ktrace_last_error());
    else
        snprintf(
            open_reason, sizeof open_reason,
            "CUDA programs are compiled by NVRTC, and no libnvrtc.so was found: install CUDA's package cuda-nvrtc, or "
            "pip's nvidia-cuda-nvrtc, or set KTRACE_NVRTC_LIBRARY to its path");
}

int kt_nvrtc_open(const struct kt_rtc_api **out)
{
    pthread_once(&once, open_once);
    if (open_status < 0)
        return kt_fail(open_status, "%s", open_reason);
    *out = &table;
    return KTRACE_OK;
}
