/* fixture.h - a simulated chip with one of the code objects that kernels.c was compiled to. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machine/machine.h"

struct file {
    unsigned char *data;
    size_t bytes;
};

struct fixture {
    struct sim_machine *machine;
    struct sim_module *module;
    struct file file;
};

/* kernels_CHIP_VARIANT.hsaco: v4, v5, v6 (ABI versions at -O2), o0, preload (arguments in SGPRs) */
struct file fixture_read(enum sim_chip chip, const char *variant);
/* `config` NULL: the chip's defaults. */
struct fixture fixture_open(enum sim_chip chip, const char *variant, const struct sim_chip_config *config);
void fixture_close(struct fixture *fixture);

void *fixture_allocate(struct fixture *fixture, uint64_t bytes); /* zeroed */

/* `arguments` is the explicit part of the kernarg segment. */
struct sim_dispatch *fixture_start(struct fixture *fixture, const char *kernel, uint32_t workgroups, uint32_t items,
                                   const void *arguments, size_t bytes);
struct sim_dispatch *fixture_launch(struct fixture *fixture, struct sim_dispatch_config config, const char *kernel,
                                    const void *arguments, size_t bytes);
/* Runs to its end, which is no failure; releases it and returns the cycle. */
uint64_t fixture_finish(struct fixture *fixture, struct sim_dispatch *dispatch);
uint64_t fixture_run(struct fixture *fixture, const char *kernel, uint32_t workgroups, uint32_t items,
                     const void *arguments, size_t bytes);
/* Runs to its failure; the sentence has each of the parts. */
void fixture_expect_failure(struct fixture *fixture, struct sim_dispatch *dispatch, enum sim_failure failure, ...)
    __attribute__((sentinel));
void expect_error(const char *part); /* sim_error() has it */

#endif
