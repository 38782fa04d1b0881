#include "json.h"

#include <inttypes.h>

void kt_json_separate(struct kt_json *json)
{
    kt_string_append(json->text, json->filled ? ",\n" : "\n");
    kt_string_append_repeated(json->text, ' ', (size_t)json->depth * 2);
    json->filled = 1;
}

void kt_json_key(struct kt_json *json, const char *name)
{
    kt_json_separate(json);
    kt_string_append_json(json->text, name);
    kt_string_append(json->text, ": ");
}

void kt_json_open(struct kt_json *json, char bracket)
{
    kt_string_append_char(json->text, bracket);
    json->depth++;
    json->filled = 0;
}

void kt_json_close(struct kt_json *json, char bracket)
{
    json->depth--;
    if (json->filled) {
        kt_string_append_char(json->text, '\n');
        kt_string_append_repeated(json->text, ' ', (size_t)json->depth * 2);
    }
    kt_string_append_char(json->text, bracket);
    json->filled = 1;
}

void kt_json_string(struct kt_json *json, const char *name, const char *value)
{
    kt_json_key(json, name);
    kt_string_append_json(json->text, value);
}

void kt_json_count(struct kt_json *json, const char *name, uint64_t value)
{
    kt_json_key(json, name);
    kt_string_printf(json->text, "%" PRIu64, value);
}

void kt_json_integer(struct kt_json *json, const char *name, int64_t value)
{
    kt_json_key(json, name);
    kt_string_printf(json->text, "%" PRId64, value);
}

void kt_json_real(struct kt_json *json, const char *name, double value)
{
    kt_json_key(json, name);
    kt_string_append_json_double(json->text, value);
}

void kt_json_null(struct kt_json *json, const char *name)
{
    kt_json_key(json, name);
    kt_string_append(json->text, "null");
}

void kt_json_dimensions(struct kt_json *json, const char *name, const uint32_t size[3])
{
    kt_json_key(json, name);
    kt_string_printf(json->text, "[%" PRIu32 ", %" PRIu32 ", %" PRIu32 "]", size[0], size[1], size[2]);
}
