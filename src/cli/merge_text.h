/* merge_text.h - what `ktrace merge` says on standard error. */
#ifndef KT_CLI_MERGE_TEXT_H
#define KT_CLI_MERGE_TEXT_H

#include "ktrace/ktrace.h"

/* A table of the processes: what each recorded, what relates its times and how well; whether they seem to be of one run; and the
 * trace's warning. CLI_OK, or CLI_FAILURE after an error. */
int merge_say_relations(const struct ktrace_trace *trace);

#endif
