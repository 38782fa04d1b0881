#include "trace_file_payload.h"

#include "array.h"
#include "error.h"

#define DAMAGED KT_FILE_DAMAGED

typedef unsigned long long ull; /* for %llu */

int kt_payload_open(struct kt_payload *out, const struct kt_file_index *index, uint32_t type, const uint8_t *data)
{
    const struct kt_file_section *found = NULL;
    char name[5];
    kt_file_type_name(name, type);
    for (uint32_t i = 0; i < index->section_count; i++) {
        if (index->sections[i].type != type)
            continue;
        if (found)
            return kt_fail(KTRACE_ERROR_FORMAT, "there are two sections %s (the second at offset %llu): " DAMAGED, name,
                           (ull)index->sections[i].payload_offset - KT_FILE_SECTION_HEADER_BYTES);
        found = &index->sections[i];
    }
    if (!found)
        return 1;
    memcpy(out->name, name, sizeof name);
    out->file_offset = (size_t)found->payload_offset;
    out->reader = kt_reader_over(data + found->payload_offset, (size_t)found->payload_bytes);
    return 0;
}

int kt_payload_fail_missing(uint32_t type)
{
    char name[5];
    kt_file_type_name(name, type);
    return kt_fail(KTRACE_ERROR_FORMAT, "there is no section %s: " DAMAGED, name);
}

int kt_payload_fail(const struct kt_payload *payload, const char *what)
{
    return kt_fail(KTRACE_ERROR_FORMAT, "section %s, offset %zu: %s: " DAMAGED, payload->name,
                   payload->file_offset + payload->reader.at, what);
}

int kt_payload_records(uint64_t *out, const struct kt_payload *payload, size_t record_bytes)
{
    if (payload->reader.bytes % record_bytes)
        return kt_fail(KTRACE_ERROR_FORMAT, "section %s, offset %zu: %zu bytes are no multiple of %zu: " DAMAGED,
                       payload->name, payload->file_offset, payload->reader.bytes, record_bytes);
    *out = payload->reader.bytes / record_bytes;
    return 0;
}

int kt_payload_end(const struct kt_payload *payload)
{
    if (payload->reader.failed)
        return kt_payload_fail(payload, "ends inside a record");
    if (kt_reader_left(&payload->reader))
        return kt_payload_fail(payload, "has bytes after its last record");
    return 0;
}

int kt_payload_string(char **out, struct kt_payload *payload)
{
    uint32_t length = kt_read_count(&payload->reader, 1);
    const uint8_t *text = kt_read_bytes(&payload->reader, length);
    if (!text)
        return kt_payload_fail(payload, "a string is longer than what is left");
    if (memchr(text, 0, length))
        return kt_payload_fail(payload, "a string contains a zero byte");
    char *copy = kt_array_new((size_t)length + 1, 1);
    if (!copy)
        return KTRACE_ERROR_MEMORY;
    memcpy(copy, text, length);
    copy[length] = 0;
    free(*out);
    *out = copy;
    return 0;
}
