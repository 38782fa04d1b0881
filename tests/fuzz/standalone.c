/* standalone.c - runs a fuzz entry point over files, without libFuzzer: how the corpora are replayed as tests.
 *
 *     fuzz_load FOLDER-OR-FILE...
 *
 * Every file of a folder is one input. An input that crashes is the last one named. No input at all is a failure. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static int inputs;

static int fail(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return 1;
}

static int run_file(const char *path, size_t bytes)
{
    FILE *stream = fopen(path, "rb");
    uint8_t *data = malloc(bytes ? bytes : 1); /* of exactly this length, so that a sanitizer sees the end */
    if (!stream || !data || fread(data, 1, bytes, stream) != bytes) {
        int status = fail(path);
        if (stream)
            fclose(stream);
        free(data);
        return status;
    }
    fclose(stream);
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, bytes);
    inputs++;
    free(data);
    return 0;
}

static int run_path(const char *path);

static int run_folder(const char *path)
{
    struct dirent **names;
    int count = scandir(path, &names, NULL, alphasort);
    if (count < 0)
        return fail(path);
    int status = 0;
    for (int i = 0; i < count; i++) {
        char *below = NULL;
        if (names[i]->d_name[0] != '.' && asprintf(&below, "%s/%s", path, names[i]->d_name) >= 0) {
            status |= run_path(below);
            free(below);
        }
        free(names[i]);
    }
    free(names);
    return status;
}

static int run_path(const char *path)
{
    struct stat info;
    if (stat(path, &info) < 0)
        return fail(path);
    return S_ISDIR(info.st_mode) ? run_folder(path) : run_file(path, (size_t)info.st_size);
}

int main(int argc, char **argv)
{
    int status = 0;
    for (int i = 1; i < argc; i++)
        status |= run_path(argv[i]);
    printf("%d inputs\n", inputs);
    return status || inputs == 0;
}
