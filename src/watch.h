/* watch.h - what lets `ktrace watch` look at this process: KTRACE_WATCH=1 in the environment.
 *
 * Two threads of our own, once the first capture or process-wide collection begins. One listens (watch_wire.h) and never does
 * more than that, so that it can say so when the other, which peeks (capture.h), waits for a driver that does not come back.
 */
#ifndef KT_WATCH_H
#define KT_WATCH_H

/* Begins it, the first time. What goes wrong is told to the log callback, or stderr where there is none. Without locks held. */
void kt_watch_start(void);
/* In a forked child: nobody watches it until it begins a capture itself. */
void kt_watch_forget(void);

#endif
