#include "log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "record_session.h"

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

/* Whether there is a callback. */
static int say(const char *format, va_list arguments)
{
    char sentence[1024];
    pthread_mutex_lock(&lock);
    const struct target to = target;
    pthread_mutex_unlock(&lock);
    if (to.log == NULL || inside)
        return to.log != NULL;
    const struct kt_failure failure = kt_failure_keep(KTRACE_OK);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    inside = 1;
    to.log(to.context, sentence);
    inside = 0;
    kt_fail_again(&failure);
    return 1;
}

void kt_log(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

static _Thread_local char later[1024];

void kt_log_later(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(later, sizeof later, format, arguments);
    va_end(arguments);
}

void kt_log_told_later(void)
{
    if (later[0] == 0)
        return;
    char sentence[sizeof later];
    memcpy(sentence, later, sizeof sentence);
    later[0] = 0;
    kt_log("%s", sentence);
    kt_record_say(KT_RECORD_LOSS, sentence);
}

void kt_tell(const char *format, ...)
{
    char sentence[1024];
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    vsnprintf(sentence, sizeof sentence, format, again);
    if (!kt_record_say(KT_RECORD_LOSS, sentence) && !say(format, arguments))
        fprintf(stderr, "ktrace: %s\n", sentence);
    va_end(again);
    va_end(arguments);
}
