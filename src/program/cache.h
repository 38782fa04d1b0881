/* cache.h - compiled programs in files, for the next process.
 *
 * One file for each compilation, <key in hexadecimal>.ktrace-program, with a checksum: what is damaged, of another version or of
 * another user is as if it were not there, and written anew. Written beside and renamed, so that processes see whole files
 * only. Files together take 256 MiB at the most: those that were used longest ago go first.
 */
#ifndef KT_PROGRAM_CACHE_H
#define KT_PROGRAM_CACHE_H

#include "compile.h"
#include "sha256.h"

#define KT_CACHE_BYTES (256ull << 20)

/* Where it is, as ktrace_program_options says of `wanted`; NULL: nowhere. The caller's: free() it. KTRACE_ERROR_ARGUMENT:
 * KTRACE_CACHE is no flag. */
int kt_cache_directory(char **out, const char *wanted);

/* KTRACE_ERROR_NOT_FOUND: it is not there, or not whole. */
int kt_cache_read(struct kt_binary *out, const char *directory, const unsigned char key[KT_SHA256_BYTES]);
/* Makes the directory where it is missing, and room: no more than `limit_bytes`. KTRACE_ERROR_IO: why not. */
int kt_cache_write(const char *directory, const unsigned char key[KT_SHA256_BYTES], const struct kt_binary *binary,
                   uint64_t limit_bytes);

#endif
