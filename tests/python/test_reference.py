"""The reference's own examples: their lines, after changing the import and the kernel."""

import contextlib
import io
import os

import ktrace
import support


class Examples(support.KernelCase):
    def setUp(self):
        super().setUp()
        back = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, back)

    def launch_gemm(self, stream=None):
        self.launch("gemm", 4, grid=(4, 4), block=(256,), stream=stream)

    def test_quick_start(self):
        launch_gemm = self.launch_gemm
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):

            with ktrace.capture("gemm", blocks=(0, 0, 0)) as trace:
                launch_gemm()

            print(trace.summary())
            path = trace.export()

        for phase in ("prologue", "mainloop", "epilogue"):
            self.assertIn(phase, printed.getvalue())
        self.assertEqual(os.path.normpath(path), "gemm_ktrace.pftrace.gz")
        self.assertEqual(os.listdir("."), ["gemm_ktrace.pftrace.gz"])
        self.assertEqual(trace.summary()["info"]["waves"], 4)  # one workgroup of 16

    def test_layers(self):
        os.mkdir("traces")
        layers = range(3)
        printed = io.StringIO()

        def launch_layer(layer):
            self.launch("layer", layer, grid=(2,))

        with contextlib.redirect_stdout(printed):

            with ktrace.capture("model", blocks=(0, 0, 0), out_dir="traces") as trace:
                for layer in layers:
                    launch_layer(layer)

            for launch in trace.launches():
                print(launch["launch_id"], launch["phases"])

            paths = trace.export_launches(names=[f"layer_{i}" for i in range(len(layers))])

        self.assertEqual([line.split()[0] for line in printed.getvalue().splitlines()], ["0", "1", "2"])
        self.assertEqual(paths, [os.path.join("traces", f"layer_{i}_ktrace.pftrace.gz") for i in range(3)])
        self.assertEqual(sorted(os.listdir("traces")), [os.path.basename(path) for path in paths])

    def test_graph_replay(self):
        launch_gemm = self.launch_gemm
        with ktrace.capture("gemm", blocks=(0, 0, 0)) as trace:
            launch_gemm()

            with self.kernels.graph() as graph:
                launch_gemm(stream=graph.stream)

            trace.clear()
            graph.replay()

        self.assertEqual(len(trace.launches()), 1)  # neither the preparation nor the construction
        self.assertIn("mainloop", str(trace.summary()))
        self.assertTrue(os.path.isfile(trace.export()))

    def test_calls_inside_the_capture_keep_the_records(self):
        with ktrace.capture("gemm") as trace:
            self.launch_gemm()
            one = trace.summary()
            self.launch_gemm()
            two = trace.summary()
        self.assertEqual(one["info"]["launches"], 1)
        self.assertEqual(two["info"]["launches"], 2)
        self.assertEqual(trace.summary(), two)


if __name__ == "__main__":
    support.library()
    support.main()
