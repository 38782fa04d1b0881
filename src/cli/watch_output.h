/* watch_output.h - a view of a program as text and as JSON. */
#ifndef KT_CLI_WATCH_OUTPUT_H
#define KT_CLI_WATCH_OUTPUT_H

#include "watch_view.h"

/* What is looked at. */
struct watch_subject {
    pid_t pid;             /* 0: a file */
    const char *name;      /* of the process; "": not known. Or the file's path */
    const char *arguments; /* the process's command line */
    uint64_t look;         /* number of this one, from 1 */
    uint32_t flags;        /* enum kt_watch_flags */
};

/* With an empty line at the end. `all`: every row, not only those that fit a screen. */
void watch_append_text(struct kt_string *out, const struct watch_view *view, const struct watch_subject *subject,
                       bool all);
/* One line. */
void watch_append_json(struct kt_string *out, const struct watch_view *view, const struct watch_subject *subject);

/* What is said by both. */
void watch_append_payload(struct kt_string *out, uint8_t type, uint64_t bits);
void watch_append_payload_json(struct kt_string *out, uint8_t type, uint64_t bits);

#endif
