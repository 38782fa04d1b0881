#include "cli.h"

#include "../export/export.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool same_file(const char *a, const char *b)
{
    struct stat a_status, b_status;
    return stat(a, &a_status) == 0 && stat(b, &b_status) == 0 && S_ISREG(a_status.st_mode) &&
           a_status.st_dev == b_status.st_dev && a_status.st_ino == b_status.st_ino;
}

/* -o - and -o /dev/stdout: nothing else may be written there then. */
static bool is_stdout(const char *path)
{
    struct stat status, stdout_status;
    return strcmp(path, "-") == 0 || (stat(path, &status) == 0 && fstat(STDOUT_FILENO, &stdout_status) == 0 &&
                                      status.st_dev == stdout_status.st_dev && status.st_ino == stdout_status.st_ino);
}

static int export_to_stdout(const struct ktrace_trace *trace, const char *format)
{
    void *data;
    size_t bytes;
    if (ktrace_trace_export_memory(&data, &bytes, trace, format) < 0)
        return cli_error_library();
    cli_write(data, bytes);
    free(data);
    return CLI_OK;
}

static int report(const char *path, const char *format)
{
    struct kt_string text = KT_STRING_INIT;
    kt_string_append(&text, "wrote ");
    kt_string_append_visible(&text, path);
    kt_string_append(&text, strcmp(format, "perfetto") == 0 ? ": open it at https://ui.perfetto.dev\n" : "\n");
    return cli_print_string(&text);
}

static int export_to_new(const struct ktrace_trace *trace, const char *format)
{
    char *path;
    if (ktrace_trace_export_new(&path, trace, NULL) < 0)
        return cli_error_library();
    int status = report(path, format);
    free(path);
    return status;
}

static int export_to_path(const struct ktrace_trace *trace, const char *format, const char *path)
{
    if (ktrace_trace_export(trace, format, path) < 0)
        return cli_error_library();
    return report(path, format);
}

/* CLI_OK, or CLI_USAGE after an error that lists the exporters. */
static int check_format(const char *format)
{
    struct kt_string text = KT_STRING_INIT;
    for (const struct kt_exporter *const *exporter = kt_exporters; *exporter; exporter++) {
        if (strcmp((*exporter)->name, format) == 0) {
            kt_string_destroy(&text);
            return CLI_OK;
        }
        kt_string_printf(&text, "%s%s", exporter == kt_exporters ? "" : ", ", (*exporter)->name);
    }
    cli_error_usage(&cli_export, "there is no exporter '%s', only: %s", format, kt_string_text(&text));
    kt_string_destroy(&text);
    return CLI_USAGE;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"format", required_argument, NULL, 'f'}, CLI_HELP_OPTION, {0}};
    const char *output = NULL, *format = "perfetto";
    for (int option; (option = cli_option(&cli_export, argc, argv, ":ho:f:", options)) != -1;) {
        switch (option) {
        case 'o': output = optarg; break;
        case 'f': format = optarg; break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
    }
    if (check_format(format) != CLI_OK)
        return CLI_USAGE;
    const char *path = cli_operand(&cli_export, argc, argv, "one .ktrace file");
    if (!path)
        return CLI_USAGE;
    if (output && !*output)
        return cli_error_usage(&cli_export, "option '-o' needs a name that is not empty");
    if (!output && strcmp(format, "perfetto") != 0)
        return cli_error_usage(&cli_export, "format '%s' needs '-o OUT'", format);
    bool to_stdout = output && is_stdout(output);
    if (to_stdout && isatty(STDOUT_FILENO))
        return cli_error_usage(&cli_export, "the trace is not written to a terminal: redirect standard output");
    if (output && !to_stdout && same_file(path, output))
        return cli_error("%s: the output would replace the input: name another file with '-o'", output);

    struct ktrace_trace *trace;
    if (ktrace_trace_load(&trace, path) < 0)
        return cli_error_library();
    int status = to_stdout ? export_to_stdout(trace, format)
                 : output  ? export_to_path(trace, format, output)
                           : export_to_new(trace, format);
    ktrace_trace_destroy(trace);
    return status;
}

const struct cli_command cli_export = {
    .name = "export",
    .brief = "write a trace for Perfetto",
    .help = "Usage: ktrace export [-o OUT.pftrace.gz] FILE.ktrace\n"
            "\n"
            "Writes the trace as a timeline to open at https://ui.perfetto.dev: kernel, launch, SM,\n"
            "workgroup and warp are nested tracks, ranges are slices on the warp's track, token ranges\n"
            "lie on tracks below it, marks are instants, and payloads are arguments.\n"
            "\n"
            "Options:\n"
            "  -o, --output OUT   write OUT, replacing it; '-' is standard output. Without this option:\n"
            "                     <name>_ktrace.pftrace.gz in the current folder, where <name> is the\n"
            "                     trace's, with a number where that exists\n"
            "  -f, --format NAME  the exporter: perfetto (the default)\n"
            "  -h, --help         print this\n",
    .run = run,
};
