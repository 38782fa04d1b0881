#include "kinds.h"
#include "lint.h"
#include "terminal.h"

#include "../lint/name.h"
#include "../table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct kt_string text;

enum { NAME_BYTES = 256 };

/* ---- Kernels ------------------------------------------------------------------------------------------------------- */

static void resource_row(struct kt_table *table, const char *label, const char *target, const struct lint_resources *r)
{
    char cell[KT_CELL_BYTES];
    const bool is_amd = strncmp(target, "sm_", 3) != 0;
    kt_table_cell(table, label);
    kt_table_printf(table, "%" PRIu32, r->registers);
    kt_table_cell(table, r->accumulators ? kt_grouped(cell, r->accumulators) : NULL);
    kt_table_cell(table, is_amd ? kt_grouped(cell, r->scalar_registers) : NULL);
    kt_table_cell(table, r->spills ? kt_grouped(cell, r->spills) : NULL);
    kt_table_printf(table, "%" PRIu32, lint_waves(target, r));
    kt_table_cell(table, kt_grouped(cell, r->stack_bytes));
    kt_table_cell(table, kt_grouped(cell, r->shared_bytes));
    kt_table_cell(table, kt_grouped(cell, r->code_bytes));
}

static void append_resources(text *out, const struct lint_function *function, const char *target)
{
    const bool is_amd = strncmp(target, "sm_", 3) != 0;
    const struct kt_table_column columns[] = {{"", KT_LEFT},
                                              {is_amd ? "vector registers" : "registers", KT_RIGHT},
                                              {"accumulation", KT_RIGHT},
                                              {"scalar registers", KT_RIGHT},
                                              {"spilled", KT_RIGHT},
                                              {is_amd ? "waves a SIMD" : "warps an SM", KT_RIGHT},
                                              {"stack", KT_RIGHT},
                                              {is_amd ? "LDS" : "shared", KT_RIGHT},
                                              {"code bytes", KT_RIGHT}};
    struct kt_table table = kt_table_of(columns, sizeof columns / sizeof *columns);
    resource_row(&table, "traced", target, &function->kernel->resources);
    if (function->untraced)
        resource_row(&table, "untraced", target, &function->untraced->resources);
    kt_table_finish(out, &table);
}

static void inside_cell(struct kt_table *table, const struct lint_row *row)
{
    if (!row->is_range)
        kt_table_cell(table, NULL);
    else if (row->examined == 0)
        kt_table_cell(table, "?");
    else if (row->least == row->most)
        kt_table_printf(table, "%" PRIu32, row->most);
    else
        kt_table_printf(table, "%" PRIu32 "-%" PRIu32, row->least, row->most);
    if (row->is_range && row->examined && row->empty == row->examined)
        kt_table_style(table, KT_STYLE_WARNING);
}

static void append_rows(text *out, const struct lint_function *function)
{
    static const struct kt_table_column columns[] = {
        {"kind", KT_LEFT},   {"name", KT_LEFT},    {"copies", KT_RIGHT}, {"instructions", KT_RIGHT},
        {"bytes", KT_RIGHT}, {"inside", KT_RIGHT}, {"place", KT_LEFT}};
    struct kt_table table = kt_table_of(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < function->row_count; i++) {
        const struct lint_row *row = &function->rows[i];
        char cell[KT_CELL_BYTES];
        kt_table_cell(&table, cli_kind_name(row->site->kind));
        kt_table_cell(&table, *row->site->name ? row->site->name : NULL);
        kt_table_cell(&table, kt_grouped(cell, row->copies));
        kt_table_printf(&table, "%" PRIu32, row->instructions);
        kt_table_cell(&table, kt_grouped(cell, row->bytes));
        inside_cell(&table, row);
        if (*row->site->name)
            kt_table_printf(&table, "%s:%" PRIu32, row->site->file, row->site->line);
        else
            kt_table_cell(&table, NULL);
    }
    kt_string_append(out, "\n");
    kt_table_finish(out, &table);
}

static void append_function(text *out, const struct lint_function *function, const char *target)
{
    char name[NAME_BYTES];
    lint_readable_name(name, sizeof name, function->name);
    kt_string_append(out, "\n");
    kt_string_style(out, KT_STYLE_TITLE);
    kt_string_append(out, function->kernel ? "" : "function ");
    kt_string_append_visible(out, name);
    kt_string_style(out, KT_STYLE_PLAIN);
    if (strcmp(name, function->name) != 0) {
        kt_string_append(out, " (");
        kt_string_append_visible(out, function->name);
        kt_string_append(out, ")");
    }
    kt_string_append(out, "\n");
    if (function->kernel)
        append_resources(out, function, target);
    if (function->row_count)
        append_rows(out, function);
    else
        kt_string_append(out, "  no event\n");
}

static void append_module(text *out, const struct lint_module *module, const char *path)
{
    size_t traced = 0;
    for (size_t i = 0; i < module->function_count; i++)
        traced += module->functions[i].kernel && module->functions[i].is_traced;
    kt_string_append_visible(out, path);
    kt_string_printf(out, ": %s, %zu kernel%s, %zu annotated\n", module->kernels.target, module->kernels.count,
                     kt_plural(module->kernels.count), traced);
    for (size_t i = 0; i < module->function_count; i++)
        if (module->functions[i].is_traced)
            append_function(out, &module->functions[i], module->kernels.target);
    if (module->ambiguous)
        kt_string_printf(out,
                         "\n%" PRIu32 " kernel%s not compared: several could be the instance without annotations\n",
                         module->ambiguous, module->ambiguous == 1 ? " was" : "s were");
    kt_string_append(out, "\n");
}

/* ---- Findings ------------------------------------------------------------------------------------------------------ */

static void append_finding(text *out, const struct lint_result *result, const struct lint_finding *finding)
{
    const struct lint_module *module = lint_module_of(result, finding);
    const bool is_warning = finding->severity == LINT_WARNING;
    kt_string_append_styled(out, is_warning ? KT_STYLE_WARNING : KT_STYLE_PLAIN, is_warning ? "warning" : "note");
    kt_string_append(out, ": ");
    if (result->count > 1 && module)
        kt_string_printf(out, "%s: ", module->kernels.target);
    kt_string_append_visible(out, finding->sentence);
    kt_string_append(out, "\n");
}

static void append_not_examined(text *out, const struct lint_result *result)
{
    static const char *const reasons[LINT_TOO_DEEP + 1] = {
        [LINT_NO_END] = "without an end in their function", [LINT_LEFT] = "left by a return or a computed jump",
        [LINT_TOKEN] = "whose token could not be followed", [LINT_NOT_NAMED] = "of a debug build",
        [LINT_TOO_DEEP] = "with more than 63 open in them",
    };
    uint32_t counts[LINT_TOO_DEEP + 1];
    const char *separator = ": ";
    const uint32_t all = lint_not_examined(counts, result);
    if (all == 0)
        return;
    kt_string_printf(out, "; %" PRIu32 " range%s not examined", all, all == 1 ? " was" : "s were");
    for (int i = LINT_EXAMINED + 1; i <= LINT_TOO_DEEP; i++) {
        if (counts[i] == 0)
            continue;
        kt_string_printf(out, "%s%" PRIu32 " %s", separator, counts[i], reasons[i]);
        separator = ", ";
    }
}

static void append_skipped(text *out, const struct lint_objects *objects)
{
    if (objects->relocatable)
        kt_string_printf(out, "%" PRIu32 " relocatable module%s not linted: lint what is linked of it\n",
                         objects->relocatable, objects->relocatable == 1 ? " was" : "s were");
    if (objects->compressed)
        kt_string_printf(
            out, "%" PRIu32 " compressed bundle%s of code objects not linted: compile without --offload-compress\n",
            objects->compressed, objects->compressed == 1 ? " was" : "s were");
}

int lint_print_text(const struct lint_result *result)
{
    text out = cli_text();
    const size_t notes = result->findings.count - result->findings.warnings;
    for (size_t i = 0; i < result->count; i++)
        if (result->modules[i].sites.count > 0)
            append_module(&out, &result->modules[i], result->options->path);
    for (size_t i = 0; i < result->findings.count; i++)
        append_finding(&out, result, &result->findings.findings[i]);
    append_skipped(&out, result->objects);
    kt_string_append(&out, result->findings.count ? "\n" : "");
    kt_string_printf(&out, "%zu warning%s, %zu note%s", result->findings.warnings, kt_plural(result->findings.warnings),
                     notes, kt_plural(notes));
    append_not_examined(&out, result);
    kt_string_append(&out, "\n");
    return cli_print_string(&out);
}
