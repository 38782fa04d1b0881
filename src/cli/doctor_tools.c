#include "demo.h"
#include "doctor.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "DIRECTORY/name" where it can be run, to free(). */
static char *program_in(const char *directory, const char *name)
{
    char *path = demo_join(directory, name);
    if (path && access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

char *doctor_find_program(const char *name, const char *elsewhere_name, const char *const *elsewhere)
{
    const char *environment = getenv("PATH");
    char *directories = strdup(environment ? environment : "");
    char *found = NULL, *state;
    for (char *one = directories ? strtok_r(directories, ":", &state) : NULL; one && !found;
         one = strtok_r(NULL, ":", &state))
        found = program_in(one, name);
    free(directories);
    for (size_t i = 0; elsewhere[i] && !found; i++)
        found = program_in(elsewhere[i], elsewhere_name);
    return found;
}

/* pip's packages, beside each Python of an environment: the newest CUDA's. */
static char *program_of_pip(const char *environment, const char *name)
{
    char pattern[PATH_MAX], *out = NULL;
    const char *base = getenv(environment);
    const int length =
        snprintf(pattern, sizeof pattern, "%s/lib/python3*/site-packages/nvidia/cu*/bin/%s", base ? base : "", name);
    glob_t found;
    if (!base || !*base || length >= (int)sizeof pattern || glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = found.gl_pathc; i > 0 && !out; i--)
        out = access(found.gl_pathv[i - 1], X_OK) == 0 ? strdup(found.gl_pathv[i - 1]) : NULL;
    globfree(&found);
    return out;
}

char *doctor_find_cuda_program(const char *name)
{
    const char *toolkit = getenv("CUDA_PATH");
    char *beside = toolkit && *toolkit ? demo_join(toolkit, "bin") : NULL;
    const char *const elsewhere[] = {beside ? beside : "/usr/local/cuda/bin", "/usr/local/cuda/bin", NULL};
    char *found = doctor_find_program(name, name, elsewhere);
    free(beside);
    if (!found)
        found = program_of_pip("VIRTUAL_ENV", name);
    return found ? found : program_of_pip("CONDA_PREFIX", name);
}

static char *readable(char *path)
{
    if (path && access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

void doctor_find_tools(struct doctor_tools *out)
{
    static const char *const rocm[] = {"/opt/rocm/llvm/bin", NULL}; /* as cmake/KtraceAmdgcn.cmake */
    static const char *const labels[DEMO_HELPERS] = {"on CUDA", "on HIP"};
    for (int i = 0; i < DEMO_HELPERS; i++)
        out->demo[i] = (struct doctor_tool){labels[i], demo_helpers[i].on, demo_find_helper(&demo_helpers[i]),
                                            demo_helpers[i].missing};
    out->demo[DEMO_HELPERS] =
        (struct doctor_tool){"replay", "recording", readable(demo_find_recording()),
                             "demo.ktrace was not installed: KTRACE_DATA_DIR names the folder that holds it"};
    out->compilers[0] =
        (struct doctor_tool){"nvcc", "nvcc", doctor_find_cuda_program("nvcc"),
                             "not found: install NVIDIA's CUDA toolkit (package cuda-toolkit-13-0 of NVIDIA's "
                             "repository, or pip's nvidia-cuda-nvcc), or put it into PATH"};
    out->compilers[1] =
        (struct doctor_tool){"clang-22", "clang-22", doctor_find_program("clang-22", "clang", rocm),
                             "not found: install clang-22 (https://apt.llvm.org), or ROCm, or put it into PATH"};
    out->compilers[2] =
        (struct doctor_tool){"lld-22", "lld-22", doctor_find_program("ld.lld-22", "ld.lld", rocm),
                             "not found: install lld-22 (https://apt.llvm.org), or ROCm, or put it into PATH"};
}

static void free_some(struct doctor_tool *tools, int count)
{
    for (int i = 0; i < count; i++)
        free(tools[i].path);
}

void doctor_free_tools(struct doctor_tools *tools)
{
    free_some(tools->demo, DOCTOR_DEMO_PARTS);
    free_some(tools->compilers, DOCTOR_COMPILERS);
}
