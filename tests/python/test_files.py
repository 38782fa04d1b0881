"""Traces from files, as values, arrays and data frames: against the summary, which the library makes another way."""

import ctypes
import json
import os
import re
import sys
import threading
import time
from unittest import mock

import ktrace
import support
from ktrace import _library

DATA = os.environ.get("KTRACE_TEST_DATA", "")
RECORDINGS = ["h200/gemm", "h200/example_divergence", "h200/graph/graph_and_plain_launches", "sim/example_divergence",
              "sim/peek_open_ranges", "sim/keep_last_ranges", "format/two_devices", "format/v1", "format/ranks"]


def load(name):
    return ktrace.load(os.path.join(DATA, name + ".ktrace"))


def need_numpy(case):
    try:
        import numpy
    except ImportError as error:
        case.skipTest(f"no NumPy ({error})")
    return numpy


class Merging(support.Case):
    RANKS = [os.path.join(DATA, "format", f"rank{i}.ktrace") for i in range(2)]

    def test_ranks(self):
        ranks = [ktrace.load(path) for path in self.RANKS]
        merged = ktrace.merge(ranks)
        for name in ("devices", "launches", "waves", "events", "waves_dropped", "waves_filtered", "ranges_unclosed"):
            self.assertEqual(merged.info[name], sum(rank.info[name] for rank in ranks), name)
        self.assertEqual([device["label"] for device in merged.devices],
                         ["rank 0: Synthetic device #0", "rank 1: Synthetic device #0"])
        self.assertEqual([(process["label"], process["relation"]) for process in merged.processes],
                         [("rank 0", "self"), ("rank 1", "host")])
        self.assertEqual(merged.processes[1]["filter"], "0,0,0")
        self.assertEqual(ranks[1].processes[0]["pid"], 4712)
        self.assertEqual(load("format/v1").processes[0]["label"], "process 1")
        self.assertEqual(ktrace.merge(self.RANKS).launches(), merged.launches())
        self.assertEqual(ktrace.load(merged.save(self.path("merged.ktrace"))).launches(), merged.launches())

    def test_options(self):
        merged = ktrace.merge(self.RANKS, name="step", labels=["a", None], align="start", offsets_ns=[0, -250])
        self.assertEqual(merged.info["name"], "step")
        self.assertEqual([process["label"] for process in merged.processes], ["a", "rank 1"])
        self.assertEqual(merged.processes[1]["relation"], "placed")
        self.assertEqual(merged.processes[1]["shift_ns"], -250)
        begins = {launch["device"]: launch["begin_ps"] for launch in reversed(merged.launches())}
        self.assertEqual(begins[0] - begins[1], 250_000)

    def test_refusals(self):
        for error, words, call in [
                (ktrace.ArgumentError, "nothing is counted twice", lambda: ktrace.merge([self.RANKS[0]] * 2)),
                (ktrace.ArgumentError, "of CUDA and trace 2",
                 lambda: ktrace.merge([self.RANKS[0], load("format/v1_amdgcn")])),
                (ktrace.ArgumentError, "there is no trace", lambda: ktrace.merge([])),
                (ktrace.ArgumentError, "align is 'end'", lambda: ktrace.merge(self.RANKS, align="end")),
                (ktrace.ArgumentError, "there are 1 labels for 2 traces", lambda: ktrace.merge(self.RANKS, labels=["a"])),
                (ktrace.ArgumentError, "64 bits", lambda: ktrace.merge(self.RANKS, offsets_ns=[0, 2**63])),
                (TypeError, "a sequence of traces", lambda: ktrace.merge(self.RANKS[0])),
                (TypeError, "not one", lambda: ktrace.merge(self.RANKS, labels="ab")),
                (TypeError, "labels[1] is 5", lambda: ktrace.merge(self.RANKS, labels=["a", 5])),
                (ktrace._errors.IOError, "missing.ktrace", lambda: ktrace.merge(["missing.ktrace"])),
        ]:
            with self.subTest(words=words), self.assertRaises(error) as caught:
                call()
            self.assertIn(words, str(caught.exception))


class Values(support.Case):
    def test_info_and_devices(self):
        trace = load("format/two_devices")
        info = trace.info
        self.assertEqual(info["devices"], 2)
        self.assertEqual(len(trace.devices), 2)
        for name in ("launches", "waves", "events"):
            self.assertEqual(sum(device[name] for device in trace.devices), info[name], name)
        self.assertEqual(load("h200/gemm").info["device"], "NVIDIA H200")

    def test_summary_and_launches_agree(self):
        for name in RECORDINGS:
            with self.subTest(name=name):
                trace = load(name)
                summary, launches = trace.summary(), trace.launches()
                self.assertEqual(summary["info"]["events"], trace.info["events"])
                self.assertEqual(summary["warning"], trace.warning)
                self.assertEqual(len(launches), trace.info["launches"])
                self.assertEqual([launch["launch_id"] for launch in launches], list(range(len(launches))))
                for phase in summary["phases"]:
                    parts = [p for launch in launches for p in launch["phases"]
                             if (p["kernel"], p["name"], p["kind"]) == (phase["kernel"], phase["name"], phase["kind"])]
                    self.assertEqual(sum(part["count"] for part in parts), phase["count"])
                self.assertTrue(str(summary).startswith("trace "))

    def test_files(self):
        trace = load("h200/gemm")
        copy = trace.save(self.path("copy.ktrace"))
        self.assertEqual(ktrace.load(copy).summary(), trace.summary())
        made = trace.export(out_dir=self.folder)
        self.assertEqual(made, self.path("gemm_ktrace.pftrace.gz"))
        named = trace.export(self.path("named.pftrace.gz"))
        with open(made, "rb") as one, open(named, "rb") as other:
            self.assertEqual(one.read(), other.read())
        with open(trace.export(self.path("page.html"), exporter="html"), encoding="utf-8") as page:
            self.assertIn("</html>", page.read())
        with open(trace.export(self.path("summary.json"), exporter="json"), encoding="utf-8") as statistics:
            self.assertEqual(json.load(statistics)["info"]["name"], "gemm")
        self.assertEqual(trace.export_launches(["only"], out_dir=self.folder), [self.path("only_ktrace.pftrace.gz")])
        for error, wanted, call in (
                (TypeError, "path or out_dir, not both", lambda: trace.export("a", out_dir="b")),
                (TypeError, "needs a path", lambda: trace.export(exporter="csv")),
                (ktrace.NotFoundError, "nonsense", lambda: trace.export(self.path("x"), exporter="nonsense")),
                (ktrace.IOError, "missing", lambda: trace.export(self.path("missing/x"))),
                (ktrace.IOError, "missing", lambda: trace.save(self.path("missing/x"))),
                (ktrace.Error, "missing", lambda: trace.export(out_dir=self.path("missing")))):
            with self.subTest(wanted=wanted):
                with self.assertRaisesRegex(error, wanted):
                    call()

    def test_what_is_no_trace(self):
        with open(os.path.join(DATA, "h200/gemm.ktrace"), "rb") as file:
            whole = file.read()
        for content in (b"", b"hello", whole[:100], whole[:-1], b"\0" * 4096):
            path = self.path("bad.ktrace")
            with open(path, "wb") as file:
                file.write(content)
            with self.assertRaises(ktrace.FormatError) as caught:
                ktrace.load(path)
            self.assertIn("bad.ktrace", str(caught.exception))
            self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaises(OSError):
            ktrace.load(self.path("missing.ktrace"))
        with self.assertRaisesRegex(TypeError, "path is 5"):
            ktrace.load(5)


class Arrays(support.Case):
    def setUp(self):
        super().setUp()
        self.numpy = need_numpy(self)

    def test_fields(self):
        trace = load("h200/gemm")
        events, waves = trace.events(), trace.waves()
        self.assertEqual(events.dtype, self.numpy.dtype(ktrace.EVENT_DTYPE))
        self.assertEqual(waves.dtype, self.numpy.dtype(ktrace.WAVE_DTYPE))
        self.assertEqual(len(events), trace.info["events"])
        self.assertEqual(len(waves), trace.info["waves"])
        self.assertIn(": 1 launch, 1,088 waves, 17,408 events>", repr(trace))

    def test_events_are_those_of_their_waves(self):
        for name in RECORDINGS:
            with self.subTest(name=name):
                trace = load(name)
                events, waves = trace.events(), trace.waves()
                counts = self.numpy.bincount(events["wave"], minlength=len(waves))
                self.assertEqual(counts.tolist(), waves["events"].tolist())
                self.assertEqual(events["launch"].tolist(), waves["launch"][events["wave"]].tolist())
                self.assertEqual((events["line"] == 0).tolist(), (events["file"] == "").tolist())
                self.assertEqual((events["time_ps"] / 1000).tolist(), events["time_ns"].tolist())
                same = events["wave"][1:] == events["wave"][:-1]
                self.assertTrue((self.numpy.diff(events["time_ps"])[same] >= 0).all())
                self.assertTrue((events["clock_ticks"][1:][same] >= events["clock_ticks"][:-1][same]).all())

    def test_partners(self):
        for name in RECORDINGS:
            with self.subTest(name=name):
                events = load(name).events()
                rows = self.numpy.flatnonzero(events["partner"] >= 0)
                partners = events["partner"][rows]
                self.assertEqual(events["partner"][partners].tolist(), rows.tolist())
                self.assertEqual(events["wave"][partners].tolist(), events["wave"][rows].tolist())
                ends = {"push": "pop", "pop": "push", "start": "stop", "stop": "start"}
                self.assertEqual(events["kind"][partners].tolist(), [ends[kind] for kind in events["kind"][rows].tolist()])

    def test_durations_make_the_summary(self):
        kinds = {"range": "push", "token": "start", "mark": "mark"}
        for name in RECORDINGS:
            trace = load(name)
            events, kernels = trace.events(), self.numpy.array([x["kernel"] for x in trace.launches()], object)
            for phase in trace.summary()["phases"]:
                with self.subTest(name=name, phase=phase["name"]):
                    chosen = events[(events["name"] == phase["name"]) & (events["kind"] == kinds[phase["kind"]])
                                    & (kernels[events["launch"]] == phase["kernel"])]
                    if phase["kind"] == "mark":
                        self.assertEqual(len(chosen), phase["count"])
                        continue
                    durations = chosen["duration_ns"][~self.numpy.isnan(chosen["duration_ns"])]
                    self.assertEqual(len(durations), phase["count"])
                    self.assertEqual(len(chosen) - len(durations), phase["unclosed"])
                    if phase["count"]:
                        self.assertAlmostEqual(durations.sum(), phase["total_ns"], delta=1e-6 * phase["total_ns"])
                        self.assertEqual(durations.max(), phase["max_ns"])
                        self.assertEqual(durations.min(), phase["min_ns"])

    def test_dataframe(self):
        try:
            import pandas
        except ImportError as error:
            self.skipTest(f"no pandas ({error})")
        trace = load("h200/gemm")
        frame, events, waves = trace.dataframe(), trace.events(), trace.waves()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(len(frame), len(events))
        for name in ("launch", "wave", "time_ps", "kind", "name", "payload", "partner", "lane", "file", "line"):
            self.assertEqual(frame[name].tolist(), events[name].tolist(), name)
        self.assertEqual(frame["workgroup_x"].tolist(), waves["workgroup"][:, 0][events["wave"]].tolist())
        self.assertEqual(frame["place"].tolist(), waves["place"][events["wave"]].tolist())
        self.assertEqual(set(frame["kernel"]), {"gemm"})
        total = frame[frame["kind"] == "push"].groupby("name", observed=True)["duration_ns"].sum()
        for phase in trace.summary()["phases"]:
            if phase["kind"] == "range":
                self.assertAlmostEqual(total[phase["name"]], phase["total_ns"], delta=1e-6 * phase["total_ns"])

    def test_an_empty_trace(self):
        trace = load("h200/gemm")
        with mock.patch.object(ktrace.Trace, "info", {"events": 0, "waves": 0, "devices": 1}):
            self.assertEqual(len(trace.events()), 0)
            self.assertEqual(len(trace.waves()), 0)
            self.assertEqual(trace.launches(), [])


class Without(support.Case):
    def test_numpy(self):
        trace = load("h200/gemm")
        with mock.patch.dict(sys.modules, {"numpy": None}):
            for name in ("events", "waves"):
                with self.assertRaisesRegex(ImportError, rf"Trace.{name}\(\) needs NumPy.*: pip install numpy"):
                    getattr(trace, name)()
            self.assertEqual(trace.summary()["info"]["events"], 17408)

    def test_pandas(self):
        with mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(ImportError, r"dataframe\(\) needs pandas.*: pip install pandas"):
                load("h200/gemm").dataframe()


class Gil(support.Case):
    def test_is_released(self):
        """Another Python thread runs while a call of the library lasts: nothing else lets it, as nobody is interrupted."""
        trace = load("h200/gemm")
        turns, done = [0], threading.Event()

        def count():
            while not done.is_set():
                turns[0] += 1
                time.sleep(1e-6)  # lets the other thread on

        before = sys.getswitchinterval()
        sys.setswitchinterval(100)
        thread = threading.Thread(target=count)
        try:
            thread.start()
            start, until = turns[0], time.monotonic() + 20
            while turns[0] == start and time.monotonic() < until:
                trace.export(self.path("out.pftrace.gz"))
            seen = turns[0]
        finally:
            done.set()
            sys.setswitchinterval(before)
            thread.join()
        self.assertGreater(seen, start)


class Header(support.Case):
    """What _library.py says of ktrace.h, against ktrace.h."""

    TYPES = {"size_t": ctypes.c_size_t, "const char *": ctypes.c_char_p, "uint64_t": ctypes.c_uint64,
             "int64_t": ctypes.c_int64, "uint32_t": ctypes.c_uint32, "int": ctypes.c_int, "double": ctypes.c_double,
             "const struct ktrace_filter *": ctypes.c_void_p}
    STRUCTS = {"capture_options": "CaptureOptions", "program_header": "ProgramHeader", "program_options": "ProgramOptions",
               "program_info": "ProgramInfo", "trace_info": "TraceInfo", "device_info": "DeviceInfo",
               "wave_info": "WaveInfo", "event_record": "EventRecord"}

    @classmethod
    def setUpClass(cls):
        path = os.path.join(DATA, "..", "..", "include", "ktrace", "ktrace.h")
        with open(path, encoding="utf-8") as file:
            cls.text = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.DOTALL)

    def fields(self, struct):
        body = re.search(rf"^struct ktrace_{struct} \{{(.*?)^\}};", self.text, re.DOTALL | re.MULTILINE).group(1)
        for declaration in body.split(";"):
            words = " ".join(declaration.split())
            if not words:
                continue
            kind, names = re.match(r"((?:const )?(?:struct )?\w+ (?:\*(?:const \*)?)?)(.*)", words).groups()
            for name in names.split(","):
                name, _, count = name.strip(" *").partition("[")
                yield name, kind.strip(), count.rstrip("]")

    def test_structs(self):
        for struct, mine in self.STRUCTS.items():
            with self.subTest(struct=struct):
                wanted = getattr(_library, mine)._fields_
                fields = list(self.fields(struct))
                self.assertEqual([name for name, _ in wanted], [name for name, _, _ in fields])
                for (name, have), (_, kind, count) in zip(wanted, fields):
                    if kind == "const char *const *" or kind == "const struct ktrace_program_header *":
                        self.assertTrue(issubclass(have, ctypes._Pointer), name)
                    elif mine == "EventRecord" and kind == "const char *":
                        self.assertIs(have, ctypes.c_void_p)  # an address is what NumPy can hold
                    else:
                        element = self.TYPES[kind]
                        self.assertEqual(ctypes.sizeof(have), ctypes.sizeof(element) * int(count or 1), name)
                        self.assertIs(have if not count else have._type_, element, name)

    def test_functions(self):
        for name, arguments in {**_library.FUNCTIONS, **{k: v[1] for k, v in _library.OTHERS.items()}}.items():
            with self.subTest(name=name):
                head, parameters = re.search(rf"^KTRACE_API ([^;]*?)ktrace_{name}\((.*?)\);", self.text,
                                             re.DOTALL | re.MULTILINE).groups()
                parameters = re.sub(r"\(\*\w+\)\([^)]*\)", "callback", parameters)
                count = 0 if parameters == "void" else parameters.count(",") + 1
                self.assertEqual(len(arguments), count)
                if name in _library.FUNCTIONS:
                    self.assertEqual(head.strip(), "int")

    def test_status(self):
        found = dict(re.findall(r"KTRACE_(?:ERROR_)?(\w+) = (-?\d+)", re.search(r"enum ktrace_status \{.*?\}", self.text,
                                                                                re.DOTALL).group()))
        self.assertEqual({name: int(value) for name, value in found.items()},
                         {status.name: status.value for status in ktrace.Status})
        for status in ktrace.Status:
            if status:
                self.assertEqual(ktrace._errors.of_status(status, "x").status, status)

    def test_version(self):
        version = re.search(r'KTRACE_VERSION_STRING "(.*)"', self.text).group(1)
        self.assertEqual(ktrace.version(), version)
        self.assertEqual(".".join(map(str, _library.VERSION)), version.rpartition(".")[0])


if __name__ == "__main__":
    support.library()
    support.main()
