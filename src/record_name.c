/* record_name.c - what a program is called in a recording. */
#include "record_session.h"

#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "python", "python3", "python3.11" */
static int is_python(const char *name)
{
    return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.")] == 0;
}

/* What follows an interpreter's own options: a script, or the module of -m. NULL: neither, as with -c. */
static const char *what_python_runs(const char *const *arguments, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const char *option = arguments[i];
        if (option[0] != '-' || option[1] == 0)
            return option[0] == '-' ? NULL : option;
        if (option[1] == '-') /* a long one: its argument, if any, is behind '=' */
            continue;
        const char *last = option + strcspn(option, "cmWX"); /* letters may be joined, and these take an argument */
        const char *argument = *last == 0 ? NULL : last[1] ? last + 1 : i + 1 < count ? arguments[i + 1] : NULL;
        if (*last == 'c')
            return NULL;
        if (*last == 'm')
            return argument;
        if (*last && last[1] == 0)
            i++;
    }
    return NULL;
}

void kt_record_program_name(char *name, size_t bytes, const char *const *arguments, size_t count)
{
    const char *program = count ? base_name(arguments[0]) : "";
    const char *script = is_python(program) ? what_python_runs(arguments, count) : NULL;
    if (script)
        program = base_name(script);
    const size_t length = strlen(program);
    const int has_suffix = script && length > 3 && strcmp(program + length - 3, ".py") == 0;
    snprintf(name, bytes, "%.*s", (int)(has_suffix ? length - 3 : length), program);
}
