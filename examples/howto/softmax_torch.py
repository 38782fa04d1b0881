"""An extension that is compiled with its annotations, and a capture around what it launches."""

import os

import ktrace
import torch
from torch.utils import cpp_extension

library = ktrace.library()      # the extension and this package share one libktrace
extension = cpp_extension.load(
    name="softmax_traced",
    sources=["softmax_torch.cu"],
    extra_cuda_cflags=["-O3", "-DKTRACE_ENABLE=1"],
    extra_include_paths=[ktrace.include()],
    extra_ldflags=[library, f"-Wl,-rpath,{os.path.dirname(library)}"],
)

x = torch.randn(264, 4096, device="cuda")
extension.softmax(x)            # warms up, and is not recorded

with ktrace.capture("softmax") as trace:
    for i in range(3):
        y = extension.softmax(x)

torch.testing.assert_close(y, torch.softmax(x, 1))
print(trace.summary())
trace.save("softmax.ktrace")
print(trace.export())           # for ui.perfetto.dev
