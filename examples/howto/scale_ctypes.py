"""The same cubin by the driver API, with nothing but ctypes."""

import ctypes

import ktrace
import torch

cuda = ctypes.CDLL("libcuda.so.1")


def must(result):
    if result:
        raise RuntimeError(f"CUDA error {result}")


x = torch.ones(4096, device="cuda")     # before the module: PyTorch makes the context
module, scale = ctypes.c_void_p(), ctypes.c_void_p()
with open("scale.cubin", "rb") as file:
    must(cuda.cuModuleLoadData(ctypes.byref(module), file.read()))
must(cuda.cuModuleGetFunction(ctypes.byref(scale), module, b"scale"))
ktrace.attach_cuda_module(module)

values = ctypes.c_void_p(x.data_ptr()), ctypes.c_int(x.numel()), ctypes.c_float(3)
arguments = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in values))
stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
with ktrace.capture("scale", blocks=(0, 0, 0)) as trace:
    must(cuda.cuLaunchKernel(scale, 16, 1, 1, 256, 1, 1, 0, stream, arguments, None))

assert x.eq(3).all()
print(trace.summary())
ktrace.detach_cuda_module(module)       # before it is unloaded
must(cuda.cuModuleUnload(module))
