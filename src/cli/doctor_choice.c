#include "../backend_choice.h"
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuse(struct doctor_choice *out, const char *why)
{
    out->runtime = NULL;
    snprintf(out->why, sizeof out->why, "%s", why);
}

static const struct doctor_runtime *find(const struct doctor_runtime runtimes[DOCTOR_RUNTIMES], const char *backend)
{
    for (int i = 0; i < DOCTOR_RUNTIMES; i++)
        if (strcmp(runtimes[i].backend, backend) == 0)
            return &runtimes[i];
    return NULL;
}

/* Of the candidates the first with a device; one that breaks the process does it before the next could be tried. */
static void choose_runtime(struct doctor_choice *out, const struct doctor_runtime runtimes[DOCTOR_RUNTIMES])
{
    struct kt_backend_candidates candidates;
    const char *environment = getenv("KTRACE_BACKEND");
    const bool wished = environment && *environment;
    if (kt_backend_candidates(&candidates, NULL) < 0) {
        refuse(out, ktrace_last_error());
        return;
    }
    const struct doctor_runtime *first = find(runtimes, candidates.names[0]), *crashed = NULL;
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

bool doctor_chosen(const struct doctor_choice *choice, int index)
{
    return kt_device_chosen(&choice->devices, (uint32_t)index, index == choice->runtime->current);
}

const char *doctor_devices_why(const struct doctor_choice *choice)
{
    if (choice->devices.kind == KT_DEVICES_ACTIVE)
        return "the current one, and all others that the program uses; KTRACE_DEVICES can say otherwise";
    return "KTRACE_DEVICES says so";
}

/* What the environment says besides, which a capture reads as it begins. */
static void check_settings(struct doctor_choice *out)
{
    struct kt_settings settings;
    if (kt_settings_make(&settings, NULL) < 0) {
        refuse(out, ktrace_last_error());
        return;
    }
    out->devices = settings.devices;
    if (out->runtime && (kt_filter_check(&settings.filter, out->runtime->facts.arch) < 0 ||
                         kt_device_choice_check(&settings.devices, (uint32_t)out->runtime->device_count) < 0))
        refuse(out, ktrace_last_error());
    kt_settings_release(&settings);
}

void doctor_choose(struct doctor_choice *out, const struct doctor_runtime runtimes[DOCTOR_RUNTIMES])
{
    *out = (struct doctor_choice){0};
    choose_runtime(out, runtimes);
    check_settings(out);
}
