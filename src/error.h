/* error.h - how a failure gets its sentence. */
#ifndef KT_ERROR_H
#define KT_ERROR_H

#include "ktrace/ktrace.h"

/* Remember a formatted sentence for this thread and return `status`, so that a failing function ends with
 *     return kt_fail(KTRACE_ERROR_FORMAT, "%s: ...", path); */
int kt_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* kt_fail for a failed allocation of `bytes`. */
int kt_fail_memory(size_t bytes);

/* This thread's last failure, to be told after steps that may fail as well. */
struct kt_failure {
    int status;
    char sentence[1024];
};
struct kt_failure kt_failure_keep(int status);
int kt_fail_again(const struct kt_failure *failure);

#endif
