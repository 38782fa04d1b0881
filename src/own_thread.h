/* own_thread.h - threads of the library in a process that is not ours. */
#ifndef KT_OWN_THREAD_H
#define KT_OWN_THREAD_H

#include <pthread.h>

/* Starts one that no signal interrupts: signals are the program's. From then on the library stays loaded, as what a thread runs must
 * not be unmapped, and one that waits for a driver cannot be ended. 0, or an error of errno.h. */
int kt_own_thread_start(pthread_t *out, void *(*body)(void *context), void *context);

#endif
