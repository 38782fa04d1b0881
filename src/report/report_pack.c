/* report_pack.c - bytes and JSON as a script element may hold them. */
#include "report_parts.h"

#include <string.h>

void kt_report_append_base64(struct kt_string *out, const void *data, size_t bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *from = data;
    for (size_t i = 0; i < bytes; i += 3) {
        const size_t there = bytes - i < 3 ? bytes - i : 3;
        const uint32_t group = (uint32_t)from[i] << 16 | (there > 1 ? (uint32_t)from[i + 1] << 8 : 0) |
                               (there > 2 ? (uint32_t)from[i + 2] : 0);
        const char text[4] = {digits[group >> 18 & 63], digits[group >> 12 & 63],
                              there > 1 ? digits[group >> 6 & 63] : '=', there > 2 ? digits[group & 63] : '='};
        kt_string_append_bytes(out, text, sizeof text);
    }
}

void kt_report_append_harmless(struct kt_string *out, const char *json)
{
    for (const char *at = json; *at;) {
        const size_t plain = strcspn(at, "<");
        kt_string_append_bytes(out, at, plain);
        at += plain;
        if (*at)
            kt_string_append(out, "\\u003c");
        at += *at != '\0';
    }
}
