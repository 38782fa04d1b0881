/* output.h - a trace in one file, of `ktrace export` and `ktrace report`: whether it can go there, and writing it. */
#ifndef KT_CLI_OUTPUT_H
#define KT_CLI_OUTPUT_H

#include "cli.h"

#include "../export/export.h"

bool cli_is_folder(const char *path);
/* Both are there, and one regular file. */
bool cli_same_file(const char *a, const char *b);

/* Whether `output`, "-" for standard output, can take what an exporter makes of the file `input`: it is no folder, it is not
 * that file, and of what is no text, or no reader's, not a terminal. CLI_OK, or an exit status after an error. */
int cli_output_check(const struct cli_command *command, const struct kt_exporter *exporter, const char *output,
                     const char *input);
/* Everything to `output`, with progress; where that is a file, says so and what opens it. */
int cli_output_write(const struct ktrace_trace *trace, const struct kt_exporter *exporter, const char *output);
/* "wrote PATH: open it at ...". */
int cli_output_report(const struct kt_exporter *exporter, const char *path);
/* What opens files of this format: "at https://ui.perfetto.dev", "in a browser"; NULL: any program. */
const char *cli_output_opener(const struct kt_exporter *exporter);

#endif
