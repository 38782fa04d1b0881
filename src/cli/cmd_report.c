#include "cli.h"

#include "../export/sink.h"
#include "../report/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "gemm.html" in the current folder for "traces/gemm.ktrace". The caller's: free() it; NULL: memory ran out. */
static char *default_output(const char *path)
{
    static const char suffix[] = ".ktrace";
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t length = strlen(name);
    if (length > strlen(suffix) && strcmp(name + length - strlen(suffix), suffix) == 0)
        length -= strlen(suffix);
    struct kt_string text = KT_STRING_INIT;
    char *output = NULL;
    kt_string_printf(&text, "%.*s.html", (int)length, name);
    return kt_string_take(&output, &text) < 0 ? NULL : output;
}

static bool same_file(const char *a, const char *b)
{
    struct stat a_status, b_status;
    return stat(a, &a_status) == 0 && stat(b, &b_status) == 0 && S_ISREG(a_status.st_mode) &&
           a_status.st_dev == b_status.st_dev && a_status.st_ino == b_status.st_ino;
}

static int write_to_stdout(const struct ktrace_trace *trace)
{
    struct kt_memory_sink memory;
    kt_memory_sink_init(&memory);
    const int status = kt_report_write(&memory.sink, trace);
    if (status == 0)
        cli_write(memory.buffer.data, memory.buffer.bytes);
    kt_pb_destroy(&memory.buffer);
    return status < 0 ? cli_error_library() : CLI_OK;
}

static int write_to_file(const struct ktrace_trace *trace, const char *output)
{
    struct kt_file_sink file;
    if (kt_file_sink_replace(&file, output) < 0 || kt_file_sink_close(&file, kt_report_write(&file.sink, trace)) < 0)
        return cli_error_library();
    struct kt_string text = KT_STRING_INIT;
    kt_string_append(&text, "wrote ");
    kt_string_append_visible(&text, output);
    kt_string_append(&text, ": open it in a browser\n");
    return cli_print_string(&text);
}

static int report(const char *path, const char *output)
{
    const bool to_stdout = strcmp(output, "-") == 0;
    if (to_stdout && isatty(STDOUT_FILENO))
        return cli_error_usage(&cli_report, "the page is not written to a terminal: redirect standard output");
    if (!to_stdout && same_file(path, output))
        return cli_error("%s: the output would replace the input: name another file with '-o'", output);
    struct ktrace_trace *trace;
    if (ktrace_trace_load(&trace, path) < 0)
        return cli_error_library();
    const int status = to_stdout ? write_to_stdout(trace) : write_to_file(trace, output);
    ktrace_trace_destroy(trace);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'}, CLI_HELP_OPTION, {0}};
    const char *output = NULL;
    for (int option; (option = cli_option(&cli_report, argc, argv, ":ho:", options)) != -1;) {
        switch (option) {
        case 'o': output = optarg; break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
    }
    const char *path = cli_operand(&cli_report, argc, argv, "one .ktrace file");
    if (!path)
        return CLI_USAGE;
    if (output && !*output)
        return cli_error_usage(&cli_report, "option '-o' needs a name that is not empty");
    if (output)
        return report(path, output);
    char *chosen = default_output(path);
    const int status = chosen ? report(path, chosen) : cli_error("out of memory");
    free(chosen);
    return status;
}

const struct cli_command cli_report = {
    .name = "report",
    .brief = "write a page for the browser: phases, timeline, imbalance, heat map",
    .help = "Usage: ktrace report [-o OUT.html] FILE.ktrace\n"
            "\n"
            "Writes one HTML page that needs nothing else: no network, no other file. It has the phases\n"
            "with their distributions, a timeline of the waves of any launch (zoom with the wheel, move by\n"
            "dragging), what is out of balance and which waves are to blame, a heat map of the SMs or CUs,\n"
            "and what is missing from the trace, in plain words.\n"
            "\n"
            "A page has at most 15 MB, but for names. Of a trace that is larger the timeline shows 200\n"
            "launches, 200,000 waves and 400,000 ranges, chosen evenly, and says so; statistics are of\n"
            "everything.\n"
            "\n"
            "Options:\n"
            "  -o, --output OUT  write OUT, replacing it; '-' is standard output. Without this option: the\n"
            "                    file's name with .html, in the current folder\n"
            "  -h, --help        print this\n"
            "\n"
            "Example:\n"
            "  ktrace report gemm.ktrace -o gemm.html\n",
    .run = run,
};
