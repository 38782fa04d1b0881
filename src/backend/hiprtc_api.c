#include "hiprtc_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../error.h"
#include "hip_api.h"
#include "step.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct kt_rtc_api table;
static int open_status;
static char open_reason[1024];

static int try_open(const char *name)
{
    kt_step(name, "loaded");
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return library ? kt_rtc_resolve(&table, library, KT_RTC_AMD, name) : KTRACE_ERROR_NOT_FOUND;
}

/* Of the same ROCm, so from its folder before any other. */
static int try_separate(const char *hip_path)
{
    static const char *const names[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"};
    enum { NAMES = sizeof names / sizeof names[0] };
    const char *slash = strrchr(hip_path, '/');
    char path[PATH_MAX];
    int status = KTRACE_ERROR_NOT_FOUND;
    for (int i = 0; i < NAMES && slash && status < 0; i++)
        if (snprintf(path, sizeof path, "%.*s/%s", (int)(slash - hip_path), hip_path, names[i]) < (int)sizeof path)
            status = try_open(path);
    for (int i = 0; i < NAMES && status < 0; i++)
        status = try_open(names[i]);
    return status;
}

static void open_once(void)
{
    const struct kt_hip_api *hip;
    open_status = kt_hip_api_open(&hip);
    if (open_status < 0) {
        snprintf(open_reason, sizeof open_reason, "%s", ktrace_last_error());
        return;
    }
    open_status = hip->simulated ? KTRACE_ERROR_NOT_FOUND : try_separate(hip->path);
    if (open_status < 0)
        open_status = try_open(hip->path);
    if (open_status == KTRACE_OK)
        return;
    open_status = KTRACE_ERROR_UNSUPPORTED;
    snprintf(
        open_reason, sizeof open_reason,
        "HIP programs are compiled by hipRTC, and neither libhiprtc.so was found nor has %s it: install ROCm's package "
        "hip-runtime-amd",
        hip->path);
}

int kt_hiprtc_open(const struct kt_rtc_api **out)
{
    pthread_once(&once, open_once);
    if (open_status < 0)
        return kt_fail(open_status, "%s", open_reason);
    *out = &table;
    return KTRACE_OK;
}
