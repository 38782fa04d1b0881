/* help_options.h - the options of a command as its help names them, for completion.
 *
 * A help text has one at the beginning of a line, indented by two columns:
 *       -j, --json         as JSON
 *           --kernel NAME  the kernel of that name
 */
#ifndef KT_CLI_HELP_OPTIONS_H
#define KT_CLI_HELP_OPTIONS_H

#include "cli.h"

struct help_option {
    char letter;       /* 0: none */
    char name[32];     /* "json" */
    char argument[32]; /* "NAME"; "": takes none */
    char what[120];    /* what it does, up to the first stop */
};

/* The next option of a help text from `*at` on, which moves behind it. False: there is none. */
bool help_next_option(struct help_option *option, const char **at);
/* Whether the command reads a trace file. */
bool help_takes_trace(const struct cli_command *command);

#endif
