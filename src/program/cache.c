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
#include "cache_entry.h"
#include "cache_room.h"
#include "error.h"
#include "quiet_write.h"
#include "scan.h"
#include "string_builder.h"

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

/* Machine code of others is not run. */
static int is_ours(const struct stat *file)
{
    return S_ISREG(file->st_mode) && (file->st_uid == geteuid() || file->st_uid == 0) && !(file->st_mode & S_IWOTH);
}

static int read_file(unsigned char **out, size_t *bytes, const char *path)
{
    struct stat facts;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* a fifo would wait for a writer */
    if (file < 0)
        return kt_cache_absent();
    unsigned char *data = NULL;
    size_t filled = 0, size = 0;
    if (fstat(file, &facts) == 0 && is_ours(&facts) && facts.st_size > 0 &&
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
        return kt_cache_absent();
    }
    *out = data;
    *bytes = size;
    return KTRACE_OK;
}

int kt_cache_read(struct kt_binary *out, const char *directory, const unsigned char key[KT_SHA256_BYTES])
{
    char path[PATH_MAX];
    unsigned char *data = NULL;
    size_t bytes = 0;
    int status = entry_path(path, directory, key);
    if (status == KTRACE_OK)
        status = read_file(&data, &bytes, path);
    if (status < 0)
        return status;
    status = kt_cache_decode(out, data, bytes, key);
    free(data);
    if (status == KTRACE_OK)
        utimensat(AT_FDCWD, path, NULL, 0); /* used just now */
    return status;
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

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
        const ssize_t part = kt_write_quietly(file, data, bytes);
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
        status = kt_cache_encode(&data, key, binary);
    if (status == KTRACE_OK && data.length > limit_bytes)
        status = kt_fail(KTRACE_ERROR_IO, "a program of %zu bytes is larger than the disk cache", data.length);
    if (status == KTRACE_OK)
        status = write_beside(path, directory, &data);
    kt_string_destroy(&data);
    if (status == KTRACE_OK)
        kt_cache_make_room(directory, limit_bytes);
    return status;
}
