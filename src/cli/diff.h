/* diff.h - the parts of `ktrace diff`.
 *
 * diff_samples.c gathers each phase's durations, diff_rank_test.c compares two samples, diff_match.c makes the rows,
 * diff_condition.c is --fail-if, diff_text.c and diff_json.c say it. docs/diff.md has what is tested and why.
 */
#ifndef KT_CLI_DIFF_H
#define KT_CLI_DIFF_H

#include "cli.h"

#include <stdint.h>

struct ktrace_trace;

enum { DIFF_A, DIFF_B, DIFF_SIDES };

/* What one observation of the test is: a wave's mean duration of the phase, or a launch's. */
enum diff_unit { DIFF_WAVES, DIFF_LAUNCHES };

/* ---- Rank-sum test: diff_rank_test.c ---------------------------------------------------------------------------- */

enum {
    DIFF_FEWEST = 4,     /* observations on each side that a test takes */
    DIFF_EXACT_MOST = 50 /* up to so many on both sides together the test is exact */
};

struct diff_rank_test {
    double u;           /* pairs (a, b) with b > a, and half of those with b = a */
    double superiority; /* u / (count_a count_b): how often b is the larger one */
    double p;           /* two-sided */
    bool exact;
};
/* Mann and Whitney's test of two samples in rising order. -1: memory ran out (the library's error is set). */
int diff_rank_test(struct diff_rank_test *out, const double *a, size_t count_a, const double *b, size_t count_b);
/* The least p that an exact test of such sizes can give: 2 of all the ways to choose A's ranks. */
double diff_rank_test_least_p(size_t count_a, size_t count_b);
/* Hodges and Lehmann's shift: the median of all b - a. Both samples in rising order, neither empty. */
double diff_shift(const double *a, size_t count_a, const double *b, size_t count_b);
/* Holm's: `p` becomes adjusted for being `count` tests at once. -1: memory ran out. */
int diff_holm(double *p, size_t count);

/* ---- Samples: diff_samples.c ------------------------------------------------------------------------------------ */

/* What a trace has of a phase; of several devices, on one of them. */
struct diff_sample {
    uint64_t count, unclosed;                         /* as in `ktrace summary` */
    double total_ns, mean_ns, p50_ns, p90_ns, p99_ns; /* of ranges, if there are any */
    double *observations_ns;                          /* in rising order */
    size_t observation_count;
};

struct diff_samples {
    struct diff_sample *samples; /* [device][phase] */
    uint32_t device_count, phase_count;
};
/* -1: memory ran out. Destroy it in any case. */
int diff_samples_make(struct diff_samples *out, const struct ktrace_trace *trace, enum diff_unit unit);
void diff_samples_destroy(struct diff_samples *samples);

/* ---- Rows: diff_match.c ----------------------------------------------------------------------------------------- */

enum diff_verdict { DIFF_SLOWER, DIFF_FASTER, DIFF_ONLY_A, DIFF_ONLY_B, DIFF_TOO_FEW, DIFF_SAME, DIFF_COUNTED };

/* A phase of A, of B, or of both. */
struct diff_row {
    const char *kernel, *name; /* a trace's */
    uint32_t kind;
    const struct kt_trace_device *device;         /* the first of that number; NULL where both traces have one device */
    uint32_t ordinal;                             /* of it */
    bool of_processes;                            /* a trace has several, each with devices of its own */
    const struct diff_sample *sample[DIFF_SIDES]; /* NULL: not there */
    enum diff_verdict verdict;
    bool tested;
    struct diff_rank_test test;
    double adjusted_p;
    double shift_ns, shift_percent; /* of the observations; the second against A's median, and may be infinite */
};

struct diff_options {
    enum diff_unit unit;
    double alpha, min_effect_percent;
};

struct diff {
    const char *path[DIFF_SIDES];
    const struct ktrace_trace *trace[DIFF_SIDES];
    struct diff_options options;
    struct diff_samples samples[DIFF_SIDES];
    struct diff_row *rows; /* what matters most first */
    size_t row_count;
    size_t changed, tests; /* rows that are slower, faster or on one side only; rows that were tested */
    size_t counts_differ;  /* rows of both sides */
};
/* `path`, `trace` and `options` are set. -1: memory ran out. diff_destroy in any case. */
int diff_make(struct diff *diff);
void diff_destroy(struct diff *diff);

const char *diff_verdict_word(enum diff_verdict verdict);
/* What B has more than A, in % of A; NAN where neither has any, infinite where only B has. */
double diff_percent(double a, double b);

/* ---- Conditions: diff_condition.c ------------------------------------------------------------------------------- */

enum diff_quantity { DIFF_P50, DIFF_P90, DIFF_P99, DIFF_MEAN, DIFF_TOTAL, DIFF_COUNT };
enum diff_operator { DIFF_GREATER, DIFF_GREATER_EQUAL, DIFF_LESS, DIFF_LESS_EQUAL };
enum diff_measure { DIFF_CHANGE_PERCENT, DIFF_CHANGE, DIFF_VALUE };

struct diff_condition {
    const char *text;
    char *kernel; /* NULL: any */
    char *phase;
    enum diff_quantity quantity;
    enum diff_operator relation;
    enum diff_measure measure;
    double limit; /* ns, a count, or % */
    /* After diff_condition_evaluate. */
    const struct diff_row *row; /* that it holds for, or else one that comes nearest */
    double value;               /* of that row */
    bool holds;
};
/* 0, or -1 after `*why` became a sentence. `text` must outlive the condition. Free it in any case. */
int diff_condition_parse(struct diff_condition *out, const char *text, struct kt_string *why);
/* The same. */
int diff_condition_evaluate(struct diff_condition *condition, const struct diff *diff, struct kt_string *why);
void diff_condition_free(struct diff_condition *condition);
/* "+4.10 %", "+12.00 ns", "31.20 us", "17" */
void diff_condition_append_value(struct kt_string *out, const struct diff_condition *condition);

/* ---- What is said: diff_text.c, diff_json.c --------------------------------------------------------------------- */

void diff_append_text(struct kt_string *out, const struct diff *diff, const struct diff_condition *conditions,
                      size_t condition_count);
/* A negative status: the library's error is set. */
int diff_append_json(struct kt_string *out, const struct diff *diff, const struct diff_condition *conditions,
                     size_t condition_count);

#endif
