#include "cli.h"

#include "../export/export.h"

#include <errno.h>
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

static int export_launches(const struct ktrace_trace *trace, const char *directory, char *names_text)
{
    uint64_t name_count = 0, count = 0;
    const char **names = names_text ? split(names_text, &name_count) : NULL;
    if (names_text && !names)
        return cli_error("out of memory");
    char **paths;
    const int result = ktrace_trace_export_launches(&paths, &count, trace, directory, names, name_count);
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
    if (count) {
        kt_string_append(&text, "open them at https://ui.perfetto.dev\n");
    } else {
        const char *warning = ktrace_trace_warning(trace);
        kt_string_append(&text, *warning ? "no launch has events: " : "no launch has events");
        kt_string_append_visible(&text, warning);
        kt_string_append(&text, "\n");
    }
    ktrace_paths_free(paths, count);
    return cli_print_string(&text);
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

/* Everything in one file. */
static int export_whole(const struct ktrace_trace *trace, const char *format, const char *output)
{
    if (!output)
        return export_to_new(trace, format);
    return is_stdout(output) ? export_to_stdout(trace, format) : export_to_path(trace, format, output);
}

/* Whether `output` can take the whole of what `path` holds. */
static int check_output(const char *path, const char *format, const char *output)
{
    if (!output && strcmp(format, "perfetto") != 0)
        return cli_error_usage(&cli_export, "format '%s' needs '-o OUT'", format);
    const bool to_stdout = output && is_stdout(output);
    if (to_stdout && isatty(STDOUT_FILENO))
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
    if (check_format(format) != CLI_OK)
        return CLI_USAGE;
    const char *path = cli_operand(&cli_export, argc, argv, "one .ktrace file");
    if (!path)
        return CLI_USAGE;
    if (output && !*output)
        return cli_error_usage(&cli_export, "option '-o' needs a name that is not empty");
    if (names && !launches)
        return cli_error_usage(&cli_export, "option '--names' is for '--launches'");
    if (launches && strcmp(format, "perfetto") != 0)
        return cli_error_usage(&cli_export, "'--launches' is for the format 'perfetto'");
    int status = launches ? check_folder(output) : check_output(path, format, output);
    if (status != CLI_OK)
        return status;

    struct ktrace_trace *trace;
    if (ktrace_trace_load(&trace, path) < 0)
        return cli_error_library();
    status = launches ? export_launches(trace, output, names) : export_whole(trace, format, output);
    ktrace_trace_destroy(trace);
    return status;
}

const struct cli_command cli_export = {
    .name = "export",
    .brief = "write a trace for Perfetto",
    .help = "Usage: ktrace export [-o OUT.pftrace.gz] FILE.ktrace\n"
            "       ktrace export --launches [--names A,B,...] [-o FOLDER] FILE.ktrace\n"
            "\n"
            "Writes the trace as a timeline to open at https://ui.perfetto.dev: kernel, launch, SM or CU,\n"
            "workgroup and wave (NVIDIA's warp) are nested tracks, ranges are slices on the wave's track,\n"
            "token ranges lie on tracks below it, marks are instants, and payloads are arguments.\n"
            "\n"
            "Options:\n"
            "  -o, --output OUT   write OUT, replacing it; '-' is standard output. Without this option:\n"
            "                     <name>_ktrace.pftrace.gz in the current folder, where <name> is the\n"
            "                     trace's, with a number where that exists\n"
            "  -f, --format NAME  the exporter: perfetto (the default)\n"
            "  -l, --launches     a file for each launch that has events, in the current folder or FOLDER,\n"
            "                     never over an old one. All their times are from the trace's time 0\n"
            "  -n, --names A,...  what to call these files, one name a launch in the order of 'ktrace\n"
            "                     launches': A_ktrace.pftrace.gz. Without: <kernel>_launch_<number>\n"
            "  -h, --help         print this\n",
    .run = run,
};
