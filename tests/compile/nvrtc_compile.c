/* nvrtc_compile LIBNVRTC SOURCE [OPTION...] - compile one CUDA source at run time, as a user of NVRTC does. LIBNVRTC is
 * opened by path, so that no toolkit is needed to build this. A warning is a failure. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program *nvrtc_program;

static struct {
    const char *(*error_string)(int result);
    int (*create)(nvrtc_program *out, const char *source, const char *name, int header_count,
                  const char *const *headers, const char *const *include_names);
    int (*compile)(nvrtc_program program, int option_count, const char *const *options);
    int (*log_size)(nvrtc_program program, size_t *bytes);
    int (*log)(nvrtc_program program, char *out);
    int (*cubin_size)(nvrtc_program program, size_t *bytes);
} nvrtc;

static int load(const char *path)
{
    static const struct {
        const char *name;
        void *slot;
    } symbols[] = {
        {"nvrtcGetErrorString", &nvrtc.error_string}, {"nvrtcCreateProgram", &nvrtc.create},
        {"nvrtcCompileProgram", &nvrtc.compile},      {"nvrtcGetProgramLogSize", &nvrtc.log_size},
        {"nvrtcGetProgramLog", &nvrtc.log},           {"nvrtcGetCUBINSize", &nvrtc.cubin_size},
    };
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address) {
            fprintf(stderr, "%s has no %s\n", path, symbols[i].name);
            return -1;
        }
        memcpy(symbols[i].slot, &address, sizeof address);
    }
    return 0;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return NULL;
    }
    char *text = NULL;
    long bytes = -1;
    if (fseek(file, 0, SEEK_END) == 0 && (bytes = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0)
        text = calloc(1, (size_t)bytes + 1);
    if (text && fread(text, 1, (size_t)bytes, file) != (size_t)bytes) {
        free(text);
        text = NULL;
    }
    if (!text)
        fprintf(stderr, "%s: cannot be read\n", path);
    fclose(file);
    return text;
}

static int failed(int result, const char *what)
{
    if (result != 0)
        fprintf(stderr, "%s: %s\n", what, nvrtc.error_string(result));
    return result != 0;
}

int main(int argument_count, char **arguments)
{
    if (argument_count < 3) {
        fprintf(stderr, "usage: nvrtc_compile LIBNVRTC SOURCE [OPTION...]\n");
        return 2;
    }
    if (load(arguments[1]) != 0)
        return 1;
    char *source = read_text(arguments[2]);
    if (!source)
        return 1;

    nvrtc_program program;
    if (failed(nvrtc.create(&program, source, arguments[2], 0, NULL, NULL), "nvrtcCreateProgram"))
        return 1;
    const int result = nvrtc.compile(program, argument_count - 3, (const char *const *)&arguments[3]);

    size_t log_bytes = 0;
    if (failed(nvrtc.log_size(program, &log_bytes), "nvrtcGetProgramLogSize"))
        return 1;
    char *log = calloc(1, log_bytes + 1);
    if (!log || failed(nvrtc.log(program, log), "nvrtcGetProgramLog"))
        return 1;
    fputs(log, stdout);
    if (failed(result, "nvrtcCompileProgram"))
        return 1;
    if (strstr(log, "warning"))
        return 1;

    size_t cubin_bytes = 0;
    if (failed(nvrtc.cubin_size(program, &cubin_bytes), "nvrtcGetCUBINSize"))
        return 1;
    if (cubin_bytes == 0) {
        fprintf(stderr, "nvrtc made no machine code: is --gpu-architecture a compute_ one?\n");
        return 1;
    }
    printf("%zu bytes of machine code\n", cubin_bytes);
    free(log);
    free(source);
    return 0;
}
