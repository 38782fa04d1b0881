/* Statistics as JSON: what `ktrace summary --json` prints. Events are chrome.c's. */
#include "export.h"

#include <stdlib.h>
#include <string.h>

static int write(struct kt_sink *sink, const struct ktrace_trace *trace, uint64_t launch)
{
    char *text;
    (void)launch; /* all of them: takes_launch says so */
    int status = ktrace_trace_summary_json(&text, trace);
    if (status < 0)
        return status;
    status = sink->write(sink, text, strlen(text));
    free(text);
    return status;
}

const struct kt_exporter kt_exporter_json = {.name = "json", .suffix = "summary.json", .write = write};
