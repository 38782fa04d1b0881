/* string_builder.h - the growing string of the code base.
 *
 *     struct kt_string text = KT_STRING_INIT;
 *     kt_string_append(&text, "waves: ");
 *     kt_string_printf(&text, "%u\n", waves);
 *     return kt_string_take(out, &text);
 *
 * Appending cannot be refused: once memory ran out every later append does nothing, and kt_string_take says so.
 */
#ifndef KT_STRING_BUILDER_H
#define KT_STRING_BUILDER_H

#include "style.h"

#include <stdarg.h>
#include <stddef.h>

struct kt_string {
    char *text; /* NUL-terminated; NULL while empty: see kt_string_text */
    size_t length;
    size_t capacity_bytes;
    int failed; /* memory ran out; sticky */
    int styled; /* styles become escape sequences: it is for a terminal that shows them */
};
#define KT_STRING_INIT \
    { \
        0, 0, 0, 0, 0 \
    }

void kt_string_append(struct kt_string *string, const char *text); /* NULL appends nothing */
void kt_string_append_bytes(struct kt_string *string, const void *bytes, size_t count);
void kt_string_append_char(struct kt_string *string, char character);
void kt_string_append_repeated(struct kt_string *string, char character, size_t count);
void kt_string_printf(struct kt_string *string, const char *format, ...) __attribute__((format(printf, 2, 3)));
void kt_string_vprintf(struct kt_string *string, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* What follows is in that style, up to KT_STYLE_PLAIN. Appends nothing where the string is not styled. */
void kt_string_style(struct kt_string *string, enum kt_style style);
/* `text` in that style. */
void kt_string_append_styled(struct kt_string *string, enum kt_style style, const char *text);
/* The same of a text from elsewhere, as kt_string_append_visible has it. */
void kt_string_append_visible_styled(struct kt_string *string, enum kt_style style, const char *text);

/* `text` as valid UTF-8: each maximal part that is not becomes one U+FFFD. NULL appends nothing. */
void kt_string_append_utf8(struct kt_string *string, const char *text);
/* `text` as a terminal may see it: control characters, and bytes that are not UTF-8, as \xNN. NULL appends nothing. */
void kt_string_append_visible(struct kt_string *string, const char *text);
/* `text` as a JSON string with its quotes, always valid UTF-8. NULL appends null. */
void kt_string_append_json(struct kt_string *string, const char *text);
/* A finite number with as many digits as it takes to read the same double back; otherwise null, as JSON has no others. */
void kt_string_append_json_double(struct kt_string *string, double number);

/* What is there so far; "" while empty. Valid until the next append. */
const char *kt_string_text(const struct kt_string *string);

/* Hand over the text (free() it) and leave the builder empty. KTRACE_ERROR_MEMORY: everything is freed, `*out` kept. */
int kt_string_take(char **out, struct kt_string *string);
/* Back to empty, memory freed. */
void kt_string_destroy(struct kt_string *string);

/* Columns that `text` takes on a terminal, if every character takes one. */
size_t kt_utf8_columns(const char *text);
/* Length in bytes of the valid UTF-8 sequence that `text` starts with; 0: it does not start with one. Stops at NUL. */
size_t kt_utf8_length(const char *text);

#endif
