/* progress.h - what takes over a second says so, on standard error, if that is a terminal; then its line is wiped.
 *
 *     cli_progress_begin("reading", path);
 *     ...
 *     cli_progress_end();                          // before anything else is said
 */
#ifndef KT_CLI_PROGRESS_H
#define KT_CLI_PROGRESS_H

#include "cli.h"

/* One at a time. `verb` and `object` stay valid until the end. */
void cli_progress_begin(const char *verb, const char *object);
void cli_progress_end(void);
/* How much is done, for a percentage: cheap, to be called often. */
void cli_progress_set(uint64_t done, uint64_t all);

/* ktrace_trace_load with progress. CLI_OK, or CLI_FAILURE after cli_error. */
int cli_load(struct ktrace_trace **out, const char *path);

#endif
