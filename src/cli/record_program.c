#include "record.h"

#include "../backend/host_clock.h"
#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process that is asked to end may take as long as record_end.c gives it to save what it has. */
enum { PAUSE_MS = 20, SAY_AFTER_MS = 1000, KILL_AFTER_MS = 15000, MOST_LIVING = 256 };

/* ---- Signals -------------------------------------------------------------------------------------------------------- */

/* What is taken from the queue here, instead of ending the command. */
static const int taken[] = {SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

static sigset_t set_of_taken(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        sigaddset(&set, taken[i]);
    return set;
}

/* The next one within `limit_ms`; 0: none came. `*to_pass_on`: a process sent it, and not the terminal, which sends to all of its
 * processes. */
static int next_signal(bool *to_pass_on, int limit_ms)
{
    const sigset_t set = set_of_taken();
    const struct timespec limit = {.tv_sec = limit_ms / 1000, .tv_nsec = limit_ms % 1000 * 1000000L};
    siginfo_t info;
    const int number = sigtimedwait(&set, &info, &limit);
    *to_pass_on = number > 0 && number != SIGCHLD && info.si_code <= 0; /* SI_USER, SI_QUEUE, SI_TKILL */
    return number < 0 ? 0 : number;
}

/* ---- Starting ------------------------------------------------------------------------------------------------------- */

__attribute__((noreturn)) static void become_program(char *const *command, int failure, const sigset_t *mask)
{
    cli_cleanup_forget();
    cli_restore_signals();
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(command[0], command);
    const int error = errno;
    (void)!write(failure, &error, sizeof error);
    _exit(127);
}

static int start(struct record_program *program)
{
    int ends[2], error = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return cli_error("cannot make a pipe: %s", strerror(errno));
    cli_flush();
    program->process = fork();
    if (program->process == 0)
        become_program(program->command, ends[1], &program->mask);
    const int fork_error = errno;
    close(ends[1]);
    if (program->process > 0 && read(ends[0], &error, sizeof error) == sizeof error) /* otherwise exec has closed it */
        program->error = error;
    close(ends[0]);
    return program->process < 0 ? cli_error("cannot start a process: %s", strerror(fork_error)) : CLI_OK;
}

/* ---- Waiting -------------------------------------------------------------------------------------------------------- */

struct wait {
    struct record_program *program;
    int64_t end_ms, kill_ms; /* 0: not decided */
    bool has_ended;          /* the program itself */
    int signals;             /* that came after that */
};

static void signal_living(const struct wait *wait, int number)
{
    pid_t living[MOST_LIVING];
    const size_t count = record_living(living, MOST_LIVING, wait->program->session);
    for (size_t i = 0; i < count && i < MOST_LIVING; i++)
        if (living[i] > 0 && living[i] != wait->program->process)
            kill(living[i], number);
}

/* The program, if it is there yet, and those of its processes that record. */
static void signal_all(const struct wait *wait, int number)
{
    if (!wait->has_ended)
        kill(wait->program->process, number);
    signal_living(wait, number);
}

/* SIGTERM when the time is over, and SIGKILL for what stays. */
static void end_in_time(struct wait *wait)
{
    const int64_t now_ms = kt_monotonic_ms();
    if (wait->kill_ms == 0 && wait->end_ms && now_ms >= wait->end_ms) {
        wait->program->was_ended = true;
        wait->kill_ms = now_ms + KILL_AFTER_MS;
        signal_all(wait, SIGTERM);
    } else if (wait->kill_ms && now_ms >= wait->kill_ms) {
        signal_all(wait, SIGKILL);
        wait->kill_ms = now_ms + KILL_AFTER_MS;
    }
}

static void wait_for_program(struct wait *wait)
{
    struct record_program *program = wait->program;
    bool to_pass_on;
    for (;;) {
        const int64_t left_ms =
            wait->end_ms ? (wait->kill_ms ? wait->kill_ms : wait->end_ms) - kt_monotonic_ms() : 1000;
        const int number = next_signal(&to_pass_on, left_ms < 0 ? 0 : left_ms > 1000 ? 1000 : (int)left_ms);
        const pid_t ended = waitpid(program->process, &program->status, WNOHANG);
        if (ended == program->process || (ended < 0 && errno == ECHILD))
            break;
        if (to_pass_on)
            kill(program->process, number);
        end_in_time(wait);
    }
    wait->has_ended = true;
}

static void say_whom_it_waits_for(const struct wait *wait, const pid_t *living, size_t count)
{
    struct kt_string ids = KT_STRING_INIT;
    for (size_t i = 0; i < count && i < 8; i++)
        kt_string_printf(&ids, "%s%ld", i ? ", " : "", (long)living[i]);
    if (!wait->program->quiet)
        cli_error("%s has ended, but %zu of its processes (%s%s) still record%s: waiting for %s; Ctrl-C ends %s",
                  wait->program->command[0], count, kt_string_text(&ids), count > 8 ? ", ..." : "",
                  count == 1 ? "s" : "", count == 1 ? "it" : "them", count == 1 ? "it" : "them");
    kt_string_destroy(&ids);
}

/* Those that it left behind. A signal ends them; one of the terminal's does not need our help, unless they are not of its group:
 * then the second one. The third ends the waiting. */
static void wait_for_rest(struct wait *wait)
{
    const int64_t begin_ms = kt_monotonic_ms();
    pid_t living[MOST_LIVING];
    bool to_pass_on, has_said = false;
    for (size_t count; (count = record_living(living, MOST_LIVING, wait->program->session)) > 0 && wait->signals < 3;) {
        if (!has_said && kt_monotonic_ms() - begin_ms >= SAY_AFTER_MS) {
            say_whom_it_waits_for(wait, living, count);
            has_said = true;
        }
        const int number = next_signal(&to_pass_on, PAUSE_MS);
        if (number && number != SIGCHLD) {
            if (to_pass_on || wait->signals > 0)
                signal_living(wait, SIGTERM);
            wait->signals++;
            wait->end_ms = wait->kill_ms = kt_monotonic_ms() + KILL_AFTER_MS;
        }
        end_in_time(wait);
    }
}

int record_program_run(struct record_program *program)
{
    const sigset_t set = set_of_taken();
    struct wait wait = {.program = program};
    sigprocmask(SIG_BLOCK, &set, &program->mask);
    const int status = start(program);
    if (status != CLI_OK)
        return status;
    if (program->duration_ms)
        wait.end_ms = kt_monotonic_ms() + program->duration_ms;
    wait_for_program(&wait);
    if (program->error == 0)
        wait_for_rest(&wait);
    return CLI_OK;
}

void record_program_release(const struct record_program *program)
{
    sigprocmask(SIG_SETMASK, &program->mask, NULL);
}
