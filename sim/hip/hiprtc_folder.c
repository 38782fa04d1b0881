#include "hiprtc_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hiprtc_clang.h"
#include "hiprtc_names.h"

const char *sim_hiprtc_folder_parent(void)
{
    const char *parent = getenv("TMPDIR");
    return parent && *parent ? parent : "/tmp";
}

int sim_hiprtc_folder_make(char folder[SIM_FOLDER_BYTES])
{
    const int length = snprintf(folder, SIM_FOLDER_BYTES, "%s/ktrace-hiprtc-XXXXXX", sim_hiprtc_folder_parent());
    return length < SIM_FOLDER_BYTES && mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

void sim_hiprtc_folder_remove(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int sim_hiprtc_name_is_below(const char *name)
{
    if (!*name || *name == '/')
        return 0;
    for (const char *part = name; *part;) {
        const size_t length = strcspn(part, "/");
        if (length == 2 && part[0] == '.' && part[1] == '.')
            return 0;
        part += length + (part[length] == '/');
    }
    return 1;
}

/* Opens `folder`/`name` and makes the folders in between. */
static FILE *create(const char *folder, const char *name)
{
    char path[SIM_PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= SIM_PATH_BYTES)
        return NULL;
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    return fopen(path, "wx");
}

static int write_text(const char *folder, const char *name, const char *text)
{
    FILE *file = create(folder, name);
    if (file == NULL)
        return -1;
    int failed = fputs(text, file) < 0;
    failed |= fclose(file) != 0;
    return failed ? -1 : 0;
}

static int write_program(const char *folder, const struct sim_hiprtc_source *source)
{
    FILE *file = create(folder, SIM_HIPRTC_SOURCE);
    if (file == NULL)
        return -1;
    int failed = fprintf(file, "#line 1 \"") < 0;
    for (const char *c = source->name; *c; c++)
        failed |= fprintf(file, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c) < 0;
    failed |= fprintf(file, "\"\n%s\n", source->text) < 0;
    failed |= sim_hiprtc_write_expressions(file, source) < 0;
    failed |= fclose(file) != 0;
    return failed ? -1 : 0;
}

int sim_hiprtc_write_source(const char *folder, const struct sim_hiprtc_source *source)
{
    char path[SIM_PATH_BYTES];
    int failed = write_program(folder, source);
    snprintf(path, sizeof path, "%s/" SIM_HIPRTC_HEADERS, folder);
    failed |= mkdir(path, 0700);
    for (const struct sim_hiprtc_text *text = sim_hiprtc_prelude; text->name; text++)
        failed |= write_text(folder, text->name, text->text);
    for (size_t i = 0; i < source->header_count; i++)
        failed |= write_text(path, source->include_names[i], source->headers[i]);
    return failed ? -1 : 0;
}

unsigned char *sim_hiprtc_read(size_t *bytes, const char *folder, const char *name)
{
    char path[SIM_PATH_BYTES];
    struct stat facts;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    unsigned char *data = fstat(fileno(file), &facts) == 0 ? calloc((size_t)facts.st_size + 1, 1) : NULL;
    *bytes = data ? fread(data, 1, (size_t)facts.st_size, file) : 0;
    fclose(file);
    return data;
}
