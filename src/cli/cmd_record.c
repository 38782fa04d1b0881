/* cmd_record.c - runs a program and collects its traces: record.h has the parts. */
#include "record.h"

#include "../array.h"
#include "../export/export.h"
#include "progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { OPTION_FORCE = 512, OPTION_MERGE, OPTION_EXPORT, MOST_EXPORTS = 8, LONGEST_DURATION_S = 30 * 24 * 60 * 60 };

/* The program was not started: as a shell has it. */
enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

struct choice {
    const char *output;
    const struct kt_exporter *exporters[MOST_EXPORTS];
    size_t exporter_count;
    bool force, merge, summary;
    struct record_program program;
};

/* ---- Options -------------------------------------------------------------------------------------------------------- */

static int take_export(struct choice *choice, const char *format)
{
    const struct kt_exporter *exporter = kt_find_exporter(format);
    if (!exporter)
        return cli_error_usage(&cli_record, "%s", ktrace_last_error());
    if (choice->exporter_count == MOST_EXPORTS)
        return cli_error_usage(&cli_record, "option '--export' is there more than %d times", MOST_EXPORTS);
    choice->exporters[choice->exporter_count++] = exporter;
    return CLI_OK;
}

static int take_duration(struct choice *choice, const char *text)
{
    char *end;
    const double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds >= 0.001) || seconds > LONGEST_DURATION_S)
        return cli_error_usage(&cli_record, "option '--duration' takes seconds from 0.001 to %d, not '%s'",
                               LONGEST_DURATION_S, text);
    choice->program.duration_ms = (int64_t)(seconds * 1000);
    return CLI_OK;
}

/* CLI_OK; -1 after --help; or an exit status after an error. */
static int take_options(struct choice *choice, int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"force", no_argument, NULL, OPTION_FORCE},
                                            {"merge", no_argument, NULL, OPTION_MERGE},
                                            {"export", required_argument, NULL, OPTION_EXPORT},
                                            {"summary", no_argument, NULL, 's'},
                                            {"duration", required_argument, NULL, 'd'},
                                            {"quiet", no_argument, NULL, 'q'},
                                            RECORD_SETTINGS_OPTIONS,
                                            CLI_HELP_OPTION,
                                            {0}};
    int status = CLI_OK;
    for (int option; (option = cli_option(&cli_record, argc, argv, "+:ho:sd:q", options)) != -1;) {
        switch (option) {
        case 'o': choice->output = optarg; break;
        case OPTION_FORCE: choice->force = true; break;
        case OPTION_MERGE: choice->merge = true; break;
        case OPTION_EXPORT: status = take_export(choice, optarg); break;
        case 's': choice->summary = true; break;
        case 'd': status = take_duration(choice, optarg); break;
        case 'q': choice->program.quiet = true; break;
        case 'h': return -1;
        case '?': return CLI_USAGE;
        default: status = record_set(option, optarg);
        }
        if (status != CLI_OK)
            return status;
    }
    choice->program.command = argv + optind;
    if (optind == argc || !*argv[optind])
        return cli_error_usage(&cli_record, "name a program to run");
    if (choice->output && !*choice->output)
        return cli_error_usage(&cli_record, "option '-o' needs a name that is not empty");
    return record_check_settings();
}

/* ---- Traces --------------------------------------------------------------------------------------------------------- */

static size_t count_traces(const struct record_session *session)
{
    size_t count = 0;
    for (size_t i = 0; i < session->count; i++)
        count += session->processes[i].trace_count;
    return count;
}

static bool has_lost(const struct record_session *session)
{
    for (size_t i = 0; i < session->count; i++)
        for (size_t k = 0; k < session->processes[i].said_count; k++)
            if (session->processes[i].said[k].word != KT_RECORD_NOTE)
                return true;
    return false;
}

/* All of the session's, or the one that they were merged to, placed; NULL: memory ran out. */
static struct record_placed *place(int *status, struct record_files *files, const struct record_session *session,
                                   size_t count, const struct record_trace *merged)
{
    struct record_placed *placed = kt_array_new_zeroed(count, sizeof *placed);
    size_t next = 0;
    if (placed && merged)
        placed[0] = (struct record_placed){.from = merged->file, .name = merged->name};
    for (size_t i = 0; placed && !merged && i < session->count; i++)
        for (size_t k = 0; k < session->processes[i].trace_count; k++)
            placed[next++] = (struct record_placed){.from = session->processes[i].traces[k].file,
                                                    .name = session->processes[i].traces[k].name};
    if (!placed)
        *status = cli_error_library();
    else if (count && record_files_place(files, placed, count) != CLI_OK)
        *status = CLI_FAILURE;
    return placed;
}

static void free_placed(struct record_placed *placed, size_t count)
{
    for (size_t i = 0; placed && i < count; i++)
        free(placed[i].path);
    free(placed);
}

/* "STEM_ktrace.pftrace.gz" of "STEM.ktrace", beside it. */
static int export_trace(const struct ktrace_trace *trace, const struct kt_exporter *exporter, const char *from,
                        bool quiet)
{
    const char *slash = strrchr(from, '/'), *name = slash ? slash + 1 : from;
    const char *suffix = strstr(name, ".ktrace");
    char *directory = strndup(from, (size_t)(name - from)), *path = NULL;
    char *stem = strndup(name, suffix && !suffix[7] ? (size_t)(suffix - name) : strlen(name));
    int status = directory && stem ? CLI_OK : cli_error("out of memory");
    if (status == CLI_OK) {
        cli_progress_begin("exporting", from);
        const int result = kt_export_new(&path, trace, exporter, KT_EVERY_LAUNCH, directory, stem);
        cli_progress_end();
        status = result < 0 ? cli_error_library() : CLI_OK;
    }
    if (status == CLI_OK && !quiet)
        fprintf(stderr, "ktrace: wrote %s\n", path);
    free(path);
    free(directory);
    free(stem);
    return status;
}

static int print_summary(const struct ktrace_trace *trace)
{
    char *text;
    if (ktrace_trace_summary_text(&text, trace) < 0)
        return cli_error_library();
    fprintf(stderr, "\n%s", text);
    free(text);
    return CLI_OK;
}

/* What was asked for besides. */
static int show(const struct choice *choice, const struct record_placed *placed, size_t count)
{
    int status = CLI_OK;
    if (!choice->summary && !choice->exporter_count)
        return CLI_OK;
    for (size_t i = 0; i < count; i++) {
        struct ktrace_trace *trace;
        if (!placed[i].path)
            continue;
        if (cli_load(&trace, placed[i].path) != CLI_OK) {
            status = CLI_FAILURE;
            continue;
        }
        for (size_t k = 0; k < choice->exporter_count; k++)
            if (export_trace(trace, choice->exporters[k], placed[i].path, choice->program.quiet) != CLI_OK)
                status = CLI_FAILURE;
        if (choice->summary && print_summary(trace) != CLI_OK)
            status = CLI_FAILURE;
        ktrace_trace_destroy(trace);
    }
    return status;
}

/* ---- The command ---------------------------------------------------------------------------------------------------- */

static int fail_to_start(const struct record_program *program)
{
    const bool is_missing = program->error == ENOENT;
    const char *name = program->command[0];
    cli_error("%s: this program cannot be run: %s%s", name, strerror(program->error),
              is_missing && !strchr(name, '/') ? " in the folders of PATH" : "");
    return is_missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int exit_status_of(const struct record_program *program)
{
    if (program->was_ended) /* as it was asked for */
        return CLI_OK;
    return WIFSIGNALED(program->status) ? EXIT_SIGNAL + WTERMSIG(program->status) : WEXITSTATUS(program->status);
}

/* For a `ktrace record` around this one, which finds nothing of the program. */
static void tell_outer(const struct record_program *program, size_t count)
{
    char text[512];
    snprintf(text, sizeof text, "a 'ktrace record' within it has %zu trace%s of %.400s", count, count == 1 ? "" : "s",
             program->command[0]);
    kt_record_say(KT_RECORD_NOTE, text);
}

/* What the program left. CLI_OK, or CLI_FAILURE where there is no trace or it is not whole. */
static int collect(const struct choice *choice, struct record_files *files)
{
    const struct record_program *program = &choice->program;
    struct record_session session;
    int status = record_read(&session, files->session);
    if (status != CLI_OK) {
        record_files_keep_session(files);
        record_program_release(program);
        return status;
    }
    const size_t trace_count = count_traces(&session);
    struct record_trace merged = {0};
    const bool merges = choice->merge && trace_count > 1;
    if (merges)
        status = record_merge(&merged, &session, files->session, files->stem);
    const struct record_trace *one = merges && status == CLI_OK ? &merged : NULL;
    const size_t count = one ? 1 : trace_count;
    struct record_placed *placed = place(&status, files, &session, count, one);
    record_program_release(program);
    if (placed)
        record_report(&session, program, placed, count, one);
    if (placed && count == 0)
        record_report_nothing(&session, program);
    if (placed && show(choice, placed, count) != CLI_OK)
        status = CLI_FAILURE;
    if (count == 0 || has_lost(&session))
        status = CLI_FAILURE;
    tell_outer(program, trace_count);
    free_placed(placed, count);
    record_trace_free(&merged);
    record_session_free(&session);
    return status;
}

static int record(struct choice *choice, struct record_files *files)
{
    struct record_program *program = &choice->program;
    program->session = files->session;
    if (setenv("KTRACE_ENABLE", "1", 1) != 0 || setenv(KT_RECORD_VARIABLE, files->session, 1) != 0 ||
        setenv("KTRACE_WATCH", "1", 0) != 0) /* for `ktrace watch`, unless somebody does not want it */
        return cli_error("out of memory");
    int status = record_program_run(program);
    if (status != CLI_OK)
        return status;
    if (program->error) {
        record_program_release(program);
        return fail_to_start(program);
    }
    status = collect(choice, files);
    return exit_status_of(program) ? exit_status_of(program) : status;
}

static int run(int argc, char **argv)
{
    struct choice choice = {.output = NULL};
    struct record_files files;
    int status = take_options(&choice, argc, argv);
    if (status != CLI_OK)
        return status < 0 ? CLI_OK : status;
    status = record_files_open(&files, choice.output, choice.force, choice.program.command);
    if (status != CLI_OK)
        return status;
    status = record(&choice, &files);
    record_files_close(&files);
    return status;
}

const struct cli_command cli_record = {
    .name = "record",
    .brief = "run a program and collect its traces",
    .help = "Usage: ktrace record [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
            "\n"
            "Runs the program with its annotated kernels recording from the start, and writes what they\n"
            "recorded when it ends. Nothing has to be changed in it: its kernels are compiled with\n"
            "KTRACE_ENABLE=1. Captures that it opens itself are written as well, each trace on its own.\n"
            "Processes that it starts are recorded, too. Its input and output are its own; what the command\n"
            "says goes to standard error, when the program has ended.\n"
            "\n"
            "One trace is FILE. Several are numbered, in order of processes, and named: FILE.1.NAME.ktrace;\n"
            "or become one by --merge.\n"
            "\n"
            "A program that a signal ends, as Ctrl-C, saves what it has recorded by then, but after SIGKILL,\n"
            "or where it calls _exit.\n"
            "\n"
            "Options:\n"
            "  -o, --output FILE      write FILE, which must not be there; or into FILE, if it is a folder.\n"
            "                         Without: named after the program, or the script that a Python runs, in\n"
            "                         the current folder, with a number where that name is taken\n"
            "      --force            replace FILE\n"
            "      --merge            several traces become one, FILE, on one timeline: 'ktrace merge'\n"
            "      --export FORMAT    write each trace in that format, too: perfetto, chrome or another of\n"
            "                         'ktrace export'. Can be there several times\n"
            "  -s, --summary          print the summary of each trace at the end, on standard error\n"
            "  -d, --duration SECONDS end the program after that time, by SIGTERM, and keep what there is\n"
            "  -q, --quiet            say only what was lost\n"
            "  -h, --help             print this\n"
            "\n"
            "What is recorded, by variables of the same names where these options are not given:\n"
            "      --blocks FILTER    waves of these workgroups: 0,0,0 or 'every:64 waves:0' [KTRACE_BLOCKS]\n"
            "      --buffer-bytes SIZE  device memory for waves, allocated twice: 64MiB\n"
            "                         [KTRACE_BUFFER_BYTES]\n"
            "      --events-per-wave N  slots of a wave: 512 [KTRACE_EVENTS_PER_WAVE]\n"
            "      --events-per-lane N  slots of each lane that records apart: 16 [KTRACE_EVENTS_PER_LANE]\n"
            "      --keep-last        a wave with too many events keeps its newest [KTRACE_KEEP_LAST]\n"
            "      --devices LIST     active, all, or numbers such as 0,2-3 [KTRACE_DEVICES]\n"
            "      --backend NAME     cuda or hip [KTRACE_BACKEND]\n"
            "\n"
            "Exit status:\n"
            "  that of the program, or 128 and the number of the signal that ended it; but of one that\n"
            "  succeeded, or was ended by --duration:\n"
            "  1    nothing was recorded, or not everything that should have been: standard error says why\n"
            "  2    wrong usage; the program was not started\n"
            "  126  the program cannot be executed\n"
            "  127  there is no such program\n"
            "\n"
            "Examples:\n"
            "  ktrace record -- ./gemm 4096\n"
            "  ktrace record --blocks 0,0,0 --summary -- python3 train.py\n"
            "  ktrace record --duration 60 -o serve.ktrace --export perfetto -- ./serve --port 80\n",
    .run = run,
};
