/* record_signals.h - a process that is recorded, and dies of a signal, saves what it has before. */
#ifndef KT_RECORD_SIGNALS_H
#define KT_RECORD_SIGNALS_H

/* From now on; once in a process, and anew in a forked child. */
void kt_record_watch_signals(void);
/* Does not come back where the process dies of a signal already: nothing is saved by an exit that goes on beside. */
void kt_record_await_death(void);

#endif
