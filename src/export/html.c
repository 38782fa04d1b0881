/* The page of `ktrace report`. */
#include "../report/report.h"

static int write(struct kt_sink *sink, const struct ktrace_trace *trace, uint64_t launch)
{
    (void)launch; /* all of them: takes_launch says so */
    return kt_report_write(sink, trace);
}

const struct kt_exporter kt_exporter_html = {.name = "html", .suffix = "html", .write = write};
