/* What is wrong with annotations, as far as machine code tells. */
#include "report.h"

#include "../array.h"
#include "../string_builder.h"
#include "name.h"

#include <inttypes.h>

enum { FEW = 8, NAME_BYTES = 256 };

typedef struct kt_string text;

static int add(struct lint_findings *out, enum lint_severity severity, const char *rule,
               const struct lint_function *function, const struct lint_row *row, text *sentence)
{
    char *taken;
    int status = kt_string_take(&taken, sentence);
    if (status < 0)
        return status;
    status = kt_array_reserve(&out->findings, &out->capacity, out->count + 1, sizeof *out->findings);
    if (status < 0) {
        free(taken);
        return status;
    }
    out->findings[out->count++] = (struct lint_finding){severity, rule, function, row, taken};
    out->warnings += severity == LINT_WARNING;
    return KTRACE_OK;
}

static void append_range(text *out, const struct lint_row *row)
{
    kt_string_printf(out, "range \"%s\" (%s:%" PRIu32 ")", row->site->name, row->site->file, row->site->line);
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- Ranges -------------------------------------------------------------------------------------------------------- */

static int judge_row(struct lint_findings *out, const struct lint_function *function, const struct lint_row *row)
{
    text sentence = KT_STRING_INIT;
    if (!row->is_range || row->examined == 0)
        return KTRACE_OK;
    if (row->empty == row->examined && row->examined == row->copies) {
        kt_string_append(&sentence, "nothing lies between the clock reads of ");
        append_range(&sentence, row);
        kt_string_append(
            &sentence,
            ": the compiler moved its work out; hold what it computes there with KTRACE_PIN, or with KTRACE_WAIT where "
            "that needs what a load brings (docs/annotating.md)");
        return add(out, LINT_WARNING, "empty-range", function, row, &sentence);
    }
    if (row->empty > 0) {
        kt_string_printf(&sentence, "nothing lies between the clock reads of %" PRIu32 " of %" PRIu32 " copies of ",
                         row->empty, row->copies);
        append_range(&sentence, row);
        kt_string_append(&sentence, ": look whether its work was moved out of them");
        return add(out, LINT_NOTE, "empty-copy", function, row, &sentence);
    }
    if (row->most_work == 0 && row->most <= FEW) {
        kt_string_printf(&sentence,
                         "only %" PRIu32
                         " instruction%s of moves and integer arithmetic lie%s between the clock reads of ",
                         row->most, plural(row->most), row->most == 1 ? "s" : "");
        append_range(&sentence, row);
        kt_string_append(
            &sentence, ": if it should have more, hold that there with KTRACE_PIN or KTRACE_WAIT (docs/annotating.md)");
        return add(out, LINT_NOTE, "thin-range", function, row, &sentence);
    }
    return KTRACE_OK;
}

/* ---- Resources ----------------------------------------------------------------------------------------------------- */

static void append_kernel(text *out, const struct lint_function *function)
{
    char name[NAME_BYTES];
    lint_readable_name(name, sizeof name, function->name);
    kt_string_printf(out, "kernel %s", name);
}

static int judge_registers(struct lint_findings *out, const struct lint_function *function, const char *target)
{
    const struct lint_resources *traced = &function->kernel->resources, *untraced = &function->untraced->resources;
    const uint32_t fit = lint_waves(target, traced), fitted = lint_waves(target, untraced);
    const bool is_nvidia = target[0] == 's';
    text sentence = KT_STRING_INIT;
    if (fit >= fitted)
        return KTRACE_OK;
    append_kernel(&sentence, function);
    if (traced->registers != untraced->registers || is_nvidia)
        kt_string_printf(&sentence, " takes %" PRIu32 " %sregisters, untraced %" PRIu32, traced->registers,
                         is_nvidia ? "" : "vector ", untraced->registers);
    else
        kt_string_printf(&sentence, " takes %" PRIu32 " scalar registers, untraced %" PRIu32, traced->scalar_registers,
                         untraced->scalar_registers);
    kt_string_printf(&sentence,
                     ": they leave room for %" PRIu32 " %s%s on %s, not %" PRIu32
                     ": what is measured may be slower than what it is a measure of; annotate fewer places",
                     fit, is_nvidia ? "warp" : "wave", plural(fit), is_nvidia ? "an SM" : "a SIMD", fitted);
    return add(out, LINT_WARNING, "occupancy", function, NULL, &sentence);
}

static int judge_spills(struct lint_findings *out, const struct lint_function *function)
{
    const struct lint_resources *traced = &function->kernel->resources, *untraced = &function->untraced->resources;
    text sentence = KT_STRING_INIT;
    if (traced->stack_bytes <= untraced->stack_bytes && traced->spills <= untraced->spills)
        return KTRACE_OK;
    append_kernel(&sentence, function);
    if (traced->stack_bytes > untraced->stack_bytes)
        kt_string_printf(&sentence, " takes %" PRIu64 " bytes of stack, untraced %" PRIu64, traced->stack_bytes,
                         untraced->stack_bytes);
    if (traced->spills > untraced->spills)
        kt_string_printf(&sentence, "%s spills %" PRIu32 " registers, untraced %" PRIu32,
                         traced->stack_bytes > untraced->stack_bytes ? " and" : "", traced->spills, untraced->spills);
    kt_string_append(&sentence, ": values that were in registers go through memory; annotate fewer places");
    return add(out, LINT_WARNING, "spill", function, NULL, &sentence);
}

/* A debug build keeps in memory which annotation an event is of. */
static int judge_unnamed(struct lint_findings *out, const struct lint_function *function)
{
    text sentence = KT_STRING_INIT;
    if (!function->code || function->code->unnamed == 0)
        return KTRACE_OK;
    append_kernel(&sentence, function);
    kt_string_printf(&sentence,
                     " has %" PRIu32
                     " event%s whose annotation its code does not name: a debug build? Lint one that was "
                     "compiled with optimization",
                     function->code->unnamed, plural(function->code->unnamed));
    return add(out, LINT_NOTE, "debug-build", function, NULL, &sentence);
}

int lint_judge(struct lint_findings *out, const struct lint_module *module)
{
    int status = KTRACE_OK;
    for (size_t i = 0; i < module->function_count && status == KTRACE_OK; i++) {
        const struct lint_function *function = &module->functions[i];
        for (size_t k = 0; k < function->row_count && status == KTRACE_OK; k++)
            status = judge_row(out, function, &function->rows[k]);
        if (status == KTRACE_OK)
            status = judge_unnamed(out, function);
        /* in a debug build all is in memory */
        const bool compares = function->kernel && function->untraced && function->code && function->code->unnamed == 0;
        if (status == KTRACE_OK && compares)
            status = judge_registers(out, function, module->kernels.target);
        if (status == KTRACE_OK && compares)
            status = judge_spills(out, function);
    }
    return status;
}

void lint_findings_free(struct lint_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        free(findings->findings[i].sentence);
    free(findings->findings);
    *findings = (struct lint_findings){0};
}
