/* graph.c - graphs as programs build them. What runs is made of them in graph_exec.c. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "handles.h"
#include "launch.h"

/* ---- Arrays of nodes ---------------------------------------------------------------------------------------------- */

int sim_nodes_add(struct sim_nodes *nodes, hipGraphNode_t node)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->items[i] == node)
            return 0;
    if (nodes->count == nodes->room) {
        const size_t room = nodes->room ? nodes->room * 2 : 4;
        hipGraphNode_t *grown = realloc(nodes->items, room * sizeof *grown);
        if (!grown)
            return -1;
        nodes->items = grown;
        nodes->room = room;
    }
    nodes->items[nodes->count++] = node;
    return 0;
}

int sim_nodes_copy(struct sim_nodes *out, const struct sim_nodes *nodes)
{
    sim_nodes_clear(out);
    for (size_t i = 0; i < nodes->count; i++)
        if (sim_nodes_add(out, nodes->items[i]))
            return -1;
    return 0;
}

void sim_nodes_clear(struct sim_nodes *nodes)
{
    free(nodes->items);
    memset(nodes, 0, sizeof *nodes);
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------- */

static hipError_t out_of_memory(void)
{
    return sim_hip_error(hipErrorOutOfMemory, "out of host memory for a graph");
}

static void free_node(hipGraphNode_t node)
{
    sim_handle_remove(node);
    sim_operation_clear(&node->operation);
    sim_nodes_clear(&node->dependencies);
    free(node);
}

hipError_t sim_graph_create(hipGraph_t *out)
{
    *out = calloc(1, sizeof **out);
    if (*out && !sim_handle_add(SIM_HANDLE_GRAPH, *out))
        return hipSuccess;
    free(*out);
    *out = NULL;
    return out_of_memory();
}

void sim_graph_destroy(hipGraph_t graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++)
        free_node(graph->nodes.items[i]);
    sim_nodes_clear(&graph->nodes);
    sim_handle_remove(graph);
    free(graph);
}

static hipError_t check_graph(hipGraph_t graph)
{
    if (sim_handle_is(SIM_HANDLE_GRAPH, graph))
        return hipSuccess;
    return sim_hip_error(hipErrorInvalidValue, "%p is no graph, or one that was destroyed", (void *)graph);
}

static hipError_t check_node(hipGraph_t graph, hipGraphNode_t node)
{
    if (sim_handle_is(SIM_HANDLE_NODE, node) && node->graph == graph)
        return hipSuccess;
    return sim_hip_error(hipErrorInvalidValue, "%p is no node of the graph %p", (void *)node, (void *)graph);
}

static hipError_t depend(hipGraphNode_t node, const hipGraphNode_t *dependencies, size_t count)
{
    if (count && !dependencies)
        return sim_hip_error(hipErrorInvalidValue, "%zu dependencies, and their array is NULL", count);
    for (size_t i = 0; i < count; i++) {
        const hipError_t status = check_node(node->graph, dependencies[i]);
        if (status)
            return status;
        if (sim_nodes_add(&node->dependencies, dependencies[i]))
            return out_of_memory();
    }
    return hipSuccess;
}

hipError_t sim_graph_add(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *dependencies, size_t count,
                         struct sim_operation *operation)
{
    hipGraphNode_t node = calloc(1, sizeof *node);
    if (!node) {
        sim_operation_clear(operation);
        return out_of_memory();
    }
    node->graph = graph;
    node->index = graph->nodes.count;
    node->operation = *operation;
    memset(operation, 0, sizeof *operation);
    hipError_t status = depend(node, dependencies, count);
    if (status == hipSuccess && (sim_handle_add(SIM_HANDLE_NODE, node) || sim_nodes_add(&graph->nodes, node)))
        status = out_of_memory();
    if (status)
        free_node(node);
    else
        *out = node;
    return status;
}

/* ---- The interface ------------------------------------------------------------------------------------------------ */

static hipError_t create(hipGraph_t *graph, unsigned flags)
{
    if (!graph || flags)
        return sim_hip_error(hipErrorInvalidValue, "hipGraphCreate: %s",
                             flags ? "flags must be 0" : "the pointer that receives the graph is NULL");
    return sim_graph_create(graph);
}

hipError_t hipGraphCreate(hipGraph_t *graph, unsigned int flags)
{
    SIM_CALL(SIM_CALL_ALLOCATE, create(graph, flags));
}

static hipError_t destroy(hipGraph_t graph)
{
    const hipError_t status = check_graph(graph);
    if (status == hipSuccess)
        sim_graph_destroy(graph);
    return status;
}

hipError_t hipGraphDestroy(hipGraph_t graph)
{
    SIM_CALL(SIM_CALL_ALLOCATE, destroy(graph));
}

/* The common frame of the functions that add a node: `status` is that of making the operation. */
static hipError_t add(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *dependencies, size_t count,
                      struct sim_operation *operation, hipError_t status)
{
    if (status)
        return status;
    status = out ? check_graph(graph)
                 : sim_hip_error(hipErrorInvalidValue, "hipGraphAdd: the pointer that receives the node is NULL");
    if (status == hipSuccess)
        return sim_graph_add(out, graph, dependencies, count, operation);
    sim_operation_clear(operation);
    return status;
}

static hipError_t add_kernel(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *dependencies, size_t count,
                             const hipKernelNodeParams *parameters)
{
    struct sim_operation operation;
    const hipError_t status = sim_launch_node_operation(&operation, parameters);
    return add(out, graph, dependencies, count, &operation, status);
}

hipError_t hipGraphAddKernelNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                 size_t count, const hipKernelNodeParams *parameters)
{
    SIM_CALL(SIM_CALL_SUBMIT, add_kernel(node, graph, dependencies, count, parameters));
}

static hipError_t add_copy(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *dependencies, size_t count,
                           void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    struct sim_operation operation;
    const hipError_t status = sim_copy_operation(&operation, to, from, bytes, kind);
    return add(out, graph, dependencies, count, &operation, status);
}

hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                   size_t count, void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    SIM_CALL(SIM_CALL_SUBMIT, add_copy(node, graph, dependencies, count, to, from, bytes, kind));
}

static hipError_t fill_operation(struct sim_operation *out, const hipMemsetParams *parameters)
{
    if (!parameters)
        return sim_hip_error(hipErrorInvalidValue, "hipGraphAddMemsetNode: the parameters are NULL");
    if (!parameters->width || !parameters->height || parameters->width > SIZE_MAX / 4)
        return sim_hip_error(hipErrorInvalidValue, "hipGraphAddMemsetNode: %zu rows of %zu elements",
                             parameters->height, parameters->width);
    return sim_fill_operation(out, parameters->dst, parameters->pitch, parameters->value, parameters->elementSize,
                              parameters->width * parameters->elementSize, parameters->height);
}

static hipError_t add_fill(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *dependencies, size_t count,
                           const hipMemsetParams *parameters)
{
    struct sim_operation operation;
    const hipError_t status = fill_operation(&operation, parameters);
    return add(out, graph, dependencies, count, &operation, status);
}

hipError_t hipGraphAddMemsetNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                 size_t count, const hipMemsetParams *parameters)
{
    SIM_CALL(SIM_CALL_SUBMIT, add_fill(node, graph, dependencies, count, parameters));
}

static hipError_t add_empty(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *dependencies, size_t count)
{
    struct sim_operation operation = {.kind = SIM_OPERATION_MARK};
    return add(out, graph, dependencies, count, &operation, hipSuccess);
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                size_t count)
{
    SIM_CALL(SIM_CALL_SUBMIT, add_empty(node, graph, dependencies, count));
}

static hipError_t add_dependencies(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to, size_t count)
{
    hipError_t status = check_graph(graph);
    if (status == hipSuccess && count && (!from || !to))
        status = sim_hip_error(hipErrorInvalidValue, "hipGraphAddDependencies: an array of nodes is NULL");
    for (size_t i = 0; i < count && status == hipSuccess; i++) {
        status = check_node(graph, to[i]);
        if (status == hipSuccess)
            status = from[i] == to[i] ? sim_hip_error(hipErrorInvalidValue, "a node cannot depend on itself")
                                      : depend(to[i], &from[i], 1);
    }
    return status;
}

hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to, size_t count)
{
    SIM_CALL(SIM_CALL_SUBMIT, add_dependencies(graph, from, to, count));
}

static hipError_t get_nodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count)
{
    const hipError_t status = check_graph(graph);
    if (status || !count)
        return status ? status : sim_hip_error(hipErrorInvalidValue, "hipGraphGetNodes: the count is NULL");
    const size_t all = graph->nodes.count;
    if (nodes)
        for (size_t i = 0; i < *count; i++) /* HIP's documentation: places beyond the nodes become NULL */
            nodes[i] = i < all ? graph->nodes.items[i] : NULL;
    *count = nodes && *count < all ? *count : all;
    return hipSuccess;
}

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count)
{
    SIM_CALL(SIM_CALL_QUERY, get_nodes(graph, nodes, count));
}

static hipError_t get_type(hipGraphNode_t node, hipGraphNodeType *type)
{
    static const hipGraphNodeType types[] = {
        [SIM_OPERATION_MARK] = hipGraphNodeTypeEmpty,
        [SIM_OPERATION_KERNEL] = hipGraphNodeTypeKernel,
        [SIM_OPERATION_COPY] = hipGraphNodeTypeMemcpy,
        [SIM_OPERATION_FILL] = hipGraphNodeTypeMemset,
    };
    if (!type || !sim_handle_is(SIM_HANDLE_NODE, node))
        return sim_hip_error(hipErrorInvalidValue, "hipGraphNodeGetType: %p is no node, or the type's pointer is NULL",
                             (void *)node);
    *type = types[node->operation.kind];
    return hipSuccess;
}

hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType *type)
{
    SIM_CALL(SIM_CALL_QUERY, get_type(node, type));
}
