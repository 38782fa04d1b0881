#include "cleanup.h"
#include "demo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBERED_FILES = 10000 }; /* pairs of names that are tried */

/* 0, or -1 with errno. */
static int create_empty(const char *path)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return descriptor < 0 ? -1 : close(descriptor);
}

/* 0, or -1 with errno. */
static int create_both(const struct demo_files *files)
{
    if (create_empty(files->trace) < 0)
        return -1;
    if (create_empty(files->perfetto) == 0)
        return 0;
    int error = errno;
    unlink(files->trace);
    errno = error;
    return -1;
}

static void free_names(struct demo_files *files)
{
    free(files->trace);
    free(files->perfetto);
    *files = (struct demo_files){0};
}

static int name_files(struct demo_files *out, const char *directory, int number)
{
    char suffix[16] = "", name[64];
    if (number > 0)
        snprintf(suffix, sizeof suffix, "_%d", number);
    out->number = number;
    snprintf(name, sizeof name, "demo%s.ktrace", suffix);
    out->trace = demo_join(directory, name);
    snprintf(name, sizeof name, "demo_ktrace%s.pftrace.gz", suffix);
    out->perfetto = demo_join(directory, name);
    return out->trace && out->perfetto ? CLI_OK : CLI_FAILURE;
}

static int fail_to_create(const char *directory, int error)
{
    return cli_error("%s: no file can be created in this folder: %s; choose another one with --out",
                     directory ? directory : ".", strerror(error));
}

/* The folder, but none of those above it: a path that was mistyped should not become a tree. */
static int make_directory(const char **made, const char *directory)
{
    struct stat there;
    *made = NULL;
    if (!directory)
        return CLI_OK;
    if (mkdir(directory, 0777) == 0) {
        *made = directory;
        return CLI_OK;
    }
    const int error = errno;
    if (error == EEXIST && stat(directory, &there) == 0 && !S_ISDIR(there.st_mode))
        return cli_error("%s: this is a file, and --out needs a folder", directory);
    if (error == EEXIST)
        return CLI_OK;
    return cli_error("%s: this folder cannot be made: %s%s", directory, strerror(error),
                     error == ENOENT ? "; the folder above it must be there" : "; choose another one with --out");
}

static int reserve(struct demo_files *out, const char *directory)
{
    for (int number = 0; number < NUMBERED_FILES; number++) {
        struct demo_files files = {0};
        int status = name_files(&files, directory, number);
        if (status == CLI_OK && create_both(&files) == 0) {
            *out = files;
            return CLI_OK;
        }
        if (status == CLI_OK && errno != EEXIST)
            status = fail_to_create(directory, errno);
        free_names(&files);
        if (status != CLI_OK)
            return status;
    }
    return cli_error("there are %d demos already: remove some, or choose another folder with --out", NUMBERED_FILES);
}

int demo_files_reserve(struct demo_files *out, const char *directory)
{
    const char *made;
    cli_cleanup_hold();
    int status = make_directory(&made, directory);
    if (status == CLI_OK) {
        status = reserve(out, directory);
        if (status != CLI_OK && made)
            rmdir(made);
    }
    if (status == CLI_OK) {
        out->folder = made;
        cli_cleanup_begin((const char *const[]){out->trace, out->perfetto}, made);
    }
    cli_cleanup_release();
    return status;
}

void demo_files_finish(struct demo_files *files, bool whole)
{
    cli_cleanup_hold();
    if (!whole) {
        unlink(files->trace);
        unlink(files->perfetto);
        if (files->folder)
            rmdir(files->folder); /* which fails where somebody put something into it */
    }
    cli_cleanup_end();
    cli_cleanup_release();
    free_names(files);
}
