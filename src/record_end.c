/* record_end.c - a process that is recorded hands over what it has when it exits. */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "process_wide.h"
#include "record_captures.h"
#include "record_session.h"
#include "record_signals.h"

/* Several times where a program ends in several ways at once: nothing is left for the second. A forked child has nothing. */
static void hand_over(void)
{
    if (!kt_record_is_on())
        return;
    kt_record_await_death();
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

void kt_record_collecting(void)
{
    static pid_t begun;    /* atomic */
    static int registered; /* what is registered is in forked children, too; atomic */
    const pid_t process = getpid();
    if (!kt_record_is_on() || __atomic_exchange_n(&begun, process, __ATOMIC_ACQ_REL) == process)
        return;
    kt_record_say(KT_RECORD_COLLECTING, "");
    if (!__atomic_exchange_n(&registered, 1, __ATOMIC_ACQ_REL)) {
        atexit(hand_over); /* behind the driver's own, which thus comes after it */
        at_quick_exit(hand_over);
        register_with_python();
    }
    kt_record_watch_signals();
}
