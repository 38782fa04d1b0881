"""Which libktrace is loaded, and what is said where none is. Each case is a process of its own."""

import os
import shutil
import subprocess
import sys

import ktrace
import support

SOURCE = os.environ.get("KTRACE_TEST_SOURCE", "")
SAY = "import ktrace; print(ktrace.library())"


class Loading(support.Case):
    def setUp(self):
        super().setUp()
        self.library = os.environ["KTRACE_LIBRARY"]
        shutil.copytree(os.path.join(SOURCE, "bindings", "python", "ktrace"), self.path("place/ktrace"))

    def run_python(self, code, library=None, **variables):
        """With the package alone: not in a checkout, and no library."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("KTRACE_", "LD_"))}
        environment.update(variables, PYTHONPATH=self.path("place"), HOME=self.folder)
        if library is not None:
            environment["KTRACE_LIBRARY"] = library
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

    def answer(self, code, library=None, **variables):
        done = self.run_python(code, library, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def refusal(self, code, library=None, **variables):
        done = self.run_python(code, library, **variables)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("LibraryError", done.stderr)
        return done.stderr

    def put(self, place, name="libktrace.so.0"):
        os.makedirs(self.path(place), exist_ok=True)
        return shutil.copyfile(self.library, os.path.join(self.path(place), name))

    def test_variable(self):
        self.assertEqual(self.answer(SAY, self.library), self.library)
        self.assertIn("KTRACE_LIBRARY is '/nonexistent/x.so', which cannot be loaded",
                      self.refusal(SAY, "/nonexistent/x.so"))

    def test_of_the_wheel(self):
        mine = self.put("place/ktrace/lib")
        self.assertEqual(self.answer(SAY), mine)
        self.assertEqual(self.answer(SAY, self.library), self.library)

    def test_of_the_build_tree(self):
        os.makedirs(self.path("checkout/bindings/python"))
        os.makedirs(self.path("checkout/include/ktrace"))
        shutil.copyfile(os.path.join(SOURCE, "include/ktrace/ktrace.h"), self.path("checkout/include/ktrace/ktrace.h"))
        shutil.move(self.path("place/ktrace"), self.path("checkout/bindings/python/ktrace"))
        os.rmdir(self.path("place"))
        os.symlink(self.path("checkout/bindings/python"), self.path("place"))
        built = self.put("checkout/build/release")
        self.assertEqual(self.answer(SAY), built)

    def test_by_the_loader(self):
        self.put("somewhere")
        self.assertEqual(self.answer(SAY, LD_LIBRARY_PATH=self.path("somewhere")), "libktrace.so.0")

    def test_of_the_user(self):
        mine = self.put(".local/lib")
        if not self.system_has_one():
            self.assertEqual(self.answer(SAY), mine)

    def system_has_one(self):
        return self.run_python("import ctypes; ctypes.CDLL('libktrace.so.0')").returncode == 0

    def test_nowhere(self):
        if self.system_has_one():
            self.skipTest("the system has a libktrace")
        said = self.refusal(SAY)
        self.assertIn("libktrace.so.0 was not found. Build and install ktrace, or set KTRACE_LIBRARY", said)
        for tried in ("place/ktrace/lib/libktrace.so.0 (of the wheel): there is no such file", "by the loader's rules",
                      ".local/lib/libktrace.so.0"):
            self.assertIn(tried, said)
        self.assertEqual(self.answer("import ktrace; print(ktrace.Error.__name__)"), "Error")  # importing needs none

    def test_one_that_is_loaded_already(self):
        other = self.put("other", "libktrace.so.0")
        self.put("place/ktrace/lib")
        first = f"import ctypes; ctypes.CDLL({other!r}); "
        self.assertEqual(self.answer(first + SAY), other)
        self.assertEqual(self.answer(first + SAY, other), other)
        said = self.refusal(first + SAY, self.library)
        self.assertIn(f"this process has loaded {other} already", said)

    def test_headers(self):
        code = "import ktrace; print(ktrace.include())"
        self.put("prefix/lib")
        self.assertIn("ktrace/device.h was not found. Looked in " + self.path("place/ktrace/include"),
                      self.refusal(code, self.path("prefix/lib/libktrace.so.0")))
        shutil.copytree(os.path.join(SOURCE, "include"), self.path("prefix/include"))
        self.assertEqual(self.answer(code, self.path("prefix/lib/libktrace.so.0")), self.path("prefix/include"))
        self.assertTrue(os.path.samefile(ktrace.include(), os.path.join(SOURCE, "include")))

    def test_of_another_kind(self):
        self.assertIn("libc.so.6 has no ktrace_last_error: it is older than this package", self.refusal(SAY, "libc.so.6"))

    def test_of_another_version(self):
        said = self.refusal("import ktrace._library as l; l.VERSION = (7, 2); import ktrace; ktrace.version()", self.library)
        self.assertIn(f"is ktrace {ktrace.version()}, and this package is for 7.2", said)


if __name__ == "__main__":
    support.library()
    support.main()
