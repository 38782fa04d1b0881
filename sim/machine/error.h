/* error.h - the calling thread's last error. */
#ifndef SIM_ERROR_H
#define SIM_ERROR_H

/* Sets the sentence that sim_error returns; returns -1. */
int sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
