/* process_wide.h - collection outside of captures: KTRACE_ENABLE=1 in the environment, or ktrace_enable.
 *
 * It is a capture in the background (capture.h). It begins as soon as the process has something that could record: a linked
 * module registers itself, a driver module is attached, a program hands out a kernel, or ktrace_enable is called.
 */
#ifndef KT_PROCESS_WIDE_H
#define KT_PROCESS_WIDE_H

/* Not 0: it is on, or the environment asks for it. */
int kt_process_wide_wanted(void);
/* Begins it if the environment asks for it and nobody is at it. What goes wrong is for the log. Without locks held; never waits
 * for another thread, as static constructors call it under the loader's lock. */
void kt_process_wide_start(void);
/* At the end of a process that is recorded (record_session.h): what the program did not collect itself, or why there is nothing. Of
 * what overflowed the part that was held. */
void kt_process_wide_record(void);
/* In a forked child. */
void kt_process_wide_forget(void);

#endif
