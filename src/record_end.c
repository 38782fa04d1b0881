/* record_end.c - a process that is recorded hands over what it has at its end: at exit, and where a signal ends it. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "own_thread.h"
#include "process_wide.h"
#include "record_captures.h"
#include "record_session.h"

/* How long a process that dies may take to save what it has. Launchers send SIGKILL 30 s after SIGTERM. */
enum { LAST_LOOK_MS = 10000, LOCKS_MS = 2000, AGAIN_MS = 2000 };

/* ---- At exit -------------------------------------------------------------------------------------------------------- */

/* Several times where a program ends in several ways at once: nothing is left for the second. A forked child has nothing. */
static void hand_over(void)
{
    if (!kt_record_is_on())
        return;
    kt_record_captures();
    kt_process_wide_record();
}

/* A Python that an interrupt ends kills itself when it has finalized: what C registers for its exit does not run. */
static void register_with_python(void)
{
    int (*py_at_exit)(void (*)(void));
    *(void **)&py_at_exit = dlsym(RTLD_DEFAULT, "Py_AtExit");
    if (py_at_exit)
        py_at_exit(hand_over);
}

/* ---- At a signal ---------------------------------------------------------------------------------------------------- */

/* Those that end a process which does not handle them, but SIGKILL. */
static const int deadly[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGABRT, SIGBUS,  SIGFPE, SIGSEGV,
                             SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};

static sem_t asked;
static pid_t owner;      /* the process that has the thread */
static int number;       /* of the first signal; atomic */
static int64_t first_ms; /* when that was; atomic */
static int is_saved;     /* atomic */

static void *save_when_asked(void *unused)
{
    char text[16];
    (void)unused;
    while (sem_wait(&asked) != 0)
        ;
    kt_record_last_look(LOCKS_MS);
    snprintf(text, sizeof text, "%d", __atomic_load_n(&number, __ATOMIC_ACQUIRE));
    kt_record_say(KT_RECORD_SIGNAL, text);
    __atomic_store_n(&is_saved, 1, __ATOMIC_RELEASE);
    return NULL;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Of the process itself, and not sent by somebody: there is nothing to return to. */
static int is_fault(int signal_number)
{
    return signal_number == SIGILL || signal_number == SIGABRT || signal_number == SIGBUS || signal_number == SIGFPE ||
           signal_number == SIGSEGV;
}

/* Whether the process is to die now: what there was is saved, or there is no more time, or nobody who could. Nothing but what a
 * signal handler may do: the work is the thread's. */
static int wait_until_saved(int signal_number)
{
    int first = 0;
    if (getpid() != owner) /* a child of vfork runs in the memory of its parent */
        return 1;
    const int64_t begin_ms = now_ms();
    if (__atomic_compare_exchange_n(&number, &first, signal_number, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&first_ms, begin_ms, __ATOMIC_RELEASE);
        sem_post(&asked);
    } else if (!is_fault(
                   signal_number)) { /* somebody is out of patience; or, when it comes at once, sent it in two ways */
        const int64_t since_ms = __atomic_load_n(&first_ms, __ATOMIC_ACQUIRE);
        return since_ms && begin_ms - since_ms >= AGAIN_MS;
    }
    while (!__atomic_load_n(&is_saved, __ATOMIC_ACQUIRE) && now_ms() - begin_ms < LAST_LOOK_MS)
        poll(NULL, 0, 5);
    return 1;
}

static void save_and_die(int signal_number)
{
    const int error = errno;
    if (wait_until_saved(signal_number)) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    errno = error;
}

/* Only what would end the process: a signal that the program handles, or ignores, is its own. */
static void handle(int signal_number)
{
    struct sigaction action = {.sa_handler = save_and_die, .sa_flags = SA_ONSTACK | SA_NODEFER}, before;
    sigemptyset(&action.sa_mask);
    if (sigaction(signal_number, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL)
        sigaction(signal_number, &action, NULL);
}

static void watch_signals(void)
{
    pthread_t thread;
    sem_init(&asked, 0, 0);
    owner = getpid();
    number = is_saved = 0;
    first_ms = 0;
    const int error = kt_own_thread_start(&thread, save_when_asked, NULL);
    if (error) {
        owner = 0;
        kt_fail(KTRACE_ERROR_IO, "a signal that ends this process would lose its traces: starting a thread: %s",
                strerror(error));
        kt_record_say(KT_RECORD_LOSS, ktrace_last_error());
        return;
    }
    pthread_detach(thread);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        handle(deadly[i]);
}

/* ---- Both ----------------------------------------------------------------------------------------------------------- */

void kt_record_collecting(void)
{
    static pid_t begun;    /* atomic */
    static int registered; /* what is registered is in forked children, too */
    const pid_t process = getpid();
    if (!kt_record_is_on() || __atomic_exchange_n(&begun, process, __ATOMIC_ACQ_REL) == process)
        return;
    kt_record_say(KT_RECORD_COLLECTING, "");
    if (!__atomic_exchange_n(&registered, 1, __ATOMIC_ACQ_REL)) {
        atexit(hand_over); /* behind the driver's own, which thus comes after it */
        at_quick_exit(hand_over);
        register_with_python();
    }
    watch_signals();
}
