/* graph_exec.c - instantiated graphs: an ordered copy of the nodes, and its launches.
 *
 * A launch makes every node a command behind those it depends on; nodes without dependencies are behind the stream, and a
 * mark behind all of them takes their place in it. Launches of one instance do not overlap, on whatever streams they are.
 */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "graph.h"
#include "handles.h"
#include "launch.h"
#include "module.h"

struct step {
    hipGraphNode_t node; /* to find it again; may be destroyed */
    struct sim_operation operation;
    size_t *dependencies, dependency_count; /* earlier steps */
};

struct hipGraphExec {
    struct step *steps; /* each behind those that it depends on */
    size_t count;
    struct sim_command *last; /* of its newest launch */
};

static void free_exec(hipGraphExec_t exec)
{
    for (size_t i = 0; i < exec->count; i++) {
        sim_operation_clear(&exec->steps[i].operation);
        free(exec->steps[i].dependencies);
    }
    sim_command_release(exec->last);
    sim_handle_remove(exec);
    free(exec->steps);
    free(exec);
}

/* ---- Instantiating ------------------------------------------------------------------------------------------------ */

/* Order nodes so that each comes behind its dependencies, in the order of adding where they leave a choice. places[i] is
 * the step of node i. Returns how many could be placed: fewer than all are a cycle. */
static size_t order(size_t *places, const struct sim_nodes *nodes)
{
    size_t placed = 0;
    for (size_t i = 0; i < nodes->count; i++)
        places[i] = SIZE_MAX;
    for (size_t before = SIZE_MAX; placed != before;) {
        before = placed;
        for (size_t i = 0; i < nodes->count; i++) {
            const struct sim_nodes *dependencies = &nodes->items[i]->dependencies;
            size_t met = 0;
            while (met < dependencies->count && places[dependencies->items[met]->index] != SIZE_MAX)
                met++;
            if (places[i] == SIZE_MAX && met == dependencies->count)
                places[i] = placed++;
        }
    }
    return placed;
}

static int fill_step(struct step *step, hipGraphNode_t node, const size_t *places)
{
    const size_t count = node->dependencies.count;
    step->node = node;
    step->dependencies = calloc(count ? count : 1, sizeof *step->dependencies);
    if (!step->dependencies || sim_operation_copy(&step->operation, &node->operation))
        return -1;
    step->dependency_count = count;
    for (size_t i = 0; i < count; i++)
        step->dependencies[i] = places[node->dependencies.items[i]->index];
    return 0;
}

static hipError_t fill_exec(hipGraphExec_t exec, const struct sim_nodes *nodes, size_t *places)
{
    const size_t placed = order(places, nodes);
    if (placed < nodes->count)
        return sim_hip_error(hipErrorInvalidValue,
                             "the graph cannot be instantiated: %zu of its %zu nodes depend on "
                             "each other in a cycle",
                             nodes->count - placed, nodes->count);
    exec->count = nodes->count;
    for (size_t i = 0; i < nodes->count; i++)
        if (fill_step(&exec->steps[places[i]], nodes->items[i], places))
            return sim_hip_error(hipErrorOutOfMemory, "out of host memory for a graph's instance");
    return hipSuccess;
}

static hipError_t instantiate(hipGraphExec_t *out, hipGraph_t graph, unsigned long long flags)
{
    if (!out || !sim_handle_is(SIM_HANDLE_GRAPH, graph))
        return sim_hip_error(hipErrorInvalidValue,
                             "hipGraphInstantiate: %p is no graph, or the pointer that receives the "
                             "instance is NULL",
                             (void *)graph);
    *out = NULL;
    if (flags & ~15ull) /* hipGraphInstantiateFlags: all of them only change how a launch is prepared */
        return sim_hip_error(hipErrorInvalidValue, "hipGraphInstantiate: unknown flags 0x%llx", flags);
    const size_t room = graph->nodes.count ? graph->nodes.count : 1;
    hipGraphExec_t exec = calloc(1, sizeof *exec);
    size_t *places = calloc(room, sizeof *places);
    if (exec)
        exec->steps = calloc(room, sizeof *exec->steps);
    hipError_t status;
    if (!exec || !places || !exec->steps || sim_handle_add(SIM_HANDLE_EXEC, exec))
        status = sim_hip_error(hipErrorOutOfMemory, "out of host memory for a graph's instance");
    else
        status = fill_exec(exec, &graph->nodes, places);
    free(places);
    if (status == hipSuccess)
        *out = exec;
    else if (exec)
        free_exec(exec);
    return status;
}

hipError_t hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph, hipGraphNode_t *error_node, char *log,
                               size_t log_bytes)
{
    (void)error_node, (void)log, (void)log_bytes; /* as ROCm's HIP: left as they are */
    SIM_CALL(SIM_CALL_ALLOCATE, instantiate(exec, graph, 0));
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph, unsigned long long flags)
{
    SIM_CALL(SIM_CALL_ALLOCATE, instantiate(exec, graph, flags));
}

static hipError_t check_exec(hipGraphExec_t exec)
{
    if (sim_handle_is(SIM_HANDLE_EXEC, exec))
        return hipSuccess;
    return sim_hip_error(hipErrorInvalidValue, "%p is no instance of a graph, or one that was destroyed", (void *)exec);
}

static hipError_t destroy(hipGraphExec_t exec)
{
    const hipError_t status = check_exec(exec);
    if (status == hipSuccess)
        free_exec(exec);
    return status;
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec)
{
    SIM_CALL(SIM_CALL_ALLOCATE, destroy(exec));
}

static hipError_t set_kernel(hipGraphExec_t exec, hipGraphNode_t node, const hipKernelNodeParams *parameters)
{
    hipError_t status = check_exec(exec);
    if (status)
        return status;
    struct step *step = NULL;
    for (size_t i = 0; i < exec->count && !step; i++)
        if (exec->steps[i].node == node && exec->steps[i].operation.kind == SIM_OPERATION_KERNEL)
            step = &exec->steps[i];
    if (!step)
        return sim_hip_error(hipErrorInvalidValue, "%p is no kernel node of the graph that was instantiated",
                             (void *)node);
    struct sim_operation operation;
    status = sim_launch_node_operation(&operation, parameters);
    if (status)
        return status;
    sim_operation_clear(&step->operation);
    step->operation = operation;
    return hipSuccess;
}

hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           const hipKernelNodeParams *parameters)
{
    SIM_CALL(SIM_CALL_SUBMIT, set_kernel(exec, node, parameters));
}

/* ---- Launching ---------------------------------------------------------------------------------------------------- */

static hipError_t check_kernels(hipGraphExec_t exec, const struct ihipStream_t *stream)
{
    for (size_t i = 0; i < exec->count; i++) {
        const struct sim_operation *operation = &exec->steps[i].operation;
        if (operation->kind != SIM_OPERATION_KERNEL)
            continue;
        if (!sim_handle_is(SIM_HANDLE_FUNCTION, operation->kernel.function))
            return sim_hip_error(hipErrorInvalidHandle, "a kernel of the graph is of a module that was unloaded");
        if (operation->kernel.function->module->device != stream->device)
            return sim_hip_error(hipErrorInvalidValue, "%s was loaded on device %d, and the stream is one of device %d",
                                 sim_kernel_facts(operation->kernel.kernel)->name,
                                 operation->kernel.function->module->device->index, stream->device->index);
    }
    return hipSuccess;
}

static hipError_t submit_step(struct sim_command **commands, struct sim_command **after, const struct step *step,
                              struct ihipStream_t *stream, struct sim_command *begin, size_t at)
{
    struct sim_operation operation;
    if (sim_operation_copy(&operation, &step->operation)) {
        sim_operation_clear(&operation);
        return sim_hip_error(hipErrorOutOfMemory, "out of host memory to launch a graph");
    }
    after[0] = begin;
    for (size_t i = 0; i < step->dependency_count; i++)
        after[i + 1] = commands[step->dependencies[i]];
    return sim_graph_submit(&commands[at], stream, &operation, after, step->dependency_count + 1);
}

static hipError_t submit_steps(struct sim_command **commands, struct sim_command **after, hipGraphExec_t exec,
                               struct ihipStream_t *stream)
{
    struct sim_command *begin, *end = NULL;
    struct sim_operation mark = {.kind = SIM_OPERATION_MARK};
    hipError_t status = sim_stream_submit_after(&begin, stream, &mark, &exec->last, 1);
    for (size_t i = 0; i < exec->count && status == hipSuccess; i++)
        status = submit_step(commands, after, &exec->steps[i], stream, begin, i);
    sim_command_release(begin);
    struct sim_operation join = {.kind = SIM_OPERATION_MARK};
    if (status == hipSuccess)
        status = sim_stream_submit_after(&end, stream, &join, commands, exec->count);
    if (end) {
        sim_command_release(exec->last);
        exec->last = end;
    }
    return status;
}

static hipError_t launch(hipGraphExec_t exec, hipStream_t handle)
{
    hipError_t status = check_exec(exec);
    if (status)
        return status;
    struct ihipStream_t *stream = sim_stream_of(&status, handle);
    if (!stream)
        return status;
    if (stream->capture)
        return sim_hip_error(hipErrorNotSupported, "hipGraphLaunch in a capture: the simulator's graphs have no child "
                                                   "graphs");
    if (stream == stream->device->null_stream)
        status = sim_capture_forbids_legacy(stream->device);
    if (status == hipSuccess)
        status = check_kernels(exec, stream);
    if (status)
        return status;
    struct sim_command **commands = calloc(exec->count + 1, sizeof *commands);
    struct sim_command **after = calloc(exec->count + 1, sizeof *after);
    if (commands && after)
        status = submit_steps(commands, after, exec, stream);
    else
        status = sim_hip_error(hipErrorOutOfMemory, "out of host memory to launch a graph");
    for (size_t i = 0; commands && i < exec->count; i++)
        sim_command_release(commands[i]);
    free(commands);
    free(after);
    return status;
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
{
    SIM_CALL(SIM_CALL_SUBMIT, launch(exec, stream));
}
