#include "log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "error.h"

struct target {
    void (*log)(void *context, const char *sentence);
    void *context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of target; not held while it is called */
static struct target target;
static _Thread_local int inside;

void ktrace_set_log(void (*log)(void *context, const char *sentence), void *context)
{
    pthread_mutex_lock(&lock);
    target = (struct target){log, context};
    pthread_mutex_unlock(&lock);
}

void kt_log(const char *format, ...)
{
    char sentence[1024], last_error[1024];
    pthread_mutex_lock(&lock);
    const struct target to = target;
    pthread_mutex_unlock(&lock);
    if (to.log == NULL || inside)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    snprintf(last_error, sizeof last_error, "%s", ktrace_last_error());
    inside = 1;
    to.log(to.context, sentence);
    inside = 0;
    kt_fail(KTRACE_OK, "%s", last_error);
}
