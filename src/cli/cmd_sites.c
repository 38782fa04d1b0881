#include "cli.h"

#include "../json.h"
#include "../table.h"
#include "kinds.h"
#include "progress.h"
#include "site_rows.h"
#include "stdout_sink.h"
#include "terminal.h"

#include <inttypes.h>

enum format { TABLE, JSON, CSV };

static const char *kernel_name(const struct ktrace_trace *trace, const struct site_row *row)
{
    return row->kernel == KT_NONE ? NULL : trace->kernels[row->kernel].name;
}

static int print_table(const struct ktrace_trace *trace, const struct site_rows *rows)
{
    static const struct kt_table_column columns[] = {{"kernel", KT_LEFT},  {"kind", KT_LEFT},    {"name", KT_LEFT},
                                                     {"payload", KT_LEFT}, {"events", KT_RIGHT}, {"copies", KT_RIGHT},
                                                     {"place", KT_LEFT}};
    struct kt_table table = kt_table_of(columns, sizeof columns / sizeof *columns);
    struct kt_string out = cli_text();
    uint64_t idle = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct site_row *row = &rows->rows[i];
        const struct kt_site *site = row->site;
        const char *kernel = kernel_name(trace, row);
        char cell[KT_CELL_BYTES];
        idle += row->events == 0;
        kt_table_cell(&table, kernel ? kernel : "-");
        kt_table_cell(&table, cli_kind_name(site->kind));
        kt_table_cell(&table, cli_site_name(site));
        kt_table_cell(&table, site->payload_type ? cli_payload_name(site->payload_type) : NULL);
        kt_table_cell(&table, kt_grouped(cell, row->events));
        kt_table_cell(&table, row->copies > 1 ? kt_grouped(cell, row->copies) : NULL);
        if (cli_site_has_place(site)) {
            struct kt_string place = KT_STRING_INIT;
            kt_string_append(&place, site->file);
            kt_string_printf(&place, ":%" PRIu32, site->line);
            kt_table_cell(&table, kt_string_text(&place));
            table.failed |= place.failed;
            kt_string_destroy(&place);
        } else {
            kt_table_cell(&table, NULL);
        }
    }
    kt_table_finish(&out, &table);
    if (rows->count == 0) {
        const char *warning = ktrace_trace_warning(trace);
        kt_string_append(&out, *warning ? "no annotations: " : "no annotations");
        kt_string_append_visible_styled(&out, KT_STYLE_WARNING, warning);
        kt_string_append(&out, "\n");
    }
    if (idle)
        kt_string_printf(&out,
                         "\n%" PRIu64 " of %zu recorded nothing: not reached, filtered, or of kernels that were not "
                         "launched\n",
                         idle, rows->count);
    return cli_print_string(&out);
}

static int print_json(const struct ktrace_trace *trace, const struct site_rows *rows)
{
    struct kt_string out = KT_STRING_INIT;
    struct kt_json json = kt_json_of(&out);
    kt_json_open(&json, '{');
    kt_json_string(&json, "warning", ktrace_trace_warning(trace));
    kt_json_key(&json, "sites");
    kt_json_open(&json, '[');
    for (size_t i = 0; i < rows->count; i++) {
        const struct site_row *row = &rows->rows[i];
        const bool has_place = cli_site_has_place(row->site);
        kt_json_separate(&json);
        kt_json_open(&json, '{');
        kt_json_string(&json, "kernel", kernel_name(trace, row));
        kt_json_string(&json, "kind", cli_kind_name(row->site->kind));
        kt_json_string(&json, "name", *row->site->name ? row->site->name : NULL);
        kt_json_string(&json, "payload_type",
                       row->site->payload_type ? cli_payload_name(row->site->payload_type) : NULL);
        kt_json_string(&json, "file", has_place ? row->site->file : NULL);
        if (has_place)
            kt_json_count(&json, "line", row->site->line);
        else
            kt_json_null(&json, "line");
        kt_json_count(&json, "copies", row->copies);
        kt_json_count(&json, "events", row->events);
        kt_json_close(&json, '}');
    }
    kt_json_close(&json, ']');
    kt_json_close(&json, '}');
    kt_string_append_char(&out, '\n');
    return cli_print_string(&out);
}

static int print_csv(const struct ktrace_trace *trace, const struct site_rows *rows)
{
    struct kt_text_sink text;
    kt_text_begin(&text, cli_stdout_sink());
    kt_text(&text, "kernel,kind,name,payload_type,file,line,copies,events\n");
    for (size_t i = 0; i < rows->count && text.status == KTRACE_OK; i++) {
        const struct site_row *row = &rows->rows[i];
        const char *kernel = kernel_name(trace, row);
        kt_text_csv(&text, kernel ? kernel : "");
        kt_text_char(&text, ',');
        kt_text(&text, cli_kind_name(row->site->kind));
        kt_text_char(&text, ',');
        kt_text_csv(&text, row->site->name);
        kt_text_char(&text, ',');
        kt_text(&text, row->site->payload_type ? cli_payload_name(row->site->payload_type) : "");
        kt_text_char(&text, ',');
        if (cli_site_has_place(row->site)) {
            kt_text_csv(&text, row->site->file);
            kt_text_char(&text, ',');
            kt_text_uint(&text, row->site->line);
        } else {
            kt_text_char(&text, ',');
        }
        kt_text_char(&text, ',');
        kt_text_uint(&text, row->copies);
        kt_text_char(&text, ',');
        kt_text_uint(&text, row->events);
        kt_text_char(&text, '\n');
    }
    kt_text_finish(&text);
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"csv", no_argument, NULL, 'c'}, CLI_HELP_OPTION, {0}};
    enum format format = TABLE;
    for (int option; (option = cli_option(&cli_sites, argc, argv, ":hjc", options)) != -1;) {
        const enum format asked = option == 'j' ? JSON : CSV;
        switch (option) {
        case 'j':
        case 'c':
            if (format != TABLE && format != asked)
                return cli_error_usage(&cli_sites, "'--json' and '--csv' are two formats: name one");
            format = asked;
            break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
    }
    const char *path = cli_operand(&cli_sites, argc, argv, "one .ktrace file");
    if (!path)
        return CLI_USAGE;
    struct ktrace_trace *trace;
    struct site_rows rows;
    if (cli_load(&trace, path) != CLI_OK)
        return CLI_FAILURE;
    int status = site_rows_make(&rows, trace) < 0 ? cli_error_library() : CLI_OK;
    if (status == CLI_OK) {
        status = format == JSON  ? print_json(trace, &rows)
                 : format == CSV ? print_csv(trace, &rows)
                                 : print_table(trace, &rows);
        site_rows_free(&rows);
    }
    ktrace_trace_destroy(trace);
    return status;
}

const struct cli_command cli_sites = {
    .name = "sites",
    .brief = "list the annotations, and how many events each recorded",
    .help = "Usage: ktrace sites [--json | --csv] FILE.ktrace\n"
            "\n"
            "One row for each annotation of each kernel that recorded any of its events, by kernel, file\n"
            "and line. One that recorded none has '-' for its kernel.\n"
            "\n"
            "  kind     mark; push and pop, of KTRACE_RANGE too; start, stop and next, of tokens\n"
            "  name     a pop or stop has none of its own\n"
            "  payload  type of its payload: half and bfloat16 are float32, shorter integers 32 bits\n"
            "  events   a next that ends a range and begins one is one here\n"
            "  copies   templates, unrolling and inlining can make several of one annotation\n"
            "  place    where it is in the source; not known of the end of a scope\n"
            "\n"
            "Options:\n"
            "  -j, --json  as JSON: \"sites\", each with what is above; null: not there\n"
            "  -c, --csv   as CSV, with a line of names first\n"
            "  -h, --help  print this\n"
            "\n"
            "Examples:\n"
            "  ktrace sites gemm.ktrace\n"
            "  ktrace sites --csv gemm.ktrace > sites.csv\n",
    .run = run,
};
