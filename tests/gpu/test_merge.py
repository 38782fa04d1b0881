#!/usr/bin/env python3
"""`ktrace merge` of two processes that take turns (ranks.cu), so that the order of their events is known: on one GPU, and on two.

    KTRACE=.../bin/ktrace KTRACE_RANKS=.../tests/gpu/ranks test_merge.py [OPTION...]

      --only CASE     this case; may be repeated
      --list          the names of the cases
      --save DIR      every trace as DIR/CASE.FILE.ktrace
      --verbose       what the command said, and how near the turns are
      --quick         fewer turns

Cases of two devices are skipped where there is one. Exit status: 0, or 1 when a case failed, or 77 where there is no GPU or one of
the files.
"""

import argparse
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PATIENCE_S = 120


class Failure(Exception):
    pass


class Missing(Exception):
    """A case cannot run here."""


def check(condition, *what):
    if not condition:
        raise Failure(": ".join(str(part) for part in what))


def check_equal(actual, expected, *what):
    check(actual == expected, f"{actual!r} and not {expected!r}", *what)


def say(text):
    if options.verbose:
        print("  " + text.rstrip("\n").replace("\n", "\n  "), flush=True)


def visible_devices():
    """What CUDA_VISIBLE_DEVICES has to be for each GPU alone."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [name for name in chosen.split(",") if name]
    count = ctypes.c_int(0)
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return []
    return [str(i) for i in range(count.value)]


class Ranks:
    """Two processes, each on the device that it is given, and what their traces merge to."""

    def __init__(self, case):
        self.case = case
        self.holder = tempfile.TemporaryDirectory(prefix="ktrace-merge-")
        self.folder = self.holder.name
        self.shared = tempfile.NamedTemporaryFile(prefix="ktrace-merge-", dir="/dev/shm")
        self.shared.write(bytes(4096))
        self.shared.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if options.save:
            for path in pathlib.Path(self.folder).glob("*.ktrace"):
                shutil.copy(path, os.path.join(options.save, f"{self.case}.{path.name}"))
        self.shared.close()
        self.holder.cleanup()

    def run(self, devices, count, how):
        processes = []
        for number, device in enumerate(devices):
            environment = {name: value for name, value in os.environ.items() if not name.startswith("KTRACE_")}
            environment.update(CUDA_VISIBLE_DEVICES=device, RANK=str(number))
            processes.append(subprocess.Popen([program, str(number), self.shared.name, str(count), how, f"rank{number}.ktrace"],
                                              cwd=self.folder, env=environment, text=True, stderr=subprocess.PIPE))
        for number, process in enumerate(processes):
            _, error = process.communicate(timeout=PATIENCE_S)
            check_equal(process.returncode, 0, f"rank {number}", error)

    def command(self, *words):
        done = subprocess.run([command, *words], cwd=self.folder, capture_output=True, text=True)
        check(done.returncode == 0, " ".join(words), done.stderr)
        return done

    def merge(self):
        said = self.command("merge", "-o", "both.ktrace", "rank0.ktrace", "rank1.ktrace").stderr
        say(said)
        check("warning" not in said, said)
        self.info = json.loads(self.command("info", "--json", "both.ktrace").stdout)
        check_equal(self.info["info"]["devices"], 2, "devices")
        check_equal([process["label"] for process in self.info["processes"]], ["rank 0", "rank 1"])
        check_equal([device["ordinal"] for device in self.info["devices"]], [0, 0])
        check_equal([device["label"].split(": ")[0] for device in self.info["devices"]], ["rank 0", "rank 1"])
        check(all(device["uuid"] and device["pci_bus_id"] for device in self.info["devices"]), "a device has no identity")

    def within_ps(self):
        """How far the two devices' times may be apart."""
        return 1000 * sum(device["clock_uncertainty_ns"] for device in self.info["devices"])

    def turns(self):
        """(time, number, device) of every turn, by time."""
        events = [json.loads(line) for line in self.command("events", "--jsonl", "--name", "turn", "both.ktrace").stdout.splitlines()]
        return sorted((event["time_ps"], event["payload"], event["device"]) for event in events)

    def launches(self):
        return json.loads(self.command("launches", "--json", "both.ktrace").stdout)["launches"]

    def check_order(self, count, tolerance_ps):
        """Turns follow each other; none is before the one before it by more than the tolerance. Returns the smallest distance."""
        turns = self.turns()
        check_equal(sorted(number for _, number, _ in turns), list(range(2 * count)), "turns")
        by_number = sorted(turns, key=lambda turn: turn[1])
        for _, number, device in by_number:
            check_equal(device, number % 2, f"turn {number}: its device")
        nearest = min(after[0] - before[0] for before, after in zip(by_number, by_number[1:]))
        say(f"{2 * count} turns, {nearest / 1000:.0f} ns apart or more, times within {self.within_ps() / 1000:.0f} ns")
        check(nearest > -tolerance_ps, f"a turn is {-nearest / 1000:.0f} ns before the one before it, more than "
                                       f"{tolerance_ps / 1000:.0f} ns")
        return nearest


def turns_of(quick, most):
    return quick if options.quick else most


def case_one_device():
    """Its clock is one: whatever the host's anchors say, turns are in order, and launches do not overlap."""
    count = turns_of(10, 100)
    with Ranks("one_device") as ranks:
        ranks.run([visible_devices()[0]] * 2, count, "kernels")
        ranks.merge()
        check_equal([process["relation"] for process in ranks.info["processes"]], ["self", "device"])
        check_equal(ranks.info["devices"][0]["uuid"], ranks.info["devices"][1]["uuid"], "the UUID")
        check(ranks.check_order(count, 0) > 0, "two turns are at one time")
        launches = ranks.launches()
        check_equal(len(launches), 2 * count, "launches")
        check_equal([launch["device"] for launch in launches], [0, 1] * count, "launches in the order of begin")
        for before, after in zip(launches, launches[1:]):
            check(before["end_ps"] < after["begin_ps"], "launches overlap", before, after)


def two_devices(case, how, count):
    devices = visible_devices()
    if len(devices) < 2:
        raise Missing("there is one GPU")
    ranks = Ranks(case)
    ranks.run(devices[:2], count, how)
    ranks.merge()
    check_equal([process["relation"] for process in ranks.info["processes"]], ["self", "host"])
    check(ranks.info["devices"][0]["uuid"] != ranks.info["devices"][1]["uuid"], "two devices have one UUID")
    return ranks


def case_two_devices():
    """Turns of the host, which are some microseconds apart."""
    count = turns_of(10, 100)
    with two_devices("two_devices", "kernels", count) as ranks:
        ranks.check_order(count, ranks.within_ps())
        check_equal(len(ranks.launches()), 2 * count, "launches")


def case_two_devices_meet():
    """Marks of two kernels that run at once and answer each other through host memory."""
    count = turns_of(50, 1000)
    with two_devices("two_devices_meet", "marks", count) as ranks:
        ranks.check_order(count, ranks.within_ps())
        first, second = ranks.launches()
        check(first["end_ps"] > second["begin_ps"] and second["end_ps"] > first["begin_ps"], "the launches do not overlap")


def case_each_alone():
    """A trace is what it was in the merged one, moved as a whole."""
    count = turns_of(10, 50)
    with Ranks("each_alone") as ranks:
        ranks.run([visible_devices()[0]] * 2, count, "kernels")
        ranks.merge()
        for number in range(2):
            alone = [json.loads(line) for line in ranks.command("events", "--jsonl", f"rank{number}.ktrace").stdout.splitlines()]
            merged = [event for event in map(json.loads, ranks.command("events", "--jsonl", "both.ktrace").stdout.splitlines())
                      if event["device"] == number]
            check_equal(len(merged), len(alone), f"events of rank {number}")
            key = {event["payload"]: event["time_ps"] for event in alone}
            moved = {event["time_ps"] - key[event["payload"]] for event in merged}
            check(max(moved) - min(moved) <= 2, f"rank {number}: its events are moved by {min(moved)} to {max(moved)} ps")


# ---- Running -----------------------------------------------------------------------------------------------------


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--save")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


def skip(why):
    print(f"test_merge: skipped: {why}")
    sys.exit(77)


def file_from(name):
    path = os.environ.get(name, "")
    if not os.path.isfile(path):
        skip(f"{name} names no file: {path!r}")
    return os.path.abspath(path)


def run_case(name, case):
    print(f"{name}: {case.__doc__.splitlines()[0]}", flush=True)
    try:
        case()
    except Missing as why:
        print(f"  skipped: {why}", flush=True)
        return "skipped"
    except (Failure, subprocess.TimeoutExpired, OSError) as error:
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
        print(f"test_merge: there is no case {unknown[0]}")
        return 2
    command, program = file_from("KTRACE"), file_from("KTRACE_RANKS")
    if not visible_devices():
        skip("there is no GPU")
    if options.save:
        options.save = os.path.abspath(options.save)
    results = [run_case(name, case) for name, case in cases.items() if not options.only or name in options.only]
    print(", ".join(f"{results.count(word)} {word}" for word in ("passed", "failed", "skipped")))
    return 1 if "failed" in results else 0


if __name__ == "__main__":
    sys.exit(main())
