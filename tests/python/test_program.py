"""Programs compiled at run time, by the simulator's hipRTC."""

import ctypes
import os

import ktrace
import support

SOURCE = """
#include <ktrace/device.h>
#include "steps.h"

template <class T> __global__ void twice(T *x)
{
    KTRACE_KERNEL("twice");
    KTRACE_RANGE("step", STEPS);
    x[threadIdx.x] = 2 * x[threadIdx.x];
}
"""


class Programs(support.Case):
    def setUp(self):
        super().setUp()
        self.hip = support.Hip()
        self.options = {"name": "twice.hip", "headers": {"steps.h": "#define STEPS BASE + 2\n"}, "options": ["-DBASE=40"],
                        "backend": "hip", "cache_directory": self.folder}
        try:
            with ktrace.Program("extern \"C\" __global__ void f() {}", backend="hip", cache_directory="") as program:
                program.kernel("f")
        except ktrace.UnsupportedError as error:
            self.skipTest(str(error))

    def run_twice(self, kernel):
        data = (ctypes.c_int * 64)(*range(64))
        memory = self.hip.copy_in(bytes(data))
        self.hip.launch(kernel, (1,), (64,), (memory,))
        self.hip.hipMemcpyDtoH(data, memory, ctypes.c_size_t(ctypes.sizeof(data)))
        self.hip.hipFree(memory)
        self.assertEqual(list(data), [2 * i for i in range(64)])

    def test_traced_inside_only(self):
        with ktrace.Program(SOURCE, **self.options) as program:
            with ktrace.capture() as trace:
                self.run_twice(program.kernel("twice<int>"))
            inside = program.info
            self.assertEqual(inside["compilations"], 1)
            self.assertEqual(inside["not_cached"], "")
            self.assertEqual(inside["disk_writes"], 1)
            self.run_twice(program.kernel("twice<int>"))
            self.assertEqual(program.info["compilations"], 2)
            with ktrace.capture() as again:
                self.run_twice(program.kernel("twice<int>"))
            self.assertEqual(program.info["compilations"], 2)
        self.assertEqual(trace.summary()["info"]["events"], 2)
        self.assertEqual(again.summary()["info"]["events"], 2)
        launch = trace.launches()[0]
        self.assertEqual([phase["name"] for phase in launch["phases"]], ["step"])
        with ktrace.Program(SOURCE, **self.options) as program:
            program.kernel("twice<int>")
            self.assertEqual((program.info["compilations"], program.info["disk_hits"]), (0, 1))

    def test_always_and_never(self):
        for trace, events in ((True, 2), (False, 0)):
            with ktrace.Program(SOURCE, trace=trace, **self.options) as program:
                kernel = program.kernel("twice<int>")
                with ktrace.capture() as capture:
                    self.run_twice(kernel)
                self.assertEqual(capture.snapshot().info["events"], events)

    def test_an_untraced_kernel_is_named(self):
        with ktrace.Program(SOURCE, **self.options) as program:
            kernel = program.kernel("twice<int>")
            with ktrace.capture() as trace:
                self.run_twice(kernel)
            self.assertIsNone(trace.summary())
        self.assertEqual(len(self.logged), 1)
        self.assertIn("twice<int>", self.logged[0][1])

    def test_refused_by_the_compiler(self):
        with ktrace.Program("__global__ void broken() { return nothing; }", **self.options) as program:
            with self.assertRaisesRegex(ktrace.CompileError, "nothing") as caught:
                program.kernel("broken")
            self.assertEqual(caught.exception.status, ktrace.Status.COMPILE)
            self.assertIn("twice.hip", program.log)

    def test_mistakes(self):
        for error, wanted, source, options in (
                (TypeError, "source is b''", b"", {}),
                (TypeError, "trace is 1", "", {"trace": 1}),
                (TypeError, "options is '-DX': a sequence", "", {"options": "-DX"}),
                (TypeError, r"kernels\[0\] is None", "", {"kernels": [None]}),
                (TypeError, "header 'a.h' is 5", "", {"headers": {"a.h": 5}}),
                (ktrace.ArgumentError, "KTRACE_ENABLE", "", {"options": ["-DKTRACE_ENABLE=1"]}),
                (ktrace.ArgumentError, "vulkan", "", {"backend": "vulkan"})):
            with self.subTest(wanted=wanted):
                with self.assertRaisesRegex(error, wanted):
                    ktrace.Program(source, **options)

    def test_closed(self):
        program = ktrace.Program(SOURCE, **self.options)
        program.close()
        program.close()
        with self.assertRaisesRegex(ktrace.StateError, "was closed"):
            program.kernel("twice<int>")

    def test_include_directories(self):
        with open(self.path("steps.h"), "w", encoding="utf-8") as file:
            file.write("#define STEPS 1\n")
        del self.options["headers"]
        with ktrace.Program(SOURCE, include_directories=[self.folder], **self.options) as program:
            self.run_twice(program.kernel("twice<int>"))
            self.assertNotEqual(program.info["not_cached"], "")
            self.assertEqual(os.listdir(self.folder), ["steps.h"])


if __name__ == "__main__":
    support.library()
    support.main()
