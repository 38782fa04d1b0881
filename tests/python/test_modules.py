"""Modules by whatever holds their handle."""

import ctypes
import os

import ktrace
import support
from ktrace import _modules


class Anything:
    """Made to look like a class of a package that is not here."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __int__(self):
        return self.number

    __index__ = __int__  # as handles of cuda-python have it


def like(package, name, **fields):
    return type(name, (Anything,), {"__module__": package})(**fields)


class Forms(support.Case):
    def test_accepted(self):
        number = 0x7F00DEADBEE0
        pointer = ctypes.cast(number, ctypes.POINTER(ctypes.c_char))
        inner = like("cupy.cuda.function", "Module", ptr=number)
        accepted = [number, ctypes.c_void_p(number), ctypes.c_size_t(number), ctypes.c_uint64(number), pointer,
                    like("cuda.bindings.driver", "CUmodule", number=number), inner,
                    like("cupy._core.raw", "RawModule", module=inner)]
        try:
            import numpy
            accepted.append(numpy.uint64(number))
        except ImportError:
            pass
        for module in accepted:
            with self.subTest(module=module):
                self.assertEqual(_modules._cuda(module).value, number)
        self.assertEqual(_modules._hip(like("hip.hip", "ihipModule_t", number=number)).value, number)

    def test_refused(self):
        for module, wanted in (
                (None, "is None"), (True, "is True"), ("gemm.cubin", "is 'gemm.cubin'"), (1.5, "is 1.5"),
                (like("cuda.bindings.driver", "CUlibrary", number=1), "is a cuda.bindings.driver.CUlibrary"),
                (like("cuda.bindings.driver", "CUfunction", number=1), "CUfunction"),
                (like("torch.nn", "Module", ptr=1), "is a torch.nn.Module")):
            with self.subTest(module=module):
                for attach in (ktrace.attach_cuda_module, ktrace.detach_cuda_module, ktrace.attach_hip_module,
                               ktrace.detach_hip_module):
                    with self.assertRaisesRegex(TypeError, wanted + ".*an int, a ctypes pointer, a CuPy RawModule"):
                        attach(module)
        for module in (0, -1, 2**64, ctypes.c_void_p(), ctypes.POINTER(ctypes.c_int)()):
            with self.subTest(module=module):
                with self.assertRaisesRegex(ktrace.ArgumentError, "that is no handle"):
                    ktrace.attach_cuda_module(module)


class Hip(support.Case):
    def test_each_form_records(self):
        hip = support.Hip()
        for form in (lambda m: m, lambda m: m.value, lambda m: ctypes.cast(m, ctypes.POINTER(ctypes.c_int))):
            module = hip.module(os.environ["KTRACE_TEST_KERNELS"])
            ktrace.attach_hip_module(form(module))
            with ktrace.capture() as trace:
                hip.launch(hip.function(module, "layer"), (1,), (64,), (ctypes.c_int(4), ctypes.c_void_p()))
            self.assertEqual(trace.summary()["info"]["events"], 2)
            ktrace.detach_hip_module(form(module))
            hip.hipModuleUnload(module)

    def test_without_annotations(self):
        hip = support.Hip()
        module = hip.module(os.environ["KTRACE_TEST_UNTRACED"])
        with self.assertRaises(ktrace.NotFoundError) as caught:
            ktrace.attach_hip_module(module)
        self.assertIn("KTRACE_ENABLE", str(caught.exception))
        self.assertIsInstance(caught.exception, LookupError)
        hip.hipModuleUnload(module)

    def test_library(self):
        self.assertTrue(os.path.samefile(ktrace.hip_library(), os.environ["KTRACE_HIP_LIBRARY"]))


if __name__ == "__main__":
    support.library()
    support.main()
