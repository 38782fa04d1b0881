/* main.c - the command `ktrace`: the table of commands, and what they share. */
#include "cli.h"
#include "terminal.h"

#include "../record_session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct cli_command *const cli_commands[] = {
    &cli_demo,   &cli_record, &cli_doctor, &cli_info,   &cli_summary, &cli_launches,   &cli_sites, &cli_events,
    &cli_export, &cli_merge,  &cli_diff,   &cli_report, &cli_watch,   &cli_completion, NULL};
enum { COMMAND_COUNT = sizeof cli_commands / sizeof *cli_commands - 1 };

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

/* Arguments, paths and what libraries say may hold anything: a terminal sees none of it that could drive it. */
__attribute__((format(printf, 2, 0))) static void say_error(const struct cli_command *command, const char *format,
                                                            va_list arguments)
{
    struct kt_string sentence = KT_STRING_INIT, line = KT_STRING_INIT;
    kt_string_vprintf(&sentence, format, arguments);
    line.styled = cli_color(STDERR_FILENO);
    kt_string_append_styled(&line, KT_STYLE_ERROR, "ktrace:");
    kt_string_append(&line, " ");
    if (command)
        kt_string_printf(&line, "%s: ", command->name);
    kt_string_append_visible(&line, kt_string_text(&sentence));
    if (command)
        kt_string_printf(&line, ": see 'ktrace %s --help'", command->name);
    fprintf(stderr, "%s\n", sentence.failed || line.failed ? "ktrace: out of memory" : kt_string_text(&line));
    kt_string_destroy(&sentence);
    kt_string_destroy(&line);
}

int cli_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_error(NULL, format, arguments);
    va_end(arguments);
    return CLI_FAILURE;
}

int cli_error_library(void)
{
    return cli_error("%s", ktrace_last_error());
}

int cli_error_in_file(const char *path)
{
    return cli_error("%s: %s", path, ktrace_last_error());
}

int cli_error_usage(const struct cli_command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_error(command, format, arguments);
    va_end(arguments);
    return CLI_USAGE;
}

/* ---- Output ------------------------------------------------------------------------------------------------------ */

static int output_error; /* errno of the first write to standard output that failed */

void cli_write(const void *data, size_t bytes)
{
    if (bytes && !output_error && fwrite(data, 1, bytes, stdout) != bytes)
        output_error = errno ? errno : EIO;
}

void cli_print(const char *text)
{
    cli_write(text, strlen(text));
}

int cli_print_string(struct kt_string *string)
{
    bool failed = string->failed;
    if (failed)
        cli_error("out of memory");
    else
        cli_write(kt_string_text(string), string->length);
    kt_string_destroy(string);
    return failed ? CLI_FAILURE : CLI_OK;
}

void cli_flush(void)
{
    if (fflush(stdout) != 0 && !output_error)
        output_error = errno;
}

/* A full disk must not look like success. Nor must a closed pipe, but whoever closed it, as head does, wants no words. */
static int finish_output(int status)
{
    cli_flush();
    if (!output_error)
        return status;
    if (output_error == EPIPE)
        return status == CLI_OK ? CLI_PIPE_CLOSED : status;
    int failure = cli_error("cannot write to standard output: %s", strerror(output_error));
    return status == CLI_OK ? failure : status;
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static void print_command_help(const struct cli_command *command)
{
    cli_print("ktrace ");
    cli_print(command->name);
    cli_print(" - ");
    cli_print(command->brief);
    cli_print("\n\n");
    cli_print(command->help);
}

static const char color_words[] = "option '--color' takes auto, always or never, not '%s'";

static void fail_option(const struct cli_command *command, int option, char **argv, const char *letters)
{
    /* A short option is named by optopt; a long one is the argument before optind, and sets optopt, to its letter, only
     * where it has an argument too many. */
    const char *argument = argv[optind - 1];
    bool is_long = strncmp(argument, "--", 2) == 0;
    if (option == ':' && is_long)
        cli_error_usage(command, "option '%s' needs an argument", argument);
    else if (option == ':')
        cli_error_usage(command, "option '-%c' needs an argument", optopt);
    else if (is_long && optopt && strchr(letters, optopt))
        cli_error_usage(command, "option '%.*s' takes no argument", (int)strcspn(argument, "="), argument);
    else if (is_long && !optopt)
        cli_error_usage(command, "unknown option '%s'", argument);
    else
        cli_error_usage(command, "unknown option '-%c'", optopt);
}

int cli_option(const struct cli_command *command, int argc, char **argv, const char *letters,
               const struct option *options)
{
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, letters, options, NULL)) == CLI_OPTION_COLOR)
        if (!cli_color_choose(optarg)) {
            cli_error_usage(command, color_words, optarg);
            return '?';
        }
    if (option == 'h')
        print_command_help(command);
    if (option != '?' && option != ':')
        return option;
    fail_option(command, option, argv, letters);
    return '?';
}

const char *cli_operand(const struct cli_command *command, int argc, char **argv, const char *what)
{
    if (optind + 1 == argc)
        return argv[optind];
    if (optind == argc)
        cli_error_usage(command, "name %s", what);
    else
        cli_error_usage(command, "name %s, not %d", what, argc - optind);
    return NULL;
}

char *cli_executable_directory(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0 || (size_t)length == sizeof path - 1)
        return NULL;
    path[length] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    *slash = 0;
    return strdup(path);
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

static const struct cli_command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

/* Insertions, deletions, replacements and swaps of neighbours that lead from one name to the other. */
static int edit_distance(const char *from, const char *to)
{
    enum { LONGEST = 32 };
    size_t rows = strlen(from), columns = strlen(to);
    if (rows > LONGEST || columns > LONGEST)
        return LONGEST;
    int table[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= rows; i++) {
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                table[i][j] = (int)(i + j);
                continue;
            }
            int best = table[i - 1][j - 1] + (from[i - 1] != to[j - 1]);
            if (table[i - 1][j] + 1 < best)
                best = table[i - 1][j] + 1;
            if (table[i][j - 1] + 1 < best)
                best = table[i][j - 1] + 1;
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] &&
                table[i - 2][j - 2] + 1 < best)
                best = table[i - 2][j - 2] + 1;
            table[i][j] = best;
        }
    }
    return table[rows][columns];
}

static int fail_unknown_command(const char *name)
{
    const char *nearest = NULL;
    int nearest_distance = 3; /* further away it is another word */
    for (int i = 0; i < COMMAND_COUNT; i++) {
        int distance = edit_distance(name, cli_commands[i]->name);
        bool abbreviated = *name && strncmp(name, cli_commands[i]->name, strlen(name)) == 0;
        if (abbreviated || distance < nearest_distance) {
            nearest = cli_commands[i]->name;
            nearest_distance = abbreviated ? 0 : distance;
        }
    }
    if (nearest)
        cli_error("there is no command '%s': did you mean '%s'?", name, nearest);
    else
        cli_error("there is no command '%s': 'ktrace --help' lists them", name);
    return CLI_USAGE;
}

static int print_help(void)
{
    struct kt_string text = KT_STRING_INIT;
    kt_string_append(&text, "ktrace - timelines of the phases inside GPU kernels\n"
                            "\n"
                            "Usage: ktrace [--color WHEN] COMMAND [OPTION...] [FILE]\n"
                            "\n"
                            "Commands:\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        kt_string_printf(&text, "  %-10s  %s\n", cli_commands[i]->name, cli_commands[i]->brief);
    kt_string_append(&text, "\n"
                            "Options:\n"
                            "  -h, --help        print this; after a command, print what it does and takes\n"
                            "      --color WHEN  auto (the default), always or never; also after a command. auto\n"
                            "                    is on a terminal, unless NO_COLOR is set or TERM is 'dumb'\n"
                            "      --version     print the version\n"
                            "\n"
                            "Exit status:\n"
                            "  0    success\n"
                            "  1    failure: standard error says what, where and what to do\n"
                            "  2    wrong usage\n"
                            "  141  nobody read standard output to its end; nothing is said\n");
    return cli_print_string(&text);
}

/* CLI_OK, or CLI_USAGE after an error where there are more than `wanted` of the arguments. */
static int refuse_surplus(int argc, char **argv, int wanted)
{
    if (argc <= wanted)
        return CLI_OK;
    cli_error("there is '%s' after '%s', which takes no more: see 'ktrace --help'", argv[wanted], argv[wanted - 1]);
    return CLI_USAGE;
}

static int help_command(int argc, char **argv)
{
    if (argc == 1)
        return print_help();
    const struct cli_command *command = find_command(argv[1]);
    if (!command)
        return fail_unknown_command(argv[1]);
    if (refuse_surplus(argc, argv, 2) != CLI_OK)
        return CLI_USAGE;
    print_command_help(command);
    return CLI_OK;
}

/* How many arguments --color takes up at `argv`: 0, 1 or 2; -1 after cli_error. */
static int take_color(char **argv)
{
    static const char option[] = "--color";
    const size_t length = strlen(option);
    if (!argv[0] || strncmp(argv[0], option, length) != 0 || (argv[0][length] && argv[0][length] != '='))
        return 0;
    const char *when = argv[0][length] ? argv[0] + length + 1 : argv[1];
    if (!when) {
        cli_error("option '--color' needs an argument: see 'ktrace --help'");
        return -1;
    }
    if (!cli_color_choose(when)) {
        cli_error(color_words, when);
        return -1;
    }
    return argv[0][length] ? 1 : 2;
}

static int run(int argc, char **argv)
{
    for (int taken; argc > 1 && (taken = take_color(argv + 1)) != 0; argc -= taken, argv += taken)
        if (taken < 0)
            return CLI_USAGE;
    if (argc < 2) {
        cli_error("name a command: 'ktrace --help' lists them");
        return CLI_USAGE;
    }
    const char *name = argv[1];
    bool is_help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0, is_version = strcmp(name, "--version") == 0;
    if ((is_help || is_version) && refuse_surplus(argc, argv, 2) != CLI_OK)
        return CLI_USAGE;
    if (is_help)
        return print_help();
    if (is_version) {
        cli_print("ktrace ");
        cli_print(ktrace_version());
        cli_print("\n");
        return CLI_OK;
    }
    if (strcmp(name, "help") == 0)
        return help_command(argc - 1, argv + 1);
    if (name[0] == '-') {
        cli_error("unknown option '%s': see 'ktrace --help'", name);
        return CLI_USAGE;
    }
    const struct cli_command *command = find_command(name);
    return command ? command->run(argc - 1, argv + 1) : fail_unknown_command(name);
}

/* A standard stream that the caller closed would be taken by the next file that is opened, and written over. The
 * stand-in for standard output refuses writing, so that losing output stays an error. */
static void occupy_standard_streams(void)
{
    for (int descriptor = 0; descriptor <= 2; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", (descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR) | O_CLOEXEC);
}

/* A closed pipe does not keep a command from finishing its files; a file that may not grow is an error, as on a full disk. */
static const int ignored[] = {SIGPIPE, SIGXFSZ};
enum { IGNORED = sizeof ignored / sizeof *ignored };
static struct sigaction before_ignoring[IGNORED];

static void ignore_signals(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (int i = 0; i < IGNORED; i++)
        sigaction(ignored[i], &ignore, &before_ignoring[i]);
}

void cli_restore_signals(void)
{
    for (int i = 0; i < IGNORED; i++)
        sigaction(ignored[i], &before_ignoring[i], NULL);
}

int main(int argc, char **argv)
{
    kt_record_leave();
    occupy_standard_streams();
    ignore_signals();
    return finish_output(run(argc, argv));
}
