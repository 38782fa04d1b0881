#include "locks.h"

#include <pthread.h>

#include "capture.h"
#include "process_wide.h"
#include "record_session.h"
#include "watch.h"

static pthread_mutex_t operation = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;

void kt_operation_lock(void)
{
    pthread_mutex_lock(&operation);
}

void kt_operation_unlock(void)
{
    pthread_mutex_unlock(&operation);
}

int kt_operation_trylock(void)
{
    return pthread_mutex_trylock(&operation) == 0;
}

int kt_state_trylock(void)
{
    return pthread_mutex_trylock(&state) == 0;
}

void kt_state_lock(void)
{
    pthread_mutex_lock(&state);
}

void kt_state_unlock(void)
{
    pthread_mutex_unlock(&state);
}

void kt_list_lock(void)
{
    pthread_mutex_lock(&list);
}

void kt_list_unlock(void)
{
    pthread_mutex_unlock(&list);
}

/* In a forked child: its other threads are gone with whatever they held, and a CUDA context does not survive a fork. So the
 * capture stays the parent's. Only the list is waited for, which is never long. */
static void child_after_fork(void)
{
    kt_list_unlock();
    pthread_mutex_init(&operation, NULL);
    pthread_mutex_init(&state, NULL);
    kt_capture_forget();
    kt_process_wide_forget();
    kt_watch_forget();
    kt_record_forget();
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(kt_list_lock, kt_list_unlock, child_after_fork);
}
