#include "backend_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "locks.h"
#include "registry.h"

static const struct {
    const char *name;
    int (*open)(struct kt_backend **out);
} backends[] = {{"cuda", kt_backend_open_cuda}, {"hip", kt_backend_open_hip}};
enum { CUDA, HIP, BACKENDS };

const char *kt_backend_runtime(uint32_t arch)
{
    return arch == KTRACE_ARCH_AMDGCN ? "HIP" : "CUDA";
}

static int open_named(struct kt_backend **out, const char *name, const char *who)
{
    for (int i = 0; i < BACKENDS; i++)
        if (strcmp(name, backends[i].name) == 0)
            return backends[i].open(out);
    return kt_fail(KTRACE_ERROR_ARGUMENT, "%s asks for the backend \"%s\": there are \"cuda\" and \"hip\"", who, name);
}

static int open_first(struct kt_backend **out)
{
    char reason[512];
    if (backends[CUDA].open(out) == KTRACE_OK)
        return KTRACE_OK;
    snprintf(reason, sizeof reason, "%s", ktrace_last_error());
    const int status = backends[HIP].open(out);
    if (status < 0) {
        char second[512];
        snprintf(second, sizeof second, "%s", ktrace_last_error());
        return kt_fail(status, "there is no device to capture: %s; %s", reason, second);
    }
    return KTRACE_OK;
}

int kt_backend_choose(struct kt_backend **out, const char *wanted)
{
    const char *environment = getenv("KTRACE_BACKEND");
    if (wanted && *wanted)
        return open_named(out, wanted, "ktrace_capture_options.backend");
    if (environment && *environment)
        return open_named(out, environment, "KTRACE_BACKEND");
    uint32_t nvidia, amdgcn;
    kt_state_lock();
    kt_registry_count(&nvidia, &amdgcn);
    kt_state_unlock();
    if (nvidia && !amdgcn)
        return backends[CUDA].open(out);
    if (amdgcn && !nvidia)
        return backends[HIP].open(out);
    return open_first(out);
}
