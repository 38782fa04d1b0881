#!/usr/bin/env python3
"""The Python package around PyTorch's CUDA graphs, CuPy's RawModule, cuda-python's modules, and NVRTC.

    KTRACE_LIBRARY=.../libktrace.so.0 KTRACE_TORCH_CUBIN=.../torch_layer.cubin test_python_torch.py [OPTION...]

      --only CASE     this case; may be repeated
      --list          the names of the cases
      --save DIR      every case's traces as DIR/CASE.ktrace, DIR/CASE_2.ktrace ...
      --verbose       the summary of every trace
      --quick         accepted and ignored: all cases are quick

The package is bindings/python of this checkout, the kernel torch_layer.cu. A case whose packages (cupy, cuda-python, NVRTC, pandas) are
not there is skipped and says so.

Exit status: 0, or 1 when a case failed, or 77 where PyTorch, NumPy, a GPU or one of the two files is missing.
"""

import argparse
import ctypes
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bindings" / "python"), str(ROOT / "tests" / "python")]

SIZE, BLOCK, LAYERS = 4096, 256, 3
GRID = SIZE // BLOCK
WAVES = SIZE // 32
EVENTS = [("push", "layer"), ("mark", "replay"), ("push", "scale"), ("pop", ""), ("pop", "")]  # of torch_layer's waves


def skip(why):
    print(f"test_python_torch: skipped: {why}")
    sys.exit(77)


class Missing(Exception):
    """A case cannot run here."""


def need(name):
    try:
        return __import__(name, fromlist=["*"])
    except ImportError as error:
        raise Missing(str(error)) from None


# ---- Checks -----------------------------------------------------------------------------------------------------

failures = []


def check(condition, text):
    if not condition:
        failures.append(text)
        if len(failures) <= 12:
            print(f"  FAILED {current}: {text}")


def check_equal(actual, expected, what):
    check(actual == expected, f"{what}: {actual!r} and not {expected!r}")


def check_raises(kind, call, wanted):
    try:
        call()
    except kind as error:
        check(wanted in str(error), f"{error!r} does not say {wanted!r}")
    else:
        check(False, f"no {kind.__name__} was raised")


def keep(trace):
    """Of a case that is saved or shown."""
    if options.verbose:
        print(trace.summary())
    if options.save:
        saved[current] = saved.get(current, 0) + 1
        number = "" if saved[current] == 1 else f"_{saved[current]}"
        trace.save(os.path.join(options.save, f"{current}{number}.ktrace"))


def check_layers(trace, layers, replays):
    """Launches with these payloads in this order, each of every wave, with the events that the kernel has."""
    keep(trace)
    launches, events, waves = trace.launches(), trace.events(), trace.waves()
    check_equal([launch["kernel"] for launch in launches], ["torch layer"] * len(layers), "kernels")
    check_equal([launch["grid"] for launch in launches], [[GRID, 1, 1]] * len(layers), "grids")
    check_equal([launch["waves"] for launch in launches], [WAVES] * len(layers), "waves")
    check_equal(trace.warning, "", "warning")
    check_equal(len(waves), WAVES * len(layers), "waves in the array")
    check_equal(len(events), len(EVENTS) * WAVES * len(layers), "events")
    for i, (layer, replay) in enumerate(zip(layers, replays)):
        mine = events[events["launch"] == i]
        for name, payload in (("layer", layer), ("replay", replay)):
            check_equal(set(mine["payload"][mine["name"] == name]), {payload}, f"payload of {name} in launch {i}")
        check_equal(list(zip(mine["kind"].tolist(), mine["name"].tolist())), EVENTS * WAVES, f"events of launch {i}")
        scales = mine[mine["name"] == "scale"]
        outer = mine[mine["name"] == "layer"]
        check((outer["duration_ns"] >= scales["duration_ns"]).all(), f"launch {i}: a range is shorter than what it contains")
        phase = next(p for p in launches[i]["phases"] if p["name"] == "scale")
        check(abs(scales["duration_ns"].sum() - phase["total_ns"]) <= 1e-6 * phase["total_ns"],
              f"launch {i}: durations and summary differ")


# ---- The kernel, loaded by cuda-python, CuPy, or ctypes -------------------------------------------------------------


class Layer:
    """torch_layer.cubin; `load` gives (what is attached, the CUfunction as a number)."""

    def __init__(self, load):
        self.module, self.function, self.unload = load()
        ktrace.attach_cuda_module(self.module)
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.x = torch.ones(SIZE, device="cuda")
        self.replay = torch.zeros(1, dtype=torch.int32, device="cuda")
        torch.cuda.synchronize()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        torch.cuda.synchronize()
        ktrace.detach_cuda_module(self.module)
        self.unload()

    def launch(self, layer):
        values = (ctypes.c_void_p(self.x.data_ptr()), ctypes.c_int(SIZE), ctypes.c_int(layer),
                  ctypes.c_void_p(self.replay.data_ptr()))
        arguments = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        result = self.cuda.cuLaunchKernel(ctypes.c_void_p(self.function), GRID, 1, 1, BLOCK, 1, 1, 0, stream, arguments, None)
        if result:
            raise RuntimeError(f"cuLaunchKernel: CUresult {result}")

    def layers(self):
        for layer in range(LAYERS):
            self.launch(layer)
        self.replay.add_(1)


def by_cuda_python():
    driver = need("cuda.bindings.driver")

    def done(answer):
        if answer[0] != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(str(answer[0]))
        return answer[1] if len(answer) > 1 else None

    with open(cubin, "rb") as file:
        module = done(driver.cuModuleLoadData(file.read()))
    function = done(driver.cuModuleGetFunction(module, b"torch_layer"))
    return module, int(function), lambda: done(driver.cuModuleUnload(module))


def by_cupy():
    cupy = need("cupy")
    module = cupy.RawModule(path=cubin)
    kernel = module.get_function("torch_layer")
    return module, int(kernel.kernel.ptr), lambda: None  # CuPy keeps its modules


def by_ctypes():
    cuda, module, function = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
    with open(cubin, "rb") as file:
        for result in (cuda.cuModuleLoadData(ctypes.byref(module), file.read()),
                       cuda.cuModuleGetFunction(ctypes.byref(function), module, b"torch_layer")):
            if result:
                raise RuntimeError(f"CUresult {result}")
    return module, function.value, lambda: cuda.cuModuleUnload(module)


# ---- Cases ------------------------------------------------------------------------------------------------------


def around_a_graph(load):
    """Prepared, built, cleared, replayed; a replay after the end, of a capture that stays armed."""
    with Layer(load) as layer, tempfile.TemporaryDirectory() as folder:
        with ktrace.capture(current, out_dir=folder, stay_armed=True) as trace:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                layer.layers()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                layer.layers()
            trace.clear()
            graph.replay()
            torch.cuda.synchronize()
            inside = trace.snapshot()
            graph.replay()
        check_layers(inside, [0, 1, 2], [1] * 3)
        check_layers(trace.snapshot(), [0, 1, 2] * 2, [1] * 3 + [2] * 3)
        names = [f"layer_{i}" for i in range(2 * LAYERS)]
        paths = trace.export_launches(names=names)
        check_equal([os.path.basename(path) for path in paths], [f"{name}_ktrace.pftrace.gz" for name in names], "files")
        check(os.path.isfile(trace.export()), "no file was exported")
        graph.replay()
        torch.cuda.synchronize()
        check_layers(trace.read(), [0, 1, 2], [3] * 3)
        trace.close()
        del graph


def graph_with_a_module_of_cuda_python():
    around_a_graph(by_cuda_python)


def graph_with_a_raw_module_of_cupy():
    around_a_graph(by_cupy)


def graph_with_a_module_by_ctypes():
    around_a_graph(by_ctypes)


def launches_of_pytorch_streams():
    """One workgroup, by a filter, on the default stream and a side stream; a data frame of it."""
    with Layer(by_ctypes) as layer:
        with ktrace.capture(current, blocks=(0, 0, 0)) as trace:
            layer.layers()
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                layer.layers()
        keep(trace.snapshot())
        info = trace.summary()["info"]
        check_equal(info["launches"], 2 * LAYERS, "launches")
        check_equal(info["waves"], 2 * LAYERS * BLOCK // 32, "waves")
        check_equal(info["waves_filtered"], 2 * LAYERS * (WAVES - BLOCK // 32), "waves that were filtered")
        need("pandas")
        frame = trace.dataframe()
        check_equal(len(frame), info["events"], "rows")
        check_equal(set(frame["workgroup_x"]), {0}, "workgroups")
        check_equal(set(frame["kernel"]), {"torch layer"}, "kernels in the frame")


def errors():
    """Overflow with what it needs, a block that is left by an exception, calls while a graph is built."""
    with Layer(by_ctypes) as layer:
        need_slots = None
        try:
            with ktrace.capture(current, events_per_wave=2):
                layer.layers()
        except ktrace.OverflowError as error:
            need_slots = int(str(error).split("events_per_wave >= ")[1].split()[0].rstrip(",;"))
        check(need_slots is not None, "no overflow was raised")
        with ktrace.capture(current, events_per_wave=need_slots or 16) as trace:
            layer.layers()
        check_equal(trace.summary()["info"]["events"], len(EVENTS) * WAVES * LAYERS, "events")
        try:
            with ktrace.capture(current) as trace:
                layer.layers()
                raise KeyError("mine")
        except KeyError:
            check(not ktrace.active(), "a capture that was left by an exception is active")
        check_equal(trace.summary()["info"]["launches"], LAYERS, "launches before the exception")
        with ktrace.capture(current):
            check_raises(ktrace.StateError, lambda: ktrace.capture().__enter__(), "captures do not nest")
            layer.layers()


def collection():
    """Without a capture."""
    with Layer(by_ctypes) as layer, tempfile.TemporaryDirectory() as folder:
        ktrace.enable()
        try:
            layer.layers()
            first = ktrace.summary()
            check_equal(first["info"]["launches"], LAYERS, "launches")
            torch.relu(layer.x)  # untraced
            check_equal(ktrace.summary(), first, "the snapshot after an untraced launch")
            check_equal(ktrace.collect("kernel", out_dir=folder), os.path.join(folder, "kernel_ktrace.pftrace.gz"), "file")
            layer.launch(0)
            check_equal(ktrace.summary()["info"]["launches"], 1, "launches since")
        finally:
            ktrace.disable()


def program():
    """Traced inside, untraced outside; compiled by NVRTC."""
    with open(ROOT / "tests" / "gpu" / "torch_layer.cu", encoding="utf-8") as file:
        source = file.read()
    with Layer(by_ctypes) as layer, ktrace.Program(source, name="torch_layer.cu", backend="cuda",
                                                   cache_directory="") as compiled:
        try:
            layer.function = compiled.kernel("torch_layer")
        except ktrace.UnsupportedError as error:
            raise Missing(str(error)) from None
        layer.layers()
        with ktrace.capture(current) as trace:
            layer.function = compiled.kernel("torch_layer")
            layer.layers()
        check_layers(trace.snapshot(), [0, 1, 2], [1] * 3)
        check_equal(compiled.info["compilations"], 2, "compilations")
        torch.cuda.synchronize()


def code_of_the_page():
    """What docs/python.md shows for NVIDIA, in a folder of its own."""
    import snippets
    for name in ("cupy", "cuda.bindings.driver"):
        need(name)
    back = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            namespace = {"__name__": "page", "ktrace": ktrace, "np": need("numpy"), "ctypes": ctypes}
            for code in snippets.blocks(str(ROOT / "docs" / "python.md"), "python cuda"):
                exec(code, namespace)
            torch.cuda.synchronize()
            check_equal(namespace["trace"].summary()["info"]["launches"], 3, "launches of the last replay")
            check_equal(namespace["x"].tolist(), [2.0 * 0.5**6] * SIZE, "numbers")
            namespace["trace"].close()
        finally:
            os.chdir(back)


CASES = [graph_with_a_module_of_cuda_python, graph_with_a_raw_module_of_cupy, graph_with_a_module_by_ctypes,
         launches_of_pytorch_streams, errors, collection, program, code_of_the_page]

# ---- The program ------------------------------------------------------------------------------------------------

current = ""
saved = {}
options = None


def parse():
    parser = argparse.ArgumentParser(description="The Python package around PyTorch, CuPy and cuda-python.")
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
    return os.path.abspath(path)


def run(case):
    """"ok", "FAILED" or "skipped"."""
    failures.clear()
    try:
        case()
    except Missing as why:
        print(f"  skipped: {why}")
        return "FAILED" if failures else "skipped"
    except Exception as error:  # the next case may still tell something
        check(False, f"{type(error).__name__}: {error}")
    print(f"  {'FAILED' if failures else 'ok'}", flush=True)
    return "FAILED" if failures else "ok"


def main():
    global options, current, torch, ktrace, cubin
    options = parse()
    if options.list:
        print("\n".join(case.__name__ for case in CASES))
        return 0
    unknown = set(options.only) - {case.__name__ for case in CASES}
    if unknown:
        print(f"test_python_torch: there is no case {sorted(unknown)[0]}")
        return 2
    file_from("KTRACE_LIBRARY")
    cubin = file_from("KTRACE_TORCH_CUBIN")
    try:
        import numpy  # noqa: F401
        import torch
    except ImportError as error:
        skip(str(error))
    if not torch.cuda.is_available():
        skip("PyTorch finds no CUDA device")
    import ktrace
    torch.zeros(1, device="cuda")  # PyTorch's context is the current one from now on
    print(f"test_python_torch: ktrace {ktrace.version()}, PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")

    results = []
    for case in CASES:
        if options.only and case.__name__ not in options.only:
            continue
        current = case.__name__
        print(current, flush=True)
        results.append(run(case))
    print(", ".join(f"{results.count(word)} {said}" for word, said in
                    (("ok", "passed"), ("FAILED", "failed"), ("skipped", "skipped"))))
    return 1 if "FAILED" in results else 0


if __name__ == "__main__":
    sys.exit(main())
