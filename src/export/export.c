#include "export.h"

#include "../error.h"
#include "../quiet_write.h"
#include "../string_builder.h"
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct kt_exporter *const kt_exporters[] = {&kt_exporter_perfetto, &kt_exporter_chrome, &kt_exporter_csv,
                                                  &kt_exporter_json,     &kt_exporter_html,   NULL};

enum {
    NUMBERED_FILES = 1000000, /* how many files of one name are tried */
    TEMPORARY_FILES = 1000,
    SYMBOLIC_LINKS = 40 /* as many as Linux follows */
};

const struct kt_exporter *kt_find_exporter(const char *name)
{
    for (const struct kt_exporter *const *exporter = kt_exporters; *exporter; exporter++)
        if (strcmp((*exporter)->name, name) == 0)
            return *exporter;

    struct kt_string known = KT_STRING_INIT;
    for (const struct kt_exporter *const *exporter = kt_exporters; *exporter; exporter++)
        kt_string_printf(&known, "%s%s", exporter == kt_exporters ? "" : ", ", (*exporter)->name);
    kt_fail(KTRACE_ERROR_NOT_FOUND, "no exporter \"%s\"; there are: %s", name, kt_string_text(&known));
    kt_string_destroy(&known);
    return NULL;
}

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

static int memory_write(struct kt_sink *sink, const void *data, size_t bytes)
{
    struct kt_memory_sink *memory = (struct kt_memory_sink *)sink;
    if (bytes > 0 && kt_pb_reserve(&memory->buffer, bytes)) {
        memcpy(memory->buffer.data + memory->buffer.bytes, data, bytes);
        memory->buffer.bytes += bytes;
    }
    return kt_pb_status(&memory->buffer);
}

void kt_memory_sink_init(struct kt_memory_sink *memory)
{
    *memory = (struct kt_memory_sink){.sink = {.write = memory_write}};
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

static int write_all(struct kt_file_sink *file, const uint8_t *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = kt_write_quietly(file->fd, data, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return kt_fail(KTRACE_ERROR_IO, "%s: could not be written: %s", file->given, strerror(errno));
        data += written;
        bytes -= (size_t)written;
    }
    return KTRACE_OK;
}

static int flush(struct kt_file_sink *file)
{
    if (!file->status)
        file->status = write_all(file, file->buffer, file->bytes);
    file->bytes = 0;
    return file->status;
}

static int file_write(struct kt_sink *sink, const void *data, size_t bytes)
{
    struct kt_file_sink *file = (struct kt_file_sink *)sink;
    if (bytes > KT_FILE_SINK_BYTES - file->bytes && flush(file))
        return file->status;
    if (file->status)
        return file->status;
    if (bytes > KT_FILE_SINK_BYTES)
        return file->status = write_all(file, data, bytes);
    if (bytes > 0)
        memcpy(file->buffer + file->bytes, data, bytes);
    file->bytes += bytes;
    return KTRACE_OK;
}

static void free_file(struct kt_file_sink *file)
{
    free(file->given);
    free(file->path);
    free(file->final_path);
    free(file->buffer);
    file->given = file->path = file->final_path = NULL;
    file->buffer = NULL;
}

static int init_file(struct kt_file_sink *file, const char *path)
{
    *file = (struct kt_file_sink){.sink = {.write = file_write}, .fd = -1};
    file->given = strdup(path);
    file->buffer = malloc(KT_FILE_SINK_BYTES);
    if (file->given && file->buffer)
        return KTRACE_OK;
    free_file(file);
    return kt_fail_memory(KT_FILE_SINK_BYTES + strlen(path) + 1);
}

/* On failure errno says why. */
static int open_file(struct kt_file_sink *file, const char *path, int flags)
{
    file->path = strdup(path);
    if (!file->path)
        return kt_fail_memory(strlen(path) + 1);
    file->fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
    if (file->fd >= 0)
        return KTRACE_OK;
    const int error = errno;
    int status = error == EEXIST && flags & O_EXCL
                     ? kt_fail(KTRACE_ERROR_STATE, "%s: exists already", file->given)
                     : kt_fail(KTRACE_ERROR_IO, "%s: could not be opened: %s", file->given, strerror(error));
    free(file->path);
    file->path = NULL;
    errno = error;
    return status;
}

int kt_file_sink_create(struct kt_file_sink *file, const char *path)
{
    int status = init_file(file, path);
    if (!status)
        status = open_file(file, path, O_CREAT | O_EXCL);
    if (status)
        free_file(file);
    return status;
}

/* Where a path leads through symbolic links, the last of which may lead nowhere yet: realpath would not say. NULL: memory ran
 * out. */
static char *follow_links(const char *path)
{
    char link[PATH_MAX];
    char *target = strdup(path);
    for (int i = 0; target && i < SYMBOLIC_LINKS; i++) {
        ssize_t bytes = readlink(target, link, sizeof link - 1);
        if (bytes <= 0)
            break;
        link[bytes] = '\0';
        const char *slash = link[0] == '/' ? NULL : strrchr(target, '/');
        size_t folder_bytes = slash ? (size_t)(slash - target) + 1 : 0;
        char *next = malloc(folder_bytes + (size_t)bytes + 1);
        if (next) {
            memcpy(next, target, folder_bytes);
            memcpy(next + folder_bytes, link, (size_t)bytes + 1);
        }
        free(target);
        target = next;
    }
    return target;
}

/* A file of a new name beside file->final_path, opened. */
static int open_beside(struct kt_file_sink *file)
{
    size_t capacity_bytes = strlen(file->final_path) + 32;
    char *temporary = malloc(capacity_bytes);
    int status = KTRACE_ERROR_STATE;
    if (!temporary)
        return kt_fail_memory(capacity_bytes);
    for (int i = 0; i < TEMPORARY_FILES && status == KTRACE_ERROR_STATE; i++) {
        snprintf(temporary, capacity_bytes, "%s.%ld.%d.part", file->final_path, (long)getpid(), i);
        status = open_file(file, temporary, O_CREAT | O_EXCL);
    }
    const int error = errno;
    free(temporary);
    if (status == KTRACE_ERROR_STATE)
        return kt_fail(KTRACE_ERROR_IO, "%s: could not be opened: %d temporary files lie beside it", file->given,
                       TEMPORARY_FILES);
    errno = error;
    return status;
}

static int open_in_place(struct kt_file_sink *file, const char *path, int flags)
{
    file->keep = 1;
    free(file->final_path);
    file->final_path = NULL;
    return open_file(file, path, flags);
}

static int replace(struct kt_file_sink *file, const char *path)
{
    struct stat there, followed;
    const int exists = stat(path, &there) == 0;
    if (!exists && errno == ELOOP)
        return kt_fail(KTRACE_ERROR_IO, "%s: could not be opened: %s", path, strerror(ELOOP));
    if (exists && !S_ISREG(there.st_mode))
        return open_in_place(file, path, 0);

    file->final_path = follow_links(path);
    if (!file->final_path)
        return kt_fail_memory(strlen(path) + 1);
    /* Links of /proc do not always lead to a name: that of a file which was removed, but is open. */
    if (exists &&
        (stat(file->final_path, &followed) != 0 || followed.st_ino != there.st_ino || followed.st_dev != there.st_dev))
        return open_in_place(file, path, O_TRUNC);
    int status = open_beside(file);
    if (status == KTRACE_ERROR_IO && exists && (errno == EACCES || errno == EPERM || errno == EROFS))
        return open_in_place(file, path, O_TRUNC);
    if (status == KTRACE_OK && exists) {
        int kept = fchmod(file->fd, there.st_mode & 0777);
        (void)kept; /* a file system without modes has none to keep */
    }
    return status;
}

int kt_file_sink_replace(struct kt_file_sink *file, const char *path)
{
    int status = init_file(file, path);
    if (status)
        return status;
    status = replace(file, path);
    if (status)
        free_file(file);
    return status;
}

int kt_file_sink_close(struct kt_file_sink *file, int status)
{
    if (!status)
        status = flush(file);
    if (close(file->fd) != 0 && !status)
        status = kt_fail(KTRACE_ERROR_IO, "%s: could not be written: %s", file->given, strerror(errno));
    if (!status && file->final_path && rename(file->path, file->final_path) != 0)
        status = kt_fail(KTRACE_ERROR_IO, "%s: could not be replaced: %s", file->given, strerror(errno));
    if (status && !file->keep)
        unlink(file->path);
    free_file(file);
    return status;
}

/* ---- Public ---------------------------------------------------------------------------------------------------- */

int ktrace_trace_export(const struct ktrace_trace *trace, const char *exporter, const char *path)
{
    if (!trace || !exporter || !path || !*path)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_export: needs a trace, an exporter and a path");
    const struct kt_exporter *found = kt_find_exporter(exporter);
    if (!found)
        return KTRACE_ERROR_NOT_FOUND;

    struct kt_file_sink file;
    int status = kt_file_sink_replace(&file, path);
    if (status)
        return status;
    return kt_file_sink_close(&file, found->write(&file.sink, trace, KT_EVERY_LAUNCH));
}

int ktrace_trace_export_memory(void **data, size_t *bytes, const struct ktrace_trace *trace, const char *exporter)
{
    if (!data || !bytes || !trace || !exporter)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_export_memory: needs two results, a trace and an exporter");
    const struct kt_exporter *found = kt_find_exporter(exporter);
    if (!found)
        return KTRACE_ERROR_NOT_FOUND;

    struct kt_memory_sink memory;
    kt_memory_sink_init(&memory);
    int status = found->write(&memory.sink, trace, KT_EVERY_LAUNCH);
    if (status) {
        kt_pb_destroy(&memory.buffer);
        return status;
    }
    *data = memory.buffer.data;
    *bytes = memory.buffer.bytes;
    return KTRACE_OK;
}

void kt_safe_name(char safe[KT_SAFE_NAME_BYTES + 1], const char *name)
{
    size_t bytes = 0;
    for (; name && name[bytes] && bytes < KT_SAFE_NAME_BYTES; bytes++) {
        char c = name[bytes];
        int harmless = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       (bytes > 0 && (c == '.' || c == '-' || c == '+'));
        safe[bytes] = harmless ? c : '_';
    }
    safe[bytes] = '\0';
    if (bytes == 0)
        strcpy(safe, "ktrace");
}

int kt_export_new(char **path, const struct ktrace_trace *trace, const struct kt_exporter *exporter, uint64_t launch,
                  const char *directory, const char *name)
{
    char safe[KT_SAFE_NAME_BYTES + 1];
    kt_safe_name(safe, name);
    if (!directory)
        directory = "";
    size_t directory_bytes = strlen(directory);
    const char *slash = directory_bytes > 0 && directory[directory_bytes - 1] != '/' ? "/" : "";
    size_t capacity_bytes = directory_bytes + sizeof safe + strlen(exporter->suffix) + 32;
    char *candidate = malloc(capacity_bytes);
    if (!candidate)
        return kt_fail_memory(capacity_bytes);

    struct kt_file_sink file;
    int status = KTRACE_OK;
    for (int i = 0; i < NUMBERED_FILES; i++) {
        char number[16] = "";
        if (i > 0)
            snprintf(number, sizeof number, "_%d", i);
        snprintf(candidate, capacity_bytes, "%s%s%s_ktrace%s.%s", directory, slash, safe, number, exporter->suffix);
        status = kt_file_sink_create(&file, candidate);
        if (status != KTRACE_ERROR_STATE)
            break;
    }
    if (!status)
        status = kt_file_sink_close(&file, exporter->write(&file.sink, trace, launch));
    if (status) {
        free(candidate);
        return status;
    }
    *path = candidate;
    return KTRACE_OK;
}

int ktrace_trace_export_new(char **path, const struct ktrace_trace *trace, const char *directory)
{
    if (!path || !trace)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_trace_export_new: needs a place for the path and a trace");
    return kt_export_new(path, trace, &kt_exporter_perfetto, KT_EVERY_LAUNCH, directory,
                         trace->snapshot ? trace->snapshot->name : NULL);
}
