#include "explain.h"

#include <stdlib.h>
#include <string.h>

#include "backend_choice.h"
#include "program_explain.h"
#include "registry.h"
#include "text.h"

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static uint32_t modules_armed(const struct kt_explanation *about)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < about->recorder_count; i++)
        count += about->recorders[i]->arming.count;
    return count;
}

/* Of the first device that has one. */
static const char *problem_of(const struct kt_explanation *about)
{
    for (uint32_t i = 0; i < about->recorder_count; i++)
        if (about->recorders[i]->arming.problem[0])
            return about->recorders[i]->arming.problem;
    return "";
}

static void put_filtered(struct kt_text *text, const struct kt_explanation *about)
{
    const struct kt_recorder *recorder = about->recorders[0]; /* they all have the same filter */
    char *filter = NULL;
    kt_put(text, "nothing was recorded: the filter turned away all %llu waves",
           (unsigned long long)about->usage.waves_filtered);
    if (ktrace_filter_format(&filter, &recorder->arming.control.filter, recorder->facts.arch) == KTRACE_OK)
        kt_put(text, " (%s)", filter);
    free(filter);
}

/* Modules that came and went while nobody looked, so that nothing armed them. */
static uint32_t modules_unseen(uint32_t arch)
{
    uint32_t count = 0;
    for (const struct kt_registry_entry *entry = kt_registry_first(); entry; entry = kt_registry_next(entry))
        count += entry->arch == arch;
    return count;
}

static void put_nothing(struct kt_text *text, const struct kt_explanation *about)
{
    const int is_amdgcn = about->recorders[0]->facts.arch == KTRACE_ARCH_AMDGCN;
    const uint32_t modules = modules_armed(about), unseen = modules_unseen(about->recorders[0]->facts.arch);
    if (about->usage.waves_filtered)
        put_filtered(text, about);
    else if (modules == 0 && *problem_of(about))
        kt_put(text, "nothing was recorded");
    else if (modules == 0 && unseen)
        kt_put(
            text,
            "nothing was recorded: %u annotated module%s came after recording had begun, and went before it was read%s",
            unseen, plural(unseen),
            is_amdgcn ? " (in a program that hipcc linked, begin main with: if (ktrace_active()) ktrace_enable(NULL))"
                      : "");
    else if (modules == 0)
        kt_put(text,
               "nothing was recorded: no annotated module is known (compile kernels with KTRACE_ENABLE=1; hand modules "
               "loaded through the %s to ktrace_attach_%s_module)",
               is_amdgcn ? "module API" : "driver API", is_amdgcn ? "hip" : "cuda");
    else
        kt_put(text,
               "nothing was recorded: no kernel with KTRACE_KERNEL ran on the capture's device%s since the capture "
               "began, or was last read, cleared or looked at",
               plural(about->recorder_count));
}

/* Modules of the other runtime, which this capture cannot see: how many, and the first few by name. */
static void put_others(struct kt_text *text, uint32_t arch)
{
    const uint32_t other = arch == KTRACE_ARCH_AMDGCN ? KTRACE_ARCH_NVIDIA : KTRACE_ARCH_AMDGCN;
    struct kt_text names = {.length = 0};
    uint32_t others = 0, named = 0;
    for (const struct kt_registry_entry *entry = kt_registry_first(); entry; entry = kt_registry_next(entry)) {
        if (kt_registry_is_gone(entry) || entry->arch == arch)
            continue;
        others++;
        if (entry->registration && ++named <= 3)
            kt_put(&names, "%s%s", named > 1 ? ", " : "", entry->registration->file);
    }
    if (others == 0)
        return;
    kt_put(text, "; this capture is of a %s device and cannot see %u annotated %s module%s", kt_backend_runtime(arch),
           others, kt_backend_runtime(other), plural(others));
    if (named)
        kt_put(text, " (%s%s)", names.text, named > 3 ? ", ..." : "");
    kt_put(text, ": to record %s begin with the backend \"%s\"", others == 1 ? "it" : "them",
           other == KTRACE_ARCH_AMDGCN ? "hip" : "cuda");
}

char *kt_explain(const struct kt_explanation *about)
{
    const int nothing = about->usage.waves_recorded == 0;
    struct kt_text text = {.length = 0};
    if (nothing)
        put_nothing(&text, about);
    else if (about->usage.headers_missing)
        kt_put(&text, "%llu wave%s started but left no header", (unsigned long long)about->usage.headers_missing,
               about->usage.headers_missing == 1 ? "" : "s");
    if (nothing)
        text.length += kt_program_explain(text.text + text.length, sizeof text.text - text.length, "; ",
                                          about->recorders[0]->facts.arch);
    if (about->modules_late)
        kt_put(&text, "%s%u module%s loaded since the capture began record%s from now on", text.length ? "; " : "",
               about->modules_late, plural(about->modules_late), about->modules_late == 1 ? "s" : "");
    if (about->devices_late)
        kt_put(&text, "%s%u device%s used since the capture began record%s from now on", text.length ? "; " : "",
               about->devices_late, plural(about->devices_late), about->devices_late == 1 ? "s" : "");
    if (nothing)
        put_others(&text, about->recorders[0]->facts.arch);
    if (*problem_of(about))
        kt_put(&text, "%sa module could not be armed and records nothing: %s", text.length ? "; " : "",
               problem_of(about));
    return strdup(text.text);
}
