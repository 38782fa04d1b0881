/* select.h - the options by which commands choose a part of a trace. */
#ifndef KT_CLI_SELECT_H
#define KT_CLI_SELECT_H

#include "cli.h"

#include "../selection.h"

/* Values of options that have no letter. */
enum cli_select {
    CLI_SELECT_KERNEL = 1000,
    CLI_SELECT_PHASE,
    CLI_SELECT_NAME, /* --name: what `events` calls --phase, as it has ends and kinds too */
    CLI_SELECT_LAUNCH,
    CLI_SELECT_WAVE,
    CLI_SELECT_WORKGROUP,
    CLI_SELECT_KIND,
    CLI_SELECT_FROM,
    CLI_SELECT_TO
};
/* Entries of a command's table of options. */
#define CLI_SELECT_WAVES_OPTIONS \
    {"kernel", required_argument, NULL, CLI_SELECT_KERNEL}, {"launch", required_argument, NULL, CLI_SELECT_LAUNCH}, \
        {"wave", required_argument, NULL, CLI_SELECT_WAVE}, \
    { \
        "workgroup", required_argument, NULL, CLI_SELECT_WORKGROUP \
    }

/* Take in one such option. CLI_OK, or CLI_USAGE after an error; -1: it is another option. */
int cli_select(const struct cli_command *command, struct kt_selection *selection, int option, const char *argument);

#endif
