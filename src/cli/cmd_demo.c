/* cmd_demo.c - a first trace, with a GPU or without.
 *
 * The command has no kernels. Where the helper `ktrace-demo-cuda` or `ktrace-demo-hip` is installed it runs
 *     ktrace-demo-cuda FILE.ktrace
 * which runs a traced GEMM, checks its numbers, saves FILE.ktrace and prints a line; exit status 77 says that it finds no
 * device, and its last line why. The first that finds one makes the demo; that of HIP runs on the simulator where there is no
 * GPU. Without either, the recording that is installed as demo.ktrace is replayed.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
    HELPER_NO_DEVICE = 77,
    HELPER_OUTPUT_BYTES = 64 * 1024, /* kept of what the helper says */
    NUMBERED_FILES = 10000           /* pairs of names that are tried */
};

static const char recording_name[] = "demo.ktrace";

/* Relative to the folder of the executable: installed, then as built. */
static const struct helper {
    const char *on; /* what --on calls it */
    const char *name;
    const char *places[3];
} helpers[] = {
    {"cuda",
     "ktrace-demo-cuda",
     {"../libexec/ktrace/ktrace-demo-cuda", "ktrace-demo-cuda", "../examples/ktrace-demo-cuda"}},
    {"hip",
     "ktrace-demo-hip",
     {"../libexec/ktrace/ktrace-demo-hip", "ktrace-demo-hip", "../examples/amdgcn/ktrace-demo-hip"}},
};
enum { HELPERS = sizeof helpers / sizeof *helpers };
static const char *const recording_places[] = {"../share/ktrace/demo.ktrace", "share/ktrace/demo.ktrace",
                                               "../../../tests/data/h200/gemm.ktrace"};

/* ---- Paths ------------------------------------------------------------------------------------------------------- */

/* "directory/name", to free(); NULL after cli_error. `directory` NULL or "": `name`. */
static char *join(const char *directory, const char *name)
{
    struct kt_string path = KT_STRING_INIT;
    if (directory && *directory) {
        kt_string_append(&path, directory);
        if (directory[strlen(directory) - 1] != '/')
            kt_string_append_char(&path, '/');
    }
    kt_string_append(&path, name);
    char *text = NULL;
    if (kt_string_take(&text, &path) < 0)
        cli_error_library();
    return text;
}

/* The first of `places` below the executable that may be accessed, to free(); NULL if there is none. */
static char *find_beside_executable(const char *const *places, size_t count, int access_mode)
{
    char *directory = cli_executable_directory();
    char *found = NULL;
    for (size_t i = 0; directory && i < count && !found; i++) {
        found = join(directory, places[i]);
        if (found && access(found, access_mode) != 0) {
            free(found);
            found = NULL;
        }
    }
    free(directory);
    return found;
}

static char *find_recording(void)
{
    const char *directory = getenv("KTRACE_DATA_DIR");
    if (directory && *directory)
        return join(directory, recording_name);
    char *found = find_beside_executable(recording_places, sizeof recording_places / sizeof *recording_places, R_OK);
#if defined(KTRACE_DATA_DIR_DEFAULT)
    if (!found) {
        found = join(KTRACE_DATA_DIR_DEFAULT, recording_name);
        if (found && access(found, R_OK) != 0) {
            free(found);
            found = NULL;
        }
    }
#endif
    if (!found)
        cli_error("the recorded demo was not installed with this command: set KTRACE_DATA_DIR to the folder that holds "
                  "%s",
                  recording_name);
    return found;
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

/* Two files that are written only where nothing was. They are created empty at once, so that the names are ours. */
struct results {
    char *trace;    /* demo.ktrace */
    char *perfetto; /* demo_ktrace.pftrace.gz */
    int number;     /* of the suffix; 0: none */
};

static void free_results(struct results *results)
{
    free(results->trace);
    free(results->perfetto);
}

static void remove_results(const struct results *results)
{
    unlink(results->trace);
    unlink(results->perfetto);
}

/* 0, or -1 with errno. */
static int create_empty(const char *path)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return descriptor < 0 ? -1 : close(descriptor);
}

/* 0, or -1 with errno. */
static int create_both(const struct results *results)
{
    if (create_empty(results->trace) < 0)
        return -1;
    if (create_empty(results->perfetto) == 0)
        return 0;
    int error = errno;
    unlink(results->trace);
    errno = error;
    return -1;
}

static int reserve_results(struct results *out, const char *directory)
{
    for (int number = 0; number < NUMBERED_FILES; number++) {
        char suffix[16] = "", name[64];
        if (number > 0)
            snprintf(suffix, sizeof suffix, "_%d", number);
        struct results results = {.number = number};
        snprintf(name, sizeof name, "demo%s.ktrace", suffix);
        results.trace = join(directory, name);
        snprintf(name, sizeof name, "demo_ktrace%s.pftrace.gz", suffix);
        results.perfetto = join(directory, name);
        if (!results.trace || !results.perfetto) {
            free_results(&results);
            return CLI_FAILURE;
        }
        if (create_both(&results) == 0) {
            *out = results;
            return CLI_OK;
        }
        int error = errno;
        int status = error == EEXIST ? CLI_OK : cli_error("%s: cannot create: %s", results.trace, strerror(error));
        free_results(&results);
        if (status != CLI_OK)
            return status;
    }
    return cli_error("there are %d demos already: remove some, or choose another folder with --out", NUMBERED_FILES);
}

/* ---- The helper -------------------------------------------------------------------------------------------------- */

/* Run the helper with its output in `said` (kept to HELPER_OUTPUT_BYTES). Its wait status, or -1 after cli_error. */
static int run_helper(struct kt_string *said, const char *helper, const char *trace_path)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        cli_error("cannot make a pipe: %s", strerror(errno));
        return -1;
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    char *const arguments[] = {(char *)helper, (char *)trace_path, NULL};
    pid_t process;
    int error = posix_spawn(&process, helper, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        cli_error("%s: cannot run: %s", helper, strerror(error));
        return -1;
    }
    char buffer[4096];
    ssize_t got;
    while ((got = read(ends[0], buffer, sizeof buffer)) != 0) {
        if (got < 0 && errno != EINTR)
            break;
        if (got > 0 && said->length + (size_t)got <= HELPER_OUTPUT_BYTES)
            kt_string_append_bytes(said, buffer, (size_t)got);
    }
    close(ends[0]);
    int status;
    while (waitpid(process, &status, 0) < 0) {
        if (errno != EINTR) {
            cli_error("%s: cannot wait for it: %s", helper, strerror(errno));
            return -1;
        }
    }
    return status;
}

/* The last line that is not empty, with what could drive a terminal made visible. */
static void append_last_line(struct kt_string *out, const struct kt_string *said)
{
    const char *text = kt_string_text(said);
    size_t end = strlen(text);
    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' '))
        end--;
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    struct kt_string line = KT_STRING_INIT;
    kt_string_append_bytes(&line, text + begin, end - begin);
    kt_string_append_visible(out, kt_string_text(&line));
    kt_string_destroy(&line);
}

enum made { MADE_FAILED, MADE, MADE_NOT };

/* Try to make results->trace on the helper's device. MADE_NOT: `why` says why there is none to use. MADE_FAILED: after
 * cli_error. */
static enum made make_with(struct kt_string *why, const struct helper *with, const struct results *results)
{
    const char *helper_name = with->name;
    char *helper = find_beside_executable(with->places, sizeof with->places / sizeof *with->places, X_OK);
    if (!helper) {
        kt_string_printf(why, "this ktrace was built without %s", helper_name);
        return MADE_NOT;
    }
    struct kt_string said = KT_STRING_INIT, line = KT_STRING_INIT;
    int status = run_helper(&said, helper, results->trace);
    append_last_line(&line, &said);
    const char *last = line.length ? kt_string_text(&line) : "it said nothing";
    enum made made = MADE_FAILED;
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        if (line.length) {
            cli_print(last);
            cli_print("\n");
        }
        made = MADE;
    } else if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == HELPER_NO_DEVICE) {
        kt_string_append(why, last);
        made = MADE_NOT;
    } else if (status >= 0 && WIFSIGNALED(status)) {
        cli_error("%s was ended by signal %d (%s): %s; 'ktrace demo --on replay' does without it", helper_name,
                  WTERMSIG(status), strsignal(WTERMSIG(status)), last);
    } else if (status >= 0) {
        cli_error("%s failed with exit status %d: %s; 'ktrace demo --on replay' does without it", helper_name,
                  WEXITSTATUS(status), last);
    }
    kt_string_destroy(&said);
    kt_string_destroy(&line);
    free(helper);
    return made;
}

/* ---- The demo ---------------------------------------------------------------------------------------------------- */

/* Load the recording and save it as results->trace. */
static int replay(struct ktrace_trace **out, const struct results *results, const char *why)
{
    char *recording = find_recording();
    if (!recording)
        return CLI_FAILURE;
    struct ktrace_trace *trace;
    int result = ktrace_trace_load(&trace, recording);
    free(recording);
    if (result < 0)
        return cli_error_library();
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    struct kt_string text = KT_STRING_INIT;
    result = ktrace_trace_get_info(&info, trace);
    if (result == 0)
        result = ktrace_trace_save(trace, results->trace);
    if (result < 0) {
        ktrace_trace_destroy(trace);
        return cli_error_library();
    }
    kt_string_printf(&text, "No kernel was run: %s.\nThis is a replay of what was recorded on: ", why);
    kt_string_append_visible(&text, info.device);
    kt_string_append(&text, ".\n");
    if (cli_print_string(&text) != CLI_OK) {
        ktrace_trace_destroy(trace);
        return CLI_FAILURE;
    }
    *out = trace;
    return CLI_OK;
}

/* `on`: a helper's, "replay", or NULL for the first that there is. */
static int make_trace(struct ktrace_trace **out, const struct results *results, const char *on)
{
    struct kt_string why = KT_STRING_INIT;
    enum made made = MADE_NOT;
    if (on && strcmp(on, "replay") == 0)
        kt_string_append(&why, "a replay was asked for");
    for (size_t i = 0; i < HELPERS && made == MADE_NOT; i++) {
        if (on && strcmp(on, helpers[i].on) != 0)
            continue;
        if (why.length)
            kt_string_append(&why, "; ");
        made = make_with(&why, &helpers[i], results);
    }
    int status = CLI_FAILURE;
    if (made == MADE)
        status = ktrace_trace_load(out, results->trace) < 0 ? cli_error_library() : CLI_OK;
    else if (made == MADE_NOT && on && strcmp(on, "replay") != 0)
        status = cli_error("--on %s: %s", on, kt_string_text(&why));
    else if (made == MADE_NOT)
        status = replay(out, results, kt_string_text(&why));
    kt_string_destroy(&why);
    return status;
}

static int print_results(const struct ktrace_trace *trace, const struct results *results)
{
    char *summary;
    if (ktrace_trace_summary_text(&summary, trace) < 0)
        return cli_error_library();
    cli_print("\n");
    cli_print(summary);
    free(summary);
    struct kt_string text = KT_STRING_INIT;
    kt_string_append(&text, "\n");
    if (results->number > 0)
        kt_string_printf(&text, "A demo was there already and is kept; the new one has number %d.\n", results->number);
    kt_string_append(&text, "wrote ");
    kt_string_append_visible(&text, results->trace);
    kt_string_append(&text, ": 'ktrace info' and 'ktrace summary' read it\nwrote ");
    kt_string_append_visible(&text, results->perfetto);
    kt_string_append(&text, ": open it at https://ui.perfetto.dev\n");
    return cli_print_string(&text);
}

static int run_demo(const struct results *results, const char *on)
{
    struct ktrace_trace *trace;
    int status = make_trace(&trace, results, on);
    if (status != CLI_OK)
        return status;
    status = ktrace_trace_export(trace, "perfetto", results->perfetto) < 0 ? cli_error_library()
                                                                           : print_results(trace, results);
    ktrace_trace_destroy(trace);
    return status;
}

static bool is_device(const char *on)
{
    bool known = strcmp(on, "replay") == 0;
    for (size_t i = 0; i < HELPERS; i++)
        known = known || strcmp(on, helpers[i].on) == 0;
    return known;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {{"out", required_argument, NULL, 'o'},
                                            {"on", required_argument, NULL, 'd'},
                                            {"replay", no_argument, NULL, 'r'},
                                            CLI_HELP_OPTION,
                                            {0}};
    const char *directory = NULL, *on = NULL;
    for (int option; (option = cli_option(&cli_demo, argc, argv, ":ho:d:r", options)) != -1;) {
        switch (option) {
        case 'o': directory = optarg; break;
        case 'd': on = optarg; break;
        case 'r': on = "replay"; break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
    }
    if (optind != argc)
        return cli_error_usage(&cli_demo, "it takes no file, but there is '%s'", argv[optind]);
    if (directory && !*directory)
        return cli_error_usage(&cli_demo, "option '--out' needs a folder");
    if (on && !is_device(on))
        return cli_error_usage(&cli_demo, "option '--on' takes cuda, hip or replay, not '%s'", on);
    /* One folder, not those above it: a path that was mistyped should not become a tree. */
    if (directory && mkdir(directory, 0777) < 0 && errno != EEXIST)
        return cli_error("%s: cannot make this folder: %s", directory, strerror(errno));
    struct results results = {0};
    int status = reserve_results(&results, directory);
    if (status != CLI_OK)
        return status;
    status = run_demo(&results, on);
    if (status != CLI_OK)
        remove_results(&results);
    free_results(&results);
    return status;
}

const struct cli_command cli_demo = {
    .name = "demo",
    .brief = "make a first trace: of a GEMM on the GPU here, or on a simulated one",
    .help = "Usage: ktrace demo [--out DIR] [--on cuda|hip|replay]\n"
            "\n"
            "Runs a traced GEMM on the NVIDIA GPU of this machine; or else on its AMD GPU or, where there\n"
            "is none, on the simulator of one; or else replays one that was recorded; and says which.\n"
            "Prints the summary and writes two files, never over existing ones (they get a number):\n"
            "  demo.ktrace             the trace\n"
            "  demo_ktrace.pftrace.gz  the timeline, for https://ui.perfetto.dev\n"
            "\n"
            "Options:\n"
            "  -o, --out DIR  write into DIR, which is made if need be, instead of the current folder\n"
            "      --on WHAT  cuda, hip or replay: only that, or fail\n"
            "  -r, --replay   the same as --on replay\n"
            "  -h, --help     print this\n"
            "\n"
            "Environment:\n"
            "  KTRACE_DATA_DIR  the folder with the recording, demo.ktrace\n",
    .run = run,
};
