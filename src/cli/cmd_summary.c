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
            "  range    a phase that nests: KTRACE_RANGE, or KTRACE_RANGE_PUSH and KTRACE_RANGE_POP\n"
            "  token    one that may overlap others: KTRACE_RANGE_START, _NEXT and _STOP\n"
            "  mark     an instant, KTRACE_MARK, which has a count and no duration\n"
            "  waves    what records: NVIDIA's warps\n"
            "  total    summed over all waves, which run side by side: it can be far longer than the\n"
            "           launch took. Only ranges that were closed are counted in it\n"
            "  clock    of the SMs. Anchors are times at which a wave read both its SM's clock and the\n"
            "           device's; times come from a line fitted through them, and how far the worst\n"
            "           anchor is from it says how well the SMs agree\n"
            "\n"
            "Options:\n"
            "  -j, --json  as JSON: \"info\", \"warning\", \"launches\" and \"phases\", with the fields of\n"
            "              ktrace.h under their names, and a phase's \"kind\" as \"range\", \"token\" or\n"
            "              \"mark\". Durations of marks are null\n"
            "  -h, --help  print this\n",
    .run = run,
};
