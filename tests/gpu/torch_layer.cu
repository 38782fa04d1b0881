/* What test_torch_graph.py launches between PyTorch's own kernels: loaded through the driver API as a cubin. */
#include <ktrace/device.h>

/* x = 2 x + layer. Five events a wave. `replay` is counted by PyTorch, at the end of each pass. */
extern "C" __global__ void torch_layer(float *x, int count, int layer, const int *replay)
{
    KTRACE_KERNEL("torch layer");
    KTRACE_RANGE("layer", layer);
    KTRACE_MARK("replay", *replay);
    {
        KTRACE_RANGE("scale");
        const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
        if (i < count)
            x[i] = 2 * x[i] + (float)layer;
        __syncwarp();
    }
}
