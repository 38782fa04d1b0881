#include "cli.h"

#include "output.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

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

static int report(const char *path, const char *output)
{
    struct ktrace_trace *trace;
    int status = cli_output_check(&cli_report, &kt_exporter_html, output, path);
    if (status == CLI_OK)
        status = cli_load(&trace, path);
    if (status != CLI_OK)
        return status;
    status = cli_output_write(trace, &kt_exporter_html, output);
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
