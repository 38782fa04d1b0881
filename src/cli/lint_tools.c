/* lint_tools.c - the disassemblers: which there is, and what it prints. */
#include "child.h"
#include "cleanup.h"
#include "demo.h"
#include "doctor.h"
#include "lint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CANNOT_RUN = 126 };

/* ---- Which --------------------------------------------------------------------------------------------------------- */

static int fail_without_cuda_tool(const char *name, const char *path, const char *what)
{
    return cli_error(
        "%s: %s was not found, which %s: it comes with NVIDIA's CUDA toolkit (package cuda-%s-13-0, or "
        "pip install nvidia-cuda-%s in an active virtual environment); or put it into PATH, or set CUDA_PATH",
        path, name, what, name, name);
}

/* The newest: older ones may not know the chip. */
static char *find_objdump(void)
{
    const char *rocm = getenv("ROCM_PATH");
    char *beside = rocm && *rocm ? demo_join(rocm, "llvm/bin") : NULL;
    const char *const elsewhere[] = {beside ? beside : "/opt/rocm/llvm/bin", "/opt/rocm/llvm/bin", NULL};
    const char *const nowhere[] = {NULL};
    char *found = NULL;
    for (int version = 22; version >= 17 && !found; version--) { /* 17 is the first that knows gfx942 */
        char name[32];
        snprintf(name, sizeof name, "llvm-objdump-%d", version);
        found = doctor_find_program(name, name, version == 22 ? elsewhere : nowhere);
    }
    if (!found)
        found = doctor_find_program("llvm-objdump", "llvm-objdump", elsewhere);
    free(beside);
    return found;
}

/* ---- Running one --------------------------------------------------------------------------------------------------- */

struct tool_run {
    const char *const *arguments; /* the program first; NULL ends them */
    const char *folder;           /* to run in; NULL: here */
    int output;                   /* a file for standard output; -1: it is kept with standard error */
};

static int be_tool(void *context)
{
    const struct tool_run *tool = context;
    if (!tool->folder || chdir(tool->folder) == 0) {
        if (tool->output >= 0)
            dup2(tool->output, STDOUT_FILENO);
        execv(tool->arguments[0], (char *const *)tool->arguments);
    }
    fprintf(stderr, "%s\n", strerror(errno));
    return CANNOT_RUN;
}

static int fail_tool(const struct tool_run *tool, const struct cli_child *child, const char *path, int limit_s)
{
    struct kt_string end = KT_STRING_INIT, said = KT_STRING_INIT;
    cli_child_append_end(&end, child, limit_s);
    cli_child_append_last_line(&said, child);
    const int status = cli_error("%s: %s %s%s%s%s%s", path, tool->arguments[0], kt_string_text(&end),
                                 said.length ? ", having said '" : "", kt_string_text(&said), said.length ? "'" : "",
                                 child->was_stopped ? ": --timeout waits longer" : "");
    kt_string_destroy(&end);
    kt_string_destroy(&said);
    return status;
}

/* ---- Disassembly --------------------------------------------------------------------------------------------------- */

static int memory_file(const char *name)
{
    const int file = memfd_create(name, 0);
    if (file < 0)
        cli_error("cannot make a file in memory: %s", strerror(errno));
    return file;
}

static int write_all(int file, const uint8_t *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t wrote = write(file, data + done, bytes - done);
        if (wrote < 0 && errno != EINTR)
            return cli_error("cannot write to a file in memory: %s", strerror(errno));
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return CLI_OK;
}

/* All of a file, with a 0 behind it. */
static int take_all(char **out, size_t *bytes, int file)
{
    struct stat facts;
    char *text = fstat(file, &facts) == 0 ? malloc((size_t)facts.st_size + 1) : NULL;
    if (!text)
        return cli_error("out of host memory for what a tool wrote");
    size_t done = 0;
    while (done < (size_t)facts.st_size) {
        const ssize_t got = pread(file, text + done, (size_t)facts.st_size - done, (off_t)done);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        done += got > 0 ? (size_t)got : 0;
    }
    text[done] = 0;
    *out = text;
    *bytes = done;
    return CLI_OK;
}

static int run_disassembler(char **listing, const char *program, const struct lint_object *object, const char *path,
                            int limit_s)
{
    const int input = memory_file("module"), output = memory_file("listing");
    struct cli_child child = CLI_CHILD_INIT;
    char name[32];
    size_t bytes;
    snprintf(name, sizeof name, "/proc/self/fd/%d", input);
    const struct tool_run tool = {(const char *const[]){program, object->is_nvidia ? "-c" : "-d", name, NULL}, NULL,
                                  output};
    int status = input < 0 || output < 0 ? CLI_FAILURE : write_all(input, object->data, object->bytes);
    if (status == CLI_OK) {
        status = cli_child_run(&child, be_tool, (void *)&tool, limit_s) < 0 ? CLI_FAILURE : CLI_OK;
        if (status == CLI_OK && !cli_child_exited_with(&child, 0))
            status = fail_tool(&tool, &child, path, limit_s);
        cli_child_destroy(&child);
    }
    if (status == CLI_OK)
        status = take_all(listing, &bytes, output);
    if (input >= 0)
        close(input);
    if (output >= 0)
        close(output);
    return status;
}

int lint_disassemble(char **listing, const struct lint_object *object, const char *path, const char *target,
                     int limit_s)
{
    char *program = object->is_nvidia ? doctor_find_cuda_program("nvdisasm") : find_objdump();
    int status;
    if (program)
        status = run_disassembler(listing, program, object, path, limit_s);
    else if (object->is_nvidia)
        status = fail_without_cuda_tool("nvdisasm", path, "disassembles NVIDIA's machine code");
    else
        status = cli_error(
            "%s: llvm-objdump was not found, which disassembles the code of %s: it comes with LLVM (17 or newer, "
            "such as Debian's package llvm-22) and with ROCm; put it into PATH, or set ROCM_PATH",
            path, target);
    free(program);
    return status;
}

/* ---- Cubins in other files ----------------------------------------------------------------------------------------- */

static int take_cubin(struct lint_objects *out, const char *folder, const char *name)
{
    char *path = demo_join(folder, name), *data = NULL;
    size_t bytes = 0;
    const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    int status = CLI_OK;
    if (file < 0)
        status = cli_error("cannot open %s, which cuobjdump wrote: %s", name, strerror(errno));
    else
        status = take_all(&data, &bytes, file);
    if (status == CLI_OK && lint_add_cubin(out, (uint8_t *)data, bytes) < 0)
        status = cli_error_in_file(name);
    if (file >= 0)
        close(file);
    if (path)
        unlink(path);
    free(path);
    return status;
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strverscmp((*left)->d_name, (*right)->d_name);
}

static int take_folder(struct lint_objects *out, const char *folder)
{
    struct dirent **names;
    int status = CLI_OK;
    const int count = scandir(folder, &names, NULL, by_name);
    for (int i = 0; i < count; i++) {
        if (names[i]->d_name[0] != '.' && status == CLI_OK)
            status = take_cubin(out, folder, names[i]->d_name);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    rmdir(folder);
    return status;
}

static int run_cuobjdump(struct lint_objects *out, bool *has_ptx, const char *const *arguments, const char *folder,
                         const char *path, int limit_s)
{
    const struct tool_run tool = {arguments, folder, -1};
    struct cli_child child = CLI_CHILD_INIT;
    if (cli_child_run(&child, be_tool, (void *)&tool, limit_s) < 0)
        return CLI_FAILURE;
    /* Where there is nothing to take out, it fails, and says so. */
    const char *said = kt_string_text(&child.said);
    const bool nothing = strstr(said, "No ELF file found") || strstr(said, "does not contain device code");
    *has_ptx = strstr(said, "No ELF file found") != NULL;
    int status = CLI_OK;
    if (!cli_child_exited_with(&child, 0) && !nothing)
        status = fail_tool(&tool, &child, path, limit_s);
    const int taken = take_folder(out, folder);
    cli_child_destroy(&child);
    return status == CLI_OK ? taken : status;
}

int lint_extract_cubins(struct lint_objects *out, bool *has_ptx, const char *path, int limit_s)
{
    const char *temporary = getenv("TMPDIR");
    char *program = doctor_find_cuda_program("cuobjdump"), *whole = realpath(path, NULL);
    char *folder = demo_join(temporary && *temporary ? temporary : "/tmp", "ktrace-lint-XXXXXX");
    int status;
    cli_cleanup_hold(); /* what is in the folder has names that only cuobjdump knows: a signal waits until it is gone */
    if (!program)
        status = fail_without_cuda_tool("cuobjdump", path, "takes NVIDIA's machine code out of a file");
    else if (!whole || !folder || !mkdtemp(folder))
        status = cli_error("%s: cannot make a folder for its cubins: %s", path, strerror(errno));
    else
        status = run_cuobjdump(out, has_ptx, (const char *const[]){program, "-xelf", "all", whole, NULL}, folder, path,
                               limit_s);
    cli_cleanup_release();
    free(program);
    free(whole);
    free(folder);
    return status;
}
