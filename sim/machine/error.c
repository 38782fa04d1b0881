#include "error.h"

#include <stdarg.h>
#include <stdio.h>

#include "machine.h"

static _Thread_local char sentence[1024];

int sim_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return -1;
}

const char *sim_error(void)
{
    return sentence;
}
