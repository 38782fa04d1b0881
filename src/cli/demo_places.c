#include "demo.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char recording_name[] = "demo.ktrace";

/* Relative to the folder of the executable: installed, then as built. */
static const char *const recording_places[] = {"../share/ktrace/demo.ktrace", "share/ktrace/demo.ktrace",
                                               "../../../tests/data/h200/gemm.ktrace"};

char *demo_join(const char *directory, const char *name)
{
    struct kt_string path = KT_STRING_INIT;
    if (directory && *directory) {
        kt_string_append(&path, directory);
        if (directory[strlen(directory) - 1] != '/')
            kt_string_append_char(&path, '/');
    }
    kt_string_append(&path, name);
    char *text = NULL;
    if (kt_string_take(&text, &path) < 0)
        cli_error_library();
    return text;
}

/* The first of `places` below the executable that may be accessed, to free(); NULL if there is none. */
static char *find_beside_executable(const char *const *places, size_t count, int access_mode)
{
    char *directory = cli_executable_directory();
    char *found = NULL;
    for (size_t i = 0; directory && i < count && !found; i++) {
        char *place = demo_join(directory, places[i]);
        if (place && access(place, access_mode) == 0)
            found = realpath(place, NULL);
        free(place);
    }
    free(directory);
    return found;
}

char *demo_find_helper(const struct demo_helper *helper)
{
    return find_beside_executable(helper->places, sizeof helper->places / sizeof *helper->places, X_OK);
}

char *demo_find_recording(void)
{
    const char *directory = getenv("KTRACE_DATA_DIR");
    if (directory && *directory)
        return demo_join(directory, recording_name);
    return find_beside_executable(recording_places, sizeof recording_places / sizeof *recording_places, R_OK);
}
