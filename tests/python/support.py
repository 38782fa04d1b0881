"""HIP as Python programs use it, by ctypes on the library that ktrace names, and what the tests share."""

import contextlib
import ctypes
import logging
import os
import shutil
import sys
import tempfile
import unittest
from ctypes import byref, c_int, c_size_t, c_uint, c_void_p

import ktrace

SKIPPED = 77


class Hip:
    """The HIP runtime where captures look. The library is loaded once; results other than 0 are errors."""

    def __init__(self):
        self.c = ctypes.CDLL(ktrace.hip_library())

    def __getattr__(self, name):
        function = getattr(self.c, name)
        function.restype = c_int

        def call(*arguments):
            result = function(*arguments)
            if result:
                raise RuntimeError(f"{name}: HIP error {result}")

        return call

    def module(self, path):
        module = c_void_p()
        self.hipModuleLoad(byref(module), os.fsencode(path))
        return module

    def function(self, module, name):
        function = c_void_p()
        self.hipModuleGetFunction(byref(function), module, name.encode())
        return function

    def launch(self, function, grid, block, arguments, stream=None):
        """`arguments` are ctypes values."""
        grid, block = (tuple(grid) + (1, 1))[:3], (tuple(block) + (1, 1))[:3]
        pointers = (c_void_p * len(arguments))(*(ctypes.cast(byref(a), c_void_p) for a in arguments))
        self.hipModuleLaunchKernel(c_void_p(getattr(function, "value", function)), *map(c_uint, grid + block), c_uint(0),
                                   stream, pointers, None)

    def copy_in(self, data):
        """A device buffer with these bytes."""
        memory = c_void_p()
        self.hipMalloc(byref(memory), c_size_t(max(len(data), 8)))
        self.hipMemcpyHtoD(memory, data, c_size_t(len(data)))
        return memory


def library():
    """A skip where there is none to test."""
    if not os.environ.get("KTRACE_LIBRARY"):
        skip("KTRACE_LIBRARY is not set")
    return ktrace.library()


def skip(why):
    print(f"{os.path.basename(sys.argv[0])}: skipped: {why}")
    sys.exit(SKIPPED)


class Kernels:
    """kernels.c on the simulator, attached."""

    def __init__(self):
        self.hip = Hip()
        self.module = self.hip.module(os.environ["KTRACE_TEST_KERNELS"])
        ktrace.attach_hip_module(self.module)

    def launch(self, name, n=0, grid=(1,), block=(64,), values=b"", stream=None):
        memory = self.hip.copy_in(values) if values else c_void_p()
        self.hip.launch(self.hip.function(self.module, name), grid, block, (c_int(n), memory), stream)
        return memory

    def unload(self):
        ktrace.detach_hip_module(self.module)
        self.hip.hipModuleUnload(self.module)

    @contextlib.contextmanager
    def graph(self):
        """with kernels.graph() as g: launches on g.stream; afterwards g.replay()"""
        graph = Graph(self.hip)
        graph.begin()
        yield graph
        graph.end()


class Graph:
    def __init__(self, hip):
        self.hip, self.stream, self.graph, self.executable = hip, c_void_p(), c_void_p(), c_void_p()
        hip.hipStreamCreate(byref(self.stream))

    def begin(self):
        self.hip.hipStreamBeginCapture(self.stream, c_int(0))

    def end(self):
        self.hip.hipStreamEndCapture(self.stream, byref(self.graph))
        self.hip.hipGraphInstantiate(byref(self.executable), self.graph, None, None, c_size_t(0))

    def replay(self):
        self.hip.hipGraphLaunch(self.executable, self.stream)
        self.hip.hipStreamSynchronize(self.stream)


class Case(unittest.TestCase):
    """A folder of its own, and whatever ktrace logs."""

    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ktrace_python_")
        self.addCleanup(shutil.rmtree, self.folder)
        self.logged = []
        handler = logging.Handler()
        handler.emit = lambda record: self.logged.append((record.levelno, record.getMessage()))
        logger = logging.getLogger("ktrace")
        logger.addHandler(handler)
        self.addCleanup(logger.removeHandler, handler)

    def path(self, name):
        return os.path.join(self.folder, name)


class KernelCase(Case):
    """With kernels.c loaded."""

    def setUp(self):
        super().setUp()
        self.kernels = Kernels()
        self.addCleanup(self.kernels.unload)
        self.launch = self.kernels.launch


def main():
    """As unittest.main. Exit status 77 when there was nothing that could run."""
    program = unittest.main(module="__main__", exit=False, verbosity=1)
    result = program.result
    if result.wasSuccessful() and result.testsRun and len(result.skipped) == result.testsRun:
        print(f"skipped: {result.skipped[0][1]}")
        sys.exit(SKIPPED)
    sys.exit(not result.wasSuccessful() or result.testsRun == 0)
