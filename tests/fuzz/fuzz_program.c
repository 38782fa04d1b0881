/* fuzz_program.c - a file of the disk cache as anybody may have left it, with a right checksum; and the same bytes as a program's
 * source, of which it is asked whether it reads files. */
#include "program/cache_entry.h"
#include "program/self_contained.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const unsigned char key[KT_SHA256_BYTES] = {1, 2, 3};
enum { HEADER_BYTES = 16 + 2 * KT_SHA256_BYTES + 8 };

/* What is read is written as it was read. */
static void check_again(const struct kt_binary *binary)
{
    struct kt_string text = KT_STRING_INIT;
    struct kt_binary again;
    if (kt_cache_encode(&text, key, binary) < 0 ||
        kt_cache_decode(&again, (const unsigned char *)text.text, text.length, key) < 0 ||
        again.image_bytes != binary->image_bytes || memcmp(again.image, binary->image, binary->image_bytes) != 0 ||
        again.kernels.count != binary->kernels.count || again.lowered.count != binary->kernels.count ||
        strcmp(again.log, binary->log) != 0)
        abort();
    kt_binary_free(&again);
    kt_string_destroy(&text);
}

static void check_entry(const uint8_t *data, size_t bytes)
{
    unsigned char *file = calloc(HEADER_BYTES + bytes, 1);
    struct kt_sha256 hash;
    struct kt_binary binary;
    if (!file)
        return;
    memcpy(file, "ktrace program 1", 16);
    memcpy(file + 16, key, sizeof key);
    for (int i = 0; i < 8; i++)
        file[HEADER_BYTES - 8 + i] = (unsigned char)((uint64_t)bytes >> 8 * i);
    if (bytes)
        memcpy(file + HEADER_BYTES, data, bytes);
    kt_sha256_begin(&hash);
    kt_sha256_add(&hash, file + HEADER_BYTES, bytes);
    kt_sha256_end(&hash, file + 16 + KT_SHA256_BYTES);
    if (kt_cache_decode(&binary, file, HEADER_BYTES + bytes, key) == KTRACE_OK) {
        check_again(&binary);
        kt_binary_free(&binary);
    }
    free(file);
}

/* One that reads none has no #include of anything else, whatever else there is; but line breaks that are hidden make it hard to see. */
static void check_text(const char *text)
{
    char *header = (char *)"mine.h", reason[KT_NOT_SELF_CONTAINED_BYTES];
    const struct kt_compilation compilation = {
        .text = text, .name = "a.cu", .header_names = {&header, 1}, .header_texts = {(char *[]){(char *)""}, 1}};
    if (!kt_is_self_contained(&compilation, reason) || strchr(text, '\\') || strstr(text, "?\?/"))
        return;
    for (const char *place = strstr(text, "#include"); place; place = strstr(place + 1, "#include")) {
        const char *name = place + strlen("#include") + strspn(place + strlen("#include"), " \t");
        if (strncmp(name, "<mine.h>", 8) != 0 && strncmp(name, "\"mine.h\"", 8) != 0 && strchr("<\"", *name) && *name)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);
    if (!text)
        return 0;
    if (bytes)
        memcpy(text, data, bytes);
    text[bytes] = '\0';
    check_text(text);
    check_entry(data, bytes);
    free(text);
    return 0;
}
