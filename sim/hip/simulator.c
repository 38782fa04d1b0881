/* simulator.c - what is exported beside HIP's functions: what this is, HSA's loader table, and functions by name. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "bundle.h"
#include "runtime.h"

const char *ktrace_simulator(void)
{
    static char sentence[256];
    sim_enter(SIM_CALL_QUERY);
    if (!*sentence && sim_runtime.device_count) {
        const struct sim_device *device = &sim_runtime.devices[0];
        snprintf(sentence, sizeof sentence, "%d x %s, %s, %u compute units at %u MHz: time is simulated",
                 sim_runtime.device_count, sim_machine_config(device->machine)->name, sim_device_target(device),
                 sim_compute_units(device), sim_machine_config(device->machine)->core_mhz);
    }
    sim_leave(hipSuccess);
    return *sentence ? sentence : "a simulator of gfx942 and gfx950 that could not start: time is simulated";
}

/* ---- HSA ------------------------------------------------------------------------------------------------------------ */

#define HSA_SUCCESS 0
#define HSA_ERROR_INVALID_ARGUMENT 0x1001
#define HSA_EXTENSION_AMD_LOADER 0x201

/* hsa_ven_amd_loader.h: members of version 1.00 first, later ones behind. */
struct loader_table {
    int (*query_host_address)(const void *device_address, const void **host_address);
    void (*others[7])(void);
};

static int query_host_address(const void *device_address, const void **host_address)
{
    if (!device_address || !host_address)
        return HSA_ERROR_INVALID_ARGUMENT;
    *host_address = NULL;
    sim_enter(SIM_CALL_QUERY);
    for (int i = 0; i < sim_runtime.device_count && !*host_address; i++)
        *host_address = sim_module_host_address(sim_runtime.devices[i].machine, device_address);
    sim_leave(hipSuccess);
    return *host_address ? HSA_SUCCESS : HSA_ERROR_INVALID_ARGUMENT;
}

int hsa_system_get_major_extension_table(uint16_t extension, uint16_t version_major, size_t table_length, void *table)
{
    const struct loader_table loader = {.query_host_address = query_host_address};
    if (extension != HSA_EXTENSION_AMD_LOADER || version_major != 1 || !table)
        return HSA_ERROR_INVALID_ARGUMENT;
    memcpy(table, &loader, table_length < sizeof loader ? table_length : sizeof loader);
    return HSA_SUCCESS;
}

/* ---- By name ---------------------------------------------------------------------------------------------------------- */

static hipError_t look_up(const char *symbol, void **function, hipDriverProcAddressQueryResult *status)
{
    if (!symbol || !function)
        return sim_hip_error(hipErrorInvalidValue, "hipGetProcAddress: %s is NULL",
                             symbol ? "the pointer that receives the function" : "the name");
    *function = NULL;
    Dl_info self;
    void *library = dladdr((void *)(uintptr_t)hipInit, &self) ? dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    /* Names of other libraries are none of ours, and dlsym would find those of libraries that this one needs. */
    if (library && (!strncmp(symbol, "hip", 3) || !strncmp(symbol, "__hip", 5)))
        *function = dlsym(library, symbol);
    if (library)
        dlclose(library);
    if (status)
        *status = *function ? HIP_GET_PROC_ADDRESS_SUCCESS : HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function ? hipSuccess : sim_hip_error(hipErrorInvalidValue, "the simulator has no function %s", symbol);
}

hipError_t hipGetProcAddress(const char *symbol, void **function, int version, uint64_t flags,
                             hipDriverProcAddressQueryResult *status)
{
    (void)version, (void)flags;
    SIM_CALL(SIM_CALL_QUERY, look_up(symbol, function, status));
}
