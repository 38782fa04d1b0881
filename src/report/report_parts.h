/* report_parts.h - what the parts of the report share. */
#ifndef KT_REPORT_PARTS_H
#define KT_REPORT_PARTS_H

#include "report.h"

#include "../json.h"

#include <stdbool.h>

/* ---- Files in the page: made by cmake/embed.cmake ---------------------------------------------------------------- */

struct kt_report_asset {
    const char *name, *text;
};
extern const struct kt_report_asset kt_report_assets[]; /* ends with a pair of NULLs */

/* ---- Ranges of a wave: report_ranges.c --------------------------------------------------------------------------- */

/* How a range is drawn. */
enum {
    KT_REPORT_DEPTH = 0x3F,    /* how deep it is nested; of KT_REPORT_CHILD the track "ranges n" */
    KT_REPORT_UNCLOSED = 0x40, /* it ends where its wave's events do */
    KT_REPORT_CHILD = 0x80     /* a token range that overlaps others */
};

/* A range, or a mark, which ends where it begins. */
struct kt_report_range {
    int64_t begin_ps, end_ps;
    uint32_t phase;
    uint8_t shape;
};
/* Those of a wave, in the order of their begins, in `*ranges` of `*capacity`: an array to free(). Returns how many, or a negative
 * status. */
int64_t kt_report_ranges(struct kt_report_range **ranges, size_t *capacity, const struct ktrace_trace *trace,
                         const struct kt_wave *wave);

/* ---- Which waves, and their numbers: report_detail.c ------------------------------------------------------------- */

enum kt_report_column {
    KT_REPORT_WAVE_BEGIN,     /* u32, in the launch's ticks from its begin */
    KT_REPORT_WAVE_END,       /* u32 */
    KT_REPORT_WAVE_PLACE,     /* u32: index into the places */
    KT_REPORT_WAVE_WORKGROUP, /* u32: x + gridx (y + gridy z) */
    KT_REPORT_WAVE_RANGES,    /* u32: how many of them follow those of the wave before */
    KT_REPORT_WAVE_NUMBER,    /* u16: in its workgroup */
    KT_REPORT_WAVE_FLAGS,     /* u8: enum kt_report_wave_flags */
    KT_REPORT_RANGE_BEGIN,    /* u32, in the launch's ticks from its begin */
    KT_REPORT_RANGE_END,      /* u32; of a mark its begin: its phase says that it is one */
    KT_REPORT_RANGE_PHASE,    /* u16 */
    KT_REPORT_RANGE_SHAPE,    /* u8, as above */
    KT_REPORT_BUSY_PLACE,     /* u32: place of a launch */
    KT_REPORT_BUSY_WAVES,     /* u32: its waves there */
    KT_REPORT_BUSY_TIME,      /* u32, in ticks: while at least one was there */
    KT_REPORT_COLUMNS
};
enum kt_report_wave_flags {
    KT_REPORT_WAVE_UNFINISHED = 1,
    KT_REPORT_WAVE_WITHOUT = 2, /* its ranges were left out */
    KT_REPORT_WAVE_CUT = 4      /* those behind the first were */
};

struct kt_report_place {
    uint32_t device, place;
};

struct kt_report_launch {
    uint64_t index; /* in the trace */
    int64_t tick_ps;
    uint64_t wave_count, first_wave;   /* that are in the page, in the columns WAVE_ */
    uint64_t range_count, first_range; /* RANGE_ */
    uint64_t busy_count, first_busy;   /* BUSY_ */
    /* Of all its waves. */
    double mean_ps, p50_ps, max_ps, tail_ps; /* tail: from when 90 % of the waves have ended to the end of the last */
    double busy_mean_ps, busy_max_ps;        /* over the places that it used */
    uint32_t longest_count, last_count;
    uint64_t longest[KT_REPORT_CRITICAL], last[KT_REPORT_CRITICAL]; /* waves, from first_wave on */
};

struct kt_report_detail {
    struct kt_report_launch *launches;
    uint64_t launch_count;
    struct kt_report_place *places; /* ordered by device, then place */
    size_t place_count;
    uint64_t waves, ranges; /* in the page */
    uint64_t range_total;   /* of the trace's events: ranges and marks */
    struct kt_string columns[KT_REPORT_COLUMNS];
};
int kt_report_detail_make(struct kt_report_detail *out, const struct ktrace_trace *trace);
void kt_report_detail_free(struct kt_report_detail *detail);

/* ---- As text: report_data.c, report_pack.c ----------------------------------------------------------------------- */

/* The name, and bytes of an element, of each column. */
extern const struct kt_report_column_kind {
    const char *name;
    size_t bytes;
} kt_report_column_kinds[KT_REPORT_COLUMNS];

int kt_report_append_data(struct kt_string *out, const struct ktrace_trace *trace,
                          const struct kt_report_detail *detail);
void kt_report_append_base64(struct kt_string *out, const void *data, size_t bytes);
/* JSON for inside a script element: without '<', which could end it, or begin a comment. */
void kt_report_append_harmless(struct kt_string *out, const char *json);

#endif
