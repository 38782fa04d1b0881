/* fake_program.h - a compiler and a device for ktrace_program: an image is a text that tells what it was compiled from. */
#ifndef FAKE_PROGRAM_H
#define FAKE_PROGRAM_H

#include <semaphore.h>

#include "backend/rtc_api.h"
#include "program/target.h"

/* Everything that happened, and what is to happen. Zero for each test: fake_program_reset. */
struct fake_program {
    int compilations, loads, unloads, attaches, detaches, programs; /* created and not destroyed */
    int open_status;                                                /* of the compiler, if it cannot be opened */
    int result;        /* of every compilation but successful ones; a source with "ERROR" never is */
    int attach_status; /* of every attach */
    int holds;         /* compilations wait for `release`, having posted `entered` */
    sem_t entered, release;
};
extern struct fake_program fake;
void fake_program_reset(void);

/* It attaches to nothing: no registry hears of its modules. */
extern const struct kt_program_target fake_target;
extern struct kt_rtc_api fake_compiler;
/* Of the calling thread. At first "sm_90", place 1. */
void fake_program_go(uint64_t id, const char *architecture);

/* The image of the module in which `function` is: lines "option -O3", "header a.h", "kernel gemm<float>", "source ...". */
const char *fake_image_of(const void *function);

#endif
