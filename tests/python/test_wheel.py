"""The wheel is built, and works unpacked, without a checkout."""

import glob
import importlib.metadata
import os
import shutil
import subprocess
import sys
import zipfile

import ktrace
import support

SOURCE = os.environ.get("KTRACE_TEST_SOURCE", "")


def builder():
    """Why no wheel can be built here; None where one can."""
    try:
        version = importlib.metadata.version("setuptools")
    except importlib.metadata.PackageNotFoundError:
        return "no setuptools"
    if tuple(map(int, version.split(".")[:2])) < (70, 1):
        return f"setuptools {version} is older than 70.1"
    return None


class Wheel(support.Case):
    def setUp(self):
        super().setUp()
        why = builder()
        if why:
            self.skipTest(why)
        for name in ("bindings/python", "include/ktrace"):
            shutil.copytree(os.path.join(SOURCE, name), self.path(os.path.join("source", name)),
                            ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))

    def build(self, library):
        """The wheel's path."""
        environment = {name: value for name, value in os.environ.items() if name != "KTRACE_WHEEL_LIBRARY"}
        if library is not None:
            environment["KTRACE_WHEEL_LIBRARY"] = library
        code = f"from setuptools import build_meta; build_meta.build_wheel({self.path('out')!r})"  # as pip does
        done = subprocess.run([sys.executable, "-c", code], cwd=self.path("source/bindings/python"), env=environment,
                              capture_output=True, text=True)
        self.said = done.stdout + done.stderr
        return glob.glob(self.path("out/*.whl"))

    def unpacked(self, wheel):
        with zipfile.ZipFile(wheel) as file:
            file.extractall(self.path("unpacked"))
        return self.path("unpacked")

    def run_in(self, folder, code):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KTRACE_")}
        environment["PYTHONPATH"] = folder
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_with_the_library(self):
        wheels = self.build(os.environ["KTRACE_LIBRARY"])
        self.assertEqual(len(wheels), 1, self.said)
        self.assertRegex(os.path.basename(wheels[0]), rf"^ktrace-{ktrace.version()}-py3-none-linux_\w+\.whl$")
        folder = self.unpacked(wheels[0])
        carried = os.path.join(folder, "ktrace", "lib", "libktrace.so.0")
        trace = os.path.join(os.path.abspath(os.environ["KTRACE_TEST_DATA"]), "h200/gemm.ktrace")
        code = f"import ktrace; print(ktrace.library(), ktrace.load({trace!r}).info['events'])"
        self.assertEqual(self.run_in(folder, code), f"{carried} 17408")
        include = self.run_in(folder, "import ktrace; print(ktrace.include())")
        self.assertEqual(include, os.path.join(folder, "ktrace", "include"))
        for header in ("device.h", "record.h", "device/nvidia.h", "device/amdgcn.h"):
            self.assertTrue(os.path.isfile(os.path.join(include, "ktrace", header)), header)

    def test_with_the_build_tree(self):
        place = self.path("source/build/release")
        os.makedirs(place)
        shutil.copyfile(os.environ["KTRACE_LIBRARY"], os.path.join(place, "libktrace.so.0"))
        folder = self.unpacked(self.build(None)[0])
        self.assertEqual(os.listdir(os.path.join(folder, "ktrace", "lib")), ["libktrace.so.0"])

    def test_without_a_library(self):
        wheels = self.build("")
        self.assertEqual([os.path.basename(wheel) for wheel in wheels], [f"ktrace-{ktrace.version()}-py3-none-any.whl"])
        folder = self.unpacked(wheels[0])
        self.assertFalse(os.path.exists(os.path.join(folder, "ktrace", "lib")))
        mine = sorted(name for name in os.listdir(os.path.join(SOURCE, "bindings/python/ktrace")) if name.endswith(".py"))
        self.assertEqual(sorted(os.listdir(os.path.join(folder, "ktrace"))), sorted(mine + ["include"]))

    def test_a_library_that_is_not_there(self):
        self.assertEqual(self.build("/nonexistent/libktrace.so.0"), [])
        self.assertIn("KTRACE_WHEEL_LIBRARY is '/nonexistent/libktrace.so.0': there is no such file", self.said)

    def test_without_a_checkout(self):
        shutil.rmtree(self.path("source/include"))
        self.assertEqual(self.build(""), [])
        self.assertIn("build the wheel in a checkout of ktrace", self.said)


if __name__ == "__main__":
    support.library()
    support.main()
