#!/usr/bin/env python3
"""`ktrace record` around CUDA programs, on a GPU: a program that nvcc linked (recorded.cu), and Python with PyTorch or without.

    KTRACE=.../bin/ktrace KTRACE_RECORDED=.../tests/gpu/recorded KTRACE_LIBRARY=.../libktrace.so.0 \\
        KTRACE_TORCH_CUBIN=.../tests/gpu/torch_layer.cubin test_record.py [OPTION...]

      --only CASE     this case; may be repeated
      --list          the names of the cases
      --save DIR      every trace as DIR/CASE.FILE.ktrace
      --verbose       what the command said
      --quick         accepted and ignored: all cases are quick

The cases of Python want bindings/python of this checkout, KTRACE_LIBRARY and KTRACE_TORCH_CUBIN, and one of them PyTorch; they are
skipped where these are missing. Exit status: 0, or 1 when a case failed, or 77 where there is no GPU or one of the first two files.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATIENCE_S = 120
WAVES, EVENTS = 8, 24  # of a launch of layer: 4 workgroups of 2, with a push, a mark and a pop each

TORCH = """
import ctypes, os, signal, sys, time
import ktrace
%s
SIZE, BLOCK = 4096, 256
cuda = ctypes.CDLL("libcuda.so.1")
module, function = ctypes.c_void_p(), ctypes.c_void_p()

def must(result):
    if result:
        raise RuntimeError(f"CUresult {result}")

with open(os.environ["KTRACE_TORCH_CUBIN"], "rb") as file:
    must(cuda.cuModuleLoadData(ctypes.byref(module), file.read()))
must(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"torch_layer"))
ktrace.attach_cuda_module(module)

def launch(layer):
    values = (ctypes.c_void_p(x), ctypes.c_int(SIZE), ctypes.c_int(layer), ctypes.c_void_p(replay))
    arguments = (ctypes.c_void_p * 4)(*(ctypes.addressof(value) for value in values))
    must(cuda.cuLaunchKernel(function, SIZE // BLOCK, 1, 1, BLOCK, 1, 1, 0, None, arguments, None))

launch(0)
launch(1)
with ktrace.capture("inside"):
    launch(2)
launch(3)
"""
WITH_TORCH = """
import torch
tensors = torch.ones(4096, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda")
torch.cuda.synchronize()
x, replay = (tensor.data_ptr() for tensor in tensors)
"""
WITHOUT_TORCH = """
runtime = ctypes.CDLL("libcuda.so.1")
context, x, replay = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint64()
for result in (runtime.cuInit(0), runtime.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), runtime.cuCtxSetCurrent(context),
               runtime.cuMemAlloc_v2(ctypes.byref(x), 4 * 4096), runtime.cuMemAlloc_v2(ctypes.byref(replay), 4),
               runtime.cuMemsetD32_v2(x, 0, 4096), runtime.cuMemsetD32_v2(replay, 0, 1)):
    if result:
        raise RuntimeError(f"CUresult {result}")
x, replay = x.value, replay.value
"""


class Failure(Exception):
    pass


class Missing(Exception):
    """A case cannot run here."""


def check(condition, *what):
    if not condition:
        raise Failure(": ".join(str(part) for part in what))


def check_equal(actual, expected, *what):
    check(actual == expected, f"{actual!r} and not {expected!r}", *what)


class Recording:
    """A folder, and what the command does in it."""

    def __init__(self, case):
        self.case = case
        self.holder = tempfile.TemporaryDirectory(prefix="ktrace-record-")
        self.folder = self.holder.name
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("KTRACE_") or name == "KTRACE_TORCH_CUBIN"}
        self.environment["PYTHONPATH"] = str(ROOT / "bindings" / "python")
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        self.environment["KTRACE_LIBRARY"] = os.environ.get("KTRACE_LIBRARY", "")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if options.save:
            for path in pathlib.Path(self.folder).glob("*.ktrace"):
                shutil.copy(path, os.path.join(options.save, f"{self.case}.{path.name}"))
        self.holder.cleanup()

    def start(self, *words, more=()):
        return subprocess.Popen([command, "record", *more, "--", *words], cwd=self.folder, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def finish(self, process):
        out, self.error = process.communicate(timeout=PATIENCE_S)
        self.status, self.out = process.returncode, out
        if options.verbose:
            print(f"  = {self.status}\n  " + self.error.replace("\n", "\n  "))
        hidden = [name for name in os.listdir(self.folder) if name.startswith(".")]
        check_equal(hidden, [], "what stays in the folder")

    def run(self, *words, more=()):
        self.finish(self.start(*words, more=more))

    def files(self):
        return sorted(path.name for path in pathlib.Path(self.folder).glob("*.ktrace"))

    def json(self, what, name):
        done = subprocess.run([command, what, "--json", name], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        check(done.returncode == 0, name, done.stderr)
        return json.loads(done.stdout)

    def check_whole(self, name, kernels, waves=WAVES, events=EVENTS):
        """Launches of these kernels, whole; or None: of one of them that anything may be missing."""
        launches = self.json("launches", name)["launches"]
        check_equal([launch["kernel"] for launch in launches], kernels, name, self.error)
        for launch in launches:
            check_equal((launch["waves"], launch["events"]), (waves, events), f"launch {launch['launch_id']} of {name}")

    def check_status(self, status):
        check_equal(self.status, status, "exit status", self.error)


# ---- A program that nvcc linked ---------------------------------------------------------------------------------


def case_program(recording):
    recording.run(program, "launch=3", "say=hello")
    recording.check_status(0)
    check_equal(recording.out, "hello", "standard output")
    check_equal(recording.files(), ["recorded.ktrace"])
    recording.check_whole("recorded.ktrace", ["layer"] * 3)
    check(f"3 launches, {3 * WAVES} waves, {3 * EVENTS} events" in recording.error, recording.error)


def case_exit_status(recording):
    recording.run(program, "launch", "sync", "exit=3")
    recording.check_status(3)
    recording.check_whole("recorded.ktrace", ["layer"])


def case_settings(recording):
    recording.run(program, "launch", more=("--blocks", "1,0,0 waves:0"))
    recording.check_status(0)
    check_equal(recording.json("summary", "recorded.ktrace")["info"]["waves"], 1, "waves")


def case_nothing(recording):
    recording.run(program, "sync")
    recording.check_status(1)
    check_equal(recording.files(), [])
    check("no kernel with KTRACE_KERNEL ran" in recording.error, recording.error)


def case_overflow(recording):
    recording.run(program, "many=100", more=("--events-per-wave", "8", "--export", "perfetto"))
    recording.check_status(1)
    check("record again with --events-per-wave 200" in recording.error, recording.error)
    check(recording.json("summary", "recorded.ktrace")["info"]["slots_lost"] > 0, "nothing is missing")
    recording.run(program, "many=100", more=("--events-per-wave", "200", "-o", "again.ktrace"))
    recording.check_status(0)
    recording.check_whole("again.ktrace", ["marks"], events=100 * WAVES)


def case_several(recording):
    recording.run("sh", "-c", f"'{program}' launch & RANK=1 '{program}' launch=2; wait", more=("-o", "run.ktrace"))
    recording.check_status(0)
    check_equal(recording.files(), ["run.1.recorded.ktrace", "run.2.recorded.ktrace"])
    recording.check_whole("run.1.recorded.ktrace", ["layer"])
    recording.check_whole("run.2.recorded.ktrace", ["layer"] * 2)


def case_left_behind(recording):
    recording.run(program, "leave", "launch", "apart", "launch=2", more=("-o", "run.ktrace"))
    recording.check_status(0)
    recording.check_whole("run.ktrace", ["layer"] * 3)


# ---- That a signal ends ------------------------------------------------------------------------------------------


def case_crash(recording):
    for word, number in (("crash", signal.SIGSEGV), ("abort", signal.SIGABRT)):
        recording.run(program, "launch=2", "sync", word, more=("-o", f"{word}.ktrace"))
        recording.check_status(128 + number)
        recording.check_whole(f"{word}.ktrace", ["layer"] * 2)
        check(f"ended by signal {int(number)} " in recording.error, recording.error)


def case_underscore_exit(recording):
    recording.run(program, "launch", "sync", "_exit=0")
    recording.check_status(1)
    check("what it had not handed over is lost" in recording.error, recording.error)


def case_fault(recording):
    """After that CUDA gives nothing back; what is said must be CUDA's words."""
    recording.run(program, "launch", "sync", "fault", "sync")
    recording.check_status(1)  # the program's
    said = [line for line in recording.error.splitlines() if line.startswith("ktrace: recorded (process ")]
    check(any("illegal" in line.lower() for line in said), recording.error)
    check_equal(recording.files(), [])


def started(recording, *words, more=()):
    process = recording.start(program, *words, "say=ready", "pause", more=more)
    check_equal(process.stdout.read(5), "ready")
    return process


def case_interrupt(recording):
    """Ctrl-C, as a terminal sends it: to all of the group."""
    process = started(recording, "launch=2", "sync")
    os.killpg(process.pid, signal.SIGINT)
    recording.finish(process)
    recording.check_status(130)
    recording.check_whole("recorded.ktrace", ["layer"] * 2)


def check_hang(recording):
    launches = recording.json("launches", "recorded.ktrace")["launches"]
    check_equal([launch["kernel"] for launch in launches], ["layer", "hang"])
    check_equal(recording.json("summary", "recorded.ktrace")["info"]["waves_unfinished"], WAVES, "unfinished waves")


def case_hang(recording):
    """A kernel that does not end, and a host that waits for it."""
    process = started(recording, "launch", "sync", "hang")
    process.send_signal(signal.SIGTERM)
    recording.finish(process)
    recording.check_status(143)
    check_hang(recording)


def case_duration(recording):
    begin = time.monotonic()
    recording.run(program, "launch", "sync", "hang", "sync", more=("--duration", "8"))
    check(time.monotonic() - begin >= 8, "it was too short")
    recording.check_status(0)
    check_hang(recording)


# ---- Python ------------------------------------------------------------------------------------------------------


def record_script(recording, setup, end=""):
    for name in ("KTRACE_LIBRARY", "KTRACE_TORCH_CUBIN"):
        if not os.path.exists(os.environ.get(name, "")):
            raise Missing(f"{name} is no file")
    pathlib.Path(recording.folder, "train.py").write_text(TORCH % setup + end)
    recording.run(sys.executable, "train.py")


def check_script(recording, status):
    recording.check_status(status)
    check_equal(recording.files(), ["train.1.inside.ktrace", "train.2.ktrace"], recording.error)
    recording.check_whole("train.1.inside.ktrace", ["torch layer"], waves=128, events=640)
    recording.check_whole("train.2.ktrace", ["torch layer"] * 3, waves=128, events=640)


def case_python(recording):
    record_script(recording, WITHOUT_TORCH)
    check_script(recording, 0)


def case_pytorch(recording):
    try:
        import torch
    except ImportError as error:
        raise Missing(str(error)) from None
    if not torch.cuda.is_available():
        raise Missing("PyTorch finds no CUDA device")
    record_script(recording, WITH_TORCH, "torch.cuda.synchronize()\n")
    check_script(recording, 0)


def case_python_interrupted(recording):
    record_script(recording, WITHOUT_TORCH, "raise KeyboardInterrupt\n")
    check_script(recording, 130)


def case_python_terminated(recording):
    record_script(recording, WITHOUT_TORCH, "must(cuda.cuCtxSynchronize())\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(60)\n")
    check_script(recording, 143)


# ---- The program -------------------------------------------------------------------------------------------------


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", default=[], metavar="CASE")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--save", metavar="DIR")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


def skip(why):
    print(f"test_record: skipped: {why}")
    sys.exit(77)


def file_from(variable):
    path = os.environ.get(variable, "")
    if not os.path.exists(path):
        skip(f"{variable}: there is no file '{path}'")
    return os.path.abspath(path)


def run_case(name, case):
    print(name, flush=True)
    try:
        with Recording(name) as recording:
            case(recording)
    except Missing as why:
        print(f"  skipped: {why}", flush=True)
        return "skipped"
    except (Failure, subprocess.TimeoutExpired, OSError, KeyError) as error:
        print(f"  FAILED {type(error).__name__}: {error}", flush=True)
        return "failed"
    print("  ok", flush=True)
    return "passed"


def main():
    global options, command, program
    options = parse()
    cases = {name[len("case_"):]: case for name, case in globals().items() if name.startswith("case_")}
    if options.list:
        print("\n".join(cases))
        return 0
    unknown = [name for name in options.only if name not in cases]
    if unknown:
        print(f"test_record: there is no case {unknown[0]}")
        return 2
    command, program = file_from("KTRACE"), file_from("KTRACE_RECORDED")
    probe = subprocess.run([program], capture_output=True, text=True)
    if probe.returncode == 77:
        skip(probe.stderr.strip())
    if options.save:
        options.save = os.path.abspath(options.save)
    results = [run_case(name, case) for name, case in cases.items() if not options.only or name in options.only]
    print(", ".join(f"{results.count(word)} {word}" for word in ("passed", "failed", "skipped")))
    return 1 if "failed" in results else 0


if __name__ == "__main__":
    sys.exit(main())
