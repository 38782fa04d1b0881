#include "cli.h"

#include <stdlib.h>

static int run(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'}, CLI_HELP_OPTION, {0}};
    bool json = false;
    for (int option; (option = cli_option(&cli_summary, argc, argv, ":hj", options)) != -1;) {
        switch (option) {
        case 'j': json = true; break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
    }
    const char *path = cli_operand(&cli_summary, argc, argv, "one .ktrace file");
    if (!path)
        return CLI_USAGE;

    struct ktrace_trace *trace;
    if (ktrace_trace_load(&trace, path) < 0)
        return cli_error_library();
    char *text;
    int result = json ? ktrace_trace_summary_json(&text, trace) : ktrace_trace_summary_text(&text, trace);
    ktrace_trace_destroy(trace);
    if (result < 0)
        return cli_error_library();
    cli_print(text);
    free(text);
    return CLI_OK;
}

const struct cli_command cli_summary = {
    .name = "summary",
    .brief = "print how long every phase took",
    .help = "Usage: ktrace summary [--json] FILE.ktrace\n"
            "\n"
            "Launches, then count, total, mean, minimum, percentiles and maximum of every phase, and\n"
            "what is missing from the trace.\n"
            "\n"
            "Options:\n"
            "  -j, --json  as JSON\n"
            "  -h, --help  print this\n",
    .run = run,
};
