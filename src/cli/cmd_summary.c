#include "cli.h"

#include "../scan.h"
#include "../summary.h"
#include "progress.h"
#include "select.h"
#include "summary_groups.h"
#include "terminal.h"

#include <stdlib.h>
#include <string.h>

struct choice {
    struct cli_grouped_view view;
    struct kt_selection selection;
    bool json, each_launch;
    const char *by;
};

/* ---- --by -------------------------------------------------------------------------------------------------------- */

static int add_key(struct choice *choice, enum kt_group_key key)
{
    for (size_t i = 0; i < choice->view.key_count; i++)
        if (choice->view.keys[i] == key)
            return cli_error_usage(&cli_summary, "--by '%s': one thing is named twice", choice->by);
    choice->view.keys[choice->view.key_count++] = key;
    return CLI_OK;
}

static int take_by(struct choice *choice, const char *text)
{
    static const struct {
        const char *name;
        enum kt_group_key key;
    } words[] = {{"device", KT_BY_DEVICE},       {"kernel", KT_BY_KERNEL}, {"launch", KT_BY_LAUNCH},
                 {"phase", KT_BY_PHASE},         {"sm", KT_BY_PLACE},      {"cu", KT_BY_PLACE},
                 {"workgroup", KT_BY_WORKGROUP}, {"wave", KT_BY_WAVE}};
    choice->by = text;
    choice->view.key_count = 0;
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        size_t i = 0;
        while (i < sizeof words / sizeof *words &&
               (strlen(words[i].name) != length || strncmp(words[i].name, at, length) != 0))
            i++;
        if (i == sizeof words / sizeof *words)
            return cli_error_usage(&cli_summary,
                                   "--by '%.*s': it can be phase, kernel, launch, device, sm, cu, workgroup, wave, or "
                                   "several of them with commas between",
                                   (int)length, at);
        const int status = add_key(choice, words[i].key);
        at += length;
        if (status != CLI_OK || !*at)
            return status;
    }
}

/* SMs are NVIDIA's, CUs AMD's. */
static int check_by(const struct choice *choice, const struct ktrace_trace *trace)
{
    const uint32_t arch = trace->snapshot->arch;
    for (const char *at = choice->by; at; at = strchr(at, ',')) {
        at += *at == ',';
        const size_t length = strcspn(at, ",");
        const bool sm = length == 2 && strncmp(at, "sm", 2) == 0, cu = length == 2 && strncmp(at, "cu", 2) == 0;
        if (sm && arch == KTRACE_ARCH_AMDGCN)
            return cli_error("--by sm: the trace is of an AMD device, which has CUs: use '--by cu'");
        if (cu && arch == KTRACE_ARCH_NVIDIA)
            return cli_error("--by cu: the trace is of an NVIDIA device, which has SMs: use '--by sm'");
    }
    return CLI_OK;
}

/* ---- Output ------------------------------------------------------------------------------------------------------ */

static int print_groups(struct choice *choice, const struct ktrace_trace *trace)
{
    struct kt_groups groups;
    unsigned keys = 0;
    if (check_by(choice, trace) != CLI_OK)
        return CLI_FAILURE;
    for (size_t i = 0; i < choice->view.key_count; i++)
        keys |= 1u << choice->view.keys[i];
    if (kt_selection_begin(&choice->selection, trace) < 0)
        return cli_error_library();
    const int result = kt_groups_make(&groups, trace, keys, choice->selection.name != NULL, &choice->selection);
    kt_selection_end(&choice->selection);
    if (result < 0)
        return cli_error_library();
    struct kt_string out = cli_text();
    if (choice->json)
        cli_append_groups_json(&out, trace, &groups, &choice->view);
    else
        cli_append_groups(&out, trace, &groups, &choice->view);
    kt_groups_free(&groups);
    return cli_print_string(&out);
}

static int print_summary(const struct choice *choice, const struct ktrace_trace *trace)
{
    const struct kt_summary_view view = {.with_shares = 1,
                                         .bars = cli_bar_style(),
                                         .columns = cli_terminal_columns(),
                                         .each_launch = choice->each_launch};
    struct kt_string out = cli_text();
    if (kt_append_summary(&out, trace, &view) == KTRACE_OK)
        return cli_print_string(&out);
    kt_string_destroy(&out);
    return cli_error_library();
}

static int print_json(const struct ktrace_trace *trace, bool each_launch)
{
    char *text;
    if ((each_launch ? ktrace_trace_launches_json(&text, trace) : ktrace_trace_summary_json(&text, trace)) < 0)
        return cli_error_library();
    cli_print(text);
    free(text);
    return CLI_OK;
}

/* ---- Options ----------------------------------------------------------------------------------------------------- */

/* A filter or --top, without --by, is about phases. */
static int complete_choice(struct choice *choice)
{
    struct cli_grouped_view *view = &choice->view;
    if (choice->by && choice->each_launch)
        return cli_error_usage(&cli_summary, "'--launches' and '--by' are two views: for both use '--by launch,...'");
    if (view->key_count || (!view->filtered && !view->top))
        return CLI_OK;
    if (choice->each_launch)
        view->keys[view->key_count++] = KT_BY_LAUNCH;
    view->keys[view->key_count++] = KT_BY_PHASE;
    return CLI_OK;
}

static int take_options(struct choice *choice, int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"launches", no_argument, NULL, 'l'},
                                            {"by", required_argument, NULL, 'b'},
                                            {"top", required_argument, NULL, 't'},
                                            {"phase", required_argument, NULL, CLI_SELECT_PHASE},
                                            CLI_SELECT_WAVES_OPTIONS,
                                            CLI_HELP_OPTION,
                                            {0}};
    int status = CLI_OK;
    for (int option; (option = cli_option(&cli_summary, argc, argv, ":hjlb:t:", options)) != -1;) {
        switch (option) {
        case 'j': choice->json = true; break;
        case 'l': choice->each_launch = true; break;
        case 'b': status = take_by(choice, optarg); break;
        case 't':
            if (kt_parse_count(&choice->view.top, "--top", optarg, UINT32_MAX) < 0)
                status = cli_error_usage(&cli_summary, "%s", ktrace_last_error());
            break;
        case 'h': return -1;
        case '?': return CLI_USAGE;
        default: status = cli_select(&cli_summary, &choice->selection, option, optarg); choice->view.filtered = true;
        }
        if (status != CLI_OK)
            return status;
    }
    return complete_choice(choice);
}

static int run(int argc, char **argv)
{
    struct choice choice = {.selection = KT_SELECTION_ALL};
    const int status = take_options(&choice, argc, argv);
    if (status != CLI_OK)
        return status < 0 ? CLI_OK : status;
    const char *path = cli_operand(&cli_summary, argc, argv, "one .ktrace file");
    if (!path)
        return CLI_USAGE;
    struct ktrace_trace *trace;
    if (cli_load(&trace, path) != CLI_OK)
        return CLI_FAILURE;
    const int result = choice.view.key_count ? print_groups(&choice, trace)
                       : choice.json         ? print_json(trace, choice.each_launch)
                                             : print_summary(&choice, trace);
    ktrace_trace_destroy(trace);
    return result;
}

const struct cli_command cli_summary = {
    .name = "summary",
    .brief = "print how long every phase took",
    .help = "Usage: ktrace summary [--launches] [--json] FILE.ktrace\n"
            "       ktrace summary [--by KEY,...] [--top N] [FILTER...] [--json] FILE.ktrace\n"
            "\n"
            "Launches, then count, total, mean, minimum, percentiles and maximum of every phase, its share\n"
            "of the time of all waves, and what is missing from the trace.\n"
            "\n"
            "  range    a phase that nests: KTRACE_RANGE, or KTRACE_RANGE_PUSH and KTRACE_RANGE_POP\n"
            "  token    one that may overlap others: KTRACE_RANGE_START, _NEXT and _STOP\n"
            "  mark     an instant, KTRACE_MARK, which has a count and no duration\n"
            "  waves    what records: NVIDIA's warps\n"
            "  total    summed over all waves, which run side by side: it can be far longer than the\n"
            "           launch took. Only ranges that were closed are counted in it\n"
            "  share    of the time that the waves spent in the kernel. A phase within another is part\n"
            "           of that one's share, too\n"
            "  clock    of the SMs. Anchors are times at which a wave read both its SM's clock and the\n"
            "           device's; times come from a line fitted through them, and how far the worst\n"
            "           anchor is from it says how well the SMs agree\n"
            "\n"
            "With --by, a row for each group, largest total first. By phase, or with --phase, of the ranges;\n"
            "otherwise of the spans of whole waves. By sm or cu, a second table says how uneven they are:\n"
            "of their totals the largest over the mean, which is 1 where all have equally much to do.\n"
            "\n"
            "Options:\n"
            "  -l, --launches     a table for each launch, instead of each kernel\n"
            "  -b, --by KEY,...   group by phase, kernel, launch, device, sm, cu, workgroup, or wave (its\n"
            "                     number within the workgroup), or by several of them\n"
            "  -t, --top N        the N largest groups\n"
            "  -j, --json         as JSON: \"info\", \"warning\", \"launches\" and \"phases\", with the fields\n"
            "                     of ktrace.h under their names, and a phase's \"kind\" as \"range\", \"token\"\n"
            "                     or \"mark\". Durations of marks are null. With --by: \"groups\".\n"
            "                     With --launches: as 'ktrace launches' has it\n"
            "  -h, --help         print this\n"
            "\n"
            "Filters, of which all must pass; alone, they stand for --by phase:\n"
            "      --kernel NAME  the kernel of that name; NAME can be a pattern, such as 'gemm*'\n"
            "      --phase NAME   ranges and marks of that name, or pattern\n"
            "      --launch N     a launch by its number, or several: 2-5, 2-\n"
            "      --workgroup X,Y,Z  a workgroup, or several: 0-3,*,0. What is left out is *\n"
            "      --wave N       waves by their number within the workgroup: 0, 0-3\n"
            "\n"
            "Examples:\n"
            "  ktrace summary gemm.ktrace\n"
            "  ktrace summary --by sm --phase mainloop --top 10 gemm.ktrace\n"
            "  ktrace summary --by phase,wave --kernel 'gemm*' gemm.ktrace\n",
    .run = run,
};
