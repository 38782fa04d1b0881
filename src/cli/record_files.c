#include "record.h"

#include "../export/export.h"
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBERED_FILES = 10000 };

static const char trace_suffix[] = ".ktrace";

/* ---- The output's name ---------------------------------------------------------------------------------------------- */

/* "ls" of "/bin/ls -l"; "train" of "python3 train.py". */
static int name_by_program(struct record_files *files, char *const *command)
{
    char name[KT_SAFE_NAME_BYTES + 1], safe[KT_SAFE_NAME_BYTES + 1];
    size_t count = 0;
    while (command[count])
        count++;
    kt_record_program_name(name, sizeof name, (const char *const *)command, count);
    kt_safe_name(safe, name);
    files->stem = strdup(safe);
    files->suffix = strdup(trace_suffix);
    return files->stem && files->suffix ? CLI_OK : cli_error("out of memory");
}

static int name_by_user(struct record_files *files, const char *name)
{
    const size_t length = strlen(name), suffix = sizeof trace_suffix - 1;
    const bool has_suffix = length > suffix && strcmp(name + length - suffix, trace_suffix) == 0;
    files->stem = strndup(name, has_suffix ? length - suffix : length);
    files->suffix = strdup(has_suffix ? trace_suffix : "");
    files->was_named = true;
    return files->stem && files->suffix ? CLI_OK : cli_error("out of memory");
}

/* `output` is a folder, a file's path, or NULL. */
static int name_files(struct record_files *files, const char *output, char *const *command)
{
    const char *slash = output ? strrchr(output, '/') : NULL;
    const bool folder = output && (cli_is_folder(output) || (slash && !slash[1]));
    const char *name = folder || !output ? NULL : slash ? slash + 1 : output;
    const size_t folder_bytes = name ? (size_t)(name - output) : output ? strlen(output) : 0;
    struct kt_string shown = KT_STRING_INIT;
    kt_string_append_bytes(&shown, output, folder_bytes);
    if (folder && !(slash && !slash[1]))
        kt_string_append(&shown, "/");
    if (kt_string_take(&files->shown, &shown) < 0)
        return cli_error("out of memory");
    return name ? name_by_user(files, name) : name_by_program(files, command);
}

/* Shown folder, stem, "_NUMBER", middle and suffix, as the user may write it. NULL after cli_error. */
static char *join_name(const struct record_files *files, int number, const char *middle, const char *suffix)
{
    struct kt_string path = KT_STRING_INIT;
    char *joined = NULL;
    kt_string_append(&path, files->shown);
    kt_string_append(&path, files->stem);
    if (number)
        kt_string_printf(&path, "_%d", number);
    kt_string_append(&path, middle);
    kt_string_append(&path, suffix);
    if (kt_string_take(&joined, &path) < 0)
        cli_error("out of memory");
    return joined;
}

/* ---- The session's folder ------------------------------------------------------------------------------------------- */

static int find_directory(struct record_files *files)
{
    const char *directory = *files->shown ? files->shown : ".";
    files->directory = realpath(directory, NULL);
    if (files->directory)
        return CLI_OK;
    const int error = errno;
    return cli_error("%s: this folder cannot be used: %s%s", directory, strerror(error),
                     error == ENOENT ? "; make it first, or name another output with '-o'" : "");
}

/* Hidden, beside the output: a trace is moved from there, and not copied. */
static int make_session(struct record_files *files)
{
    struct kt_string path = KT_STRING_INIT;
    kt_string_printf(&path, "%s/.%s.record-XXXXXX", files->directory, files->stem);
    if (kt_string_take(&files->session, &path) < 0)
        return cli_error("out of memory");
    if (mkdtemp(files->session))
        return CLI_OK;
    const int error = errno;
    free(files->session);
    files->session = NULL;
    return cli_error("%s: no file can be created in this folder: %s; name another output with '-o'",
                     *files->shown ? files->shown : ".", strerror(error));
}

/* Said before the program runs. What comes there meanwhile is not. */
static int check_free(const struct record_files *files)
{
    struct stat there;
    char *path = files->was_named ? join_name(files, 0, "", files->suffix) : NULL;
    int status = CLI_OK;
    if (path && lstat(path, &there) == 0 && !files->may_replace)
        status = cli_error("%s: exists already: name another output with '-o', or replace it with '--force'", path);
    else if (path && lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
        status = cli_error("%s: '--force' replaces files, and this is a %s: name a file with '-o'", path,
                           S_ISLNK(there.st_mode) ? "symbolic link" : "device, a pipe or a socket");
    free(path);
    return status;
}

int record_files_open(struct record_files *out, const char *output, bool may_replace, char *const *command)
{
    struct record_files files = {.may_replace = may_replace};
    int status = name_files(&files, output, command);
    if (status == CLI_OK)
        status = find_directory(&files);
    if (status == CLI_OK)
        status = check_free(&files);
    if (status == CLI_OK)
        status = make_session(&files);
    *out = files;
    if (status != CLI_OK)
        record_files_close(out);
    return status;
}

static void remove_session(const char *session)
{
    DIR *folder = opendir(session);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL)
        unlinkat(dirfd(folder), entry->d_name, 0); /* which leaves "." and ".." */
    if (folder)
        closedir(folder);
    if (rmdir(session) != 0)
        cli_error("%s: this folder cannot be removed: %s", session, strerror(errno));
}

void record_files_close(struct record_files *files)
{
    if (files->session)
        remove_session(files->session);
    free(files->directory);
    free(files->shown);
    free(files->stem);
    free(files->suffix);
    free(files->session);
    *files = (struct record_files){0};
}

void record_files_keep_session(struct record_files *files)
{
    cli_error("traces that are not where they should be are in %s", files->session);
    free(files->session);
    files->session = NULL;
}

/* ---- Placing -------------------------------------------------------------------------------------------------------- */

/* What is between stem and suffix of the `index`th of `count`. */
static void name_middle(struct kt_string *out, const struct record_files *files, const struct record_placed *placed,
                        size_t index, size_t count)
{
    if (count == 1)
        return;
    kt_string_printf(out, ".%zu", index + 1);
    if (strcmp(placed->name, files->stem) != 0)
        kt_string_printf(out, ".%s", placed->name);
}

/* A name that nobody has is made ours by an empty file. A file is ours if it may be replaced; a device, a pipe or a link, which
 * a trace would be put in the place of, never is. 0, or -1 with errno. */
static int reserve(const char *path, bool may_replace)
{
    struct stat there;
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0)
        return close(file);
    const int error = errno;
    if (error == EEXIST && may_replace && lstat(path, &there) == 0 && S_ISREG(there.st_mode))
        return 0;
    errno = error;
    return -1;
}

/* All with this number. 0, or an error of errno.h. */
static int reserve_all(struct record_files *files, struct record_placed *placed, size_t count, int number)
{
    for (size_t i = 0; i < count; i++) {
        struct kt_string middle = KT_STRING_INIT;
        name_middle(&middle, files, &placed[i], i, count);
        placed[i].path = middle.failed ? NULL
                                       : join_name(files, number, kt_string_text(&middle),
                                                   count == 1 ? files->suffix : trace_suffix);
        kt_string_destroy(&middle);
        const int error = placed[i].path == NULL ? ENOMEM : reserve(placed[i].path, files->may_replace) < 0 ? errno : 0;
        if (error == 0)
            continue;
        for (size_t k = 0; k <= i; k++) {
            if (k < i && !files->may_replace)
                unlink(placed[k].path);
            free(placed[k].path);
            placed[k].path = NULL;
        }
        return error;
    }
    return 0;
}

static int move(const struct record_files *files, struct record_placed *placed)
{
    struct kt_string from = KT_STRING_INIT;
    kt_string_printf(&from, "%s/%s", files->session, placed->from);
    const int moved = from.failed ? -1 : rename(from.text, placed->path);
    const int error = from.failed ? ENOMEM : errno;
    kt_string_destroy(&from);
    if (moved == 0)
        return CLI_OK;
    cli_error("%s: the trace cannot be moved there: %s", placed->path, strerror(error));
    free(placed->path);
    placed->path = NULL;
    return CLI_FAILURE;
}

int record_files_place(struct record_files *files, struct record_placed *placed, size_t count)
{
    int error = EEXIST, status = CLI_OK;
    for (int number = 0; number < NUMBERED_FILES && error == EEXIST; number++)
        error = reserve_all(files, placed, count, number);
    if (error)
        status = cli_error("%s%s%s: the trace cannot be written there: %s", files->shown, files->stem, files->suffix,
                           strerror(error));
    for (size_t i = 0; i < count && error == 0; i++)
        if (move(files, &placed[i]) != CLI_OK)
            status = CLI_FAILURE;
    if (status != CLI_OK)
        record_files_keep_session(files);
    return status;
}
