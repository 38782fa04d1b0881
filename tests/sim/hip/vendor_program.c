/* vendor_program.c - a program compiled with the vendor's header and linked to its libamdhip64: it runs on the simulator when
 * the dynamic linker finds that in the library's place.
 */
#include <hip/hip_runtime_api.h>

#include <stdio.h>
#include <string.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            return 1; \
        } \
    } while (0)

int main(void)
{
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0) == hipSuccess);
    CHECK(strstr(properties.name, "simulated") && !strncmp(properties.gcnArchName, "gfx9", 4));
    CHECK(properties.warpSize == 64 && properties.multiProcessorCount > 0 && properties.totalGlobalMem > 0);

    hipModule_t module;
    hipFunction_t affine;
    CHECK(hipModuleLoad(&module, KERNELS) == hipSuccess);
    CHECK(hipModuleGetFunction(&affine, module, "affine") == hipSuccess);
    void *memory = NULL;
    unsigned in[64], out[64], a = 2, count = 64;
    unsigned char b = 1;
    for (unsigned i = 0; i < 64; i++)
        in[i] = i;
    CHECK(hipMalloc(&memory, sizeof in) == hipSuccess);
    CHECK(hipMemcpy(memory, in, sizeof in, hipMemcpyHostToDevice) == hipSuccess);
    void *arguments[] = {&memory, &memory, &a, &b, &count};
    CHECK(hipModuleLaunchKernel(affine, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL) == hipSuccess);
    CHECK(hipMemcpy(out, memory, sizeof out, hipMemcpyDeviceToHost) == hipSuccess);
    for (unsigned i = 0; i < 64; i++)
        CHECK(out[i] == 2 * i + 1);
    CHECK(hipFree(memory) == hipSuccess && hipModuleUnload(module) == hipSuccess);
    return 0;
}
