#include "replayed.h"

void build_graph(struct graph *g, struct traced *t, size_t first)
{
    *g = (struct graph){.first = first, .count = t->count - first};
    ok(hipStreamCreateWithFlags(&g->stream, hipStreamNonBlocking));
    ok(hipStreamBeginCapture(g->stream, hipStreamCaptureModeGlobal));
    for (size_t i = first; i < t->count; i++)
        ok(launch_prepared(t, &t->launched[i], g->stream));
    ok(hipStreamEndCapture(g->stream, &g->graph));
    ok(hipGraphInstantiate(&g->exec, g->graph, NULL, NULL, 0));
}

void build_two(struct graph *g, struct traced *t)
{
    const size_t first = t->count;
    prepare(t, "work", (struct dim3){2, 1, 1}, (struct dim3){128, 1, 1}, 3);
    prepare(t, "other", (struct dim3){1, 3, 1}, (struct dim3){8, 8, 1}, 2);
    build_graph(g, t, first);
}

void replay(const struct graph *g, struct traced *t)
{
    ok(hipGraphLaunch(g->exec, g->stream));
    for (size_t i = g->first; i < g->first + g->count; i++)
        remember_replay(t, &t->launched[i], g->stream);
}

void destroy_graph(struct graph *g)
{
    ok(hipGraphExecDestroy(g->exec));
    ok(hipGraphDestroy(g->graph));
    ok(hipStreamDestroy(g->stream));
}

void check_and_destroy(struct traced *t, size_t first, struct ktrace_trace *trace)
{
    check_launches(t, first, t->count - first, trace);
    ktrace_trace_destroy(trace);
}
