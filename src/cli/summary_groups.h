/* summary_groups.h - `ktrace summary --by`: groups of waves or ranges, as a table or as JSON. */
#ifndef KT_CLI_SUMMARY_GROUPS_H
#define KT_CLI_SUMMARY_GROUPS_H

#include "../groups.h"
#include "../string_builder.h"

struct cli_grouped_view {
    enum kt_group_key keys[KT_GROUP_KEYS]; /* in the order of their columns */
    size_t key_count;
    uint64_t top;  /* groups that are shown; 0: all */
    bool filtered; /* the selection is not all */
};

void cli_append_groups(struct kt_string *out, const struct ktrace_trace *trace, const struct kt_groups *groups,
                       const struct cli_grouped_view *view);
void cli_append_groups_json(struct kt_string *out, const struct ktrace_trace *trace, const struct kt_groups *groups,
                            const struct cli_grouped_view *view);

/* "phase"; of places "sm" or "cu". */
const char *cli_group_key_name(enum kt_group_key key, uint32_t arch);

#endif
