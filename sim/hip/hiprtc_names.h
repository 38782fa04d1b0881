/* hiprtc_names.h - what kernels named as in C++ are called in a code object.
 *
 * A function is added to the source that mentions each of them, which instantiates templates, in inline assembly, which
 * writes its symbol's name into a section of the code object.
 */
#ifndef SIM_HIPRTC_NAMES_H
#define SIM_HIPRTC_NAMES_H

#include <stddef.h>
#include <stdio.h>

struct sim_hiprtc_source;

/* 0, or -1. Nothing without expressions. */
int sim_hiprtc_write_expressions(FILE *file, const struct sim_hiprtc_source *source);

/* The symbol's name of expression `index` within `code`; NULL: it is not there. */
const char *sim_hiprtc_lowered_name(const unsigned char *code, size_t bytes, size_t index);

#endif
