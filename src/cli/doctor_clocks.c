/* doctor_clocks.c - the clocks of the devices that a capture would record, measured in a child: a kernel of ours runs there. */
#include "child.h"
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANCHORS = 5 };

/* Shared with the child. */
struct measurement {
    const struct doctor_choice *choice;
    struct doctor_clock clocks[DOCTOR_DEVICES];
    bool ended[DOCTOR_DEVICES];
};

/* ---- In the child ------------------------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Differences between successive readings that differ. */
static void find_steps(struct doctor_clock *out, const struct kt_clock_survey *survey)
{
    uint64_t steps[KT_SURVEY_READINGS];
    out->step_count = out->backward = out->multiple_ns = 0;
    for (size_t i = 1; i < KT_SURVEY_READINGS; i++) {
        const uint64_t before = survey->wall_ns[i - 1], now = survey->wall_ns[i];
        out->backward += now < before;
        if (now <= before)
            continue;
        steps[out->step_count++] = now - before;
        out->multiple_ns = common_divisor(now - before, out->multiple_ns);
    }
    if (out->step_count == 0)
        return;
    qsort(steps, out->step_count, sizeof *steps, compare);
    out->least_ns = steps[0];
    out->usual_ns = steps[out->step_count / 2];
}

static void find_cycles(struct doctor_clock *out, const struct kt_clock_survey *survey)
{
    if (survey->to_cycles <= survey->from_cycles || survey->to_ns <= survey->from_ns)
        return;
    out->cycle_hz = (double)(survey->to_cycles - survey->from_cycles) * 1e9 / (double)(survey->to_ns - survey->from_ns);
    out->cycles = UINT32_MAX;
    for (int i = 1; i < KT_SURVEY_CYCLES; i++) {
        const uint32_t step = survey->cycles[i] - survey->cycles[i - 1];
        if (step > 0 && step < out->cycles)
            out->cycles = step;
    }
}

static int survey(struct doctor_clock *out, struct kt_backend *backend)
{
    struct kt_clock_survey *readings = malloc(sizeof *readings);
    if (!readings)
        return KTRACE_ERROR_MEMORY;
    const int status = backend->ops->survey_clocks(readings, backend);
    if (status == KTRACE_OK) {
        find_steps(out, readings);
        find_cycles(out, readings);
    }
    free(readings);
    return status;
}

static int relate(struct doctor_clock *out, struct kt_backend *backend)
{
    uint64_t widths[ANCHORS];
    for (int i = 0; i < ANCHORS; i++) {
        struct kt_host_anchor anchor;
        const int status = backend->ops->host_anchor(&anchor, backend);
        if (status < 0)
            return status;
        widths[i] = anchor.host_after_ns - anchor.host_before_ns;
    }
    qsort(widths, ANCHORS, sizeof *widths, compare);
    out->host_ns = widths[0];
    out->usual_host_ns = widths[ANCHORS / 2];
    return KTRACE_OK;
}

static void say_why(char *why, size_t bytes)
{
    snprintf(why, bytes, "%s", ktrace_last_error());
}

static void measure_device(struct doctor_clock *out, const char *name, int ordinal)
{
    const struct kt_runtime *runtime = strcmp(name, kt_cuda_runtime.name) == 0 ? &kt_cuda_runtime : &kt_hip_runtime;
    struct kt_backend *backend;
    if (runtime->open_device(&backend, (uint32_t)ordinal) < 0) {
        say_why(out->unmeasured, sizeof out->unmeasured);
        return;
    }
    struct kt_device_facts facts;
    if (backend->ops->facts(&facts, backend) < 0) {
        say_why(out->unmeasured, sizeof out->unmeasured);
    } else {
        out->arch = facts.arch;
        out->clock_khz = facts.clock_khz;
        out->simulated = facts.simulated;
        if (survey(out, backend) < 0)
            say_why(out->unmeasured, sizeof out->unmeasured);
        if (relate(out, backend) < 0)
            say_why(out->unrelated, sizeof out->unrelated);
    }
    backend->ops->close(backend);
}

static int measure(void *context)
{
    struct measurement *shared = context;
    const struct doctor_runtime *runtime = shared->choice->runtime;
    for (int i = 0; i < runtime->listed; i++)
        if (doctor_chosen(shared->choice, i)) {
            measure_device(&shared->clocks[i], runtime->backend, i);
            shared->ended[i] = true;
        }
    return CLI_OK;
}

/* ---- In the command ---------------------------------------------------------------------------------------------- */

/* Those that the child did not come to. */
static void explain_end(struct measurement *shared, const struct cli_child *child, int limit_s)
{
    struct kt_string why = KT_STRING_INIT;
    kt_string_append(&why, "the process that measures ");
    cli_child_append_end(&why, child, limit_s);
    if (child->was_stopped)
        kt_string_append(&why, ": --timeout waits longer");
    for (int i = 0; i < DOCTOR_DEVICES; i++)
        if (!shared->ended[i])
            snprintf(shared->clocks[i].unmeasured, sizeof shared->clocks[i].unmeasured, "%s", kt_string_text(&why));
    kt_string_destroy(&why);
}

int doctor_measure(struct doctor_clock clocks[DOCTOR_DEVICES], const struct doctor_choice *choice, int limit_s)
{
    if (!choice->runtime)
        return CLI_OK;
    struct measurement *shared = cli_child_share(sizeof *shared);
    if (!shared)
        return CLI_FAILURE;
    shared->choice = choice;
    struct cli_child child = CLI_CHILD_INIT;
    child.verb = "measuring";
    child.object = "clocks";
    const int result = cli_child_run(&child, measure, shared, limit_s);
    if (result == 0) {
        explain_end(shared, &child, limit_s);
        memcpy(clocks, shared->clocks, sizeof shared->clocks);
        for (int i = 0; i < DOCTOR_DEVICES; i++) {
            clocks[i].unmeasured[sizeof clocks[i].unmeasured - 1] = 0;
            clocks[i].unrelated[sizeof clocks[i].unrelated - 1] = 0;
        }
    }
    cli_child_destroy(&child);
    cli_child_unshare(shared, sizeof *shared);
    return result == 0 ? CLI_OK : CLI_FAILURE;
}
