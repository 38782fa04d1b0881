#include "backend_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "locks.h"
#include "registry.h"

static const struct kt_runtime *const runtimes[] = {&kt_cuda_runtime, &kt_hip_runtime};
enum { CUDA, HIP, BACKENDS };

const char *kt_backend_runtime(uint32_t arch)
{
    return arch == KTRACE_ARCH_AMDGCN ? "HIP" : "CUDA";
}

const struct kt_runtime *kt_backend_runtime_of(const struct kt_backend *backend)
{
    for (int i = 0; i < BACKENDS; i++)
        if (strcmp(backend->ops->name, runtimes[i]->name) == 0)
            return runtimes[i];
    return NULL;
}

static int name_one(struct kt_backend_candidates *out, const char *name, const char *who)
{
    for (int i = 0; i < BACKENDS; i++) {
        if (strcmp(name, runtimes[i]->name) == 0) {
            *out = (struct kt_backend_candidates){{runtimes[i]->name}, 1};
            return KTRACE_OK;
        }
    }
    return kt_fail(KTRACE_ERROR_ARGUMENT, "%s asks for the backend \"%s\": there are \"cuda\" and \"hip\"", who, name);
}

int kt_backend_candidates(struct kt_backend_candidates *out, const char *wanted)
{
    const char *environment = getenv("KTRACE_BACKEND");
    if (wanted && *wanted)
        return name_one(out, wanted, "ktrace_capture_options.backend");
    if (environment && *environment)
        return name_one(out, environment, "KTRACE_BACKEND");
    uint32_t nvidia, amdgcn;
    kt_state_lock();
    kt_registry_count(&nvidia, &amdgcn);
    kt_state_unlock();
    *out = (struct kt_backend_candidates){{0}, 0};
    if (nvidia || !amdgcn)
        out->names[out->count++] = runtimes[CUDA]->name;
    if (amdgcn || !nvidia)
        out->names[out->count++] = runtimes[HIP]->name;
    return KTRACE_OK;
}

int kt_backend_open(struct kt_backend **out, const char *name)
{
    return runtimes[strcmp(name, runtimes[HIP]->name) == 0 ? HIP : CUDA]->open_current(out);
}

int kt_backend_choose(struct kt_backend **out, const char *wanted)
{
    struct kt_backend_candidates candidates;
    char reason[512], second[512];
    int status = kt_backend_candidates(&candidates, wanted);
    if (status < 0)
        return status;
    status = kt_backend_open(out, candidates.names[0]);
    if (status == KTRACE_OK || candidates.count == 1)
        return status;
    snprintf(reason, sizeof reason, "%s", ktrace_last_error());
    status = kt_backend_open(out, candidates.names[1]);
    if (status == KTRACE_OK)
        return status;
    snprintf(second, sizeof second, "%s", ktrace_last_error());
    return kt_fail(status, "there is no device to capture: %s; %s", reason, second);
}
