/* registry.h - kernels and variables of code that was linked into the program. */
#ifndef SIM_REGISTRY_H
#define SIM_REGISTRY_H

#include "module.h"

/* The kernel that a host function stands for, on this device; loads its code at first use. */
hipError_t sim_registry_function(hipFunction_t *out, const void *host_function, struct sim_device *device);
int sim_registry_has_function(const void *host_function);
/* Address and bytes of a variable on the current device. */
hipError_t sim_registry_variable(void **address, size_t *bytes, const void *symbol);

#endif
