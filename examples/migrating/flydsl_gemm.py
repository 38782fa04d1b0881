"""The example of FlyDSL's KTRACE guide, after changing the import and the kernel. Runs on an AMD GPU or the simulator."""

import ctypes

import ktrace

source = r"""
#include <ktrace/device.h>

extern "C" __global__ void gemm(float *c, const float *a, const float *b, int k)
{
    KTRACE_KERNEL("gemm");
    const int row = blockIdx.y * 16 + threadIdx.x / 16, column = blockIdx.x * 16 + threadIdx.x % 16;
    __shared__ float tile_a[16][16], tile_b[16][16];
    float sum = 0;
    ktrace_token stage = KTRACE_INACTIVE_TOKEN("k_tile");
    {
        KTRACE_RANGE("mainloop");
        for (int i = 0; i < k; i += 16) {
            KTRACE_RANGE_STOP(stage);
            stage = KTRACE_RANGE_START("k_tile", i / 16);
            tile_a[threadIdx.x / 16][threadIdx.x % 16] = a[row * k + i + threadIdx.x % 16];
            tile_b[threadIdx.x / 16][threadIdx.x % 16] = b[(i + threadIdx.x / 16) * 64 + column];
            __syncthreads();
            for (int j = 0; j < 16; j++)
                sum += tile_a[threadIdx.x / 16][j] * tile_b[j][threadIdx.x % 16];
            __syncthreads();
        }
        KTRACE_RANGE_STOP(stage);
    }
    KTRACE_RANGE("epilogue");
    c[row * 64 + column] = sum;
}
"""
program = ktrace.Program(source, name="gemm.hip", backend="hip")
hip = ctypes.CDLL(ktrace.hip_library())


def allocate(count):
    memory = ctypes.c_void_p()
    assert hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(4 * count)) == 0
    assert hip.hipMemset(memory, 0, ctypes.c_size_t(4 * count)) == 0
    return memory


a, b, c = (allocate(64 * 64) for _ in range(3))


def launch_gemm():
    values = c, a, b, ctypes.c_int(64)
    arguments = (ctypes.c_void_p * 4)(*(ctypes.addressof(value) for value in values))
    kernel = ctypes.c_void_p(program.kernel("gemm"))
    assert hip.hipModuleLaunchKernel(kernel, 4, 4, 1, 256, 1, 1, 0, None, arguments, None) == 0


with ktrace.capture("gemm", blocks=(0, 0, 0)) as trace:
    launch_gemm()

print(trace.summary())
path = trace.export()
print(path)

layers = range(3)
with ktrace.capture("model", blocks=(0, 0, 0), out_dir="traces") as trace:
    for layer in layers:
        launch_gemm()

for launch in trace.launches():
    print(launch["launch_id"], [phase["name"] for phase in launch["phases"]])

paths = trace.export_launches(names=[f"layer_{i}" for i in range(len(layers))])
print(paths)
