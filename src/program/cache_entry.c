#include "cache_entry.h"

#include <string.h>

#include "array.h"
#include "error.h"
#include "reader.h"
#include "writer.h"

/* A file: magic, key, SHA-256 of what follows, its length (u64); then the log, kernels and their names in machine code,
 * each with its length, and the image. Little-endian. */
static const char magic[16] = "ktrace program 1";
enum { HEADER_BYTES = sizeof magic + 2 * KT_SHA256_BYTES + 8 };

int kt_cache_absent(void)
{
    return kt_fail(KTRACE_ERROR_NOT_FOUND, "the program is not in the disk cache");
}

int kt_cache_encode(struct kt_string *out, const unsigned char key[KT_SHA256_BYTES], const struct kt_binary *binary)
{
    struct kt_string body = KT_STRING_INIT;
    struct kt_sha256 hash;
    unsigned char digest[KT_SHA256_BYTES];
    kt_write_string(&body, binary->log);
    kt_write_u32(&body, (uint32_t)binary->kernels.count);
    for (size_t i = 0; i < binary->kernels.count; i++)
        kt_write_string(&body, binary->kernels.texts[i]);
    for (size_t i = 0; i < binary->lowered.count; i++)
        kt_write_string(&body, binary->lowered.texts[i]);
    kt_string_append_bytes(&body, binary->image, binary->image_bytes);
    kt_sha256_begin(&hash);
    kt_sha256_add(&hash, kt_string_text(&body), body.length);
    kt_sha256_end(&hash, digest);

    kt_string_append_bytes(out, magic, sizeof magic);
    kt_string_append_bytes(out, key, KT_SHA256_BYTES);
    kt_string_append_bytes(out, digest, sizeof digest);
    kt_write_u64(out, body.length);
    kt_string_append_bytes(out, kt_string_text(&body), body.length);
    const int failed = out->failed || body.failed;
    const size_t bytes = body.length;
    kt_string_destroy(&body);
    return failed ? kt_fail_memory(bytes) : KTRACE_OK;
}

static int is_whole(const unsigned char *data, size_t bytes, const unsigned char key[KT_SHA256_BYTES])
{
    struct kt_reader reader = kt_reader_over(data + HEADER_BYTES - 8, 8);
    struct kt_sha256 hash;
    unsigned char digest[KT_SHA256_BYTES];
    if (memcmp(data, magic, sizeof magic) != 0 || memcmp(data + sizeof magic, key, KT_SHA256_BYTES) != 0 ||
        kt_read_u64(&reader) != bytes - HEADER_BYTES)
        return 0;
    kt_sha256_begin(&hash);
    kt_sha256_add(&hash, data + HEADER_BYTES, bytes - HEADER_BYTES);
    kt_sha256_end(&hash, digest);
    return memcmp(data + sizeof magic + KT_SHA256_BYTES, digest, sizeof digest) == 0;
}

static int take_string(char **out, struct kt_reader *reader)
{
    const uint32_t length = kt_read_u32(reader);
    const uint8_t *bytes = kt_read_bytes(reader, length);
    *out = bytes ? strndup((const char *)bytes, length) : NULL;
    return *out ? KTRACE_OK : kt_cache_absent();
}

static int take_texts(struct kt_program_texts *out, struct kt_reader *reader, uint32_t count)
{
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < count && status == KTRACE_OK; i++) {
        char *text;
        status = take_string(&text, reader);
        if (status == KTRACE_OK) {
            status = kt_program_texts_add(out, text);
            free(text);
        }
    }
    return status;
}

static int take_binary(struct kt_binary *out, struct kt_reader *reader)
{
    int status = take_string(&out->log, reader);
    const uint32_t count = kt_read_u32(reader);
    if (status == KTRACE_OK)
        status = take_texts(&out->kernels, reader, count);
    if (status == KTRACE_OK)
        status = take_texts(&out->lowered, reader, count);
    if (status < 0)
        return status;
    out->image_bytes = kt_reader_left(reader);
    const uint8_t *image = kt_read_bytes(reader, out->image_bytes);
    if (image == NULL || out->image_bytes == 0)
        return kt_cache_absent();
    out->image = kt_array_new(out->image_bytes, 1);
    if (out->image == NULL)
        return KTRACE_ERROR_MEMORY;
    memcpy(out->image, image, out->image_bytes);
    return KTRACE_OK;
}

int kt_cache_decode(struct kt_binary *out, const unsigned char *data, size_t bytes,
                    const unsigned char key[KT_SHA256_BYTES])
{
    struct kt_binary binary = {0};
    if (bytes <= HEADER_BYTES || !is_whole(data, bytes, key))
        return kt_cache_absent();
    struct kt_reader reader = kt_reader_over(data + HEADER_BYTES, bytes - HEADER_BYTES);
    const int status = take_binary(&binary, &reader);
    if (status < 0)
        kt_binary_free(&binary);
    else
        *out = binary;
    return status;
}
