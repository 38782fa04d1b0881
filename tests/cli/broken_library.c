/* broken_library.c - a HIP library, or with BROKEN_CUDA the CUDA driver, that has every function libktrace looks for and breaks:
 * with BROKEN=crash, exit or hang, as it is loaded, or as it is started where BROKEN_WHEN=started. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if BROKEN_CUDA
#include "../../src/backend/cuda_api.h"
#else
#include "../../src/backend/hip_api.h"
#endif

static void break_if(const char *when)
{
    const char *how = getenv("BROKEN"), *wanted = getenv("BROKEN_WHEN");
    if (!how || strcmp(when, wanted ? wanted : "loaded") != 0)
        return;
    if (strcmp(how, "crash") == 0) {
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    if (strcmp(how, "exit") == 0) {
        printf("no licence\n\n");
        exit(0);
    }
    while (strcmp(how, "hang") == 0)
        pause();
}

__attribute__((constructor)) static void loaded(void)
{
    break_if("loaded");
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { NO_DEVICE = 100 };

#define BROKEN_FUNCTION(field, exported, parameters) \
    __attribute__((visibility("default"))) int exported parameters \
    { \
        break_if("started"); \
        return NO_DEVICE; \
    }
#if BROKEN_CUDA
KT_CUDA_FUNCTIONS(BROKEN_FUNCTION)
#else
KT_HIP_FUNCTIONS(BROKEN_FUNCTION)

#define BROKEN_TEXT_FUNCTION(field, exported, parameters) \
    __attribute__((visibility("default"))) const char *exported parameters \
    { \
        return "no device"; \
    }
KT_HIP_TEXT_FUNCTIONS(BROKEN_TEXT_FUNCTION)
#endif
