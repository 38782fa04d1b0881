#include "own_thread.h"

#include <dlfcn.h>
#include <signal.h>

static void stay_loaded(void)
{
    static const char here;
    Dl_info self;
    if (dladdr(&here, &self) && self.dli_fname)
        (void)!dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

int kt_own_thread_start(pthread_t *out, void *(*body)(void *context), void *context)
{
    sigset_t all, before;
    stay_loaded();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* which the thread inherits */
    const int error = pthread_create(out, NULL, body, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
