/* cache_entry.h - a compiled program as the bytes of a file. */
#ifndef KT_PROGRAM_CACHE_ENTRY_H
#define KT_PROGRAM_CACHE_ENTRY_H

#include "compile.h"
#include "sha256.h"
#include "string_builder.h"

int kt_cache_encode(struct kt_string *out, const unsigned char key[KT_SHA256_BYTES], const struct kt_binary *binary);
/* KTRACE_ERROR_NOT_FOUND: these bytes are not of that key, or damaged. Whoever wrote them. */
int kt_cache_decode(struct kt_binary *out, const unsigned char *data, size_t bytes,
                    const unsigned char key[KT_SHA256_BYTES]);

/* The error of a program that is not there. */
int kt_cache_absent(void);

#endif
