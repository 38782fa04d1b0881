#include "cli.h"

#include "../table.h"
#include "event_columns.h"
#include "progress.h"
#include "select.h"
#include "stdout_sink.h"
#include "terminal.h"

#include <inttypes.h>
#include <unistd.h>

enum format { TABLE, CSV, JSON_LINES };

struct listing {
    const struct ktrace_trace *trace;
    struct kt_selection selection;
    struct event_widths widths;
    enum format format;
    struct kt_text_sink *out;
    uint64_t shown;
};

static void print_event(struct listing *listing, const struct kt_wave *wave, const struct kt_event *event)
{
    switch (listing->format) {
    case CSV: event_csv_line(listing->out, listing->trace, wave, event); break;
    case JSON_LINES: event_json_line(listing->out, listing->trace, wave, event); break;
    default: event_table_line(listing->out, listing->trace, &listing->widths, wave, event); break;
    }
    listing->shown++;
}

/* Events in the trace's order, measured or printed. Ends early where nobody reads on. */
static void visit(struct listing *listing, bool measure)
{
    const struct ktrace_trace *trace = listing->trace;
    for (uint64_t w = 0; w < trace->wave_count && listing->out->status == KTRACE_OK; w++) {
        const struct kt_wave *wave = &trace->waves[w];
        cli_progress_set(wave->first_event, trace->event_count);
        if (!kt_selects_wave(&listing->selection, wave))
            continue;
        if (measure)
            event_widths_wave(&listing->widths, trace, wave);
        for (uint32_t i = 0; i < wave->event_count && listing->out->status == KTRACE_OK; i++) {
            const struct kt_event *event = &trace->events[wave->first_event + i];
            if (!kt_selects_event(&listing->selection, wave, event))
                continue;
            if (measure)
                event_widths_event(&listing->widths, trace, wave, event);
            else
                print_event(listing, wave, event);
        }
    }
}

static void print_titles(struct listing *listing)
{
    if (listing->format == CSV)
        event_csv_titles(listing->out);
    if (listing->format != TABLE)
        return;
    event_widths_begin(&listing->widths, listing->trace);
    visit(listing, true);
    event_table_titles(listing->out, listing->trace, &listing->widths);
}

static void print_count(struct listing *listing)
{
    const uint64_t all = listing->trace->event_count;
    const char *warning = ktrace_trace_warning(listing->trace);
    char cell[KT_CELL_BYTES];
    kt_text_char(listing->out, '\n');
    kt_text(listing->out, kt_grouped(cell, listing->shown));
    kt_text(listing->out, listing->shown == 1 ? " event" : " events");
    if (listing->shown < all) {
        kt_text(listing->out, " of ");
        kt_text(listing->out, kt_grouped(cell, all));
        kt_text(listing->out, ", the others are filtered out");
    }
    kt_text_char(listing->out, '\n');
    if (*warning) {
        struct kt_string visible = KT_STRING_INIT;
        kt_string_append_visible(&visible, warning);
        kt_text_style(listing->out, KT_STYLE_WARNING);
        kt_text(listing->out, "warning:");
        kt_text_style(listing->out, KT_STYLE_PLAIN);
        kt_text_char(listing->out, ' ');
        kt_text(listing->out, kt_string_text(&visible));
        kt_text_char(listing->out, '\n');
        kt_string_destroy(&visible);
    }
}

static int print_events(struct listing *listing)
{
    struct kt_text_sink out;
    listing->out = &out;
    kt_text_begin(&out, cli_stdout_sink());
    out.styled = listing->format == TABLE && cli_color(STDOUT_FILENO);
    if (kt_selection_begin(&listing->selection, listing->trace) < 0)
        return cli_error_library();
    if (!isatty(STDOUT_FILENO)) /* where events are seen, they are progress enough */
        cli_progress_begin("listing", "events");
    print_titles(listing);
    visit(listing, false);
    cli_progress_end();
    if (listing->format == TABLE)
        print_count(listing);
    const int status = kt_text_finish(&out);
    kt_selection_end(&listing->selection);
    return status == KTRACE_ERROR_MEMORY ? cli_error_library() : CLI_OK; /* main tells of standard output */
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {{"csv", no_argument, NULL, 'c'},
                                            {"jsonl", no_argument, NULL, 'j'},
                                            {"name", required_argument, NULL, CLI_SELECT_NAME},
                                            {"kind", required_argument, NULL, CLI_SELECT_KIND},
                                            {"from", required_argument, NULL, CLI_SELECT_FROM},
                                            {"to", required_argument, NULL, CLI_SELECT_TO},
                                            CLI_SELECT_WAVES_OPTIONS,
                                            CLI_HELP_OPTION,
                                            {0}};
    struct listing listing = {.selection = KT_SELECTION_ALL, .format = TABLE};
    for (int option; (option = cli_option(&cli_events, argc, argv, ":hcj", options)) != -1;) {
        const enum format asked = option == 'c' ? CSV : JSON_LINES;
        int status = CLI_OK;
        switch (option) {
        case 'c':
        case 'j':
            if (listing.format != TABLE && listing.format != asked)
                return cli_error_usage(&cli_events, "'--csv' and '--jsonl' are two formats: name one");
            listing.format = asked;
            break;
        case 'h': return CLI_OK;
        case '?': return CLI_USAGE;
        default: status = cli_select(&cli_events, &listing.selection, option, optarg); break;
        }
        if (status != CLI_OK)
            return status;
    }
    if (listing.selection.from_ps > listing.selection.last_ps)
        return cli_error_usage(&cli_events, "'--from' is later than '--to'");
    const char *path = cli_operand(&cli_events, argc, argv, "one .ktrace file");
    if (!path)
        return CLI_USAGE;
    struct ktrace_trace *trace;
    if (cli_load(&trace, path) != CLI_OK)
        return CLI_FAILURE;
    listing.trace = trace;
    const int status = print_events(&listing);
    ktrace_trace_destroy(trace);
    return status;
}

const struct cli_command cli_events = {
    .name = "events",
    .brief = "list events with their times and payloads, as text, CSV or JSON",
    .help = "Usage: ktrace events [--csv | --jsonl] [FILTER...] FILE.ktrace\n"
            "\n"
            "Every event, wave by wave: waves by launch, SM or CU, workgroup and number, the events of each\n"
            "by time. Times are from the trace's time 0.\n"
            "\n"
            "  duration  of a range, at its begin\n"
            "  wave      its number within the workgroup; NVIDIA's warp\n"
            "  lane      that recorded the event: the first of those that were there\n"
            "  kind      mark; push and pop, of KTRACE_RANGE too; start and stop, of tokens. A next is a\n"
            "            stop and a start\n"
            "  name      of an end that of its begin. '(unclosed)': nothing ended it; '(unmatched)':\n"
            "            nothing had begun it; '(superseded)': other lanes left the range later\n"
            "  payload   exactly: integers with their sign, to 64 bits; floats with the digits that tell\n"
            "            them from all others, in CSV and JSON those of a double; nan, inf or -inf\n"
            "\n"
            "Options:\n"
            "  -c, --csv          as CSV, with a line of names first; times in picoseconds\n"
            "  -j, --jsonl        as JSON, one object a line, without what an event does not have; nan,\n"
            "                     inf and -inf are strings\n"
            "  -h, --help         print this\n"
            "\n"
            "Filters, of which all must pass:\n"
            "      --kernel NAME  the kernel of that name; NAME can be a pattern, such as 'gemm*'\n"
            "      --launch N     a launch by its number, or several: 2-5, 2-\n"
            "      --workgroup X,Y,Z  a workgroup, or several: 0-3,*,0. What is left out is *\n"
            "      --wave N       waves by their number within the workgroup: 0, 0-3\n"
            "      --name NAME    events of that name, or pattern; both ends of a range\n"
            "      --kind KIND,...  of mark, push, pop, start, stop, range (push and pop) and token (start\n"
            "                     and stop)\n"
            "      --from TIME    not earlier, such as 12.5us: ps, ns, us, ms, s\n"
            "      --to TIME      not later\n"
            "\n"
            "Examples:\n"
            "  ktrace events --workgroup 0,0,0 --wave 0 gemm.ktrace\n"
            "  ktrace events --csv --name k_tile --kind start gemm.ktrace > tiles.csv\n",
    .run = run,
};
