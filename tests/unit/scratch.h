/* scratch.h - a new, empty folder for a test's files, below $TMPDIR. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

/* Its absolute path in `path`. 0, or -1 when it cannot be made or its path is longer than that. */
static inline int make_scratch(char *path, size_t bytes)
{
    const char *parent = getenv("TMPDIR");
    const int length = snprintf(path, bytes, "%s/ktrace-test-XXXXXX", parent && *parent ? parent : P_tmpdir);
    return length > 0 && (size_t)length < bytes && mkdtemp(path) ? 0 : -1;
}

#endif
