/* scan.h - the texts of settings: numbers, ranges and lists, and what is said of one that is malformed.
 *
 * A scan is a position in a text that is somebody's: an environment variable's or an option's. Whoever reads it moves `at` on;
 * whoever finds something wrong there returns kt_scan_fail, whose sentence has the whole value and the place:
 *
 *     KTRACE_BLOCKS is "0,x,1", at character 3 ("x,1"): a coordinate is ...
 */
#ifndef KT_SCAN_H
#define KT_SCAN_H

#include <stdint.h>

struct kt_scan {
    const char *who; /* "KTRACE_BLOCKS", "ktrace_capture_options.blocks" */
    const char *text;
    const char *at; /* into text */
};
static inline struct kt_scan kt_scan_of(const char *who, const char *text)
{
    return (struct kt_scan){who, text, text};
}

/* Numbers of something, from `first` to `last` with both. */
struct kt_range {
    uint64_t first, last;
};

/* KTRACE_ERROR_ARGUMENT about what begins at `at`, up to the next separator of terms. */
int kt_scan_fail(const struct kt_scan *scan, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether the text goes on with `word`; then `at` is behind it. */
int kt_scan_skip(struct kt_scan *scan, const char *word);
/* Blank, ';' or the end: what may follow a term. */
int kt_scan_at_term_end(const struct kt_scan *scan);

/* A decimal number of at most `most`. `what` is the noun of the sentences: "a workgroup coordinate". */
int kt_scan_number(uint64_t *out, struct kt_scan *scan, uint64_t most, const char *what);
/* "*", "n", "n-m", "n-" or "-m", of numbers of at most `most`, which is what an open end means. */
int kt_scan_range(struct kt_range *out, struct kt_scan *scan, uint64_t most, const char *what);

/* Whole texts, which may have blanks around them. */
/* 1, 0, and in any case: true, false, yes, no, on, off. */
int kt_parse_flag(int *out, const char *who, const char *text);
/* A count of 1 to `most`. */
int kt_parse_count(uint64_t *out, const char *who, const char *text, uint64_t most);
/* Bytes: a number, or one with K, M, G, T, KiB, MiB, GiB or TiB behind it (powers of 1024, in any case, and a blank
 * between). At least 1. */
int kt_parse_bytes(uint64_t *out, const char *who, const char *text);

#endif
