"""Process-wide collection: by calls, and by the environment of a process of its own."""

import os
import subprocess
import sys

import ktrace
import support

PROGRAM = """
import ktrace, support
kernels = support.Kernels()
assert ktrace.active()
kernels.launch("layer", 1)
kernels.launch("gemm", 2)
"""


class Calls(support.KernelCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(ktrace.disable)

    def test_off(self):
        self.assertFalse(ktrace.active())
        self.launch("layer")
        self.assertIsNone(ktrace.summary())
        self.assertIsNone(ktrace.collect(out_dir=self.folder))
        self.assertIsNone(ktrace.collect_trace())
        ktrace.disable()

    def test_shared_snapshot(self):
        ktrace.enable(out_dir=self.folder)
        self.assertTrue(ktrace.active())
        self.assertIsNone(ktrace.summary())
        self.launch("layer", 1)
        self.launch("layer", 2)
        first = ktrace.summary()
        self.assertEqual(first["info"]["launches"], 2)
        self.launch("plain")  # untraced calls leave it available
        self.assertEqual(ktrace.summary(), first)
        self.assertEqual(ktrace.collect("gemm"), self.path("gemm_ktrace.pftrace.gz"))
        self.assertEqual(ktrace.collect(), self.path("kernel_ktrace.pftrace.gz"))
        self.assertEqual(len(ktrace.collect_trace().launches()), 2)
        self.launch("gemm", 1)
        self.assertEqual([launch["kernel"] for launch in ktrace.collect_trace().launches()], ["gemm"])

    def test_folder_of_the_call(self):
        ktrace.enable()
        self.launch("layer", 1)
        self.assertEqual(ktrace.collect("kernel", out_dir=self.folder), self.path("kernel_ktrace.pftrace.gz"))

    def test_inside_a_capture(self):
        ktrace.enable()
        with self.assertRaisesRegex(ktrace.StateError, "ktrace_enable"):
            ktrace.enable()
        self.launch("layer", 1)
        with ktrace.capture() as trace:
            self.launch("gemm", 1)
            for call in (ktrace.summary, ktrace.collect, ktrace.collect_trace, ktrace.disable, ktrace.enable):
                with self.assertRaises(ktrace.StateError):
                    call()
        self.assertEqual(trace.summary()["info"]["launches"], 1)
        self.assertTrue(ktrace.active())
        self.launch("layer", 2)
        self.assertEqual(ktrace.summary()["phases"][0]["name"], "layer")


class Environment(support.Case):
    def run_program(self, more="", **variables):
        environment = dict(os.environ, KTRACE_ENABLE="1", KTRACE_DUMP_DIR=self.folder, **variables)
        environment["PYTHONPATH"] += os.pathsep + os.path.dirname(os.path.abspath(__file__))
        return subprocess.run([sys.executable, "-c", PROGRAM + more], env=environment, capture_output=True, text=True)

    def test_exported_at_exit(self):
        done = self.run_program()
        self.assertEqual(done.returncode, 0, done.stderr)
        files = os.listdir(self.folder)
        self.assertEqual(len(files), 1, done.stderr)
        self.assertIn(files[0], done.stderr)  # by the library: Python's logging is gone by then

    def test_collected_before(self):
        done = self.run_program("print(ktrace.summary()); ktrace.collect('mine')")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("k_tile", done.stdout)
        self.assertEqual(os.listdir(self.folder), ["mine_ktrace.pftrace.gz"])

    def test_settings(self):
        done = self.run_program("print(ktrace.summary()['info']['waves'])", KTRACE_BLOCKS="7")
        self.assertEqual(done.returncode, 1)
        self.assertIn("'NoneType'", done.stderr)  # all were filtered


if __name__ == "__main__":
    support.library()
    support.main()
