#include "child.h"
#include "cleanup.h"
#include "progress.h"

#include "../backend/host_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT_BYTES = 64 * 1024, LONGEST_LIMIT_S = 24 * 60 * 60 };

/* ---- In the child ------------------------------------------------------------------------------------------------ */

__attribute__((noreturn)) static void be_child(pid_t parent, int output, int (*body)(void *), void *context)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it ended before that */
        _exit(CLI_FAILURE);
    signal(SIGPIPE, SIG_DFL);
    cli_cleanup_forget();
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    const int status = body(context);
    fflush(NULL);
    _exit(status);
}

/* ---- In the command ---------------------------------------------------------------------------------------------- */

/* Its process id, with `*output` to read from; -1 after cli_error. */
static pid_t start(int *output, int (*body)(void *), void *context)
{
    const pid_t parent = getpid();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        cli_error("cannot make a pipe: %s", strerror(errno));
        return -1;
    }
    cli_flush(); /* what is buffered is the command's to write */
    cli_cleanup_hold();
    const pid_t process = fork();
    if (process == 0)
        be_child(parent, ends[1], body, context);
    const int error = errno;
    cli_cleanup_child(process < 0 ? 0 : process);
    cli_cleanup_release();
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        cli_error("cannot start a process: %s", strerror(error));
        return -1;
    }
    *output = ends[0];
    return process;
}

/* What waitpid says. A signal that comes between must not kill whoever has this process id next. */
static pid_t reap(int *status, pid_t process, int options)
{
    cli_cleanup_hold();
    const pid_t ended = waitpid(process, status, options);
    if (ended == process)
        cli_cleanup_child(0);
    cli_cleanup_release();
    return ended;
}

/* One piece. False at the end, and where there is nothing yet to read from a pipe that does not wait. */
static bool hear(struct kt_string *said, int output)
{
    char buffer[4096];
    const ssize_t got = read(output, buffer, sizeof buffer);
    if (got > 0 && said->length + (size_t)got <= KEPT_BYTES)
        kt_string_append_bytes(said, buffer, (size_t)got);
    return got > 0 || (got < 0 && errno == EINTR);
}

/* The child's end is what counts: processes that it leaves behind may keep its output open, and it may close that early. */
static void attend(struct cli_child *out, pid_t process, int output, int64_t end_ms)
{
    struct pollfd poll_output = {.fd = output, .events = POLLIN};
    while (reap(&out->status, process, WNOHANG) == 0) {
        if (kt_monotonic_ms() >= end_ms) {
            out->was_stopped = true;
            kill(process, SIGKILL);
            while (reap(&out->status, process, 0) < 0 && errno == EINTR)
                ;
            break;
        }
        if (poll(&poll_output, 1, poll_output.fd < 0 ? 2 : 50) > 0 && !hear(&out->said, output))
            poll_output.fd = -1; /* which poll takes for a pause */
    }
    fcntl(output, F_SETFL, O_NONBLOCK);
    while (hear(&out->said, output))
        ;
}

int cli_child_run(struct cli_child *out, int (*body)(void *context), void *context, int limit_s)
{
    const int64_t end_ms = kt_monotonic_ms() + (int64_t)limit_s * 1000;
    int output;
    const pid_t process = start(&output, body, context);
    if (process < 0)
        return -1;
    if (out->verb)
        cli_progress_begin(out->verb, out->object); /* behind the fork, at which the command has one thread */
    attend(out, process, output, end_ms);
    cli_progress_end();
    close(output);
    return 0;
}

void cli_child_destroy(struct cli_child *child)
{
    kt_string_destroy(&child->said);
}

void *cli_child_share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        return memory;
    cli_error("cannot share %zu bytes of memory with a process: %s", bytes, strerror(errno));
    return NULL;
}

void cli_child_unshare(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

/* ---- How it ended ------------------------------------------------------------------------------------------------ */

bool cli_child_exited_with(const struct cli_child *child, int status)
{
    return !child->was_stopped && WIFEXITED(child->status) && WEXITSTATUS(child->status) == status;
}

void cli_child_append_end(struct kt_string *out, const struct cli_child *child, int limit_s)
{
    if (child->was_stopped)
        kt_string_printf(out, "did not answer within %d s", limit_s);
    else if (WIFSIGNALED(child->status))
        kt_string_printf(out, "ended with signal %d (%s)", WTERMSIG(child->status), strsignal(WTERMSIG(child->status)));
    else
        kt_string_printf(out, "ended with exit status %d", WEXITSTATUS(child->status));
}

/* Where its last line that is not empty lies in what it said. */
static size_t find_last_line(size_t *end, const struct cli_child *child)
{
    const char *text = kt_string_text(&child->said);
    *end = strlen(text);
    while (*end > 0 && (text[*end - 1] == '\n' || text[*end - 1] == ' '))
        --*end;
    size_t begin = *end;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    return begin;
}

void cli_child_append_last_line(struct kt_string *out, const struct cli_child *child)
{
    size_t end;
    const size_t begin = find_last_line(&end, child);
    kt_string_append_bytes(out, kt_string_text(&child->said) + begin, end - begin);
}

void cli_child_append_lines_before_last(struct kt_string *out, const struct cli_child *child)
{
    size_t end;
    kt_string_append_bytes(out, kt_string_text(&child->said), find_last_line(&end, child));
}

int cli_child_limit(const struct cli_command *command, const char *argument)
{
    char *end;
    const long seconds = strtol(argument, &end, 10);
    if (*argument && !*end && seconds >= 1 && seconds <= LONGEST_LIMIT_S)
        return (int)seconds;
    cli_error_usage(command, "option '--timeout' takes seconds from 1 to %d, not '%s'", LONGEST_LIMIT_S, argument);
    return -1;
}
