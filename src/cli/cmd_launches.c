#include "cli.h"

#include "../summary.h"
#include "progress.h"
#include "terminal.h"

#include <stdlib.h>

static int print_text(const struct ktrace_trace *trace)
{
    struct kt_string out = cli_text();
    if (kt_append_launches(&out, trace) == KTRACE_OK)
        return cli_print_string(&out);
    kt_string_destroy(&out);
    return cli_error_library();
}

static int print_json(const struct ktrace_trace *trace)
{
    char *text;
    if (ktrace_trace_launches_json(&text, trace) < 0)
        return cli_error_library();
    cli_print(text);
    free(text);
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'}, CLI_HELP_OPTION, {0}};
    bool json = false;
    for (int option; (option = cli_option(&cli_launches, argc, argv, ":hj", options)) != -1;) {
        switch (option) {
        case 'j': json = true; break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
    }
    const char *path = cli_operand(&cli_launches, argc, argv, "one .ktrace file");
    if (!path)
        return CLI_USAGE;

    struct ktrace_trace *trace;
    if (cli_load(&trace, path) != CLI_OK)
        return CLI_FAILURE;
    const int status = json ? print_json(trace) : print_text(trace);
    ktrace_trace_destroy(trace);
    return status;
}

const struct cli_command cli_launches = {
    .name = "launches",
    .brief = "print every launch, and how long its phases took",
    .help = "Usage: ktrace launches [--json] FILE.ktrace\n"
            "\n"
            "Every launch in the order of first timestamps, then the phases of each, as 'ktrace summary'\n"
            "has them of all launches together.\n"
            "\n"
            "  launch      its number: '#0' here is 'launch #0' on the timeline\n"
            "  device      its number in CUDA or HIP, where the trace has several\n"
            "  grid id     NVIDIA: unique, but every replay of a graph repeats those of its nodes, and\n"
            "              'occurrence' counts the replays. AMD: the dispatch's, unique in its queue\n"
            "  begin, end  of its first and last wave, from the trace's time 0\n"
            "  waves       recorded of launched: a filter, or a full buffer, keeps some out\n"
            "  lost        slots overwritten in rings that wrapped\n"
            "\n"
            "Options:\n"
            "  -j, --json  as JSON: \"info\", \"warning\" and \"launches\", each with a \"launch_id\" (its\n"
            "              number), the fields of ktrace.h under their names, and its \"phases\"\n"
            "  -h, --help  print this\n",
    .run = run,
};
