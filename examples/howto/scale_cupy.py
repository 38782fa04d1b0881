"""A cubin that CuPy loads, launched on PyTorch's tensors and stream."""

import cupy
import ktrace
import torch

module = cupy.RawModule(path="scale.cubin")
ktrace.attach_cuda_module(module)       # behind loading, before launching
scale = module.get_function("scale")


def scaled(x, factor):
    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
    with stream:
        scale(((x.numel() + 255) // 256,), (256,), (x.data_ptr(), cupy.int32(x.numel()), cupy.float32(factor)))
    return x


x = torch.ones(4096, device="cuda")
with ktrace.capture("scale", blocks=(0, 0, 0)) as trace:        # one block
    scaled(x, 3)

assert x.eq(3).all()
print(trace.summary())
