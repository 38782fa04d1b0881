/* stdout_sink.h - standard output as a sink, for commands that list more than memory should hold. */
#ifndef KT_CLI_STDOUT_SINK_H
#define KT_CLI_STDOUT_SINK_H

#include "cli.h"

#include "../export/text_sink.h"

/* Fails once standard output takes no more, so that nothing goes on for nobody; main says why, or is silent. */
struct kt_sink *cli_stdout_sink(void);

#endif
