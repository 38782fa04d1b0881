/* child.h - work in a child process, because it may crash, exit or hang there.
 *
 * The command has one thread and starts one child at a time. The child dies with the command.
 */
#ifndef KT_CLI_CHILD_H
#define KT_CLI_CHILD_H

#include "cli.h"

/* How a child ended. */
struct cli_child {
    const char *verb, *object; /* for progress.h while it runs, set before; NULL: nothing is said */
    int status;                /* as of waitpid */
    bool was_stopped;          /* it had not ended within the limit */
    struct kt_string said;     /* the beginning of what it wrote to standard output and standard error */
};
#define CLI_CHILD_INIT \
    { \
        .said = KT_STRING_INIT \
    }

/* `body` in a child, whose exit status is what it returns, for `limit_s` at most. Destroy `out` in any case. -1 after cli_error:
 * there is no child. What the child changes in memory of cli_child_share is seen here, nothing else. */
int cli_child_run(struct cli_child *out, int (*body)(void *context), void *context, int limit_s);
void cli_child_destroy(struct cli_child *child);

/* Zeroed memory that a child shares; NULL after cli_error. */
void *cli_child_share(size_t bytes);
void cli_child_unshare(void *memory, size_t bytes);

bool cli_child_exited_with(const struct cli_child *child, int status);
/* "ended with signal 11 (Segmentation fault)", "ended with exit status 3", "did not answer within 10 s". */
void cli_child_append_end(struct kt_string *out, const struct cli_child *child, int limit_s);
/* The last line that it wrote and that is not empty; "" if there is none. */
void cli_child_append_last_line(struct kt_string *out, const struct cli_child *child);
/* What it wrote before that line. */
void cli_child_append_lines_before_last(struct kt_string *out, const struct cli_child *child);

/* The argument of --timeout: seconds, or -1 after cli_error_usage. */
int cli_child_limit(const struct cli_command *command, const char *argument);

#endif
