#include "lint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_all(struct lint_file *out, int file, size_t bytes)
{
    out->data = malloc(bytes ? bytes : 1);
    if (!out->data)
        return cli_error("%s: out of host memory: it has %zu bytes", out->path, bytes);
    while (out->bytes < bytes) {
        const ssize_t got = read(file, (char *)out->data + out->bytes, bytes - out->bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cli_error("%s: cannot read it: %s", out->path, strerror(errno));
        if (got == 0) /* it became shorter */
            break;
        out->bytes += (size_t)got;
    }
    return CLI_OK;
}

static int read_file(struct lint_file *out)
{
    struct stat facts;
    const int file = open(out->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return cli_error("%s: cannot open it: %s", out->path, strerror(errno));
    int status;
    if (fstat(file, &facts) < 0)
        status = cli_error("%s: cannot read it: %s", out->path, strerror(errno));
    else if (S_ISDIR(facts.st_mode))
        status = cli_error("%s is a directory: --lint takes a file with machine code", out->path);
    else if (!S_ISREG(facts.st_mode))
        status = cli_error("%s is no regular file: --lint takes a file with machine code", out->path);
    else
        status = read_all(out, file, (size_t)facts.st_size);
    close(file);
    return status;
}

static const char archive_begin[] = "!<arch>\n";

/* What the file has instead of machine code that could be read. */
static int fail_empty(const struct lint_file *file, bool has_ptx)
{
    if (file->objects.relocatable)
        return cli_error("%s: its device code is relocatable, which names no annotation yet: lint what is linked of it",
                         file->path);
    if (file->objects.compressed)
        return cli_error("%s: its code objects are compressed: compile it without --offload-compress, or lint what "
                         "clang-offload-bundler --unbundle takes out of it",
                         file->path);
    if (has_ptx)
        return cli_error(
            "%s has PTX only, of which the driver makes machine code when it is loaded: compile it for a GPU, "
            "such as with -arch=sm_90, and lint that",
            file->path);
    if (file->bytes >= sizeof archive_begin - 1 && memcmp(file->data, archive_begin, sizeof archive_begin - 1) == 0)
        return cli_error(
            "%s: in this archive there is no machine code of NVIDIA's, and AMD's is not looked for in one: "
            "lint what is linked of it, or what 'ar x' takes out",
            file->path);
    return cli_error("%s has no machine code of a GPU", file->path);
}

int lint_file_open(struct lint_file *out, const char *path, int limit_s)
{
    bool has_ptx = false;
    *out = (struct lint_file){.path = path};
    int status = read_file(out);
    if (status == CLI_OK && lint_find_objects(&out->objects, out->data, out->bytes) < 0)
        status = cli_error_in_file(path);
    if (status == CLI_OK && out->objects.has_fatbin)
        status = lint_extract_cubins(&out->objects, &has_ptx, path, limit_s);
    if (status == CLI_OK && out->objects.count == 0)
        status = fail_empty(out, has_ptx);
    return status;
}

void lint_file_close(struct lint_file *file)
{
    lint_objects_free(&file->objects);
    free(file->data);
}
