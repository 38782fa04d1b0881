/* cmd_demo.c - a first trace, with a GPU or without.
 *
 * The command has no kernels: a helper that is installed with it runs one. The first helper that finds a device makes the demo;
 * that of HIP runs on the simulator where there is no GPU. Without any, a recording is replayed.
 */
#include "../summary.h"
#include "child.h"
#include "cleanup.h"
#include "demo.h"
#include "terminal.h"

#include <stdlib.h>
#include <string.h>

/* A cold start of many GPUs takes some ten seconds, the GEMM on a simulator a second, or ten times that under a sanitizer. */
enum { DEFAULT_LIMIT_S = 120 };

enum { OPTION_ON = 256 }; /* has no letter */

static enum demo_made run_helpers(struct kt_string *why, const char *trace_path, const struct demo_choice *choice,
                                  int limit_s)
{
    enum demo_made made = DEMO_NOT_MADE;
    for (int i = 0; i < DEMO_HELPERS && made == DEMO_NOT_MADE; i++) {
        if (choice->only && choice->only != &demo_helpers[i])
            continue;
        if (why->length)
            kt_string_append(why, "; ");
        made = demo_run_helper(why, &demo_helpers[i], trace_path, limit_s);
    }
    return made;
}

static int make_trace(struct ktrace_trace **out, const char *trace_path, const struct demo_choice *choice, int limit_s)
{
    if (choice->replay)
        return demo_replay(out, trace_path, "a replay was asked for");
    struct kt_string why = KT_STRING_INIT;
    const enum demo_made made = run_helpers(&why, trace_path, choice, limit_s);
    int status = CLI_FAILURE;
    if (made == DEMO_MADE)
        status = ktrace_trace_load(out, trace_path) < 0 ? cli_error_library() : CLI_OK;
    else if (made == DEMO_NOT_MADE && choice->only)
        status = cli_error("%s%s: %s", choice->who, choice->only->on, kt_string_text(&why));
    else if (made == DEMO_NOT_MADE)
        status = demo_replay(out, trace_path, kt_string_text(&why));
    kt_string_destroy(&why);
    return status;
}

static int export_trace(const struct ktrace_trace *trace, const char *path)
{
    cli_cleanup_hold(); /* a file that is being written has another name until it is whole */
    const int result = ktrace_trace_export(trace, "perfetto", path);
    cli_cleanup_release();
    return result < 0 ? cli_error_library() : CLI_OK;
}

static int print_results(const struct ktrace_trace *trace, const struct demo_files *files)
{
    const struct kt_summary_view plain = {0};
    struct kt_string text = cli_text();
    kt_string_append(&text, "\n");
    if (kt_append_summary(&text, trace, &plain) < 0) {
        kt_string_destroy(&text);
        return cli_error_library();
    }
    kt_string_append(&text, "\n");
    if (files->number > 0)
        kt_string_printf(&text, "A demo was there already and is kept; the new one has number %d.\n", files->number);
    kt_string_append(&text, "wrote ");
    kt_string_append_visible(&text, files->trace);
    kt_string_append(&text, ": 'ktrace info' and 'ktrace summary' read it\nwrote ");
    kt_string_append_visible(&text, files->perfetto);
    kt_string_append(&text, ": open it at https://ui.perfetto.dev\n");
    return cli_print_string(&text);
}

/* `*whole`: both files are. */
static int run_demo(bool *whole, const struct demo_files *files, const struct demo_choice *choice, int limit_s)
{
    struct ktrace_trace *trace;
    int status = make_trace(&trace, files->trace, choice, limit_s);
    if (status != CLI_OK)
        return status;
    status = export_trace(trace, files->perfetto);
    *whole = status == CLI_OK;
    if (status == CLI_OK)
        status = print_results(trace, files);
    ktrace_trace_destroy(trace);
    return status;
}

/* What captures take from the environment, and this one does not: who set it would look for its effect. */
static void say_what_is_ignored(void)
{
    static const char *const settings[] = {"KTRACE_BLOCKS",          "KTRACE_BUFFER_BYTES", "KTRACE_EVENTS_PER_WAVE",
                                           "KTRACE_EVENTS_PER_LANE", "KTRACE_KEEP_LAST",    "KTRACE_DEVICES",
                                           "KTRACE_DUMP_DIR"};
    struct kt_string names = KT_STRING_INIT;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *value = getenv(settings[i]);
        if (value && *value)
            kt_string_printf(&names, "%s%s", names.length ? ", " : "", settings[i]);
    }
    if (names.length)
        cli_error("the demo makes no use of %s: it records its whole kernel, and --out says where to write",
                  kt_string_text(&names));
    kt_string_destroy(&names);
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {{"out", required_argument, NULL, 'o'},
                                            {"on", required_argument, NULL, OPTION_ON},
                                            {"replay", no_argument, NULL, 'r'},
                                            {"timeout", required_argument, NULL, 't'},
                                            CLI_HELP_OPTION,
                                            {0}};
    const char *directory = NULL, *on = NULL;
    int limit_s = DEFAULT_LIMIT_S;
    for (int option; (option = cli_option(&cli_demo, argc, argv, ":ho:rt:", options)) != -1;) {
        switch (option) {
        case 'o': directory = optarg; break;
        case OPTION_ON: on = optarg; break;
        case 'r': on = "replay"; break;
        case 't': limit_s = cli_child_limit(&cli_demo, optarg); break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
        if (limit_s < 0)
            return CLI_USAGE;
    }
    if (optind != argc)
        return cli_error_usage(&cli_demo, "it takes no file, but there is '%s'", argv[optind]);
    if (directory && !*directory)
        return cli_error_usage(&cli_demo, "option '--out' needs a folder");
    struct demo_choice choice;
    struct demo_files files;
    int status = demo_choose(&choice, on);
    if (status == CLI_OK)
        status = demo_files_reserve(&files, directory);
    if (status != CLI_OK)
        return status;
    bool whole = false;
    say_what_is_ignored();
    status = run_demo(&whole, &files, &choice, limit_s);
    demo_files_finish(&files, whole);
    return status;
}

const struct cli_command cli_demo = {
    .name = "demo",
    .brief = "make a first trace: of a GEMM on the GPU here, or on a simulated one",
    .help = "Usage: ktrace demo [--out DIR] [--on cuda|hip|replay] [--timeout SECONDS]\n"
            "\n"
            "Runs a traced GEMM on the NVIDIA GPU of this machine; or else on its AMD GPU or, where there\n"
            "is none, on the simulator of one; or else replays one that was recorded; and says which.\n"
            "Prints the summary and writes two files, never over existing ones (they get a number):\n"
            "  demo.ktrace             the trace\n"
            "  demo_ktrace.pftrace.gz  the timeline, for https://ui.perfetto.dev\n"
            "Where there is no trace to write, or a signal ends it, neither stays, nor does a folder that was\n"
            "made for them. Where only the summary cannot be printed, both do. A device that was asked for,\n"
            "by an option or a variable, and that cannot be used is a failure.\n"
            "\n"
            "Options:\n"
            "  -o, --out DIR          write into DIR, which is made if need be, instead of the current\n"
            "                         folder\n"
            "      --on WHAT          cuda, hip or replay: only that, or fail\n"
            "  -r, --replay           the same as --on replay\n"
            "  -t, --timeout SECONDS  how long the program that runs the kernel may take: 120\n"
            "  -h, --help             print this\n"
            "\n"
            "Environment:\n"
            "  KTRACE_BACKEND      cuda or hip: as --on, which comes first\n"
            "  KTRACE_HIP_LIBRARY  the HIP library to use: ROCm's libamdhip64.so or libktrace_sim.so\n"
            "  KTRACE_SIM_CHIP     gfx942 or gfx950: the chip that is simulated\n"
            "  KTRACE_DATA_DIR     the folder with the recording, demo.ktrace\n"
            "Variables that say what captures record, such as KTRACE_BLOCKS, are for other programs.\n",
    .run = run,
};
