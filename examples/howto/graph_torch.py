"""A graph of PyTorch with a kernel that ktrace compiles: each replay of each layer is a launch of its own."""

import ctypes

import ktrace
import torch
from cuda.bindings import driver

with open("scale.cu", encoding="utf-8") as file:
    program = ktrace.Program(file.read(), name="scale.cu", backend="cuda")


def scaled(x, factor):
    kernel = driver.CUfunction(program.kernel("scale"))      # traced while a capture is open, else untraced
    values = (x.data_ptr(), x.numel(), factor), (ctypes.c_void_p, ctypes.c_int, ctypes.c_float)
    stream = torch.cuda.current_stream().cuda_stream         # the one that is captured
    (error,) = driver.cuLaunchKernel(kernel, (x.numel() + 255) // 256, 1, 1, 256, 1, 1, 0, stream, values, 0)
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return x


x = torch.ones(4096, device="cuda")
with ktrace.capture("layers", blocks=(0, 0, 0)) as trace:    # outside of torch.cuda.graph
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        scaled(x, 2.0)                                       # prepares the traced kernel
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for layer in range(3):
            torch.relu(scaled(x, 0.5))
    trace.clear()                                            # forgets what prepared it
    graph.replay()

print(len(trace.launches()), "launches")
for path in trace.export_launches(names=[f"layer_{i}" for i in range(3)]):
    print(path)
