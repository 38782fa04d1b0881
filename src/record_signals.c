/* record_signals.c - signals that end a process, and what is done before.
 *
 *   handler   in any thread, which may hold any lock, in the midst of anything. It wakes the others, and waits.
 *   saver     looks and saves (record_captures.h), which may take locks of ours, of the driver, of malloc.
 *   killer    kills the process when that is done, or takes too long.
 *
 * So that a thread whose lock the saver needs lets it go, a handler does not wait for long: the process goes on for a moment, and is
 * killed by the killer. Most often everything is saved before. Of a fault there is no going on: its thread waits to the end.
 */
#include "record_signals.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/host_clock.h"
#include "error.h"
#include "own_thread.h"
#include "record_captures.h"
#include "record_session.h"

/* How long a process that dies may take: launchers send SIGKILL some time after SIGTERM, 30 s as Slurm and torchrun do. A second signal
 * is somebody out of patience; within AGAIN_MS, it was sent in two ways. */
enum { SIGNAL_MS = 10000, FAULT_MS = 5000, HOLD_MS = 500, AGAIN_MS = 2000, LOCKS_MS = 3000, PAUSE_MS = 2 };

/* What ends a process which does not handle it: signals that are sent for that, but SIGKILL, and faults. Left out are those of a
 * debugger, of profiling and of real time, which nobody sends to a process that does not ask for them. */
static const int deadly[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGABRT, SIGBUS,  SIGFPE, SIGSEGV,
                             SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};

/* Atomic where they change. */
static pid_t owner; /* the process that has the threads */
static sem_t to_killer, to_saver;
static int number;       /* of the first signal */
static int64_t begin_ms; /* when that came */
static int is_saved;

/* Of the thread that has it, and not sent by somebody: there is nothing to return to. */
static int is_fault(int signal_number)
{
    return signal_number == SIGILL || signal_number == SIGABRT || signal_number == SIGBUS || signal_number == SIGFPE ||
           signal_number == SIGSEGV;
}

static void wait_until_saved(int64_t end_ms)
{
    while ((!__atomic_load_n(&is_saved, __ATOMIC_ACQUIRE) || kt_record_is_saving()) && kt_monotonic_ms() < end_ms)
        poll(NULL, 0, PAUSE_MS);
}

static void die(int signal_number)
{
    sigset_t set;
    signal(signal_number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(signal_number);
}

/* ---- The threads ---------------------------------------------------------------------------------------------------- */

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

static void *save(void *unused)
{
    char text[16];
    (void)unused;
    pthread_setname_np(pthread_self(), "ktrace saver");
    wait_for(&to_saver);
    kt_record_last_look(LOCKS_MS);
    snprintf(text, sizeof text, "%d", __atomic_load_n(&number, __ATOMIC_ACQUIRE));
    kt_record_say(KT_RECORD_SIGNAL, text);
    __atomic_store_n(&is_saved, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void *kill_in_time(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "ktrace killer");
    wait_for(&to_killer);
    sem_post(&to_saver);
    const int signal_number = __atomic_load_n(&number, __ATOMIC_ACQUIRE);
    wait_until_saved(kt_monotonic_ms() + SIGNAL_MS);
    if (!is_fault(signal_number)) /* otherwise its thread does, with a core that shows where */
        die(signal_number);
    return NULL;
}

/* ---- The handler ---------------------------------------------------------------------------------------------------- */

/* Only what a signal handler may do. */
static void save_and_die(int signal_number)
{
    const int error = errno;
    int first = 0;
    const int64_t now = kt_monotonic_ms();
    if (getpid() != owner) /* a child, of vfork even in the memory of its parent */
        die(signal_number);
    if (__atomic_compare_exchange_n(&number, &first, signal_number, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&begin_ms, now, __ATOMIC_RELEASE);
        sem_post(&to_killer);
    } else if (!is_fault(signal_number)) {
        const int64_t begin = __atomic_load_n(&begin_ms, __ATOMIC_ACQUIRE);
        if (begin && now - begin >= AGAIN_MS)
            die(signal_number);
    }
    wait_until_saved(now + (is_fault(signal_number) ? FAULT_MS : HOLD_MS));
    if (is_fault(signal_number) || (__atomic_load_n(&is_saved, __ATOMIC_ACQUIRE) && !kt_record_is_saving()))
        die(signal_number);
    errno = error;
}

void kt_record_await_death(void)
{
    const int64_t end_ms = kt_monotonic_ms() + SIGNAL_MS + AGAIN_MS;
    while (owner == getpid() && __atomic_load_n(&number, __ATOMIC_ACQUIRE) && kt_monotonic_ms() < end_ms)
        poll(NULL, 0, PAUSE_MS);
}

/* A signal that the program handles, or ignores, is its own. */
static void handle(int signal_number)
{
    struct sigaction action = {.sa_handler = save_and_die, .sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    if (sigaction(signal_number, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL)
        sigaction(signal_number, &action, NULL);
}

static int start_threads(void)
{
    pthread_t saver, killer;
    sem_init(&to_saver, 0, 0);
    sem_init(&to_killer, 0, 0);
    int error = kt_own_thread_start(&saver, save, NULL);
    if (error == 0)
        error = kt_own_thread_start(&killer, kill_in_time, NULL); /* without, the other one sleeps for ever */
    if (error == 0)
        pthread_detach(killer);
    return error;
}

void kt_record_watch_signals(void)
{
    number = is_saved = 0;
    begin_ms = 0;
    owner = 0;
    const int error = start_threads();
    if (error) {
        kt_fail(KTRACE_ERROR_IO, "a signal that ends this process would lose its traces: starting a thread: %s",
                strerror(error));
        kt_record_say(KT_RECORD_NOTE, ktrace_last_error()); /* why nothing is there, if a signal comes */
        return;
    }
    owner = getpid();
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        handle(deadly[i]);
}
