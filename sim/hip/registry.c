/* registry.c - what clang's host code registers: fat binaries, and which host addresses stand for which of their names.
 *
 * Registration happens in constructors, before main and before there are devices; the code is loaded on a device when
 * something of it is first used there, as HIP does.
 */
#include "registry.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bundle.h"
#include "memory.h"
#include "stream.h"

#define WRAPPER_MAGIC 0x48495046u /* "HIPF" */

struct wrapper { /* clang's, in section .hipFatBinSegment */
    uint32_t magic, version;
    const void *image;
    void *unused;
};

struct symbol {
    const void *host;
    char *name;
    void *managed; /* of a managed variable: its memory */
    size_t bytes;
    struct symbol *next;
};

struct binary {
    const void *image;
    uint32_t magic;
    hipModule_t modules[SIM_MAX_DEVICES];
    struct symbol *functions, *variables, *managed;
    struct binary *next;
};

static struct binary *binaries;

/* ---- Registering -------------------------------------------------------------------------------------------------- */

/* Constructors cannot fail: what did not fit into memory is missing when it is used. */
void **__hipRegisterFatBinary(const void *data)
{
    const struct wrapper *wrapper = data;
    struct binary *binary = calloc(1, sizeof *binary);
    if (!binary)
        return NULL;
    binary->image = wrapper->image;
    binary->magic = wrapper->magic;
    sim_lock();
    binary->next = binaries;
    binaries = binary;
    sim_unlock();
    return (void **)binary;
}

static struct symbol *add_symbol(struct symbol **list, const void *host, const char *name, size_t bytes)
{
    struct symbol *symbol = calloc(1, sizeof *symbol);
    if (!symbol || !(symbol->name = strdup(name))) {
        free(symbol);
        return NULL;
    }
    symbol->host = host;
    symbol->bytes = bytes;
    sim_lock();
    symbol->next = *list;
    *list = symbol;
    sim_unlock();
    return symbol;
}

void __hipRegisterFunction(void **handle, const void *function, char *device_function, const char *name,
                           unsigned int thread_limit, void *thread, void *block, dim3 *block_size, dim3 *grid_size,
                           int *wave_size)
{
    (void)device_function, (void)thread_limit, (void)thread, (void)block;
    (void)block_size, (void)grid_size, (void)wave_size;
    struct binary *binary = (struct binary *)handle;
    if (binary)
        add_symbol(&binary->functions, function, name, 0);
}

void __hipRegisterVar(void **handle, void *variable, char *host_name, char *name, int is_external, size_t bytes,
                      int is_constant, int is_global)
{
    (void)host_name, (void)is_external, (void)is_constant, (void)is_global;
    struct binary *binary = (struct binary *)handle;
    if (binary)
        add_symbol(&binary->variables, variable, name, bytes);
}

/* The host's pointer must be right from here on. Devices learn of the memory when the code is loaded there. */
void __hipRegisterManagedVar(void *handle, void **pointer, void *initial, const char *name, size_t bytes,
                             unsigned alignment)
{
    (void)alignment; /* pages are aligned to more than any variable is */
    struct binary *binary = handle;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct symbol *symbol = binary && memory != MAP_FAILED ? add_symbol(&binary->managed, pointer, name, bytes) : NULL;
    if (!symbol)
        return;
    memcpy(memory, initial, bytes);
    symbol->managed = memory;
    *pointer = memory;
}

static void free_symbols(struct symbol *symbol)
{
    while (symbol) {
        struct symbol *next = symbol->next;
        free(symbol->name);
        free(symbol);
        symbol = next;
    }
}

void __hipUnregisterFatBinary(void **handle)
{
    struct binary *binary = (struct binary *)handle;
    if (!binary)
        return;
    sim_lock();
    struct binary **link = &binaries;
    while (*link && *link != binary)
        link = &(*link)->next;
    if (*link)
        *link = binary->next;
    /* A destructor runs when the program ends or its library is closed: work that still runs there is abandoned by the
     * program, and its code stays loaded with it. */
    for (int i = 0; i < sim_runtime.device_count; i++)
        if (binary->modules[i] && !sim_runtime.devices[i].oldest)
            sim_module_close(binary->modules[i]);
    sim_unlock();
    free_symbols(binary->functions);
    free_symbols(binary->variables);
    free_symbols(binary->managed);
    free(binary);
}

/* ---- Loading and finding ------------------------------------------------------------------------------------------ */

static hipError_t connect_managed(const struct symbol *symbol, hipModule_t module)
{
    void *address;
    uint64_t bytes;
    if (sim_module_symbol(&address, &bytes, module->code, symbol->name) || bytes != sizeof symbol->managed)
        return sim_hip_error(hipErrorInvalidImage, "the code has no pointer for the managed variable %s", symbol->name);
    memcpy(address, &symbol->managed, sizeof symbol->managed);
    return sim_allocation_adopt(symbol->managed, symbol->bytes);
}

static hipError_t module_on(hipModule_t *out, struct binary *binary, struct sim_device *device)
{
    *out = binary->modules[device->index];
    if (*out)
        return hipSuccess;
    if (binary->magic != WRAPPER_MAGIC)
        return sim_hip_error(hipErrorInvalidImage, "the program registered a fat binary with magic 0x%08x, not 0x%08x",
                             binary->magic, WRAPPER_MAGIC);
    size_t bytes = 0;
    hipError_t status = sim_image_bytes(&bytes, binary->image);
    if (status == hipSuccess)
        status = sim_module_open(out, device, binary->image, bytes);
    for (const struct symbol *symbol = binary->managed; symbol && status == hipSuccess; symbol = symbol->next)
        status = connect_managed(symbol, *out);
    if (status == hipSuccess)
        binary->modules[device->index] = *out;
    else if (*out)
        sim_module_close(*out);
    return status;
}

static const struct symbol *find(struct binary **out, const void *host, int is_function)
{
    for (*out = binaries; *out; *out = (*out)->next)
        for (const struct symbol *symbol = is_function ? (*out)->functions : (*out)->variables; symbol;
             symbol = symbol->next)
            if (symbol->host == host)
                return symbol;
    return NULL;
}

int sim_registry_has_function(const void *host_function)
{
    struct binary *binary;
    return find(&binary, host_function, 1) != NULL;
}

hipError_t sim_registry_function(hipFunction_t *out, const void *host_function, struct sim_device *device)
{
    *out = NULL;
    struct binary *binary;
    const struct symbol *symbol = find(&binary, host_function, 1);
    if (!symbol)
        return sim_hip_error(hipErrorInvalidDeviceFunction, "%p is no kernel that the program registered",
                             host_function);
    hipModule_t module;
    const hipError_t status = module_on(&module, binary, device);
    return status ? status : sim_module_function(out, module, symbol->name);
}

hipError_t sim_registry_variable(void **address, size_t *bytes, const void *host)
{
    struct binary *binary;
    const struct symbol *symbol = find(&binary, host, 0);
    if (!symbol)
        return sim_hip_error(hipErrorInvalidSymbol, "%p is no device variable that the program registered", host);
    hipModule_t module;
    const hipError_t status = module_on(&module, binary, sim_current_device());
    if (status)
        return status;
    uint64_t size;
    if (sim_module_symbol(address, &size, module->code, symbol->name))
        return sim_machine_error(hipErrorInvalidSymbol);
    *bytes = size;
    return hipSuccess;
}

static hipError_t address_of(void **address, const void *symbol)
{
    size_t bytes = 0;
    if (!address)
        return sim_hip_error(hipErrorInvalidValue,
                             "hipGetSymbolAddress: the pointer that receives the address is NULL");
    return sim_registry_variable(address, &bytes, symbol);
}

hipError_t hipGetSymbolAddress(void **address, const void *symbol)
{
    SIM_CALL(SIM_CALL_QUERY, address_of(address, symbol));
}

static hipError_t size_of(size_t *bytes, const void *symbol)
{
    void *address;
    if (!bytes)
        return sim_hip_error(hipErrorInvalidValue, "hipGetSymbolSize: the pointer that receives the size is NULL");
    return sim_registry_variable(&address, bytes, symbol);
}

hipError_t hipGetSymbolSize(size_t *bytes, const void *symbol)
{
    SIM_CALL(SIM_CALL_QUERY, size_of(bytes, symbol));
}
