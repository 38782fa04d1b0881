// program.hip - host and device code in one source, as users write it: <<<>>>, device variables, templates, managed memory.
#include "mini_hip.h"

#include <stdio.h>

__device__ int device_value = 40;
__constant__ int constant_values[4] = {1, 2, 3, 4};
__managed__ int managed_value = 11;

template <typename T>
__global__ void scale(T *out, const T *in, T factor, int count)
{
    const int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    if (i < count)
        out[i] = in[i] * factor;
}

__global__ void use_variables(int *out)
{
    extern __shared__ int dynamic[];
    const int i = __builtin_amdgcn_workitem_id_x();
    dynamic[i] = constant_values[i & 3];
    __builtin_amdgcn_s_barrier();
    if (i == 0) {
        device_value += dynamic[0] + dynamic[3];
        managed_value += 100;
        *out = device_value;
    }
}

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, ktrace_simulator_error()); \
            return 1; \
        } \
    } while (0)

static int templates()
{
    float in[100], out[100], *device_in, *device_out;
    for (int i = 0; i < 100; i++)
        in[i] = (float)i;
    CHECK(hipMalloc((void **)&device_in, sizeof in) == hipSuccess);
    CHECK(hipMalloc((void **)&device_out, sizeof out) == hipSuccess);
    CHECK(hipMemcpy(device_in, in, sizeof in, hipMemcpyHostToDevice) == hipSuccess);
    scale<float><<<dim3{2, 1, 1}, dim3{64, 1, 1}>>>(device_out, device_in, 2.5f, 100);
    CHECK(hipGetLastError() == hipSuccess);
    CHECK(hipMemcpy(out, device_out, sizeof out, hipMemcpyDeviceToHost) == hipSuccess);
    for (int i = 0; i < 100; i++)
        CHECK(out[i] == 2.5f * (float)i);
    CHECK(hipFree(device_in) == hipSuccess && hipFree(device_out) == hipSuccess);
    return 0;
}

static int variables()
{
    int value = 0, *out;
    CHECK(managed_value == 11);
    CHECK(hipMemcpyFromSymbol(&value, &device_value, sizeof value, 0, hipMemcpyDeviceToHost) == hipSuccess);
    CHECK(value == 40);
    const int nine = 9;
    CHECK(hipMemcpyToSymbol(constant_values, &nine, sizeof nine, 3 * sizeof nine, hipMemcpyHostToDevice) == hipSuccess);
    CHECK(hipMalloc((void **)&out, sizeof *out) == hipSuccess);
    use_variables<<<dim3{1, 1, 1}, dim3{64, 1, 1}, 64 * sizeof(int)>>>(out);
    CHECK(hipDeviceSynchronize() == hipSuccess);
    CHECK(hipMemcpy(&value, out, sizeof value, hipMemcpyDeviceToHost) == hipSuccess);
    CHECK(value == 50);
    CHECK(managed_value == 111);
    void *address = nullptr;
    size_t bytes = 0;
    CHECK(hipGetSymbolAddress(&address, constant_values) == hipSuccess && address);
    CHECK(hipGetSymbolSize(&bytes, constant_values) == hipSuccess && bytes == sizeof constant_values);
    CHECK(hipMemcpyToSymbol(constant_values, &nine, sizeof nine, 16, hipMemcpyHostToDevice) == hipErrorInvalidValue);
    CHECK(hipGetSymbolSize(&bytes, &bytes) == hipErrorInvalidSymbol);
    CHECK(hipFree(out) == hipSuccess);
    return 0;
}

static int functions()
{
    const void *const kernel = (const void *)use_variables;
    hipFuncAttributes attributes;
    int blocks = 0;
    CHECK(hipFuncGetAttributes(&attributes, kernel) == hipSuccess);
    CHECK(attributes.maxThreadsPerBlock == 1024 && attributes.sharedSizeBytes == 0 && attributes.numRegs > 0);
    const int lds = attributes.maxDynamicSharedSizeBytes;
    CHECK(lds == 64 * 1024 || lds == 160 * 1024); // gfx942, gfx950
    CHECK(hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, 32768) == hipSuccess);
    CHECK(hipFuncGetAttributes(&attributes, kernel) == hipSuccess && attributes.maxDynamicSharedSizeBytes == 32768);
    CHECK(hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) == hipErrorInvalidValue);
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 64, 16384) == hipSuccess);
    CHECK(blocks == lds / 16384);
    int *out;
    CHECK(hipMalloc((void **)&out, sizeof *out) == hipSuccess);
    void *parameters[] = {&out};
    CHECK(hipLaunchCooperativeKernel(kernel, dim3{1, 1, 1}, dim3{64, 1, 1}, parameters, 256, nullptr) == hipSuccess);
    CHECK(hipDeviceSynchronize() == hipSuccess);
    CHECK(hipLaunchKernel(&blocks, dim3{1, 1, 1}, dim3{64, 1, 1}, parameters, 0, nullptr) ==
          hipErrorInvalidDeviceFunction);
    use_variables<<<dim3{1, 1, 1}, dim3{2048, 1, 1}>>>(out);
    CHECK(hipGetLastError() != hipSuccess);
    CHECK(hipFree(out) == hipSuccess);
    return 0;
}

// Code is loaded on each device when it is first asked for there, with variables of its own; managed ones are the host's.
static int other_devices()
{
    int count = 0;
    void *first = nullptr, *address = nullptr;
    CHECK(hipGetDeviceCount(&count) == hipSuccess);
    CHECK(hipGetSymbolAddress(&first, &device_value) == hipSuccess);
    for (int device = 1; device < count; device++) {
        int value = 0, *out;
        CHECK(hipSetDevice(device) == hipSuccess);
        CHECK(hipGetSymbolAddress(&address, &device_value) == hipSuccess && address != first);
        CHECK(hipMalloc((void **)&out, sizeof *out) == hipSuccess);
        const int managed_before = managed_value;
        use_variables<<<dim3{1, 1, 1}, dim3{64, 1, 1}, 64 * sizeof(int)>>>(out);
        CHECK(hipMemcpy(&value, out, sizeof value, hipMemcpyDeviceToHost) == hipSuccess);
        CHECK(value == 45); // nothing that device 0 changed
        CHECK(managed_value == managed_before + 100);
        const int mine = 1000 * device;
        CHECK(hipMemcpyToSymbol(&device_value, &mine, sizeof mine, 0, hipMemcpyHostToDevice) == hipSuccess);
        CHECK(hipMemcpy(&value, address, sizeof value, hipMemcpyDeviceToHost) == hipSuccess && value == mine);
        CHECK(hipFree(out) == hipSuccess);
    }
    CHECK(hipSetDevice(0) == hipSuccess);
    CHECK(hipGetSymbolAddress(&address, &device_value) == hipSuccess && address == first);
    return 0;
}

int main()
{
    return templates() || variables() || functions() || other_devices();
}
