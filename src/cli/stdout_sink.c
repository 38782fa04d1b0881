#include "stdout_sink.h"

#include <stdio.h>

static int write_stdout(struct kt_sink *sink, const void *data, size_t bytes)
{
    (void)sink;
    cli_write(data, bytes);
    return ferror(stdout) ? KTRACE_ERROR_IO : KTRACE_OK;
}

struct kt_sink *cli_stdout_sink(void)
{
    static struct kt_sink sink = {.write = write_stdout};
    return &sink;
}
