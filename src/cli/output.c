#include "output.h"

#include "progress.h"
#include "stdout_sink.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Where it goes ------------------------------------------------------------------------------------------------- */

bool cli_same_file(const char *a, const char *b)
{
    struct stat a_status, b_status;
    return stat(a, &a_status) == 0 && stat(b, &b_status) == 0 && S_ISREG(a_status.st_mode) &&
           a_status.st_dev == b_status.st_dev && a_status.st_ino == b_status.st_ino;
}

bool cli_is_folder(const char *path)
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

static bool is_for_terminals(const struct kt_exporter *exporter)
{
    return exporter != &kt_exporter_perfetto && exporter != &kt_exporter_html;
}

int cli_output_check(const struct cli_command *command, const struct kt_exporter *exporter, const char *output,
                     const char *input)
{
    const bool to_stdout = is_stdout(output);
    if (to_stdout && !is_for_terminals(exporter) && isatty(STDOUT_FILENO))
        return cli_error_usage(command, "the %s is not written to a terminal: redirect standard output",
                               exporter == &kt_exporter_html ? "page" : "trace");
    if (cli_is_folder(output))
        return cli_error("%s: this is a folder: name a file in it with '-o'%s", output,
                         command == &cli_export ? ", or write a file for each launch with '--launches'" : "");
    if (!to_stdout && cli_same_file(input, output))
        return cli_error("%s: the output would replace the input: name another file with '-o'", output);
    return CLI_OK;
}

/* ---- Writing ------------------------------------------------------------------------------------------------------- */

static int write_to_stdout(const struct ktrace_trace *trace, const struct kt_exporter *exporter)
{
    if (!isatty(STDOUT_FILENO)) /* where it is seen, it is progress enough */
        cli_progress_begin("writing", "standard output");
    const int result = exporter->write(cli_stdout_sink(), trace, KT_EVERY_LAUNCH);
    cli_progress_end();
    return result < 0 && !ferror(stdout) ? cli_error_library() : CLI_OK; /* main tells of standard output */
}

int cli_output_write(const struct ktrace_trace *trace, const struct kt_exporter *exporter, const char *output)
{
    if (is_stdout(output))
        return write_to_stdout(trace, exporter);
    cli_progress_begin("writing", output);
    const int result = ktrace_trace_export(trace, exporter->name, output);
    cli_progress_end();
    return result < 0 ? cli_error_library() : cli_output_report(exporter, output);
}

const char *cli_output_opener(const struct kt_exporter *exporter)
{
    if (exporter == &kt_exporter_perfetto || exporter == &kt_exporter_chrome)
        return "at https://ui.perfetto.dev";
    return exporter == &kt_exporter_html ? "in a browser" : NULL;
}

int cli_output_report(const struct kt_exporter *exporter, const char *path)
{
    struct kt_string text = KT_STRING_INIT;
    const char *opener = cli_output_opener(exporter);
    kt_string_append(&text, "wrote ");
    kt_string_append_visible(&text, path);
    kt_string_printf(&text, "%s%s\n", opener ? ": open it " : "", opener ? opener : "");
    return cli_print_string(&text);
}
