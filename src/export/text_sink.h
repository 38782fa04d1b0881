/* text_sink.h - text on its way to a sink: CSV, JSON, listings of millions of events.
 *
 * Numbers are formatted here: printf takes more for a line than all else that is done for it. Errors stick: whoever writes looks at
 * kt_text_finish, or at `status` where it is worth stopping early.
 */
#ifndef KT_TEXT_SINK_H
#define KT_TEXT_SINK_H

#include "../style.h"
#include "export.h"

#include <string.h>

enum { KT_TEXT_SINK_BYTES = 64 * 1024 };

struct kt_text_sink {
    struct kt_sink *sink;
    int status;
    int styled; /* as of kt_string: 0 at the begin */
    size_t bytes;
    char buffer[KT_TEXT_SINK_BYTES];
};

void kt_text_begin(struct kt_text_sink *text, struct kt_sink *sink);
/* Everything to the sink. Returns the sticky status. */
int kt_text_finish(struct kt_text_sink *text);

/* Room for up to KT_TEXT_ROOM more bytes. */
enum { KT_TEXT_ROOM = 256 };
static inline char *kt_text_room(struct kt_text_sink *text)
{
    if (text->bytes > KT_TEXT_SINK_BYTES - KT_TEXT_ROOM)
        kt_text_finish(text);
    return text->buffer + text->bytes;
}

static inline void kt_text_char(struct kt_text_sink *text, char character)
{
    *kt_text_room(text) = character;
    text->bytes++;
}
void kt_text_bytes(struct kt_text_sink *text, const char *bytes, size_t count);
static inline void kt_text(struct kt_text_sink *text, const char *string)
{
    kt_text_bytes(text, string, strlen(string));
}
void kt_text_spaces(struct kt_text_sink *text, size_t count);
/* As kt_string_style. */
static inline void kt_text_style(struct kt_text_sink *text, enum kt_style style)
{
    if (text->styled)
        kt_text(text, kt_style_code(style));
}

void kt_text_uint(struct kt_text_sink *text, uint64_t number);
void kt_text_int(struct kt_text_sink *text, int64_t number);
/* number / 10^decimals, exactly: 1234567 with 3 is "1234.567". */
void kt_text_decimal(struct kt_text_sink *text, int64_t number, int decimals);
/* Characters that these take. */
int kt_uint_columns(uint64_t number);
int kt_decimal_columns(int64_t number, int decimals);

/* As JSON strings with their quotes; as a field of CSV (RFC 4180), quoted where that is needed. Always UTF-8. */
void kt_text_json(struct kt_text_sink *text, const char *string);
void kt_text_csv(struct kt_text_sink *text, const char *string);

/* A payload of enum ktrace_payload_type: true, -1, 18446744073709551615, 0.5, nan, inf, -inf. Of floating point as many digits
 * as it takes to read the same double back, and always a point or an exponent: 32 bits, too, are so to any reader what they were. */
void kt_text_payload(struct kt_text_sink *text, uint8_t type, uint64_t bits);
/* For people: of a float of 32 bits only the digits that it takes to read the same float back. */
void kt_text_payload_short(struct kt_text_sink *text, uint8_t type, uint64_t bits);
/* The same as a value of JSON: what JSON has no number for is a string. */
void kt_text_payload_json(struct kt_text_sink *text, uint8_t type, uint64_t bits);
/* The same for readers that take all numbers for doubles, as JavaScript does: integers beyond 2^53 are strings, too. */
void kt_text_payload_javascript(struct kt_text_sink *text, uint8_t type, uint64_t bits);

#endif
