#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "cache_room.h"
#include "error.h"
#include "reader.h"
#include "scan.h"
#include "writer.h"

/* A file: magic, key, SHA-256 of what follows, its length (u64); then the log, kernels and their names in machine code, and
 * the image, each with its length. Little-endian. */
static const char magic[16] = "ktrace program 1";
enum { HEADER_BYTES = sizeof magic + 2 * KT_SHA256_BYTES + 8 };
#define LARGEST_FILE_BYTES (1ull << 30)

/* ---- Where ------------------------------------------------------------------------------------------------------ */

static int take_path(char **out, const char *base, const char *below)
{
    struct kt_string path = KT_STRING_INIT;
    kt_string_append(&path, base);
    kt_string_append(&path, below);
    return kt_string_take(out, &path);
}

int kt_cache_directory(char **out, const char *wanted)
{
    const char *own = getenv("KTRACE_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *flag = getenv("KTRACE_CACHE");
    int enabled = 1, status = KTRACE_OK;
    *out = NULL;
    if (flag && *flag)
        status = kt_parse_flag(&enabled, "KTRACE_CACHE", flag);
    if (status < 0)
        return status;
    if (wanted)
        return *wanted ? take_path(out, wanted, "") : KTRACE_OK;
    if (!enabled)
        return KTRACE_OK;
    if (own && *own)
        return take_path(out, own, "");
    if (xdg && *xdg == '/') /* others are to be ignored, says the XDG Base Directory Specification */
        return take_path(out, xdg, "/ktrace");
    if (home && *home == '/')
        return take_path(out, home, "/.cache/ktrace");
    return KTRACE_OK;
}

static int entry_path(char path[PATH_MAX], const char *directory, const unsigned char key[KT_SHA256_BYTES])
{
    char text[KT_SHA256_TEXT_BYTES];
    kt_sha256_text(text, key);
    if (snprintf(path, PATH_MAX, "%s/%s" KT_CACHE_SUFFIX, directory, text) >= PATH_MAX)
        return kt_fail(KTRACE_ERROR_IO, "the cache directory's path is too long: %s", directory);
    return KTRACE_OK;
}

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

static int absent(void)
{
    return kt_fail(KTRACE_ERROR_NOT_FOUND, "the program is not in the disk cache");
}

/* Machine code of others is not run. */
static int is_ours(const struct stat *file)
{
    return S_ISREG(file->st_mode) && (file->st_uid == geteuid() || file->st_uid == 0) && !(file->st_mode & S_IWOTH);
}

static int read_file(unsigned char **out, size_t *bytes, const char *path)
{
    struct stat facts;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return absent();
    unsigned char *data = NULL;
    size_t filled = 0, size = 0;
    if (fstat(file, &facts) == 0 && is_ours(&facts) && facts.st_size > HEADER_BYTES &&
        (uint64_t)facts.st_size <= LARGEST_FILE_BYTES) {
        size = (size_t)facts.st_size;
        data = kt_array_new(size, 1);
    }
    while (data && filled < size) {
        const ssize_t part = read(file, data + filled, size - filled);
        if (part == 0 || (part < 0 && errno != EINTR))
            break;
        filled += part > 0 ? (size_t)part : 0;
    }
    close(file);
    if (data == NULL || filled < size) {
        free(data);
        return absent();
    }
    *out = data;
    *bytes = size;
    return KTRACE_OK;
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
    return *out ? KTRACE_OK : absent();
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
        return absent();
    out->image = kt_array_new(out->image_bytes, 1);
    if (out->image == NULL)
        return KTRACE_ERROR_MEMORY;
    memcpy(out->image, image, out->image_bytes);
    return KTRACE_OK;
}

int kt_cache_read(struct kt_binary *out, const char *directory, const unsigned char key[KT_SHA256_BYTES])
{
    char path[PATH_MAX];
    unsigned char *data = NULL;
    size_t bytes = 0;
    struct kt_binary binary = {0};
    int status = entry_path(path, directory, key);
    if (status == KTRACE_OK)
        status = read_file(&data, &bytes, path);
    if (status < 0)
        return status;
    struct kt_reader reader = kt_reader_over(data + HEADER_BYTES, bytes - HEADER_BYTES);
    status = is_whole(data, bytes, key) ? take_binary(&binary, &reader) : absent();
    free(data);
    if (status < 0) {
        kt_binary_free(&binary);
        return status;
    }
    utimensat(AT_FDCWD, path, NULL, 0); /* used just now */
    *out = binary;
    return KTRACE_OK;
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static int encode(struct kt_string *out, const unsigned char key[KT_SHA256_BYTES], const struct kt_binary *binary)
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

static int fail_io(const char *path)
{
    return kt_fail(KTRACE_ERROR_IO, "the disk cache cannot be written: %s: %s", path, strerror(errno));
}

static int make_directories(const char *directory)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", directory);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return fail_io(path);
    return KTRACE_OK;
}

static int write_all(int file, const char *data, size_t bytes)
{
    while (bytes) {
        const ssize_t part = write(file, data, bytes);
        if (part < 0 && errno != EINTR)
            return -1;
        data += part > 0 ? part : 0;
        bytes -= part > 0 ? (size_t)part : 0;
    }
    return 0;
}

static int write_beside(const char *path, const char *directory, const struct kt_string *data)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s/" KT_CACHE_TEMPORARY "XXXXXX", directory) >= (int)sizeof temporary)
        return kt_fail(KTRACE_ERROR_IO, "the cache directory's path is too long: %s", directory);
    const int file = mkostemp(temporary, O_CLOEXEC);
    if (file < 0)
        return fail_io(temporary);
    int failed = write_all(file, kt_string_text(data), data->length);
    failed |= close(file);
    if (failed == 0 && rename(temporary, path) == 0)
        return KTRACE_OK;
    const int status = fail_io(path);
    unlink(temporary);
    return status;
}

int kt_cache_write(const char *directory, const unsigned char key[KT_SHA256_BYTES], const struct kt_binary *binary,
                   uint64_t limit_bytes)
{
    char path[PATH_MAX];
    struct kt_string data = KT_STRING_INIT;
    int status = entry_path(path, directory, key);
    if (status == KTRACE_OK)
        status = make_directories(directory);
    if (status == KTRACE_OK)
        status = encode(&data, key, binary);
    if (status == KTRACE_OK && data.length > limit_bytes)
        status = kt_fail(KTRACE_ERROR_IO, "a program of %zu bytes is larger than the disk cache", data.length);
    if (status == KTRACE_OK)
        status = write_beside(path, directory, &data);
    kt_string_destroy(&data);
    if (status == KTRACE_OK)
        kt_cache_make_room(directory, limit_bytes);
    return status;
}
