#include "help_options.h"

#include <string.h>

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " ");
}

/* Up to the first of `stops` or what no option has; what does not fit is cut off. */
static const char *take_word(char *out, size_t capacity, const char *at, const char *stops)
{
    const size_t length = strcspn(at, stops), kept = length < capacity ? length : capacity - 1;
    memcpy(out, at, kept);
    out[kept] = '\0';
    return at + length;
}

/* Where the line behind `newline` goes on with what an option does: indented further than options are. NULL: it does not. */
static const char *continued(const char *newline)
{
    enum { OPTIONS_INDENT = 6 };
    const size_t indent = strspn(newline + 1, " ");
    return indent > OPTIONS_INDENT && newline[1 + indent] && newline[1 + indent] != '\n' ? newline + 1 + indent : NULL;
}

static void take_what(char *out, size_t capacity, const char *at)
{
    size_t length = 0;
    for (at = skip_blanks(at); *at && length < capacity - 1; at++) {
        const char *next = *at == '\n' ? continued(at) : NULL;
        if ((*at == '\n' && !next) || (strchr(".;:", *at) && (at[1] == ' ' || at[1] == '\n')))
            break;
        out[length++] = next ? ' ' : *at;
        if (next)
            at = next - 1;
    }
    out[length] = '\0';
}

/* The line at `at` as an option. */
static bool read_option(struct help_option *option, const char *at)
{
    *option = (struct help_option){0};
    if (strncmp(at, "  -", 3) == 0 && at[3] != '-' && strncmp(at + 4, ", --", 4) == 0) {
        option->letter = at[3];
        at += 6;
    } else if (strncmp(at, "      --", 8) == 0) {
        at += 6;
    } else {
        return false;
    }
    at = take_word(option->name, sizeof option->name, at + 2, " \n");
    if (at[0] == ' ' && at[1] != ' ')
        at = take_word(option->argument, sizeof option->argument, at + 1, " \n");
    take_what(option->what, sizeof option->what, at);
    return *option->name != '\0';
}

bool help_next_option(struct help_option *option, const char **at)
{
    static const char common[] = "      --color WHEN  auto, always or never\n";
    for (;;) {
        if (!**at && *at == common + strlen(common))
            return false;
        if (!**at)
            *at = common;
        const char *line = *at;
        *at += strcspn(*at, "\n");
        *at += **at == '\n';
        if (read_option(option, line))
            return true;
    }
}

bool help_takes_trace(const struct cli_command *command)
{
    const char *usage_end = strstr(command->help, "\n\n");
    const char *found = strstr(command->help, ".ktrace");
    return found && (!usage_end || found < usage_end);
}
