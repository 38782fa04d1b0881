/* report.h - a trace as one HTML page that needs nothing else: no network, no other file.
 *
 * report.c puts the page together: page.html with style, scripts and data in place of its markers. The data are JSON for what is
 * small (report_data.c) and columns of numbers in base64 for waves and their ranges (report_detail.c chooses which,
 * report_pack.c packs). The scripts are the *.js of this folder, which cmake embeds; docs/report.md says what the page shows.
 */
#ifndef KT_REPORT_H
#define KT_REPORT_H

#include "../export/export.h"

/* What bounds the page's size. What exceeds it is left out evenly, and the page says how much: statistics are of everything. */
enum {
    KT_REPORT_LAUNCHES = 200,  /* the longest */
    KT_REPORT_WAVES = 200000,  /* of all these launches together: that can be on the timeline */
    KT_REPORT_RANGES = 400000, /* and ranges and marks of waves */
    KT_REPORT_BINS = 48,       /* of a phase's histogram */
    KT_REPORT_CRITICAL = 10    /* longest, and last, waves of a launch: never left out */
};

int kt_report_write(struct kt_sink *sink, const struct ktrace_trace *trace);

#endif
