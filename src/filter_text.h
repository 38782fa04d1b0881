/* filter_text.h - filters as text: KTRACE_BLOCKS, the option `blocks`, and what is shown of a filter.
 *
 * The grammar is in ktrace.h at ktrace_filter_parse. A parsed filter remembers whether it named SMs or XCCs, which are the
 * same bounds on the wire: kt_filter_check refuses the one that the capture's device has not.
 */
#ifndef KT_FILTER_TEXT_H
#define KT_FILTER_TEXT_H

#include "ktrace/ktrace.h"

enum kt_place_word { KT_PLACE_NOT_NAMED = 0, KT_PLACE_SM = 1, KT_PLACE_XCC = 2 };

struct kt_filter {
    struct ktrace_filter wire;
    enum kt_place_word place_word;
    const char *who; /* whose text it was, a literal; NULL: not a text's */
};

/* `who` begins the sentence of a failure, and is kept. */
int kt_filter_parse(struct kt_filter *out, const char *text, const char *who);
/* Before a capture on a device of `arch` begins: ranges that no wave can be in, and the other vendor's word. */
int kt_filter_check(const struct kt_filter *filter, uint32_t arch);
/* Whether every wave passes. */
int kt_filter_is_open(const struct ktrace_filter *filter);

#endif
