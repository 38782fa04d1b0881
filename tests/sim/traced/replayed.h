/* replayed.h - graphs of launches that are remembered, for tests of their replays. */
#ifndef REPLAYED_H
#define REPLAYED_H

#include "traced.h"

struct graph {
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t exec;
    size_t first, count; /* its nodes among t->launched: what they note is that of the newest replay */
};

/* The launches [first, t->count) as nodes, one after another. */
void build_graph(struct graph *g, struct traced *t, size_t first);
/* work, then other: 4 and 3 waves. */
void build_two(struct graph *g, struct traced *t);
/* Launches it, and remembers what its nodes note. */
void replay(const struct graph *g, struct traced *t);
void destroy_graph(struct graph *g);

/* The trace holds the launches from `first` on, whole and no others; it is destroyed. */
void check_and_destroy(struct traced *t, size_t first, struct ktrace_trace *trace);

#endif
