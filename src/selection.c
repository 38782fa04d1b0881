#include "selection.h"

#include "array.h"
#include "string_builder.h"

#include <fnmatch.h>
#include <inttypes.h>

bool kt_name_matches(const char *pattern, const char *name)
{
    return !pattern || strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

static int fail_kernel(const struct kt_selection *selection)
{
    enum { NAMED = 8 };
    const struct ktrace_trace *trace = selection->trace;
    struct kt_string names = KT_STRING_INIT;
    for (uint32_t i = 0; i < trace->kernel_count && i < NAMED; i++)
        kt_string_printf(&names, "%s%s", i ? ", " : "", trace->kernels[i].name);
    if (trace->kernel_count > NAMED)
        kt_string_printf(&names, " and %" PRIu32 " more", trace->kernel_count - NAMED);
    const int status = kt_fail(KTRACE_ERROR_NOT_FOUND, "no kernel of the trace is named '%s'; it has: %s",
                               selection->kernel, trace->kernel_count ? kt_string_text(&names) : "none");
    kt_string_destroy(&names);
    return status;
}

int kt_selection_begin(struct kt_selection *selection, const struct ktrace_trace *trace)
{
    bool found = false;
    selection->trace = trace;
    if (selection->launch_first > 0 && selection->launch_first >= trace->launch_count)
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "there is no launch %" PRIu64 ": the trace has %" PRIu64 ", from 0",
                       selection->launch_first, trace->launch_count);
    selection->kernels = kt_array_new(trace->kernel_count, sizeof *selection->kernels);
    selection->sites = kt_array_new_zeroed(KT_SELECTION_CACHE, sizeof *selection->sites);
    if (!selection->kernels || !selection->sites) {
        kt_selection_end(selection);
        return KTRACE_ERROR_MEMORY;
    }
    for (uint32_t i = 0; i < trace->kernel_count; i++) {
        selection->kernels[i] = kt_name_matches(selection->kernel, trace->kernels[i].name);
        found = found || selection->kernels[i];
    }
    if (!selection->kernel || found)
        return KTRACE_OK;
    kt_selection_end(selection);
    return fail_kernel(selection);
}

void kt_selection_end(struct kt_selection *selection)
{
    free(selection->kernels);
    free(selection->sites);
    selection->kernels = NULL;
    selection->sites = NULL;
}

bool kt_selects_wave(const struct kt_selection *selection, const struct kt_wave *wave)
{
    if (wave->launch < selection->launch_first || wave->launch > selection->launch_last)
        return false;
    if (wave->wave < selection->wave_first || wave->wave > selection->wave_last)
        return false;
    for (int i = 0; i < 3; i++)
        if (wave->workgroup[i] < selection->workgroup_first[i] || wave->workgroup[i] > selection->workgroup_last[i])
            return false;
    return selection->kernels[selection->trace->launches[wave->launch].kernel];
}

const struct kt_site *kt_event_name_site(const struct ktrace_trace *trace, const struct kt_wave *wave,
                                         const struct kt_event *event)
{
    const uint8_t kind = event->site->kind;
    if ((kind == KTRACE_KIND_POP || kind == KTRACE_KIND_STOP) && event->partner < wave->event_count)
        return trace->events[wave->first_event + event->partner].site;
    return event->site;
}

static bool name_is_selected(struct kt_selection *selection, const struct kt_site *site)
{
    const size_t entry = (uintptr_t)site / sizeof *site % KT_SELECTION_CACHE;
    if (selection->sites[entry].site != site) {
        selection->sites[entry].site = site;
        selection->sites[entry].matches = kt_name_matches(selection->name, site->name);
    }
    return selection->sites[entry].matches;
}

bool kt_selects_event(struct kt_selection *selection, const struct kt_wave *wave, const struct kt_event *event)
{
    if (event->time_ps < selection->from_ps || event->time_ps > selection->last_ps)
        return false;
    if (selection->kinds && !(selection->kinds >> event->site->kind & 1))
        return false;
    return !selection->name || name_is_selected(selection, kt_event_name_site(selection->trace, wave, event));
}
