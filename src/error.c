#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[1024];

int kt_fail(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return status;
}

int kt_fail_memory(size_t bytes)
{
    return kt_fail(KTRACE_ERROR_MEMORY, "out of host memory: %zu bytes could not be allocated", bytes);
}

struct kt_failure kt_failure_keep(int status)
{
    struct kt_failure failure = {.status = status};
    memcpy(failure.sentence, last_error, sizeof failure.sentence);
    return failure;
}

int kt_fail_again(const struct kt_failure *failure)
{
    memcpy(last_error, failure->sentence, sizeof last_error);
    return failure->status;
}

const char *ktrace_last_error(void)
{
    return last_error;
}

const char *ktrace_status_name(int status)
{
    switch (status) {
    case KTRACE_OK: return "ok";
    case KTRACE_ERROR_ARGUMENT: return "argument";
    case KTRACE_ERROR_MEMORY: return "memory";
    case KTRACE_ERROR_NO_DEVICE: return "no device";
    case KTRACE_ERROR_DEVICE: return "device";
    case KTRACE_ERROR_STATE: return "state";
    case KTRACE_ERROR_OVERFLOW: return "overflow";
    case KTRACE_ERROR_FORMAT: return "format";
    case KTRACE_ERROR_VERSION: return "version";
    case KTRACE_ERROR_IO: return "io";
    case KTRACE_ERROR_UNSUPPORTED: return "unsupported";
    case KTRACE_ERROR_NOT_FOUND: return "not found";
    case KTRACE_ERROR_COMPILE: return "compile";
    default: return "unknown";
    }
}

const char *ktrace_version(void)
{
    return KTRACE_VERSION_STRING;
}
