#include "../backend_choice.h"
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct doctor_runtime *find(const struct doctor_runtime runtimes[DOCTOR_RUNTIMES], const char *backend)
{
    for (int i = 0; i < DOCTOR_RUNTIMES; i++)
        if (strcmp(runtimes[i].backend, backend) == 0)
            return &runtimes[i];
    return NULL;
}

void doctor_choose(struct doctor_choice *out, const struct doctor_runtime runtimes[DOCTOR_RUNTIMES])
{
    struct kt_backend_candidates candidates;
    const char *environment = getenv("KTRACE_BACKEND");
    const bool wished = environment && *environment;
    *out = (struct doctor_choice){0};
    if (kt_backend_candidates(&candidates, NULL) < 0) {
        snprintf(out->why, sizeof out->why, "%s", ktrace_last_error());
        return;
    }
    const struct doctor_runtime *first = find(runtimes, candidates.names[0]), *crashed = NULL;
    /* What breaks the process breaks it before another could be tried. */
    for (int i = 0; i < candidates.count && !out->runtime && !crashed; i++) {
        const struct doctor_runtime *runtime = find(runtimes, candidates.names[i]);
        if (runtime->usable)
            out->runtime = runtime;
        else if (runtime->crashed)
            crashed = runtime;
    }
    if (out->runtime && wished)
        snprintf(out->why, sizeof out->why, "KTRACE_BACKEND says so");
    else if (out->runtime)
        snprintf(out->why, sizeof out->why, "%s",
                 out->runtime == first ? "an NVIDIA GPU comes first" : "there is no NVIDIA GPU that can be used");
    else if (crashed)
        snprintf(out->why, sizeof out->why, "asking %s for a device breaks the program that does it", crashed->name);
    else if (wished)
        snprintf(out->why, sizeof out->why, "KTRACE_BACKEND asks for %s, which has no device that can be used",
                 first->name);
    else
        snprintf(out->why, sizeof out->why, "there is no device that can be used");
}
