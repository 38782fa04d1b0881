/* module.h - loaded code and its kernels. */
#ifndef SIM_HIP_MODULE_H
#define SIM_HIP_MODULE_H

#include "runtime.h"

struct ihipModuleSymbol_t {
    struct ihipModule_t *module;
    const struct sim_kernel *kernel;
    int max_dynamic_lds_bytes; /* hipFuncSetAttribute; -1: as much as there is */
    struct ihipModuleSymbol_t *next;
};

struct ihipModule_t {
    struct sim_device *device;
    struct sim_module *code;
    struct ihipModuleSymbol_t *functions; /* asked for so far */
};

/* Code of image[0..bytes) for the device. */
hipError_t sim_module_open(hipModule_t *out, struct sim_device *device, const void *image, size_t bytes);
void sim_module_close(hipModule_t module);
hipError_t sim_module_function(hipFunction_t *out, hipModule_t module, const char *name);

#endif
