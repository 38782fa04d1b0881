#include "cli.h"

#include "output.h"
#include "progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int export_to_new(const struct ktrace_trace *trace, const struct kt_exporter *exporter)
{
    char *path;
    cli_progress_begin("exporting", trace->snapshot->name);
    const int result = kt_export_new(&path, trace, exporter, KT_EVERY_LAUNCH, NULL, trace->snapshot->name);
    cli_progress_end();
    if (result < 0)
        return cli_error_library();
    int status = cli_output_report(exporter, path);
    free(path);
    return status;
}

/* The names between the commas of `text`, which is cut there. NULL: memory ran out. */
static const char **split(char *text, uint64_t *count)
{
    uint64_t names = 1;
    for (const char *at = text; *at; at++)
        names += *at == ',';
    const char **list = malloc((size_t)names * sizeof *list);
    for (*count = 0; list && text;)
        list[(*count)++] = strsep(&text, ",");
    return list;
}

static int export_launches(const struct ktrace_trace *trace, const struct kt_exporter *exporter, const char *directory,
                           char *names_text)
{
    uint64_t name_count = 0, count = 0;
    const char **names = names_text ? split(names_text, &name_count) : NULL;
    if (names_text && !names)
        return cli_error("out of memory");
    char **paths;
    cli_progress_begin("exporting", "launches");
    const int result = kt_export_launches(&paths, &count, trace, exporter, directory, names, name_count);
    cli_progress_end();
    free(names);
    if (result == KTRACE_ERROR_ARGUMENT && names_text)
        return cli_error("option '--names': %s", ktrace_last_error());
    if (result < 0)
        return cli_error_library();
    struct kt_string text = KT_STRING_INIT;
    for (uint64_t i = 0; i < count; i++) {
        kt_string_append(&text, "wrote ");
        kt_string_append_visible(&text, paths[i]);
        kt_string_append(&text, "\n");
    }
    const char *opener = cli_output_opener(exporter);
    if (count && opener) {
        kt_string_printf(&text, "open them %s\n", opener);
    } else if (count == 0) {
        const char *warning = ktrace_trace_warning(trace);
        kt_string_append(&text, *warning ? "no launch has events: " : "no launch has events");
        kt_string_append_visible(&text, warning);
        kt_string_append(&text, "\n");
    }
    ktrace_paths_free(paths, count);
    return cli_print_string(&text);
}

/* Whether files for launches can go to `folder`; NULL: here. */
static int check_folder(const char *folder)
{
    struct stat status;
    if (folder && strcmp(folder, "-") == 0)
        return cli_error_usage(&cli_export,
                               "'--launches' writes files, not to standard output: '-o' names their folder");
    if (!folder || cli_is_folder(folder))
        return CLI_OK;
    if (stat(folder, &status) == 0)
        return cli_error("%s: this is a file, and '--launches' needs a folder for '-o'", folder);
    const int error = errno;
    return cli_error("%s: this folder cannot be used: %s%s", folder, strerror(error),
                     error == ENOENT ? "; make it first" : "");
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"format", required_argument, NULL, 'f'},
                                            {"launches", no_argument, NULL, 'l'},
                                            {"names", required_argument, NULL, 'n'},
                                            CLI_HELP_OPTION,
                                            {0}};
    const char *output = NULL, *format = "perfetto";
    char *names = NULL;
    bool launches = false;
    for (int option; (option = cli_option(&cli_export, argc, argv, ":ho:f:ln:", options)) != -1;) {
        switch (option) {
        case 'o': output = optarg; break;
        case 'f': format = optarg; break;
        case 'l': launches = true; break;
        case 'n': names = optarg; break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
    }
    const struct kt_exporter *exporter = kt_find_exporter(format);
    if (!exporter)
        return cli_error_usage(&cli_export, "%s", ktrace_last_error());
    const char *path = cli_operand(&cli_export, argc, argv, "one .ktrace file");
    if (!path)
        return CLI_USAGE;
    if (output && !*output)
        return cli_error_usage(&cli_export, "option '-o' needs a name that is not empty");
    if (names && !launches)
        return cli_error_usage(&cli_export, "option '--names' is for '--launches'");
    if (launches && !exporter->takes_launch)
        return cli_error_usage(&cli_export, "'--launches' is not for the format %s, which is of whole traces", format);
    int status = launches ? check_folder(output)
                 : output ? cli_output_check(&cli_export, exporter, output, path)
                          : CLI_OK;
    if (status != CLI_OK)
        return status;

    struct ktrace_trace *trace;
    if (cli_load(&trace, path) != CLI_OK)
        return CLI_FAILURE;
    status = launches ? export_launches(trace, exporter, output, names)
             : output ? cli_output_write(trace, exporter, output)
                      : export_to_new(trace, exporter);
    ktrace_trace_destroy(trace);
    return status;
}

const struct cli_command cli_export = {
    .name = "export",
    .brief = "write a trace for Perfetto, as Chrome's trace events, CSV, JSON or HTML",
    .help = "Usage: ktrace export [-f FORMAT] [-o OUT] FILE.ktrace\n"
            "       ktrace export --launches [--names A,B,...] [-f FORMAT] [-o FOLDER] FILE.ktrace\n"
            "\n"
            "Writes the trace as a timeline, a table, statistics, or a page:\n"
            "\n"
            "  perfetto  to open at https://ui.perfetto.dev: kernel, launch, SM or CU, workgroup and wave\n"
            "            (NVIDIA's warp) are nested tracks, ranges are slices on the wave's track, token\n"
            "            ranges lie on tracks below it, marks are instants, and payloads are arguments\n"
            "  chrome    JSON of Chrome's trace events, for tools that read those, and Perfetto: a launch is\n"
            "            a process, a wave a thread, ranges that overlap are asynchronous events\n"
            "  csv       ranges and marks, one a line, with times in picoseconds\n"
            "  json      statistics, as 'ktrace summary --json' prints them\n"
            "  html      a page for the browser, as 'ktrace report' writes it\n"
            "\n"
            "Options:\n"
            "  -o, --output OUT   write OUT, replacing it; '-' is standard output. Without this option:\n"
            "                     <name>_ktrace.pftrace.gz, .json, .csv, .summary.json or .html in the current\n"
            "                     folder, where <name> is the trace's, with a number where that exists\n"
            "  -f, --format NAME  perfetto (the default), chrome, csv, json or html\n"
            "  -l, --launches     a file for each launch that has events, in the current folder or FOLDER,\n"
            "                     never over an old one. All their times are from the trace's time 0. Not of\n"
            "                     json and html, which are of whole traces\n"
            "  -n, --names A,...  what to call these files, one name a launch in the order of 'ktrace\n"
            "                     launches': A_ktrace.pftrace.gz. Without: <kernel>_launch_<number>\n"
            "  -h, --help         print this\n"
            "\n"
            "Examples:\n"
            "  ktrace export gemm.ktrace\n"
            "  ktrace export -f csv -o - gemm.ktrace | head\n",
    .run = run,
};
