#include "target.h"

#include <stdio.h>
#include <string.h>

#include "backend_choice.h"
#include "error.h"

static const struct kt_program_target *named(const char *backend)
{
    return strcmp(backend, kt_program_hip.backend) == 0 ? &kt_program_hip : &kt_program_cuda;
}

int kt_program_target_choose(const struct kt_program_target **out, const char *wanted)
{
    struct kt_backend_candidates candidates;
    char first[512] = "", second[512];
    int status = kt_backend_candidates(&candidates, wanted);
    for (int i = 0; status == KTRACE_OK && i < candidates.count; i++) {
        const struct kt_program_target *target = named(candidates.names[i]);
        if (candidates.count > 1)
            status = target->check();
        if (status == KTRACE_OK) {
            *out = target;
            return KTRACE_OK;
        }
        if (i + 1 < candidates.count) {
            snprintf(first, sizeof first, "%s", ktrace_last_error());
            status = KTRACE_OK;
        }
    }
    if (status < 0 && *first) {
        snprintf(second, sizeof second, "%s", ktrace_last_error());
        return kt_fail(status, "there is no device to run a program on: %s; %s", first, second);
    }
    return status;
}
