#include "cli.h"

#include "../export/export.h"
#include "progress.h"
#include "stdout_sink.h"

#include <errno.h>
#include <stdio.h>
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

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* -o - and -o /dev/stdout: nothing else may be written there then. */
static bool is_stdout(const char *path)
{
    struct stat status, stdout_status;
    return strcmp(path, "-") == 0 || (stat(path, &status) == 0 && fstat(STDOUT_FILENO, &stdout_status) == 0 &&
                                      status.st_dev == stdout_status.st_dev && status.st_ino == stdout_status.st_ino);
}

static int export_to_stdout(const struct ktrace_trace *trace, const struct kt_exporter *exporter)
{
    if (!isatty(STDOUT_FILENO))
        cli_progress_begin("writing", "standard output");
    const int result = exporter->write(cli_stdout_sink(), trace, KT_EVERY_LAUNCH);
    cli_progress_end();
    return result < 0 && !ferror(stdout) ? cli_error_library() : CLI_OK; /* main tells of standard output */
}

static const char *where_to_open(const struct kt_exporter *exporter)
{
    return exporter == &kt_exporter_perfetto ? "https://ui.perfetto.dev"
           : exporter == &kt_exporter_chrome ? "chrome://tracing"
                                             : NULL;
}

static int report(const char *path, const struct kt_exporter *exporter)
{
    struct kt_string text = KT_STRING_INIT;
    const char *where = where_to_open(exporter);
    kt_string_append(&text, "wrote ");
    kt_string_append_visible(&text, path);
    kt_string_printf(&text, "%s%s\n", where ? ": open it at " : "", where ? where : "");
    return cli_print_string(&text);
}

static int export_to_new(const struct ktrace_trace *trace, const struct kt_exporter *exporter)
{
    char *path;
    cli_progress_begin("exporting", trace->snapshot->name);
    const int result = kt_export_new(&path, trace, exporter, KT_EVERY_LAUNCH, NULL, trace->snapshot->name);
    cli_progress_end();
    if (result < 0)
        return cli_error_library();
    int status = report(path, exporter);
    free(path);
    return status;
}

static int export_to_path(const struct ktrace_trace *trace, const struct kt_exporter *exporter, const char *path)
{
    cli_progress_begin("writing", path);
    const int result = ktrace_trace_export(trace, exporter->name, path);
    cli_progress_end();
    if (result < 0)
        return cli_error_library();
    return report(path, exporter);
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
    const char *where = where_to_open(exporter);
    if (count && where) {
        kt_string_printf(&text, "open them at %s\n", where);
    } else if (count == 0) {
        const char *warning = ktrace_trace_warning(trace);
        kt_string_append(&text, *warning ? "no launch has events: " : "no launch has events");
        kt_string_append_visible(&text, warning);
        kt_string_append(&text, "\n");
    }
    ktrace_paths_free(paths, count);
    return cli_print_string(&text);
}

/* Everything in one file. */
static int export_whole(const struct ktrace_trace *trace, const struct kt_exporter *exporter, const char *output)
{
    if (!output)
        return export_to_new(trace, exporter);
    return is_stdout(output) ? export_to_stdout(trace, exporter) : export_to_path(trace, exporter, output);
}

/* Whether `output` can take the whole of what `path` holds. */
static int check_output(const char *path, const struct kt_exporter *exporter, const char *output)
{
    const bool to_stdout = output && is_stdout(output);
    if (to_stdout && exporter == &kt_exporter_perfetto && isatty(STDOUT_FILENO))
        return cli_error_usage(&cli_export, "the trace is not written to a terminal: redirect standard output");
    if (output && is_folder(output))
        return cli_error("%s: this is a folder: name a file in it with '-o', or write a file for each launch with "
                         "'--launches'",
                         output);
    if (output && !to_stdout && same_file(path, output))
        return cli_error("%s: the output would replace the input: name another file with '-o'", output);
    return CLI_OK;
}

/* Whether files for launches can go to `folder`; NULL: here. */
static int check_folder(const char *folder)
{
    struct stat status;
    if (folder && strcmp(folder, "-") == 0)
        return cli_error_usage(&cli_export,
                               "'--launches' writes files, not to standard output: '-o' names their folder");
    if (!folder || is_folder(folder))
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
    int status = launches ? check_folder(output) : check_output(path, exporter, output);
    if (status != CLI_OK)
        return status;

    struct ktrace_trace *trace;
    if (cli_load(&trace, path) != CLI_OK)
        return CLI_FAILURE;
    status = launches ? export_launches(trace, exporter, output, names) : export_whole(trace, exporter, output);
    ktrace_trace_destroy(trace);
    return status;
}

const struct cli_command cli_export = {
    .name = "export",
    .brief = "write a trace for Perfetto, for chrome://tracing, or as CSV",
    .help = "Usage: ktrace export [-f FORMAT] [-o OUT] FILE.ktrace\n"
            "       ktrace export --launches [--names A,B,...] [-f FORMAT] [-o FOLDER] FILE.ktrace\n"
            "\n"
            "Writes the trace as a timeline, or as a table:\n"
            "\n"
            "  perfetto  to open at https://ui.perfetto.dev: kernel, launch, SM or CU, workgroup and wave\n"
            "            (NVIDIA's warp) are nested tracks, ranges are slices on the wave's track, token\n"
            "            ranges lie on tracks below it, marks are instants, and payloads are arguments\n"
            "  chrome    JSON of trace events, for chrome://tracing and other tools: a launch is a process,\n"
            "            a wave a thread, ranges that overlap are asynchronous events\n"
            "  csv       ranges and marks, one a line, with times in picoseconds\n"
            "\n"
            "Options:\n"
            "  -o, --output OUT   write OUT, replacing it; '-' is standard output. Without this option:\n"
            "                     <name>_ktrace.pftrace.gz, .json or .csv in the current folder, where\n"
            "                     <name> is the trace's, with a number where that exists\n"
            "  -f, --format NAME  perfetto (the default), chrome or csv\n"
            "  -l, --launches     a file for each launch that has events, in the current folder or FOLDER,\n"
            "                     never over an old one. All their times are from the trace's time 0\n"
            "  -n, --names A,...  what to call these files, one name a launch in the order of 'ktrace\n"
            "                     launches': A_ktrace.pftrace.gz. Without: <kernel>_launch_<number>\n"
            "  -h, --help         print this\n"
            "\n"
            "Examples:\n"
            "  ktrace export gemm.ktrace\n"
            "  ktrace export -f csv -o - gemm.ktrace | head\n",
    .run = run,
};
