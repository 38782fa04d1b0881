/* self_contained.h - does all that a compiler reads for a program lie in the program?
 *
 * The disk cache must never hand out a binary of other sources than those on disk today. Neither NVRTC nor hipRTC says which files
 * it read, so only programs that can read none are kept: every #include names a header in memory, which both compilers
 * look for first, and every option is known to read no file. What is not understood counts as reading files: then the
 * program is compiled once in each process.
 */
#ifndef KT_PROGRAM_SELF_CONTAINED_H
#define KT_PROGRAM_SELF_CONTAINED_H

#include "compile.h"

enum { KT_NOT_SELF_CONTAINED_BYTES = 256 };

/* 1, or 0 with what speaks against it in `reason`. */
int kt_is_self_contained(const struct kt_compilation *compilation, char reason[KT_NOT_SELF_CONTAINED_BYTES]);

#endif
