#include "string_builder.h"

#include "array.h"

#include <math.h>
#include <stdio.h>

/* Room for `count` more bytes and the NUL. 0: memory ran out, now or before. */
static int make_room(struct kt_string *string, size_t count)
{
    if (string->failed)
        return 0;
    if (count >= SIZE_MAX - string->length ||
        kt_array_reserve(&string->text, &string->capacity_bytes, string->length + count + 1, 1) < 0)
        string->failed = 1;
    return !string->failed;
}

void kt_string_append_bytes(struct kt_string *string, const void *bytes, size_t count)
{
    if (!make_room(string, count))
        return;
    if (count)
        memcpy(string->text + string->length, bytes, count);
    string->length += count;
    string->text[string->length] = '\0';
}

void kt_string_append(struct kt_string *string, const char *text)
{
    if (text)
        kt_string_append_bytes(string, text, strlen(text));
}

void kt_string_append_char(struct kt_string *string, char character)
{
    kt_string_append_bytes(string, &character, 1);
}

void kt_string_append_repeated(struct kt_string *string, char character, size_t count)
{
    if (!make_room(string, count))
        return;
    memset(string->text + string->length, character, count);
    string->length += count;
    string->text[string->length] = '\0';
}

void kt_string_vprintf(struct kt_string *string, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) {
        string->failed = 1;
        kt_fail(KTRACE_ERROR_MEMORY, "a text could not be formatted as \"%s\"", format);
    } else if (make_room(string, (size_t)length)) {
        vsnprintf(string->text + string->length, (size_t)length + 1, format, again);
        string->length += (size_t)length;
    }
    va_end(again);
}

void kt_string_printf(struct kt_string *string, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kt_string_vprintf(string, format, arguments);
    va_end(arguments);
}

/* ---- Styles -------------------------------------------------------------------------------------------------------- */

void kt_string_style(struct kt_string *string, enum kt_style style)
{
    if (string->styled)
        kt_string_append(string, kt_style_code(style));
}

void kt_string_append_styled(struct kt_string *string, enum kt_style style, const char *text)
{
    kt_string_style(string, style);
    kt_string_append(string, text);
    kt_string_style(string, KT_STYLE_PLAIN);
}

void kt_string_append_visible_styled(struct kt_string *string, enum kt_style style, const char *text)
{
    kt_string_style(string, style);
    kt_string_append_visible(string, text);
    kt_string_style(string, KT_STYLE_PLAIN);
}

/* ---- UTF-8 --------------------------------------------------------------------------------------------------------- */

#define REPLACEMENT "\xEF\xBF\xBD"

/* What may follow a lead byte (Unicode 15, table 3-7): total length, and the range of the second byte, which shuts out
 * overlong forms, surrogates and what lies beyond U+10FFFF. */
static size_t lead_byte(unsigned char lead, unsigned char *low, unsigned char *high)
{
    *low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    *high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        return 2;
    if (lead >= 0xE0 && lead <= 0xEF)
        return 3;
    if (lead >= 0xF0 && lead <= 0xF4)
        return 4;
    return 0;
}

/* Bytes at `text` that could begin a valid sequence, at least 1; `*valid` tells whether they are a whole one. */
static size_t maximal_part(const char *text, int *valid)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned char low, high;
    size_t length = lead_byte(bytes[0], &low, &high), i = 1;
    for (; i < length && bytes[i] >= low && bytes[i] <= high; i++) {
        low = 0x80;
        high = 0xBF;
    }
    *valid = i == length;
    return i;
}

size_t kt_utf8_length(const char *text)
{
    int valid;
    size_t length = maximal_part(text, &valid);
    return valid && *text ? length : 0;
}

void kt_string_append_utf8(struct kt_string *string, const char *text)
{
    while (text && *text) {
        int valid;
        size_t length = maximal_part(text, &valid);
        if (valid)
            kt_string_append_bytes(string, text, length);
        else
            kt_string_append(string, REPLACEMENT);
        text += length;
    }
}

void kt_string_append_visible(struct kt_string *string, const char *text)
{
    while (text && *text) {
        const unsigned char *here = (const unsigned char *)text;
        size_t length = kt_utf8_length(text);
        int control = *here < 0x20 || *here == 0x7F || (here[0] == 0xC2 && here[1] < 0xA0);
        if (length == 0 || control) {
            kt_string_printf(string, "\\x%02X", *here);
            text++;
        } else {
            kt_string_append_bytes(string, text, length);
            text += length;
        }
    }
}

size_t kt_utf8_columns(const char *text)
{
    size_t columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xC0) != 0x80;
    return columns;
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static const char *json_escape(char character)
{
    switch (character) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return NULL;
    }
}

void kt_string_append_json(struct kt_string *string, const char *text)
{
    if (!text) {
        kt_string_append(string, "null");
        return;
    }
    kt_string_append_char(string, '"');
    while (*text) {
        int valid;
        size_t length = maximal_part(text, &valid);
        const char *escape = json_escape(*text);
        if (!valid)
            kt_string_append(string, REPLACEMENT);
        else if (escape)
            kt_string_append(string, escape);
        else if ((unsigned char)*text < 0x20 || *text == 0x7F)
            kt_string_printf(string, "\\u%04x", (unsigned char)*text);
        else
            kt_string_append_bytes(string, text, length);
        text += length;
    }
    kt_string_append_char(string, '"');
}

void kt_string_append_json_double(struct kt_string *string, double number)
{
    char text[32];
    if (!isfinite(number)) {
        kt_string_append(string, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    /* A program may run with a locale that writes a decimal comma; JSON never does. */
    char *comma = strchr(text, ',');
    if (comma)
        *comma = '.';
    kt_string_append(string, text);
}

/* ---- Results ------------------------------------------------------------------------------------------------------- */

const char *kt_string_text(const struct kt_string *string)
{
    return string->text ? string->text : "";
}

int kt_string_take(char **out, struct kt_string *string)
{
    make_room(string, 0);
    if (string->failed) {
        kt_string_destroy(string);
        return kt_fail(KTRACE_ERROR_MEMORY, "out of host memory while a text was put together");
    }
    string->text[string->length] = '\0';
    *out = string->text;
    *string = (struct kt_string)KT_STRING_INIT;
    return 0;
}

void kt_string_destroy(struct kt_string *string)
{
    free(string->text);
    *string = (struct kt_string)KT_STRING_INIT;
}
