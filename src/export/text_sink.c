#include "text_sink.h"

#include "../error.h"
#include "../string_builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void kt_text_begin(struct kt_text_sink *text, struct kt_sink *sink)
{
    text->sink = sink;
    text->status = KTRACE_OK;
    text->styled = 0;
    text->bytes = 0;
}

int kt_text_finish(struct kt_text_sink *text)
{
    if (!text->status && text->bytes)
        text->status = text->sink->write(text->sink, text->buffer, text->bytes);
    text->bytes = 0;
    return text->status;
}

void kt_text_bytes(struct kt_text_sink *text, const char *bytes, size_t count)
{
    if (count > KT_TEXT_SINK_BYTES - text->bytes)
        kt_text_finish(text);
    if (count > KT_TEXT_SINK_BYTES) {
        if (!text->status)
            text->status = text->sink->write(text->sink, bytes, count);
        return;
    }
    memcpy(text->buffer + text->bytes, bytes, count);
    text->bytes += count;
}

void kt_text_spaces(struct kt_text_sink *text, size_t count)
{
    for (; count > 0; count--)
        kt_text_char(text, ' ');
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

int kt_uint_columns(uint64_t number)
{
    int columns = 1;
    for (; number >= 10; number /= 10)
        columns++;
    return columns;
}

/* At least `least` digits. */
static void put_digits(struct kt_text_sink *text, uint64_t number, int least)
{
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    char *at = kt_text_room(text);
    for (int i = least; i > count; i--)
        *at++ = '0';
    while (count > 0)
        *at++ = digits[--count];
    text->bytes = (size_t)(at - text->buffer);
}

static uint64_t magnitude(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

void kt_text_uint(struct kt_text_sink *text, uint64_t number)
{
    put_digits(text, number, 1);
}

void kt_text_int(struct kt_text_sink *text, int64_t number)
{
    if (number < 0)
        kt_text_char(text, '-');
    put_digits(text, magnitude(number), 1);
}

static uint64_t power_of_ten(int decimals)
{
    uint64_t power = 1;
    for (; decimals > 0; decimals--)
        power *= 10;
    return power;
}

void kt_text_decimal(struct kt_text_sink *text, int64_t number, int decimals)
{
    const uint64_t one = power_of_ten(decimals), absolute = magnitude(number);
    if (number < 0)
        kt_text_char(text, '-');
    put_digits(text, absolute / one, 1);
    kt_text_char(text, '.');
    put_digits(text, absolute % one, decimals);
}

int kt_decimal_columns(int64_t number, int decimals)
{
    return (number < 0) + kt_uint_columns(magnitude(number) / power_of_ten(decimals)) + 1 + decimals;
}

/* ---- Strings ----------------------------------------------------------------------------------------------------- */

static void put_string(struct kt_text_sink *text, struct kt_string *string)
{
    if (string->failed && !text->status)
        text->status = kt_fail(KTRACE_ERROR_MEMORY, "out of host memory while a text was put together");
    kt_text_bytes(text, kt_string_text(string), string->length);
    kt_string_destroy(string);
}

/* Printable ASCII without blanks, quotes, backslashes and commas, as most strings are: they need no change. */
static int is_plain(const char *string)
{
    for (; *string; string++)
        if (*string <= ' ' || *string > '~' || *string == '"' || *string == '\\' || *string == ',')
            return 0;
    return 1;
}

void kt_text_json(struct kt_text_sink *text, const char *string)
{
    if (string && is_plain(string)) {
        kt_text_char(text, '"');
        kt_text(text, string);
        kt_text_char(text, '"');
        return;
    }
    struct kt_string json = KT_STRING_INIT;
    kt_string_append_json(&json, string);
    put_string(text, &json);
}

void kt_text_csv(struct kt_text_sink *text, const char *string)
{
    if (is_plain(string)) {
        kt_text(text, string);
        return;
    }
    struct kt_string utf8 = KT_STRING_INIT, field = KT_STRING_INIT;
    kt_string_append_utf8(&utf8, string);
    const char *at = kt_string_text(&utf8);
    const int quoted = strpbrk(at, "\",\r\n") != NULL || *at == ' ' || (*at && at[utf8.length - 1] == ' ');
    if (!quoted) {
        put_string(text, &utf8);
        return;
    }
    kt_string_append_char(&field, '"');
    for (; *at; at++) {
        if (*at == '"')
            kt_string_append_char(&field, '"');
        kt_string_append_char(&field, *at);
    }
    kt_string_append_char(&field, '"');
    field.failed |= utf8.failed;
    kt_string_destroy(&utf8);
    put_string(text, &field);
}

/* ---- Payloads ---------------------------------------------------------------------------------------------------- */

static const char *not_finite(double value)
{
    return isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

/* With the fewest digits that give the same double back, or at least the same float. */
static void put_real(struct kt_text_sink *text, double value, int as_float)
{
    char digits[40];
    if (fabs(value) < 1e15 && value == floor(value)) { /* what most are, and printf is slow */
        if (signbit(value))
            kt_text_char(text, '-');
        put_digits(text, (uint64_t)fabs(value), 1);
        kt_text(text, ".0");
        return;
    }
    for (int count = as_float ? 6 : 15; count <= (as_float ? 9 : 17); count++) {
        snprintf(digits, sizeof digits, "%.*g", count, value);
        if (as_float ? strtof(digits, NULL) == (float)value : strtod(digits, NULL) == value)
            break;
    }
    /* A program may run with a locale that writes a decimal comma. */
    char *comma = strchr(digits, ',');
    if (comma)
        *comma = '.';
    kt_text(text, digits);
    if (!strpbrk(digits, ".e"))
        kt_text(text, ".0");
}

static double real_of(uint8_t type, uint64_t bits)
{
    if (type == KTRACE_PAYLOAD_FLOAT32) {
        const uint32_t half = (uint32_t)bits;
        float value;
        memcpy(&value, &half, sizeof value);
        return (double)value;
    }
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put_payload(struct kt_text_sink *text, uint8_t type, uint64_t bits, const char *quote, int short_floats)
{
    switch (type) {
    case KTRACE_PAYLOAD_BOOL: kt_text(text, bits ? "true" : "false"); break;
    case KTRACE_PAYLOAD_INT32:
    case KTRACE_PAYLOAD_INT64: kt_text_int(text, (int64_t)bits); break;
    case KTRACE_PAYLOAD_FLOAT32:
    case KTRACE_PAYLOAD_FLOAT64: {
        const double value = real_of(type, bits);
        if (isfinite(value)) {
            put_real(text, value, short_floats && type == KTRACE_PAYLOAD_FLOAT32);
        } else {
            kt_text(text, quote);
            kt_text(text, not_finite(value));
            kt_text(text, quote);
        }
        break;
    }
    default: kt_text_uint(text, bits); break; /* unsigned; or a type that a later ktrace knows: its bits */
    }
}

void kt_text_payload(struct kt_text_sink *text, uint8_t type, uint64_t bits)
{
    put_payload(text, type, bits, "", 0);
}

void kt_text_payload_short(struct kt_text_sink *text, uint8_t type, uint64_t bits)
{
    put_payload(text, type, bits, "", 1);
}

void kt_text_payload_json(struct kt_text_sink *text, uint8_t type, uint64_t bits)
{
    put_payload(text, type, bits, "\"", 0);
}

/* 2^53 itself is what 2^53 + 1 becomes. */
static int fits_double(uint8_t type, uint64_t bits)
{
    const int is_signed = type == KTRACE_PAYLOAD_INT32 || type == KTRACE_PAYLOAD_INT64;
    return (is_signed ? magnitude((int64_t)bits) : bits) < 1ull << 53;
}

void kt_text_payload_javascript(struct kt_text_sink *text, uint8_t type, uint64_t bits)
{
    const int is_real = type == KTRACE_PAYLOAD_FLOAT32 || type == KTRACE_PAYLOAD_FLOAT64;
    const int as_string = !is_real && type != KTRACE_PAYLOAD_BOOL && !fits_double(type, bits);
    if (as_string)
        kt_text_char(text, '"');
    put_payload(text, type, bits, "\"", 0);
    if (as_string)
        kt_text_char(text, '"');
}
