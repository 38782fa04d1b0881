/* json.h - JSON, a member a line, two spaces a level.
 *
 *     struct kt_json json = kt_json_of(&text);
 *     kt_json_open(&json, '{');
 *     kt_json_string(&json, "name", "gemm");
 *     kt_json_key(&json, "launches");
 *     kt_json_open(&json, '[');                          // of each element: kt_json_separate, then its value
 *     kt_json_close(&json, ']');
 *     kt_json_close(&json, '}');
 */
#ifndef KT_JSON_H
#define KT_JSON_H

#include "string_builder.h"

#include <stdint.h>

struct kt_json {
    struct kt_string *text;
    int depth;
    int filled; /* a comma is due */
};
static inline struct kt_json kt_json_of(struct kt_string *text)
{
    return (struct kt_json){text, 0, 0};
}

void kt_json_open(struct kt_json *json, char bracket);
void kt_json_close(struct kt_json *json, char bracket);
/* Begin the next element of an array. */
void kt_json_separate(struct kt_json *json);
/* Begin a member of an object, up to its value. */
void kt_json_key(struct kt_json *json, const char *name);

/* Whole members. */
void kt_json_string(struct kt_json *json, const char *name, const char *value); /* NULL: null */
void kt_json_count(struct kt_json *json, const char *name, uint64_t value);
void kt_json_integer(struct kt_json *json, const char *name, int64_t value);
void kt_json_real(struct kt_json *json, const char *name, double value);
void kt_json_null(struct kt_json *json, const char *name);
void kt_json_dimensions(struct kt_json *json, const char *name, const uint32_t size[3]);

#endif
