#include "quiet_write.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Takes what the write has raised for this thread. One that waited before stays. */
static void take_signal(int number, const sigset_t *before)
{
    const struct timespec now = {0};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    if (!sigismember(before, number))
        while (sigtimedwait(&one, NULL, &now) < 0 && errno == EINTR)
            continue;
}

ssize_t kt_write_quietly(int file, const void *data, size_t bytes)
{
    sigset_t raised, before, mask;
    sigemptyset(&raised);
    sigaddset(&raised, SIGPIPE);
    sigaddset(&raised, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &raised, &mask);
    sigpending(&before);
    const ssize_t written = write(file, data, bytes);
    const int error = errno;
    if (written < 0 && (error == EPIPE || error == EFBIG))
        take_signal(error == EPIPE ? SIGPIPE : SIGXFSZ, &before);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = error;
    return written;
}
