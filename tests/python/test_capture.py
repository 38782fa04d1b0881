"""Captures on the simulator: every method, before the end of the block and after it, and what goes wrong."""

import gc
import gzip
import logging
import os
import re
import threading

import ktrace
import support

GEMM_EVENTS = 6 + 2 * 3  # with n = 3


class Output(support.KernelCase):
    def test_everything_is_of_one_snapshot(self):
        with ktrace.capture("model", out_dir=self.folder) as trace:
            self.launch("gemm", 3, grid=(2, 2), block=(128,))
            self.launch("layer", 7)
            inside = self.everything(trace)
        self.launch("layer", 8)  # dormant
        after = self.everything(trace)
        self.assertEqual(inside[:2], after[:2])
        summary, launches, path, paths = inside

        self.assertEqual(summary["info"]["name"], "model")
        self.assertEqual(summary["info"]["events"], 8 * GEMM_EVENTS + 2)
        self.assertEqual(summary["info"]["simulated"], 1)
        phases = {(p["kernel"], p["name"], p["kind"]): p["count"] for p in summary["phases"]}
        self.assertEqual(phases, {("gemm", "prologue", "range"): 8, ("gemm", "mainloop", "range"): 8,
                                  ("gemm", "k_tile", "token"): 24, ("gemm", "epilogue", "range"): 8,
                                  ("layer", "layer", "range"): 1})
        self.assertIn("simulated time", str(summary))
        self.assertIn("k_tile", str(summary))
        self.assertEqual([launch["launch_id"] for launch in launches], [0, 1])
        self.assertEqual([launch["kernel"] for launch in launches], ["gemm", "layer"])
        self.assertEqual(launches[0]["grid"], [2, 2, 1])
        self.assertEqual(launches[0]["block"], [128, 1, 1])
        self.assertEqual([p["name"] for p in launches[1]["phases"]], ["layer"])
        self.assertEqual(launches[1]["phases"][0]["count"], 1)

        self.assertEqual(path, self.path("model_ktrace.pftrace.gz"))
        self.assertEqual(after[2], self.path("model_ktrace_1.pftrace.gz"))  # nothing is overwritten
        self.assertEqual(gzip.open(path).read(), gzip.open(after[2]).read())
        self.assertEqual(paths, [self.path("gemm_launch_0_ktrace.pftrace.gz"), self.path("layer_launch_1_ktrace.pftrace.gz")])

    @staticmethod
    def everything(trace):
        return trace.summary(), trace.launches(), trace.export(), trace.export_launches()

    def test_read_clear_and_accumulation(self):
        with ktrace.capture() as trace:
            self.launch("layer", 1)
            self.launch("layer", 2)
            self.assertEqual(len(trace.launches()), 2)
            first = trace.read()
            self.assertEqual(len(trace.launches()), 2)  # of what was read
            self.launch("layer", 3)
            self.assertEqual(len(trace.launches()), 1)
            trace.clear()
            self.assertEqual(trace.launches(), [])
            self.assertIsNone(trace.summary())
            self.launch("gemm", 1)
        self.assertEqual([launch["kernel"] for launch in trace.launches()], ["gemm"])
        self.assertEqual([launch["kernel"] for launch in first.launches()], ["layer", "layer"])
        self.assertEqual(first.info["events"], 4)

    def test_traces_outlive_the_capture(self):
        with ktrace.capture("early") as trace:
            self.launch("layer", 1)
            seen = trace.peek()
        snapshot = trace.snapshot()
        trace.close()
        del trace
        gc.collect()
        for one in (seen, snapshot):
            self.assertEqual(one.info["name"], "early")
            self.assertEqual(one.info["events"], 2)
            self.assertEqual(one.launches()[0]["phases"][0]["count"], 1)
        self.assertIn("early", repr(snapshot))

    def test_names_of_launches(self):
        with ktrace.capture("model", out_dir=self.folder) as trace:
            for layer in range(3):
                self.launch("layer", layer)
        paths = trace.export_launches(names=[f"layer_{i}" for i in range(3)])
        self.assertEqual([os.path.basename(p) for p in paths], [f"layer_{i}_ktrace.pftrace.gz" for i in range(3)])
        with self.assertRaisesRegex(ktrace.ArgumentError, "2 names were given, but 3 launches have events"):
            trace.export_launches(names=["a", "b"])
        with self.assertRaisesRegex(TypeError, "names is 'abc': a sequence of strs is expected"):
            trace.export_launches(names="abc")
        with self.assertRaisesRegex(TypeError, r"names\[1\] is 5"):
            trace.export_launches(names=["a", 5, "c"])
        self.assertEqual(len(os.listdir(self.folder)), 3)

    def test_saved_and_loaded(self):
        with ktrace.capture("kept") as trace:
            self.launch("gemm", 2)
        path = trace.save(self.path("kept.ktrace"))
        loaded = ktrace.load(path)
        self.assertEqual(loaded.summary(), trace.summary())
        self.assertEqual(loaded.launches(), trace.launches())

    def test_stay_armed(self):
        with self.kernels.graph() as graph:
            self.launch("layer", 5, stream=graph.stream)
        with ktrace.capture(stay_armed=True) as trace:
            graph.replay()
        graph.replay()
        graph.replay()
        self.assertEqual(len(trace.launches()), 1)
        self.assertEqual(len(trace.read().launches()), 2)
        self.assertEqual(len(trace.launches()), 2)  # the saved snapshot was replaced
        trace.close()

    def test_filter(self):
        for blocks, wanted in (((1, 0, 0), 1), ([1], 2), ("1,1", 1), (("0-1", "*"), 4), ((2, "*", "*"), 2), (None, 6)):
            with self.subTest(blocks=blocks):
                with ktrace.capture(blocks=blocks) as trace:
                    self.launch("layer", 1, grid=(3, 2))
                self.assertEqual(trace.summary()["info"]["waves"], wanted)
                self.assertEqual(trace.summary()["info"]["waves_filtered"], 6 - wanted)


class Empty(support.KernelCase):
    def test_nothing_was_launched(self):
        with ktrace.capture("empty", out_dir=self.folder) as trace:
            self.launch("plain")
        self.assertIsNone(trace.summary())
        self.assertEqual(trace.launches(), [])
        self.assertIsNone(trace.export())
        self.assertEqual(trace.export_launches(), [])
        self.assertEqual(os.listdir(self.folder), [])
        self.assertTrue(trace.snapshot().empty)
        self.assertEqual(len(self.logged), 1, self.logged)
        level, sentence = self.logged[0]
        self.assertEqual(level, logging.WARNING)
        self.assertRegex(sentence, '"empty" is empty: nothing was recorded: no kernel')
        self.assertIn(trace.snapshot().warning, sentence)

    def test_a_capture_with_events_says_nothing(self):
        with ktrace.capture():
            self.launch("layer")
        self.assertEqual(self.logged, [])


class Errors(support.KernelCase):
    def test_nested(self):
        with ktrace.capture() as trace:
            with self.assertRaises(ktrace.StateError) as caught:
                with ktrace.capture():
                    self.fail("the inner block ran")
            self.assertEqual(caught.exception.status, ktrace.Status.STATE)
            self.assertRegex(str(caught.exception), "is open already: captures do not nest")
            self.launch("layer")
        self.assertEqual(trace.summary()["info"]["events"], 2)

    def test_twice(self):
        with ktrace.capture() as trace:
            self.launch("layer")
        with self.assertRaisesRegex(ktrace.StateError, "begun already"):
            with trace:
                pass
        trace.close()
        with self.assertRaisesRegex(ktrace.StateError, "was closed"):
            trace.summary()

    def test_not_begun(self):
        trace = ktrace.capture()
        for call in (trace.summary, trace.launches, trace.read, trace.clear, trace.export, trace.export_launches,
                     trace.peek, trace.snapshot):
            with self.assertRaisesRegex(ktrace.StateError, "has not begun"):
                call()

    def test_an_exception_ends_the_capture(self):
        with self.assertRaisesRegex(KeyError, "mine"):
            with ktrace.capture("broken") as trace:
                self.launch("layer")
                self.assertTrue(ktrace.active())
                raise KeyError("mine")
        self.assertFalse(ktrace.active())
        self.assertEqual(trace.summary()["info"]["events"], 2)  # what was there can be looked at
        with ktrace.capture():
            self.launch("layer")

    def test_an_exception_is_not_hidden_by_an_overflow(self):
        with self.assertRaisesRegex(KeyError, "mine"):
            with ktrace.capture(events_per_wave=4):
                self.launch("marks", 10)
                raise KeyError("mine")
        self.assertFalse(ktrace.active())
        self.assertEqual(len(self.logged), 1)
        self.assertRegex(self.logged[0][1], "left by KeyError: the capture overflowed")

    def test_overflow_names_what_would_hold_it(self):
        with self.assertRaises(ktrace.OverflowError) as caught:
            with ktrace.capture(events_per_wave=8):
                self.launch("marks", 100)
        self.assertIsInstance(caught.exception, OverflowError)
        self.assertEqual(caught.exception.status, -6)
        need = int(re.search(r"events_per_wave >= (\d+)", str(caught.exception)).group(1))
        self.assertEqual(need, 200)  # each mark has a payload
        with ktrace.capture(events_per_wave=need) as trace:
            self.launch("marks", 100)
        self.assertEqual(trace.summary()["info"]["events"], 100)
        with ktrace.capture(events_per_wave=8, keep_last=True) as trace:
            self.launch("marks", 100)
        self.assertEqual(trace.summary()["info"]["events"], 4)

    def test_overflow_of_waves(self):
        small = 64 * 1024
        with self.assertRaises(ktrace.OverflowError) as caught:
            with ktrace.capture(events_per_wave=64, buffer_bytes=small):
                self.launch("layer", grid=(512,))
        need = int(re.search(r"buffer_bytes >= (\d+)", str(caught.exception)).group(1))
        self.assertGreater(need, small)
        with ktrace.capture(events_per_wave=64, buffer_bytes=need) as trace:
            self.launch("layer", grid=(512,))
        self.assertEqual(trace.summary()["info"]["waves"], 512)

    def test_graph_construction(self):
        with ktrace.capture() as trace:
            with self.kernels.graph() as graph:
                self.launch("layer", stream=graph.stream)
                for call in (trace.read, trace.clear, trace.summary):
                    with self.assertRaises(ktrace.StateError):
                        call()
            graph.replay()
        self.assertEqual(len(trace.launches()), 1)

    def test_begin_during_graph_construction(self):
        with self.kernels.graph() as graph:
            self.launch("layer", stream=graph.stream)
            with self.assertRaisesRegex(ktrace.StateError, "graph"):
                with ktrace.capture():
                    pass

    def test_the_block_ends_while_a_graph_is_built(self):
        """An error, and the capture is still open; closed, it is gone."""
        graph, trace = support.Graph(self.kernels.hip), ktrace.capture()
        with self.assertRaisesRegex(ktrace.StateError, "graph"):
            with trace:
                graph.begin()
        self.assertTrue(ktrace.active())
        self.launch("layer", stream=graph.stream)
        graph.end()
        trace.close()
        self.assertFalse(ktrace.active())

    def test_options(self):
        for error, wanted, options in (
                (TypeError, "blocks is 5: up to three coordinates", {"blocks": 5}),
                (TypeError, r"blocks is \(1, 2, 3, 4\)", {"blocks": (1, 2, 3, 4)}),
                (TypeError, r"a number is expected", {"blocks": (0, 0.5)}),
                (ktrace.ArgumentError, "must lie between 0", {"blocks": (0, -1)}),
                (TypeError, "buffer_bytes is '1M'", {"buffer_bytes": "1M"}),
                (TypeError, "events_per_wave is True", {"events_per_wave": True}),
                (ktrace.ArgumentError, "events_per_wave is 4294967296", {"events_per_wave": 2**32}),
                (ktrace.ArgumentError, "buffer_bytes is -1", {"buffer_bytes": -1}),
                (TypeError, "keep_last is 1", {"keep_last": 1}),
                (TypeError, "name is 7", {"name": 7}),
                (ktrace.ArgumentError, "zero character", {"name": "a\0b"}),
                (TypeError, "out_dir is 7", {"out_dir": 7}),
                (ktrace.ArgumentError, "out_dir is empty", {"out_dir": ""}),
                (ktrace.ArgumentError, "devices is empty", {"devices": []}),
                (TypeError, "devices", {"devices": [None]})):
            with self.subTest(options=options):
                with self.assertRaisesRegex(error, wanted):
                    ktrace.capture(**options)

    def test_options_that_the_library_refuses(self):
        missing = self.path("missing")
        for wanted, options in (("0,x,1", {"blocks": "0,x,1"}), ("vulkan", {"backend": "vulkan"}),
                                (missing, {"out_dir": missing}), ("9", {"devices": [0, 9], "backend": "hip"})):
            with self.subTest(options=options):
                with self.assertRaisesRegex(ktrace.Error, re.escape(wanted)) as caught:
                    with ktrace.capture(**options):
                        self.fail("the block ran")
                self.assertIsInstance(caught.exception.status, ktrace.Status)
                self.assertFalse(ktrace.active())


class Lifetime(support.KernelCase):
    def test_a_forgotten_capture_is_closed(self):
        trace = ktrace.capture(stay_armed=True).__enter__()
        self.assertTrue(ktrace.active())
        del trace
        gc.collect()
        self.assertFalse(ktrace.active())

    def test_threads_launch_and_read(self):
        with ktrace.capture() as trace:
            done = threading.Event()
            events, failures = [], []

            def read():
                try:
                    while not done.is_set():
                        events.append(trace.read().info["events"])
                except Exception as error:
                    failures.append(error)

            reader = threading.Thread(target=read)
            reader.start()
            for i in range(40):
                self.launch("layer", i, grid=(4,))
            done.set()
            reader.join()
            events.append(trace.read().info["events"])
        self.assertEqual(failures, [])
        self.assertEqual(sum(events), 40 * 4 * 2)

    def test_errors_belong_to_their_thread(self):
        caught = {}

        def fail(name):
            try:
                ktrace.load(self.path(name))
            except ktrace.IOError as error:
                caught[name] = str(error)

        threads = [threading.Thread(target=fail, args=(f"missing_{i}",)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(caught), 8)
        for name, sentence in caught.items():
            self.assertIn(name, sentence)


if __name__ == "__main__":
    support.library()
    support.main()
