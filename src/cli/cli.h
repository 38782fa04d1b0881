/* cli.h - what the commands of `ktrace` share.
 *
 * A command is one file, cmd_<name>.c, with one entry in the table of main.c. It returns an exit status of enum cli_exit.
 * What it says goes through cli_write, what goes wrong through cli_error; both are in main.c.
 */
#ifndef KT_CLI_H
#define KT_CLI_H

#include "ktrace/ktrace.h"

#include "../string_builder.h"

#include <getopt.h>
#include <stdbool.h>

/* Documented in `ktrace --help`. */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILURE = 1,
    CLI_USAGE = 2,
    CLI_PIPE_CLOSED = 141 /* what a shell makes of SIGPIPE: 128 + 13 */
};

struct cli_command {
    const char *name;
    const char *brief;                 /* one line in `ktrace --help` */
    const char *help;                  /* `ktrace NAME --help`: everything from "Usage:" on */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct cli_command cli_demo, cli_diff, cli_doctor, cli_report, cli_info, cli_summary, cli_launches,
    cli_export, cli_merge, cli_sites, cli_events, cli_completion, cli_record, cli_watch;
extern const struct cli_command *const cli_commands[]; /* in the order of `ktrace --help`; NULL-terminated */

/* "ktrace: <sentence>" on standard error, with what could drive a terminal made visible. Returns CLI_FAILURE. */
int cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* cli_error with the library's last error. */
int cli_error_library(void);
/* The same for a call that was not told which file it was about. */
int cli_error_in_file(const char *path);
/* "ktrace: <command>: <sentence>: see 'ktrace <command> --help'" on standard error. Returns CLI_USAGE. */
int cli_error_usage(const struct cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* To standard output. A failure is remembered: main reports it at the end and makes the exit status CLI_FAILURE.
 * A pipe that nobody reads any more is not reported: CLI_PIPE_CLOSED. */
void cli_write(const void *data, size_t bytes);
void cli_print(const char *text);
/* What is buffered goes out now: before waiting, and before a fork. */
void cli_flush(void);
/* The text of a string builder, which is destroyed. CLI_FAILURE when memory had run out. */
int cli_print_string(struct kt_string *string);

/* getopt_long with this command's own messages: the option, -1 after the last, 'h' after --help was printed, '?' after
 * cli_error_usage. `options` must end with CLI_HELP_OPTION, which adds what every command takes, and a zero entry; `letters`
 * must begin with ":h". */
int cli_option(const struct cli_command *command, int argc, char **argv, const char *letters,
               const struct option *options);
enum { CLI_OPTION_COLOR = 0x1000 }; /* seen to by cli_option */
/* clang-format off */
#define CLI_HELP_OPTION {"help", no_argument, NULL, 'h'}, {"color", required_argument, NULL, CLI_OPTION_COLOR}
/* clang-format on */
/* The one operand after the options; NULL after cli_error_usage. */
const char *cli_operand(const struct cli_command *command, int argc, char **argv, const char *what);

/* Signals that main ignores are as they were: in a child, before it becomes another program. */
void cli_restore_signals(void);

/* The folder of the running executable, with symbolic links resolved: free() it. NULL where /proc does not tell. */
char *cli_executable_directory(void);

#endif
