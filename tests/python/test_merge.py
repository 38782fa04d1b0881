"""Two processes on the simulator, each with two reads, merged: every event is there, and where it belongs."""

import collections
import ctypes
import os
import subprocess
import sys

import ktrace
import support
from ktrace import _library

OFFSET_NS = 1_234_567


def rank(number, folder):
    """A child: two reads of one capture."""
    kernels = support.Kernels()
    with ktrace.capture("step", events_per_wave=64 << number, blocks="*,0-1") as trace:
        kernels.launch("gemm", 3, grid=(2, 3), block=(128,))
        trace.read().save(os.path.join(folder, f"rank{number}.0.ktrace"))
        for _ in range(1 + number):
            kernels.launch("layer", 7)
    trace.snapshot().save(os.path.join(folder, f"rank{number}.1.ktrace"))


def waves_of(trace, device):
    """(launch's kernel, grid id and queue, workgroup, wave) -> [(time_ps, name, kind, lane, partner, payload)], of a device."""
    launches = trace.launches()
    events = collections.defaultdict(list)
    records = (_library.EventRecord * trace.info["events"])()
    trace._library.trace_event_records(records, ctypes.sizeof(_library.EventRecord), trace._handle, 0, len(records))
    for record in records:
        wave = _library.WaveInfo()
        trace._library.trace_wave(ctypes.byref(wave), trace._handle, record.wave)
        launch = launches[wave.launch]
        if launch["device"] == device:
            key = launch["kernel"], launch["grid_id"], launch["queue"], tuple(wave.workgroup), wave.wave
            events[key].append((record.time_ps, ctypes.string_at(record.name), record.kind, record.lane, record.partner,
                                record.payload))
    return dict(events)


class Merged(support.Case):
    def setUp(self):
        super().setUp()
        for number in range(2):
            environment = {**os.environ, "RANK": str(number)}
            environment.pop("KTRACE_LABEL", None)
            subprocess.run([sys.executable, __file__, "--rank", str(number), self.folder], env=environment, check=True,
                           timeout=120)
        self.paths = [self.path(f"rank{number}.{read}.ktrace") for number in range(2) for read in range(2)]
        self.reads = [ktrace.load(path) for path in self.paths]

    def shift_ps(self, whole, device, part):
        """By which all events of `part` are moved in `whole`."""
        there, shifts = waves_of(whole, device), set()
        for key, events in waves_of(part, 0).items():
            self.assertEqual([event[1:] for event in there[key]], [event[1:] for event in events], key)
            shifts |= {a[0] - b[0] for a, b in zip(there[key], events)}
        self.assertEqual(len(shifts), 1, shifts)
        return shifts.pop()

    def test_ranks(self):
        with self.assertRaisesRegex(ktrace.ArgumentError, "each process that is simulated has a time of its own"):
            ktrace.merge(self.reads)
        whole = ktrace.merge(self.reads, align="start", offsets_ns=[0, 0, OFFSET_NS, OFFSET_NS])
        self.assertEqual([p["label"] for p in whole.processes], ["rank 0", "rank 1"])
        self.assertEqual([d["label"].split(":")[0] for d in whole.devices], ["rank 0", "rank 1"])
        self.assertEqual([p["launches"] for p in whole.processes], [2, 3])
        self.assertEqual([p["filter"] for p in whole.processes], ["*,0-1,*"] * 2)
        for name in ("launches", "waves", "events", "waves_dropped", "waves_filtered", "ranges_unclosed"):
            self.assertEqual(whole.info[name], sum(read.info[name] for read in self.reads), name)
        self.assertEqual(whole.info["waves_filtered"], 2 * 2 * 2)

        # Each process is moved as a whole: its reads by what lies between them, to the picosecond.
        moved = [self.shift_ps(whole, i // 2, read) for i, read in enumerate(self.reads)]
        origins = [read.info["origin_ns"] for read in self.reads]
        self.assertEqual(moved[0], 0)
        self.assertEqual(moved[1], 1000 * (origins[1] - origins[0]))
        self.assertEqual(moved[2], 1000 * OFFSET_NS)
        self.assertEqual(moved[3] - moved[2], 1000 * (origins[3] - origins[2]))

        again = ktrace.load(whole.save(self.path("whole.ktrace")))
        self.assertEqual([self.shift_ps(again, i // 2, read) for i, read in enumerate(self.reads)], moved)

    def test_reads_of_one_process(self):
        whole = ktrace.merge(self.reads[:2])
        self.assertEqual(whole.info["processes"], 1)
        self.assertEqual(whole.info["devices"], 1)
        self.assertEqual(whole.devices[0]["label"].split(":")[0], "device 0")
        self.assertEqual([launch["kernel"] for launch in whole.launches()], ["gemm", "layer"])
        self.assertEqual(self.shift_ps(whole, 0, self.reads[0]), 0)
        with self.assertRaisesRegex(ktrace.ArgumentError, "have the same read of one capture"):
            ktrace.merge([whole, self.reads[1]])

    def test_identity(self):
        processes = [read.processes[0] for read in self.reads]
        self.assertEqual(len({p["pid"] for p in processes}), 2)
        self.assertEqual(len({(p["host"], p["boot"], p["program"]) for p in processes}), 1)
        self.assertTrue(all(p["boot"] and os.path.samefile(p["program"], sys.executable) for p in processes))
        for read in self.reads:
            self.assertEqual(read.devices[0]["uuid"], "6b747261-6365-2d73-696d-2d3030303030")  # "ktrace-sim-00000"
            self.assertEqual(read.devices[0]["pci_bus_id"], "0000:01:00.0")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank(int(sys.argv[2]), sys.argv[3])
    else:
        support.library()
        support.main()
