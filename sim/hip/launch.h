/* launch.h - kernels as operations. */
#ifndef SIM_LAUNCH_H
#define SIM_LAUNCH_H

#include "stream.h"

struct sim_launch {
    hipFunction_t function;
    dim3 grid, block;
    size_t shared_bytes;
    void **parameters, **extra; /* exactly one of them, unless the kernel has no arguments */
    int is_cooperative;
};

/* Checks a launch and packs its arguments. */
hipError_t sim_launch_operation(struct sim_operation *out, const struct sim_launch *launch);
/* The same of a graph's kernel node, for the current device. */
hipError_t sim_launch_node_operation(struct sim_operation *out, const hipKernelNodeParams *parameters);
/* What callers of graph functions give: a registered host function or a hipFunction_t. */
hipError_t sim_launch_function(hipFunction_t *out, const void *function, struct sim_device *device);
/* Workgroups of that many workitems that a compute unit holds at a time. */
int sim_occupancy(hipFunction_t function, uint32_t workitems, size_t dynamic_lds_bytes);

#endif
