#include "cleanup.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* Changed while the signals wait. */
static const char *files[CLI_CLEANUP_FILES];
static const char *folder;
static pid_t child;
static struct sigaction previous[SIGNALS];
static int is_armed;
static int held;
static sigset_t mask_before;

/* Only what a signal handler may call. The child is waited for: whoever waits for the command finds none of it running. */
static void end_by(int number)
{
    if (child > 0) {
        kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    for (size_t i = 0; i < CLI_CLEANUP_FILES; i++)
        if (files[i])
            unlink(files[i]);
    if (folder)
        rmdir(folder);
    signal(number, SIG_DFL);
    raise(number); /* delivered when this returns */
}

void cli_cleanup_hold(void)
{
    sigset_t blocked;
    if (held++ > 0)
        return;
    sigemptyset(&blocked);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&blocked, signals[i]);
    sigprocmask(SIG_BLOCK, &blocked, &mask_before);
}

void cli_cleanup_release(void)
{
    if (--held == 0)
        sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

void cli_cleanup_begin(const char *const paths[CLI_CLEANUP_FILES], const char *made)
{
    struct sigaction action = {.sa_handler = end_by};
    cli_cleanup_hold();
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&action.sa_mask, signals[i]);
    for (size_t i = 0; i < CLI_CLEANUP_FILES; i++)
        files[i] = paths[i];
    folder = made;
    for (size_t i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &previous[i]);
        if (previous[i].sa_handler != SIG_IGN) /* as under nohup */
            sigaction(signals[i], &action, NULL);
    }
    is_armed = 1;
    cli_cleanup_release();
}

void cli_cleanup_end(void)
{
    cli_cleanup_hold();
    for (size_t i = 0; is_armed && i < SIGNALS; i++)
        sigaction(signals[i], &previous[i], NULL);
    for (size_t i = 0; i < CLI_CLEANUP_FILES; i++)
        files[i] = NULL;
    folder = NULL;
    is_armed = 0;
    cli_cleanup_release();
}

void cli_cleanup_child(pid_t process)
{
    cli_cleanup_hold();
    child = process;
    cli_cleanup_release();
}

void cli_cleanup_forget(void)
{
    child = 0;
    cli_cleanup_end();
    while (held > 0)
        cli_cleanup_release();
}
