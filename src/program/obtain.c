#include "obtain.h"

#include <stdlib.h>

#include "cache.h"
#include "error.h"
#include "key.h"
#include "log.h"

/* Once in a process: the directory will be the same one the next time. */
static void complain(void)
{
    static int complained;
    if (!__atomic_exchange_n(&complained, 1, __ATOMIC_RELAXED))
        kt_log(
            "%s; programs are compiled in every process (KTRACE_CACHE_DIR names another directory, KTRACE_CACHE=0 does "
            "without)",
            ktrace_last_error());
}

static int obtain_kept(struct kt_binary *out, struct kt_obtained *obtained, const struct kt_compilation *compilation,
                       const char *directory)
{
    unsigned char key[KT_SHA256_BYTES];
    kt_program_key(key, compilation);
    if (kt_cache_read(out, directory, key) == KTRACE_OK) {
        obtained->found = 1;
        return KTRACE_OK;
    }
    obtained->compiled = 1;
    const int status = kt_compile(out, compilation);
    if (status < 0)
        return status;
    if (kt_cache_write(directory, key, out, KT_CACHE_BYTES) == KTRACE_OK) {
        obtained->written = 1;
    } else {
        obtained->write_failed = 1;
        complain();
    }
    return KTRACE_OK;
}

int kt_obtain(struct kt_binary *out, struct kt_obtained *obtained, const struct kt_program_source *source,
              const struct kt_program_target *target, const char *architecture, int traced, const char *kernel)
{
    struct kt_compilation compilation;
    char *directory = NULL;
    *out = (struct kt_binary){0};
    *obtained = (struct kt_obtained){0};
    int status = kt_compilation_make(&compilation, source, target, architecture, traced, kernel);
    if (status < 0)
        return status;
    status = kt_cache_directory(&directory, source->cache_directory);
    if (status == KTRACE_OK && directory && kt_is_self_contained(&compilation, obtained->not_cached)) {
        status = obtain_kept(out, obtained, &compilation, directory);
    } else if (status == KTRACE_OK) {
        obtained->compiled = 1;
        status = kt_compile(out, &compilation);
    }
    free(directory);
    kt_compilation_free(&compilation);
    return status;
}
