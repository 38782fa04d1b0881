/* watch_view.h - what a look at a program shows: which waves are inside of kernels, where, and since when; and what came since the
 * look before. watch_text.c and watch_json.c put it into words.
 */
#ifndef KT_CLI_WATCH_VIEW_H
#define KT_CLI_WATCH_VIEW_H

#include "../trace.h"
#include "watch_client.h"

/* Numbers from first to last with both. */
struct watch_range {
    uint64_t first, last;
};
struct watch_ranges {
    struct watch_range *ranges; /* owned; ascending */
    size_t count;
    uint64_t numbers; /* in all of them */
};

/* What several events carry: all the same, or whole numbers from first to last. */
struct watch_payload {
    uint8_t is_there, type; /* enum ktrace_payload_type */
    uint64_t first, last;
};

/* Waves of one launch that are inside of it, with the same open ranges and the same last event. */
struct watch_group {
    const struct kt_event *const *open; /* the begins of one of them, outermost first; names are those of all */
    uint32_t open_count;
    uint8_t cut;                       /* rings have wrapped: further ranges may be open outside of these */
    const struct kt_site *last;        /* NULL: no event yet */
    uint8_t last_is_end;               /* of a range of that name */
    struct watch_payload payload;      /* of the innermost range */
    struct watch_payload last_payload; /* of the last event, if that did not begin this range */
    uint64_t waves;
    int64_t oldest_ps, newest_ps;   /* their last events */
    struct watch_ranges workgroups; /* x fastest */
    struct watch_ranges numbers;    /* of waves in their workgroup */
    struct watch_ranges places;
};

/* A launch that has waves inside. */
struct watch_launch {
    uint32_t launch; /* index */
    uint64_t inside;
    int64_t last_ps;                 /* its newest event */
    double unchanged_ns;             /* for so long at least looks have found no new event in it; below 0: not known */
    size_t first_group, group_count; /* whose last events are oldest first */
};

struct watch_kernel {
    uint64_t launches, running, waves, inside, events;
    int64_t events_since; /* the look before; below 0: not known */
};

struct watch_view {
    const struct ktrace_trace *trace;
    int now_known;
    int64_t now_ps; /* on the trace's timeline, when the look was taken */
    uint64_t inside;
    int64_t newest_ps; /* event of all */
    size_t launch_count, group_count;
    struct watch_launch *launches; /* whose newest event is oldest first */
    struct watch_group *groups;
    struct watch_kernel *kernels; /* one a kernel of the trace */
    int64_t *
        phases_since; /* of each phase of the trace: ranges closed, or marks, since the look before; below 0: not known */

    /* Since the look before. */
    int has_previous;
    double since_ns;
    int began_anew;        /* the program took its records meanwhile, or it is another capture */
    uint64_t events_since; /* at least, where something was taken or overwritten */
    int at_least;
    uint64_t finished_since; /* launches; where it did not begin anew */

    struct watch_unchanged *unchanged; /* of each of the launches */
    struct watch_memory *memory;       /* behind the pointers above */
};

/* What is remembered from look to look. Zeroed at first. */
struct watch_history {
    struct ktrace_trace *trace; /* of the look before */
    uint32_t capture;
    uint64_t gathered, now_ns;
    struct watch_unchanged *launches;
    size_t launch_count;
};

/* Of a look, or of a file, for which `facts` are zeroed but for `now_ns`, CLOCK_MONOTONIC. KTRACE_ERROR_MEMORY. */
int watch_view_make(struct watch_view *out, const struct watch_history *history, const struct ktrace_trace *trace,
                    const struct kt_watch_answer *facts);
void watch_view_free(struct watch_view *view);

/* Part of making one, when all else is there: watch_history.c. */
int watch_view_compare(struct watch_view *view, const struct watch_history *history,
                       const struct kt_watch_answer *facts);

/* The view becomes the look before: its trace is taken over. KTRACE_ERROR_MEMORY: as if there had been none. */
int watch_history_keep(struct watch_history *history, struct ktrace_trace *trace, const struct watch_view *view,
                       const struct kt_watch_answer *facts);
void watch_history_free(struct watch_history *history);

/* How long ago that was, in ns, at the time of the look; below 0 where that is not known. */
double watch_age_ns(const struct watch_view *view, int64_t time_ps);

#endif
