/* quiet_write.h - write(2) that ends no program by a signal. */
#ifndef KT_QUIET_WRITE_H
#define KT_QUIET_WRITE_H

#include <stddef.h>
#include <sys/types.h>

/* A file that may not grow (ulimit -f) and a pipe that nobody reads are errors of write, EFBIG and EPIPE; the signals that come
 * with them would end the program that is traced. */
ssize_t kt_write_quietly(int file, const void *data, size_t bytes);

#endif
