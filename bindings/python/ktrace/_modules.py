"""Modules that the program loaded itself, made known to captures."""

import ctypes
import numbers
from ctypes import byref, c_char_p, c_void_p

from . import _errors, _library


def _handle(module, kind, classes):
    """The number of a module's handle, whatever holds it."""
    name, package = type(module).__name__, type(module).__module__
    if isinstance(module, numbers.Integral) and not isinstance(module, bool):
        number = int(module)
    elif isinstance(module, ctypes._Pointer):
        number = ctypes.cast(module, c_void_p).value or 0
    elif isinstance(module, (c_void_p, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_int64)):
        number = module.value or 0
    elif name in classes:
        number = int(module)
    elif name in ("RawModule", "Module") and package.split(".")[0] == "cupy":
        number = int(getattr(module, "module", module).ptr)
    else:  # among them handles of other things, which can be made an int as well
        what = repr(module) if package == "builtins" else f"a {package}.{name}"
        raise TypeError(f"ktrace: {kind} is {what}: an int, a ctypes pointer, a CuPy RawModule, or a {classes[0]} of Python "
                        f"bindings is expected")
    if not 0 < number < 2**64:
        raise _errors.ArgumentError(f"ktrace: {kind} is {number:#x}: that is no handle; was the module loaded?")
    return c_void_p(number)


def _cuda(module):
    return _handle(module, "the CUDA module", ("CUmodule",))


def _hip(module):
    return _handle(module, "the HIP module", ("hipModule_t", "ihipModule_t"))


def attach_cuda_module(module):
    """Make a module known that was loaded through the CUDA driver (cuModuleLoad*, NVRTC, CuPy's RawModule, cuda-python's
    CUmodule), after loading it and before launching its kernels. It must be of the current context. Detach it before it is
    unloaded. NotFoundError: it has no annotated kernel, or was compiled without KTRACE_ENABLE."""
    _library.get().attach_cuda_module(_cuda(module))


def detach_cuda_module(module):
    """Before the module is unloaded. What it recorded can still be read."""
    _library.get().detach_cuda_module(_cuda(module))


def attach_hip_module(module):
    """The same for a hipModule_t of the library that `hip_library` names."""
    _library.get().attach_hip_module(_hip(module))


def detach_hip_module(module):
    """Before the module is unloaded."""
    _library.get().detach_hip_module(_hip(module))


def hip_library():
    """The path of the HIP runtime that captures look at: ROCm's, or the simulator's where there is no AMD device. A program
    that opens it with ctypes.CDLL launches kernels there."""
    path = c_char_p()
    _library.get().hip_library(byref(path))
    return path.value.decode()
