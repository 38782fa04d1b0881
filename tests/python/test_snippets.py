"""What docs/python.md shows runs, and prints and writes what it says."""

import contextlib
import io
import logging
import os

import ktrace
import snippets
import support

PAGE = os.path.abspath(os.environ.get("KTRACE_TEST_PAGE", ""))


class Page(support.Case):
    def test_runs(self):
        try:
            import numpy, pandas  # noqa: E401, F401
        except ImportError as error:
            self.skipTest(str(error))
        back = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, back)
        os.environ["KTRACE_CACHE_DIR"] = self.folder
        codes = list(snippets.blocks(PAGE, "python"))
        self.assertGreater(len(codes), 6)
        printed, namespace = io.StringIO(), {"__name__": "page"}
        with contextlib.redirect_stdout(printed):
            for code in codes:
                try:
                    exec(code, namespace)
                except ktrace.UnsupportedError as error:  # no clang
                    self.skipTest(str(error))
        for handler in list(logging.getLogger("ktrace").handlers):
            if isinstance(handler, logging.FileHandler):
                logging.getLogger("ktrace").removeHandler(handler)
                handler.close()
        namespace["program"].close()
        self.assertIn("k_tile", printed.getvalue())
        self.assertIn("to hold everything, begin with events_per_wave >= ", printed.getvalue())
        with open("ktrace.log", encoding="utf-8") as log:
            self.assertIn('the capture "nothing" is empty: ', log.read())
        for name in ("gemm_ktrace.pftrace.gz", "layer_2_ktrace.pftrace.gz", "model.ktrace", "model.pftrace.gz", "model.csv",
                     "collected_ktrace.pftrace.gz"):
            self.assertTrue(os.path.isfile(name), name)

    def test_code_for_nvidia_compiles(self):
        self.assertEqual(len(list(snippets.blocks(PAGE, "python cuda"))), 3)

    def test_fields_are_listed(self):
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        for name, *_ in ktrace.EVENT_DTYPE + ktrace.WAVE_DTYPE:
            self.assertIn(f"`{name}`", page)
        for name in ktrace.__all__:
            if name.endswith("Error") and name != "Error":
                self.assertIn(f"`{name}`", page)


if __name__ == "__main__":
    support.library()
    support.main()
