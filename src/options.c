#include "options.h"

#include <string.h>

#include "error.h"

/* "KTRACE_MERGE_OPTIONS" of "ktrace_merge_options" */
static const char *upper(char out[64], const char *type)
{
    size_t i = 0;
    for (; type[i] && i < 63; i++)
        out[i] = type[i] >= 'a' && type[i] <= 'z' ? (char)(type[i] - 'a' + 'A') : type[i]; /* in any locale */
    out[i] = 0;
    return out;
}

int kt_options_read(void *out, size_t bytes, const void *given, const char *type)
{
    enum { LEAST_BYTES = sizeof(size_t) + sizeof(char *) }; /* every one of them began with a string behind its size */
    const unsigned char *fields = given;
    char name[64];
    size_t size;
    if (given == NULL)
        return KTRACE_OK;
    memcpy(&size, given, sizeof size);
    if (size < LEAST_BYTES)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "%s.struct_size is %zu: start from %s_INIT", type, size,
                       upper(name, type));
    for (size_t i = bytes; i < size; i++)
        if (fields[i])
            return kt_fail(KTRACE_ERROR_VERSION, "%s has a field at byte %zu that this library (%s) does not know",
                           type, i, KTRACE_VERSION_STRING);
    memcpy(out, given, size < bytes ? size : bytes);
    return KTRACE_OK;
}
