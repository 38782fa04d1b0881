#include "headers.h"

#include <string.h>

#include "error.h"
#include "string_builder.h"

const char *const kt_program_header_names[KT_PROGRAM_HEADERS] = {"ktrace/device.h", "ktrace/record.h"};

#define NAME_BYTES 128
#define DEEPEST 8 /* includes in includes; more are a circle */

static const struct kt_embedded_header *find(const char *name)
{
    const struct kt_embedded_header *header = kt_embedded_headers;
    while (header->name && strcmp(header->name, name) != 0)
        header++;
    return header->name ? header : NULL;
}

/* "ktrace/record.h" of `included` "../record.h" in `includer` "ktrace/device/nvidia.h". */
static void resolve(char out[NAME_BYTES], const char *includer, const char *included, size_t length)
{
    const char *slash = strrchr(includer, '/');
    size_t end = slash ? (size_t)(slash - includer) : 0;
    while (length > 3 && strncmp(included, "../", 3) == 0) {
        while (end > 0 && includer[--end] != '/')
            ;
        included += 3;
        length -= 3;
    }
    out[0] = 0;
    if (end + 1 + length >= NAME_BYTES)
        return;
    memcpy(out, includer, end);
    out[end] = '/';
    memcpy(out + end + 1, included, length);
    out[end + 1 + length] = 0;
}

/* The name in a line `#include "name"`; NULL if it is no such line. */
static const char *quoted_include(const char *line, const char *end, size_t *length)
{
    static const char directive[] = "#include \"";
    const size_t bytes = sizeof directive - 1;
    if ((size_t)(end - line) <= bytes || strncmp(line, directive, bytes) != 0)
        return NULL;
    const char *close = memchr(line + bytes, '"', (size_t)(end - line) - bytes);
    *length = close ? (size_t)(close - line) - bytes : 0;
    return close ? line + bytes : NULL;
}

static void append(struct kt_string *out, const struct kt_embedded_header *header, int depth)
{
    unsigned number = 1;
    kt_string_printf(out, "#line 1 \"%s\"\n", header->name);
    for (const char *line = header->text; *line; number++) {
        const char *newline = strchr(line, '\n'), *end = newline ? newline : line + strlen(line);
        char name[NAME_BYTES];
        size_t length;
        const char *included = quoted_include(line, end, &length);
        const struct kt_embedded_header *inner = NULL;
        if (included) {
            resolve(name, header->name, included, length);
            inner = find(name);
        }
        if (inner && depth < DEEPEST) {
            append(out, inner, depth + 1);
            kt_string_printf(out, "#line %u \"%s\"\n", number + 1, header->name);
        } else { /* ktrace.h is for hosts, where nothing of this is compiled */
            kt_string_append_bytes(out, line, (size_t)(end - line));
            kt_string_append_char(out, '\n');
        }
        line = newline ? newline + 1 : end;
    }
}

int kt_program_header_is_own(const char *name)
{
    for (int i = 0; i < KT_PROGRAM_HEADERS; i++)
        if (strcmp(name, kt_program_header_names[i]) == 0)
            return 1;
    return 0;
}

int kt_program_header(char **out, const char *name)
{
    struct kt_string text = KT_STRING_INIT;
    const struct kt_embedded_header *header = find(name);
    if (header == NULL)
        return kt_fail(KTRACE_ERROR_NOT_FOUND, "there is no header \"%s\" in the library", name);
    append(&text, header, 0);
    return kt_string_take(out, &text);
}
