/* graph.h - graphs and their nodes. */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "stream.h"

struct hipGraphNode {
    struct ihipGraph *graph;
    size_t index; /* in the graph's nodes */
    struct sim_operation operation;
    struct sim_nodes dependencies;
};

struct ihipGraph {
    struct sim_nodes nodes;
};

int sim_nodes_add(struct sim_nodes *nodes, hipGraphNode_t node); /* once; -1: out of memory */
int sim_nodes_copy(struct sim_nodes *out, const struct sim_nodes *nodes);
void sim_nodes_clear(struct sim_nodes *nodes);

hipError_t sim_graph_create(hipGraph_t *out);
void sim_graph_destroy(hipGraph_t graph);
/* Takes what `operation` owns. */
hipError_t sim_graph_add(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *dependencies, size_t count,
                         struct sim_operation *operation);

#endif
