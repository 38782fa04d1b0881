/* key.h - which compilations are the same one. */
#ifndef KT_PROGRAM_KEY_H
#define KT_PROGRAM_KEY_H

#include "compile.h"
#include "sha256.h"

/* Of everything that a self-contained compilation depends on: the versions of ktrace and of what is on the wire; which compiler; the
 * environment that it heeds; source and its name; names and texts of all headers, ktrace's own too; options in their order, among
 * them the architecture, and traced or not; kernels. */
void kt_program_key(unsigned char key[KT_SHA256_BYTES], const struct kt_compilation *compilation);

#endif
