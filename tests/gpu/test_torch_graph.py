#!/usr/bin/env python3
"""PyTorch's CUDA graphs with an annotated kernel of ours among PyTorch's own.

    KTRACE_LIBRARY=.../libktrace.so.0 KTRACE_TORCH_CUBIN=.../torch_layer.cubin test_torch_graph.py [OPTION...]

      --only CASE     this case; may be repeated
      --list          the names of the cases
      --save DIR      every case's traces as DIR/CASE.ktrace and DIR/CASE.pftrace.gz
      --verbose       the launches of every trace
      --quick         accepted and ignored: all cases are quick

Three layers of matrix product and relu in PyTorch, each followed by our kernel, which is loaded with cuModuleLoadData in PyTorch's
context and launched on PyTorch's current stream. What was recorded is read through ktrace's C API, by ctypes.

Exit status: 0, or 1 when a case failed, or 77 where PyTorch, a GPU or one of the two files is missing.
"""

import argparse
import ctypes
import json
import os
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p


def skip(why):
    print(f"test_torch_graph: skipped: {why}")
    sys.exit(77)


# ---- ktrace -----------------------------------------------------------------------------------------------------

ERROR_STATE = -5
MARK, PUSH, POP = 2, 3, 4
NO_PAYLOAD, INT32 = 0, 6


class CaptureOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("buffer_bytes", c_uint64),
                ("events_per_wave", c_uint32), ("events_per_lane", c_uint32), ("keep_last", c_int),
                ("filter", c_void_p), ("backend", c_char_p), ("blocks", c_char_p), ("directory", c_char_p),
                ("devices", c_char_p), ("stay_armed", c_int)]


class TraceInfo(Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("device", c_char_p), ("arch", c_uint32),
                ("places", c_uint32), ("origin_ns", c_uint64), ("duration_ps", c_int64), ("launches", c_uint64),
                ("waves", c_uint64), ("events", c_uint64), ("waves_dropped", c_uint64), ("waves_filtered", c_uint64),
                ("waves_unfinished", c_uint64), ("slots_lost", c_uint64), ("ranges_unclosed", c_uint64),
                ("ends_unmatched", c_uint64), ("slots_corrupt", c_uint64), ("clocks_ambiguous", c_uint64),
                ("clock_hz", c_double), ("clock_residual_ns", c_double), ("simulated", c_int)]


class LaunchInfo(Structure):
    _fields_ = [("struct_size", c_size_t), ("kernel", c_char_p), ("grid_id", c_uint64), ("occurrence", c_uint32),
                ("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("begin_ps", c_int64), ("end_ps", c_int64),
                ("waves_launched", c_uint64), ("waves", c_uint64), ("events", c_uint64), ("slots_lost", c_uint64)]


class WaveInfo(Structure):
    _fields_ = [("struct_size", c_size_t), ("launch", c_uint32), ("workgroup", c_uint32 * 3), ("wave", c_uint32),
                ("place", c_uint32), ("lane_count", c_uint32), ("begin_ps", c_int64), ("end_ps", c_int64),
                ("events", c_uint32), ("slots_lost", c_uint64), ("unfinished", c_int)]


class EventInfo(Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("file", c_char_p), ("line", c_uint32),
                ("kind", c_uint32), ("lane", c_uint32), ("partner", c_uint32), ("payload_type", c_uint32),
                ("payload", c_uint64), ("time_ps", c_int64), ("clock_ticks", c_uint64)]


class Error(Exception):
    def __init__(self, call, status, sentence):
        super().__init__(f"{call}: {sentence} ({status})")
        self.status = status


class Library:
    """libktrace's functions, with errors as exceptions."""

    def __init__(self, path):
        library = ctypes.CDLL(path)
        self.c = library
        library.ktrace_last_error.restype = c_char_p
        library.ktrace_trace_warning.restype = c_char_p
        library.ktrace_trace_warning.argtypes = [c_void_p]
        for name, types in {
            "ktrace_attach_cuda_module": [c_void_p],
            "ktrace_detach_cuda_module": [c_void_p],
            "ktrace_capture_begin": [POINTER(c_void_p), POINTER(CaptureOptions)],
            "ktrace_capture_clear": [c_void_p],
            "ktrace_capture_read": [POINTER(c_void_p), c_void_p],
            "ktrace_capture_snapshot": [POINTER(c_void_p), c_void_p],
            "ktrace_capture_stop": [c_void_p],
            "ktrace_capture_end": [POINTER(c_void_p), c_void_p],
            "ktrace_trace_get_info": [POINTER(TraceInfo), c_void_p],
            "ktrace_trace_launch": [POINTER(LaunchInfo), c_void_p, c_uint64],
            "ktrace_trace_wave": [POINTER(WaveInfo), c_void_p, c_uint64],
            "ktrace_trace_event": [POINTER(EventInfo), c_void_p, c_uint64, c_uint32],
            "ktrace_trace_summary_json": [POINTER(c_void_p), c_void_p],
            "ktrace_trace_export": [c_void_p, c_char_p, c_char_p],
            "ktrace_trace_save": [c_void_p, c_char_p],
        }.items():
            function = getattr(library, name)
            function.argtypes = types
            function.restype = c_int
            setattr(self, name.removeprefix("ktrace_"), self.checked(name, function))
        self.destroy_trace = library.ktrace_trace_destroy
        self.destroy_trace.argtypes = [c_void_p]
        self.destroy_capture = library.ktrace_capture_destroy
        self.destroy_capture.argtypes = [c_void_p]

    def checked(self, name, function):
        def call(*arguments):
            status = function(*arguments)
            if status < 0:
                raise Error(name, status, self.c.ktrace_last_error().decode())

        return call


class Trace:
    """A trace as plain values; `launches` have their waves, and these their events."""

    def __init__(self, handle, keep=True):
        def get(function, struct, *index):
            out = struct(struct_size=ctypes.sizeof(struct))
            function(byref(out), handle, *index)
            return out

        self.info = get(ktrace.trace_get_info, TraceInfo)
        self.warning = ktrace.c.ktrace_trace_warning(handle).decode()
        self.launches = [get(ktrace.trace_launch, LaunchInfo, i) for i in range(self.info.launches)]
        self.kernels = [launch.kernel.decode() for launch in self.launches]
        self.waves = [[] for _ in self.launches]
        for i in range(self.info.waves):
            wave = get(ktrace.trace_wave, WaveInfo, i)
            events = [get(ktrace.trace_event, EventInfo, i, k) for k in range(wave.events)]
            events = [(e.kind, e.name.decode(), e.payload if e.payload_type == INT32 else None) for e in events]
            self.waves[wave.launch].append((tuple(wave.workgroup), wave.wave, events))
        text = c_void_p()
        ktrace.trace_summary_json(byref(text), handle)
        self.summary = json.loads(ctypes.string_at(text))
        libc.free(text)
        if keep and options.save and self.launches:
            path = os.path.join(options.save, current + (f"_{saved[current]}" if saved.get(current) else ""))
            saved[current] = saved.get(current, 1) + 1
            ktrace.trace_save(handle, f"{path}.ktrace".encode())
            ktrace.trace_export(handle, b"perfetto", f"{path}.pftrace.gz".encode())
        ktrace.destroy_trace(handle)
        if options.verbose:
            for i, launch in enumerate(self.launches):
                print(f"  launch {i}: '{self.kernels[i]}', grid id {launch.grid_id}, occurrence {launch.occurrence}, "
                      f"{launch.begin_ps / 1000:.0f} .. {launch.end_ps / 1000:.0f} ns, {launch.waves} waves")


class Capture:
    """with Capture() as capture: ... ; afterwards `capture.trace` is what the end gave."""

    def __init__(self, stay_armed=False):
        self.options = CaptureOptions(struct_size=ctypes.sizeof(CaptureOptions), name=current.encode(),
                                      events_per_wave=16, events_per_lane=4, stay_armed=int(stay_armed))
        self.handle = c_void_p()
        self.trace = None

    def __enter__(self):
        ktrace.capture_begin(byref(self.handle), byref(self.options))
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.trace = self.take(ktrace.capture_end)
        else:
            ktrace.destroy_capture(self.handle)
        self.handle = None

    def take(self, call):
        trace = c_void_p()
        call(byref(trace), self.handle)
        return Trace(trace)

    def read(self):
        return self.take(ktrace.capture_read)

    def snapshot(self):
        return self.take(ktrace.capture_snapshot)

    def clear(self):
        ktrace.capture_clear(self.handle)

    def stop(self):
        ktrace.capture_stop(self.handle)


# ---- The layers -------------------------------------------------------------------------------------------------

LAYERS, SIZE, BLOCK = 3, 64, 256
GRID = SIZE * SIZE // BLOCK
WAVES = GRID * BLOCK // 32


class Driver:
    """The kernel, in the context that PyTorch uses."""

    def __init__(self, path):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        with open(path, "rb") as file:
            self.image = file.read()
        self.module, self.function = c_void_p(), c_void_p()
        self.check(self.cuda.cuModuleLoadData(byref(self.module), self.image), "cuModuleLoadData")
        self.check(self.cuda.cuModuleGetFunction(byref(self.function), self.module, b"torch_layer"),
                   "cuModuleGetFunction")

    @staticmethod
    def check(result, call):
        if result != 0:
            raise RuntimeError(f"{call}: CUresult {result}")

    def launch(self, x, layer, replay):
        values = (c_void_p(x.data_ptr()), c_int(x.numel()), c_int(layer), c_void_p(replay.data_ptr()))
        arguments = (c_void_p * len(values))(*(ctypes.cast(byref(value), c_void_p) for value in values))
        stream = c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check(self.cuda.cuLaunchKernel(self.function, GRID, 1, 1, BLOCK, 1, 1, 0, stream, arguments, None),
                   "cuLaunchKernel")


class Layers:
    """Three layers, and a count of passes that the last operation raises."""

    def __init__(self):
        generator = torch.Generator(device="cuda").manual_seed(1)
        self.input = torch.randn(SIZE, SIZE, device="cuda", generator=generator)
        self.weights = [torch.randn(SIZE, SIZE, device="cuda", generator=generator) / SIZE for _ in range(LAYERS)]
        self.replay = torch.zeros(1, dtype=torch.int32, device="cuda")
        torch.cuda.synchronize()

    def run(self):
        x = self.input
        for layer, weight in enumerate(self.weights):
            x = torch.relu(torch.matmul(x, weight))
            driver.launch(x, layer, self.replay)
        self.replay.add_(1)
        return x

    def expected(self):
        x = self.input
        for layer, weight in enumerate(self.weights):
            x = 2 * torch.relu(torch.matmul(x, weight)) + layer
        return x


def prepared_on(stream, layers):
    """What PyTorch asks of a graph: a pass on the side stream before, dormant or recorded."""
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        layers.run()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()


def graph_of(layers):
    """(graph, output), built on a stream of its own."""
    stream = torch.cuda.Stream()
    prepared_on(stream, layers)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        output = layers.run()
    torch.cuda.synchronize()
    return graph, output


# ---- Checks -----------------------------------------------------------------------------------------------------

failures = []


def check(condition, text):
    if not condition:
        failures.append(text)
        if len(failures) <= 12:
            print(f"  FAILED {current}: {text}")


def check_equal(actual, expected, what):
    check(actual == expected, f"{what}: {actual!r} and not {expected!r}")


def check_passes(trace, passes, first=0):
    """Launches layer 0, 1, 2 of every pass, in this order and whole; the first pass has the number `first`."""
    count = LAYERS * passes
    for name in ("waves_dropped", "waves_filtered", "waves_unfinished", "slots_lost", "ranges_unclosed",
                 "ends_unmatched", "slots_corrupt", "clocks_ambiguous"):
        check_equal(getattr(trace.info, name), 0, name)
    check_equal(len(trace.launches), count, "launches")
    check_equal(trace.info.events, 5 * WAVES * count, "events")
    seen = {}
    for i, launch in enumerate(trace.launches[:count]):
        check_equal(trace.kernels[i], "torch layer", f"kernel of launch {i}")
        check_equal(tuple(launch.grid), (GRID, 1, 1), f"grid of launch {i}")
        check_equal(tuple(launch.block), (BLOCK, 1, 1), f"block of launch {i}")
        check_equal((launch.waves, launch.waves_launched, launch.events), (WAVES, WAVES, 5 * WAVES), f"launch {i}")
        check_equal(launch.occurrence, seen.get(launch.grid_id, 0), f"occurrence of launch {i}")
        seen[launch.grid_id] = launch.occurrence + 1
        check(i == 0 or launch.begin_ps > trace.launches[i - 1].begin_ps, f"launch {i} is out of order")
        layer, number = i % LAYERS, first + i // LAYERS
        wanted = [(PUSH, "layer", layer), (MARK, "replay", number), (PUSH, "scale", None), (POP, "", None),
                  (POP, "", None)]
        units = {(workgroup, wave) for workgroup, wave, _ in trace.waves[i]}
        check_equal(len(units), WAVES, f"different waves of launch {i}")
        for workgroup, wave, events in trace.waves[i]:
            check(events == wanted, f"wave {wave} of {workgroup} in launch {i}: {events} and not {wanted}")
    check_summary(trace, passes)


def check_summary(trace, passes):
    """The JSON says the same."""
    count = LAYERS * passes
    check_equal([launch["kernel"] for launch in trace.summary["launches"]], ["torch layer"] * count, "JSON launches")
    check_equal([launch["grid"] for launch in trace.summary["launches"]], [[GRID, 1, 1]] * count, "JSON grids")
    check_equal(sum(launch["waves"] for launch in trace.summary["launches"]), WAVES * count, "JSON waves")
    phases = {(phase["name"], phase["kind"]): phase["count"] for phase in trace.summary["phases"]}
    wanted = {("layer", "range"): WAVES * count, ("replay", "mark"): WAVES * count, ("scale", "range"): WAVES * count}
    check_equal(phases, wanted if passes else {}, "JSON phases")


def check_numbers(output, layers):
    torch.cuda.synchronize()
    expected = layers.expected()
    check(torch.allclose(output, expected, rtol=1e-4, atol=1e-4),
          f"results differ by {(output - expected).abs().max().item()}")


# ---- Cases ------------------------------------------------------------------------------------------------------


def eager_launches():
    """Without a graph: on PyTorch's default stream, and on a side stream."""
    layers = Layers()
    layers.run()
    side = torch.cuda.Stream()
    with Capture() as capture:
        output = layers.run()
        check_numbers(output, layers)
        prepared_on(side, layers)
    check_passes(capture.trace, 2, first=1)


def capture_around_construction():
    """The documentation's way: enter, prepare, construct, clear, replay."""
    layers = Layers()
    with Capture() as capture:
        graph, output = graph_of(layers)
        capture.clear()
        graph.replay()
    check_passes(capture.trace, 1, first=1)
    check_numbers(output, layers)


def construction_before_the_capture():
    """Replays of a graph that was built before record as well; those outside of the capture do not."""
    layers = Layers()
    graph, output = graph_of(layers)
    graph.replay()
    torch.cuda.synchronize()
    with Capture() as capture:
        for _ in range(3):
            graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    check_passes(capture.trace, 3, first=2)
    check_equal(layers.replay.item(), 6, "passes")
    check_numbers(output, layers)


def reads_between_replays():
    """Each read has the replays since the last; construction itself records nothing but what prepares it."""
    layers = Layers()
    traces = []
    with Capture() as capture:
        graph, _ = graph_of(layers)
        traces.append(capture.read())
        for passes in (1, 4, 2):
            for _ in range(passes):
                graph.replay()
            traces.append(capture.read())
        check_passes(capture.snapshot(), 2, first=6)
    first = 0
    for trace, passes in zip(traces, (1, 1, 4, 2)):
        check_passes(trace, passes, first)
        first += passes
    check_passes(capture.trace, 0)
    check(capture.trace.warning != "", "an empty trace does not say why")


def eager_passes_between_replays():
    """An eager pass is a pass like any other."""
    layers = Layers()
    graph, _ = graph_of(layers)
    with Capture() as capture:
        graph.replay()
        layers.run()
        graph.replay()
    check_passes(capture.trace, 3, first=1)


def two_graphs():
    """Two graphs that share nothing but the kernel, in turns."""
    pairs = [Layers(), Layers()]
    graphs = [graph_of(layers)[0] for layers in pairs]
    with Capture() as capture:
        for _ in range(3):
            for graph in graphs:
                graph.replay()
    trace = capture.trace
    check_equal(len(trace.launches), 2 * 3 * LAYERS, "launches")
    numbers = [trace.waves[i][0][2][1][2] for i in range(0, len(trace.launches), LAYERS)]
    check_equal(numbers, [1, 1, 2, 2, 3, 3], "passes")
    layers = [trace.waves[i][0][2][0][2] for i in range(len(trace.launches))]
    check_equal(layers, [0, 1, 2] * 6, "layers")
    check_summary(trace, 6)


def replays_after_the_end():
    """Told to stay armed, a capture records what is replayed after its end, until it is destroyed."""
    layers = Layers()
    graph, _ = graph_of(layers)
    with Capture(stay_armed=True) as capture:
        graph.replay()
        capture.stop()
        check_passes(capture.snapshot(), 1, first=1)
        graph.replay()
        graph.replay()
        check_passes(capture.snapshot(), 1, first=1)
        check_passes(capture.read(), 2, first=2)
        check_passes(capture.snapshot(), 2, first=2)
    graph.replay()
    torch.cuda.synchronize()
    check_equal(layers.replay.item(), 5, "passes")


def read_during_construction():
    """An error that says so; the capture survives it. PyTorch's streams do not block, so its graph may not: last of all."""
    layers = Layers()
    side = torch.cuda.Stream()
    prepared_on(side, layers)
    with Capture() as capture:
        status = None
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph(), stream=side):
                try:
                    capture.read()
                    status = 0
                except Error as error:
                    status = error.status
                    print(f"  said: {error}")
        except RuntimeError as error:
            print(f"  PyTorch said: {str(error).splitlines()[0]}")
        check_equal(status, ERROR_STATE, "read during construction")
        torch.cuda.synchronize()
        layers.run()
    check_passes(capture.trace, 1, first=1)


CASES = [eager_launches, capture_around_construction, construction_before_the_capture, reads_between_replays,
         eager_passes_between_replays, two_graphs, replays_after_the_end, read_during_construction]

# ---- The program ------------------------------------------------------------------------------------------------

current = ""
saved = {}
libc = ctypes.CDLL(None)
libc.free.argtypes = [c_void_p]
options = None


def parse():
    parser = argparse.ArgumentParser(description="PyTorch's CUDA graphs with an annotated kernel in them.")
    parser.add_argument("--only", action="append", default=[], metavar="CASE")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--save", metavar="DIR")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


def file_from(variable):
    path = os.environ.get(variable, "")
    if not path:
        skip(f"{variable} is not set")
    if not os.path.exists(path):
        skip(f"{variable}: there is no file {path}")
    return path


def main():
    global options, current, torch, ktrace, driver
    options = parse()
    if options.list:
        print("\n".join(case.__name__ for case in CASES))
        return 0
    unknown = set(options.only) - {case.__name__ for case in CASES}
    if unknown:
        print(f"test_torch_graph: there is no case {sorted(unknown)[0]}")
        return 2
    library, cubin = file_from("KTRACE_LIBRARY"), file_from("KTRACE_TORCH_CUBIN")
    try:
        import torch
    except ImportError as error:
        skip(f"no PyTorch ({error})")
    if not torch.cuda.is_available():
        skip("PyTorch finds no CUDA device")
    torch.zeros(1, device="cuda")  # PyTorch's context is the current one from now on
    ktrace, driver = Library(library), Driver(cubin)
    ktrace.attach_cuda_module(driver.module)
    print(f"test_torch_graph: PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")

    passed = failed = 0
    for case in CASES:
        if options.only and case.__name__ not in options.only:
            continue
        current = case.__name__
        failures.clear()
        print(current, flush=True)
        try:
            case()
        except Exception as error:  # the next case may still tell something
            check(False, f"{type(error).__name__}: {error}")
        print(f"  {'FAILED' if failures else 'ok'}", flush=True)
        passed, failed = passed + (not failures), failed + bool(failures)
    ktrace.detach_cuda_module(driver.module)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
