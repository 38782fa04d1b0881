#include "diff.h"

#include "../trace.h"
#include "progress.h"
#include "terminal.h"

#include <stdlib.h>
#include <string.h>

enum { CONDITION_HOLDS = 3, CONDITIONS = 64 };

struct request {
    struct diff_options options;
    bool json;
    struct diff_condition conditions[CONDITIONS];
    size_t condition_count;
};

/* ---- Arguments ---------------------------------------------------------------------------------------------------- */

static bool take_real(double *out, const char *text, double least, double most)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= least && value <= most))
        return false;
    *out = value;
    return true;
}

static int take_condition(struct request *request, const char *text)
{
    if (request->condition_count == CONDITIONS)
        return cli_error_usage(&cli_diff, "there are more than %d times '--fail-if'", CONDITIONS);
    struct kt_string why = KT_STRING_INIT;
    int status = CLI_OK;
    if (diff_condition_parse(&request->conditions[request->condition_count++], text, &why) < 0)
        status = cli_error_usage(&cli_diff, "%s", kt_string_text(&why));
    kt_string_destroy(&why);
    return status;
}

static int take_option(struct request *request, int option)
{
    switch (option) {
    case 'j': request->json = true; return CLI_OK;
    case 'f': return take_condition(request, optarg);
    case 'm':
        if (!take_real(&request->options.min_effect_percent, optarg, 0, 1e6))
            return cli_error_usage(&cli_diff, "'--min-effect' is a percentage such as 1 or 0.5, not '%s'", optarg);
        return CLI_OK;
    case 'a':
        if (!take_real(&request->options.alpha, optarg, 0, 1))
            return cli_error_usage(&cli_diff, "'--alpha' is a probability such as 0.05, not '%s'", optarg);
        return CLI_OK;
    case 'u':
        if (strcmp(optarg, "waves") != 0 && strcmp(optarg, "launches") != 0)
            return cli_error_usage(&cli_diff, "'--over' is 'waves' or 'launches', not '%s'", optarg);
        request->options.unit = strcmp(optarg, "waves") == 0 ? DIFF_WAVES : DIFF_LAUNCHES;
        return CLI_OK;
    default: return CLI_USAGE; /* it was said */
    }
}

/* ---- Comparing ---------------------------------------------------------------------------------------------------- */

static int refuse_incomparable(const struct diff *diff)
{
    const bool a = diff->trace[DIFF_A]->snapshot->flags & KT_SNAPSHOT_SIMULATED;
    const bool b = diff->trace[DIFF_B]->snapshot->flags & KT_SNAPSHOT_SIMULATED;
    if (a == b)
        return CLI_OK;
    return cli_error(
        "%s is of simulated time and %s was recorded on a device: their times cannot be compared; record both "
        "in the same way",
        diff->path[a ? DIFF_A : DIFF_B], diff->path[a ? DIFF_B : DIFF_A]);
}

/* The exit status, or one after an error. */
static int evaluate(struct request *request, const struct diff *diff)
{
    int status = CLI_OK;
    for (size_t i = 0; i < request->condition_count; i++) {
        struct kt_string why = KT_STRING_INIT;
        const int result = diff_condition_evaluate(&request->conditions[i], diff, &why);
        if (result < 0)
            cli_error("%s", kt_string_text(&why));
        kt_string_destroy(&why);
        if (result < 0)
            return CLI_FAILURE;
        if (request->conditions[i].holds)
            status = CONDITION_HOLDS;
    }
    return status;
}

static int compare(struct request *request, struct diff *diff)
{
    int status = refuse_incomparable(diff);
    if (status != CLI_OK)
        return status;
    cli_progress_begin("comparing", "traces");
    const int made = diff_make(diff);
    cli_progress_end();
    if (made < 0)
        return cli_error_library();
    status = evaluate(request, diff);
    if (status == CLI_FAILURE)
        return status;
    struct kt_string text = cli_text();
    if (!request->json) {
        diff_append_text(&text, diff, request->conditions, request->condition_count);
    } else if (diff_append_json(&text, diff, request->conditions, request->condition_count) < 0) {
        kt_string_destroy(&text);
        return cli_error_library();
    }
    const int printed = cli_print_string(&text);
    return printed == CLI_OK ? status : printed;
}

static int compare_files(struct request *request, char **paths)
{
    struct ktrace_trace *traces[DIFF_SIDES] = {NULL, NULL};
    struct diff diff = {.options = request->options};
    int status = CLI_OK;
    for (int side = 0; side < DIFF_SIDES && status == CLI_OK; side++) {
        status = cli_load(&traces[side], paths[side]);
        diff.path[side] = paths[side];
        diff.trace[side] = traces[side];
    }
    if (status == CLI_OK)
        status = compare(request, &diff);
    diff_destroy(&diff);
    for (int side = 0; side < DIFF_SIDES; side++)
        ktrace_trace_destroy(traces[side]);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"fail-if", required_argument, NULL, 'f'},
                                            {"min-effect", required_argument, NULL, 'm'},
                                            {"alpha", required_argument, NULL, 'a'},
                                            {"over", required_argument, NULL, 'u'},
                                            CLI_HELP_OPTION,
                                            {0}};
    struct request request = {.options = {DIFF_WAVES, 0.05, 1}};
    int status = CLI_OK;
    bool help = false;
    for (int option; status == CLI_OK && !help;) {
        if ((option = cli_option(&cli_diff, argc, argv, ":hjf:m:a:u:", options)) == -1)
            break;
        help = option == 'h';
        if (!help)
            status = take_option(&request, option);
    }
    if (status == CLI_OK && !help) {
        if (argc - optind != 2)
            status = cli_error_usage(&cli_diff, "name two .ktrace files, before and after, not %d", argc - optind);
        else
            status = compare_files(&request, argv + optind);
    }
    for (size_t i = 0; i < request.condition_count; i++)
        diff_condition_free(&request.conditions[i]);
    return status;
}

const struct cli_command cli_diff = {
    .name = "diff",
    .brief = "say which phases became slower or faster from one trace to another",
    .help = "Usage: ktrace diff [OPTION...] A.ktrace B.ktrace\n"
            "\n"
            "Compares the phases of A, before, with those of B, after: phases of equal kernel, name and\n"
            "kind; where a trace has several devices, device by device. What changed and took the most time\n"
            "comes first.\n"
            "\n"
            "  slower, faster  more than chance: Mann and Whitney's test of how long the phase took each\n"
            "                  wave, on average of its ranges. docs/diff.md says what that can mean\n"
            "  too few         waves for any test; the numbers are shown all the same\n"
            "  total           what B spent more than A, summed over waves, which run side by side\n"
            "  p               how likely chance alone is to make such a difference; for as many tests as\n"
            "                  there are phases, by Holm's method\n"
            "\n"
            "Options:\n"
            "  -f, --fail-if CONDITION   exit status 3 if it holds; repeatable. CONDITION is\n"
            "                            [KERNEL/]PHASE p50|p90|p99|mean|total|count >|>=|<|<= LIMIT with\n"
            "                            the LIMIT +3% or -3% (of A), +200ns (more than A) or 12us (of B\n"
            "                            alone); the units are ns, us, ms, s, and none for count. A name\n"
            "                            with blanks or slashes is quoted: \"'k tile' p50 > +3%\"\n"
            "  -m, --min-effect PERCENT  what is less is no change (default 1)\n"
            "  -a, --alpha P             what is no less likely by chance is no change (default 0.05)\n"
            "  -u, --over UNIT           'waves' (default), or 'launches': one number a launch, which\n"
            "                            also sees what differs from launch to launch\n"
            "  -j, --json                as JSON\n"
            "  -h, --help                print this\n"
            "\n"
            "Exit status: 0, changed or not; 1 failure, and a condition that names no phase of both; 2\n"
            "wrong usage; 3 a condition holds.\n"
            "\n"
            "Examples:\n"
            "  ktrace diff before.ktrace after.ktrace\n"
            "  ktrace diff --fail-if 'mainloop p50 > +3%' main.ktrace branch.ktrace\n",
    .run = run,
};
