#include "cli.h"

#include "../array.h"
#include "../backend/host_clock.h"
#include "../table.h"
#include "terminal.h"
#include "watch_client.h"
#include "watch_output.h"
#include "watch_screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

struct choice {
    pid_t pid; /* 0: a file */
    const char *path;
    const char *save;
    int interval_ms, timeout_ms;
    bool once, json, wait, all;
};

struct watch {
    struct choice choice;
    struct watch_subject subject;
    struct watch_history history;
    struct stat shown;                /* of the file; all zero: none yet */
    struct kt_string name, arguments; /* of the process */
    struct kt_string text;            /* what the screen shows */
    char *said;                       /* why there was no look last time; NULL: there was one */
    int signals;                      /* readable once a signal asks to end; -1: signals do what they do */
    bool on_screen;
};

enum step { GO_ON, DONE, FAILED };

/* ---- A look ------------------------------------------------------------------------------------------------------ */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* WATCH_NOT_BEGUN: it is not there, or not whole yet. `*is_new` 0: it is as it was. */
static enum watch_outcome load_file(struct watch_look *out, bool *is_new, struct kt_string *why, struct watch *watch)
{
    struct stat status;
    struct watch_look look = {.facts = {.now_ns = kt_host_clock_ns(CLOCK_MONOTONIC)}};
    if (stat(watch->choice.path, &status) < 0) {
        kt_string_printf(why, "%s: %s", watch->choice.path, strerror(errno));
        memset(&watch->shown, 0, sizeof watch->shown);
        return errno == ENOENT ? WATCH_NOT_BEGUN : WATCH_FAILED;
    }
    /* opening a pipe waits for its writer, and signals are blocked */
    if (!watch->choice.once && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
        kt_string_printf(why,
                         "%s: this is a pipe or a device, and cannot be read again and again: read it with '--once'",
                         watch->choice.path);
        return WATCH_NOT_BEGUN;
    }
    *is_new = !same_file(&status, &watch->shown);
    if (!*is_new)
        return WATCH_FETCHED;
    if (ktrace_trace_load(&look.trace, watch->choice.path) < 0) {
        kt_string_append(why, ktrace_last_error());
        return WATCH_NOT_BEGUN;
    }
    watch->shown = status;
    *out = look;
    return WATCH_FETCHED;
}

static void show(struct watch *watch, const struct watch_view *view)
{
    kt_string_destroy(&watch->text);
    watch->text = cli_text();
    if (watch->choice.json)
        watch_append_json(&watch->text, view, &watch->subject);
    else
        watch_append_text(&watch->text, view, &watch->subject, watch->choice.all);
    if (watch->on_screen) {
        watch_screen_show(&watch->text);
        return;
    }
    if (!watch->choice.json && watch->subject.look > 1)
        cli_print("\n");
    cli_write(kt_string_text(&watch->text), watch->text.length);
    cli_flush();
}

/* Takes over the look. */
static enum step take_in(struct watch *watch, struct watch_look *look)
{
    struct watch_view view;
    watch->subject.look++;
    watch->subject.flags = look->facts.flags;
    if (watch->choice.save && ktrace_trace_save(look->trace, watch->choice.save) < 0) {
        ktrace_trace_destroy(look->trace);
        return FAILED;
    }
    if (watch_view_make(&view, &watch->history, look->trace, &look->facts) < 0) {
        ktrace_trace_destroy(look->trace);
        return FAILED;
    }
    show(watch, &view);
    const int status = watch_history_keep(&watch->history, look->trace, &view, &look->facts);
    watch_view_free(&view);
    if (status < 0 || watch->text.failed)
        return FAILED;
    return watch->choice.once || ferror(stdout) ? DONE : GO_ON;
}

/* ---- No look ----------------------------------------------------------------------------------------------------- */

/* Once for each reason. */
static void say(struct watch *watch, const char *why)
{
    if (watch->said && strcmp(watch->said, why) == 0)
        return;
    free(watch->said);
    watch->said = strdup(why);
    if (!watch->on_screen) {
        cli_error("waiting: %s", why);
        return;
    }
    struct kt_string text = cli_text();
    kt_string_append_styled(&text, KT_STYLE_WARNING, "waiting:");
    kt_string_append(&text, " ");
    kt_string_append_visible(&text, why);
    kt_string_append(&text, "\n\n");
    kt_string_append(&text, kt_string_text(&watch->text));
    watch_screen_show(&text);
    kt_string_destroy(&text);
}

/* Whoever asked us to end needs not be told why a look was cut short. */
static bool is_asked_to_end(const struct watch *watch)
{
    struct pollfd signals = {.fd = watch->signals, .events = POLLIN};
    return poll(&signals, 1, 0) > 0;
}

/* What cannot be looked at now may be later, if that was asked for, or if it could be before. */
static enum step do_without(struct watch *watch, enum watch_outcome outcome, struct kt_string *why)
{
    const bool before = watch->subject.look > 0;
    if (is_asked_to_end(watch))
        return GO_ON;
    const bool waits = outcome == WATCH_NOT_BEGUN || outcome == WATCH_NO_CAPTURE || outcome == WATCH_NOT_ASKED;
    if (outcome == WATCH_NO_PROCESS && before) {
        kt_string_destroy(why);
        kt_string_printf(why, "process %ld has ended", (long)watch->choice.pid);
        return DONE;
    }
    if ((before && !watch->choice.once) || (watch->choice.wait && waits)) {
        say(watch, kt_string_text(why));
        return GO_ON;
    }
    return FAILED;
}

/* ---- Looking again and again ------------------------------------------------------------------------------------- */

static enum step look_once(struct watch *watch, struct kt_string *why)
{
    struct watch_look look = {.trace = NULL};
    bool is_new = true;
    const enum watch_outcome outcome =
        watch->choice.pid ? watch_fetch_or_stop(&look, why, watch->choice.pid, watch->choice.timeout_ms, watch->signals)
                          : load_file(&look, &is_new, why, watch);
    if (outcome != WATCH_FETCHED)
        return do_without(watch, outcome, why);
    if (!is_new)
        return GO_ON;
    free(watch->said);
    watch->said = NULL;
    const enum step step = take_in(watch, &look);
    if (step == FAILED)
        kt_string_append(why, ktrace_last_error());
    return step;
}

enum { NOBODY_READS = -1 };

/* The signal that came meanwhile; 0: none. A pipe that nobody reads any more shows before it is written to. */
static int pause_until(const struct watch *watch, uint64_t next_ns)
{
    const uint64_t now = kt_host_clock_ns(CLOCK_MONOTONIC);
    struct pollfd polls[2] = {{.fd = watch->signals, .events = POLLIN}, {.fd = STDOUT_FILENO, .events = 0}};
    struct signalfd_siginfo signal;
    const int left_ms = next_ns > now ? (int)((next_ns - now) / 1000000) + 1 : 0;
    if (poll(polls, 2, left_ms) > 0 && read(watch->signals, &signal, sizeof signal) == sizeof signal)
        return (int)signal.ssi_signo;
    return polls[1].revents & POLLERR ? NOBODY_READS : 0;
}

static void catch_signals(struct watch *watch)
{
    static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct sigaction action;
        if (sigaction(wanted[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&set, wanted[i]);
    }
    watch->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch->signals >= 0)
        sigprocmask(SIG_BLOCK, &set, NULL);
}

/* As if it had not been caught. */
static void end_by(int signal)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int watch_it(struct watch *watch)
{
    struct kt_string why = KT_STRING_INIT;
    enum step step;
    int signal = 0;
    watch->signals = -1;
    watch->on_screen = !watch->choice.json && !watch->choice.once && cli_has_controls(STDOUT_FILENO);
    if (!watch->choice.once)
        catch_signals(watch);
    if (watch->on_screen)
        watch_screen_begin();
    for (;;) {
        const uint64_t next_ns = kt_host_clock_ns(CLOCK_MONOTONIC) + (uint64_t)watch->choice.interval_ms * 1000000u;
        kt_string_destroy(&why);
        step = look_once(watch, &why);
        /* a signal that cut a look short is why it failed */
        signal = step == DONE ? 0 : pause_until(watch, step == FAILED ? 0 : next_ns);
        if (step != GO_ON || signal)
            break;
    }
    if (watch->on_screen) { /* what was last seen stays */
        watch_screen_end();
        cli_write(kt_string_text(&watch->text), watch->text.length);
    }
    if (signal > 0 && signal != SIGINT) {
        cli_flush();
        end_by(signal);
    }
    if (step == DONE && !watch->choice.once && why.length)
        cli_error("%s", kt_string_text(&why));
    const int status = signal == NOBODY_READS      ? CLI_PIPE_CLOSED
                       : step == FAILED && !signal ? cli_error("%s", kt_string_text(&why))
                                                   : CLI_OK;
    kt_string_destroy(&why);
    if (watch->signals >= 0)
        close(watch->signals);
    return status;
}

/* ---- Who can be watched ------------------------------------------------------------------------------------------ */

static int list_table(const pid_t *pids, size_t count)
{
    static const struct kt_table_column columns[] = {{"process", KT_RIGHT}, {"program", KT_LEFT}};
    struct kt_table table = kt_table_of(columns, sizeof columns / sizeof *columns);
    struct kt_string out = cli_text();
    for (size_t i = 0; i < count; i++) {
        struct kt_string arguments = KT_STRING_INIT;
        watch_append_arguments(&arguments, pids[i]);
        kt_table_printf(&table, "%ld", (long)pids[i]);
        kt_table_cell(&table, kt_string_text(&arguments));
        kt_string_destroy(&arguments);
    }
    kt_table_finish(&out, &table);
    if (count == 0)
        kt_string_append(&out, "no process can be watched: start one with KTRACE_WATCH=1 in its environment, or with "
                               "'ktrace record'; it can be\nwatched once it begins a capture\n");
    return cli_print_string(&out);
}

static int list_json(const pid_t *pids, size_t count)
{
    struct kt_string out = KT_STRING_INIT;
    for (size_t i = 0; i < count; i++) {
        struct kt_string arguments = KT_STRING_INIT;
        watch_append_arguments(&arguments, pids[i]);
        kt_string_printf(&out, "{\"pid\": %ld, \"program\": ", (long)pids[i]);
        kt_string_append_json(&out, kt_string_text(&arguments));
        kt_string_append(&out, "}\n");
        kt_string_destroy(&arguments);
    }
    return cli_print_string(&out);
}

static int list(const struct choice *choice)
{
    pid_t *pids;
    size_t count;
    if (watch_list(&pids, &count) < 0)
        return CLI_FAILURE;
    const int status = choice->json ? list_json(pids, count) : list_table(pids, count);
    free(pids);
    return status;
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

/* Milliseconds, or -1 after an error. */
static int seconds(const char *option, const char *argument, double least, double most)
{
    char *end;
    const double value = strtod(argument, &end);
    if (*argument && !*end && value >= least && value <= most)
        return (int)(value * 1000 + 0.5);
    cli_error_usage(&cli_watch, "option '%s' takes seconds from %g to %g, not '%s'", option, least, most, argument);
    return -1;
}

static int take_options(struct choice *choice, int argc, char **argv)
{
    static const struct option options[] = {{"all", no_argument, NULL, 'a'},
                                            {"interval", required_argument, NULL, 'i'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"once", no_argument, NULL, '1'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"timeout", required_argument, NULL, 't'},
                                            {"wait", no_argument, NULL, 'w'},
                                            CLI_HELP_OPTION,
                                            {0}};
    for (int option; (option = cli_option(&cli_watch, argc, argv, ":hai:j1o:t:w", options)) != -1;) {
        switch (option) {
        case 'a': choice->all = true; break;
        case 'i': choice->interval_ms = seconds("--interval", optarg, 0.01, 86400); break;
        case 'j': choice->json = true; break;
        case '1': choice->once = true; break;
        case 'o': choice->save = optarg; break;
        case 't': choice->timeout_ms = seconds("--timeout", optarg, 0.1, 600); break;
        case 'w': choice->wait = true; break;
        case 'h': return 'h';
        default: return '?';
        }
        if (choice->interval_ms < 0 || choice->timeout_ms < 0)
            return '?';
    }
    return 0;
}

static int take_subject(struct choice *choice, const char *operand)
{
    char *end;
    choice->path = operand;
    if (*operand == 0 || operand[strspn(operand, "0123456789")])
        return choice->save
                   ? cli_error_usage(&cli_watch, "-o keeps looks at a process: '%s' is a file already", operand)
                   : CLI_OK;
    errno = 0;
    const long pid = strtol(operand, &end, 10);
    if (errno || pid <= 0 || pid > INT32_MAX)
        return cli_error_usage(&cli_watch, "'%s' is no process id; a file of that name is './%s'", operand, operand);
    choice->pid = (pid_t)pid;
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    struct watch watch = {.choice = {.interval_ms = 1000, .timeout_ms = 10000}};
    const int ended = take_options(&watch.choice, argc, argv);
    if (ended)
        return ended == 'h' ? CLI_OK : CLI_USAGE;
    if (optind == argc)
        return list(&watch.choice);
    const char *operand = cli_operand(&cli_watch, argc, argv, "one process or one .ktrace file");
    if (!operand || take_subject(&watch.choice, operand) != CLI_OK)
        return CLI_USAGE;
    watch.subject.pid = watch.choice.pid;
    watch.subject.name = operand;
    if (watch.choice.pid) {
        watch_append_name(&watch.name, watch.choice.pid);
        watch_append_arguments(&watch.arguments, watch.choice.pid);
        watch.subject.name = kt_string_text(&watch.name);
        watch.subject.arguments = kt_string_text(&watch.arguments);
    }
    const int status = watch_it(&watch);
    watch_history_free(&watch.history);
    kt_string_destroy(&watch.name);
    kt_string_destroy(&watch.arguments);
    kt_string_destroy(&watch.text);
    free(watch.said);
    return status;
}

const struct cli_command cli_watch = {
    .name = "watch",
    .brief = "look into kernels while they run, or hang",
    .help = "Usage: ktrace watch [OPTION...] PROCESS\n"
            "       ktrace watch [OPTION...] FILE.ktrace\n"
            "       ktrace watch [--json]\n"
            "\n"
            "Looks at the capture that is open in a running program, or else at its process-wide\n"
            "collection, without waiting for kernels: which waves are inside of which launch, in which\n"
            "open ranges, and how long ago their last events were, longest first. A second look says\n"
            "what is still moving. The program is started with KTRACE_WATCH=1 in its environment, or by\n"
            "'ktrace record'. Without a process or a file: which processes can be watched.\n"
            "\n"
            "A file is one that a program writes again and again: it is shown whenever it has changed.\n"
            "A name of digits alone is a process; './123' is a file.\n"
            "\n"
            "On a terminal the view stays in place until Ctrl-C; elsewhere looks follow each other.\n"
            "\n"
            "  waves        with the same open ranges and the same last event\n"
            "  open ranges  outermost first; '...' where a ring has wrapped and more may be open\n"
            "  payload      of the innermost range, where it is the same in all, or from which number to\n"
            "               which; behind the last event its own\n"
            "  ago          between the last events of these waves and the look; 'at', from the trace's\n"
            "               time 0, where the device's clock is not known to the host, as of simulated\n"
            "               devices\n"
            "  workgroups, wave, SMs  which they are; wave is the number in the workgroup\n"
            "  a second     since the look before\n"
            "\n"
            "Options:\n"
            "  -a, --all               every row; otherwise the first ten of each table\n"
            "  -i, --interval SECONDS  from look to look, 0.01 to 86400 (default 1)\n"
            "  -j, --json              a line of JSON for each look\n"
            "  -1, --once              one look\n"
            "  -o, --output FILE       save each look as a trace file, the last one stays\n"
            "  -t, --timeout SECONDS   for a look, 0.1 to 600 (default 10)\n"
            "  -w, --wait              for the process to begin a capture, or for the file\n"
            "  -h, --help              print this\n"
            "\n"
            "Examples:\n"
            "  ktrace watch 4711\n"
            "  ktrace watch --once -o hang.ktrace 4711\n"
            "  ktrace watch --json --interval 10 4711 >> looks.jsonl\n",
    .run = run,
};
