#!/usr/bin/env python3
"""check_json.py --ktrace COMMAND [--simulator LIBRARY] [--fake FOLDER] [--watched PROGRAM KERNELS] [--code-objects TRACED UNTRACED]

docs/reference/json.md has every member that the command prints as JSON. Here: commands print theirs for the traces of tests/data and
for what the build has, and each member is on the page, below its command, with its type; one that is not there is said to be absent at
times, one that is null to be so; a unit is that of the name; and what the page names is printed by some command. Where the build
or the machine lacks something, what only that would print need not be.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent / "compile"), str(HERE.parent / "sim" / "watch")]

from toolchain import find_llvm, find_nvcc, find_nvdisasm  # noqa: E402
from watching import Program, Setup, is_hung  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "json.md"
DATA = ROOT / "tests" / "data"
SECONDS = 60
ELSEWHERE = "*Not on every machine*"
UNITS = {"ps": "ps", "ns": "ns", "hz": "Hz", "khz": "kHz", "bytes": "bytes", "percent": "%"}
TYPES = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "payload": (bool, int, float, str),
}
# What is printed by summary, launches, info and sites.
TRACES = [
    "format/empty", "format/host", "format/losses", "format/peek", "format/ranks", "format/two_devices", "format/processes_amdgcn",
    "format/wide_sites", "h200/gemm", "h200/multi_device/all_devices", "h200/graph/graph_and_plain_launches", "h200/watch/synchronize",
    "h200/tutorial/attention_0", "sim/keep_last_ranges", "sim/peek_open_ranges",
]  # fmt: skip
WITH_EVENTS = ["format/payloads", "format/payloads_amdgcn", "format/pops_and_stops", "h200/divergence/dangling", "h200/gemm"]
BY = ["device", "kernel", "launch,wave", "phase", "phase,sm,workgroup", "sm"]
DIFFS = [
    ("h200/tutorial/attention_0", "h200/tutorial/attention_1"), ("h200/gemm", "h200/tutorial/attention_0"), ("format/ranks",) * 2,
    ("format/two_devices",) * 2, ("sim/keep_last_ranges",) * 2,
]  # fmt: skip


# ---- The page --------------------------------------------------------------------------------------------------------


class Member:
    """A row of a table, and the members below it."""

    def __init__(self, line, section, types, unit, meaning):
        self.line, self.section, self.types, self.unit, self.meaning = line, section, types, unit, meaning
        self.depth, self.children = 0, {}
        self.is_optional = "Absent" in meaning
        self.is_nullable = types.endswith(" or null")
        self.type = types.removesuffix(" or null")


class Page:
    """`commands`: each one's members; `faults`: of the page itself."""

    def __init__(self, text):
        self.rows, self.faults = {}, []
        section = None
        for number, line in enumerate(text.splitlines(), 1):
            if re.match(r"##+ ", line):
                section = line.lstrip("# ")
            row = re.fullmatch(r"\| `([^`]+)` \| ([^|]*) \| ([^|]*?) ?\| ([^|]*?) ?\|", line)
            if row:
                path, *cells = (cell.strip() for cell in row.groups())
                self.rows.setdefault(section, []).append((path, Member(number, section, *cells)))
        self.shared = {name.lower(): name for name in self.rows if not name.startswith("ktrace ")}
        self.commands = {name: self.tree(name) for name in self.rows if name.startswith("ktrace ")}

    def tree(self, section):
        root = Member(0, section, "object", "", "")
        self.add(root, section)
        return root

    def add(self, parent, section):
        for path, row in self.rows[section]:
            *outer, part = path.split(".")
            at, name = parent, part.rstrip("[]")
            for above in outer:
                at = at.children.get(above.rstrip("[]"), Member(row.line, section, "", "", ""))
            if not at.type or name in at.children:
                self.faults.append(f"{row.line}: {path} is there two times, or before what it is in")
            at.children[name] = self.copy(row, path)
            at.children[name].depth = part.count("[]")

    def copy(self, row, path):
        member = Member(row.line, row.section, row.types, row.unit, row.meaning)
        link = re.fullmatch(r"\[(\w+)\]\(#\w+\)", member.type)
        unit = UNITS.get(re.split(r"[_.]", path.rstrip("[]"))[-1], None)
        if unit and unit != row.unit and row.type != "object":
            self.faults.append(f"{row.line}: the unit of {path} is {unit}, not {row.unit!r}")
        if link and link.group(1) in self.shared:
            member.type = "object"
            self.add(member, self.shared[link.group(1)])
        elif member.type not in TYPES:
            self.faults.append(f"{row.line}: there is no type {member.type!r}")
        return member

    def all_lines(self):
        """{line: (section, path, member)} of every row."""
        return {row.line: (section, path, row) for section, rows in self.rows.items() for path, row in rows}


class Comparison:
    def __init__(self, page):
        self.page, self.faults, self.seen = page, list(page.faults), set()

    def compare(self, command, printed):
        for value in printed:
            self.value(command, "", value, self.page.commands[command], 0)

    def fault(self, command, text):
        text = f"{command}: {text}"
        if text not in self.faults:
            self.faults.append(text)

    def value(self, command, path, value, member, depth):
        if depth < member.depth:
            if not isinstance(value, list):
                self.fault(command, f"{path} is no array: {value!r}")
                return
            for element in value:
                self.value(command, path + "[]", element, member, depth + 1)
        elif value is None:
            if not member.is_nullable:
                self.fault(command, f"{path} is null, which the page does not say")
        elif not isinstance(value, TYPES.get(member.type, ())) or isinstance(value, bool) and bool not in TYPES[member.type]:
            self.fault(command, f"{path} is {value!r}, and not of type {member.type}")
        elif isinstance(value, dict):
            self.members(command, path, value, member)

    def members(self, command, path, value, member):
        for name, one in value.items():
            below = f"{path}.{name}" if path else name
            if name in member.children:
                self.seen.add(member.children[name].line)
                self.value(command, below, one, member.children[name], 0)
            else:
                self.fault(command, f"{below} is printed, and not on the page")
        for name, child in member.children.items():
            if name not in value and not child.is_optional:
                self.fault(command, f"{path}.{name} is not there, and the page does not say that it can be absent")

    def never_printed(self, incomplete):
        for line, (section, path, row) in self.page.all_lines().items():
            if line not in self.seen and section not in incomplete and ELSEWHERE not in row.meaning:
                self.faults.append(f"{section}: {path} is on the page, and was never printed")


# ---- What is printed -------------------------------------------------------------------------------------------------


class Runs:
    """`printed`: the values of each command; `incomplete`: sections of the page of which something could not be run."""

    def __init__(self, arguments, work):
        self.arguments, self.work, self.printed, self.incomplete = arguments, work, {}, set()
        self.environment = dict(os.environ)
        for name in ("KTRACE_BACKEND", "KTRACE_DEVICES"):
            self.environment.pop(name, None)
        self.simulator = {"KTRACE_HIP_LIBRARY": arguments.simulator, "KTRACE_SIM_CHIP": "gfx942", "KTRACE_SIM_QUIET": "1"}
        if arguments.simulator:
            self.environment |= self.simulator

    def run(self, section, *words, statuses=(0,), **variables):
        command = [self.arguments.ktrace, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env={**self.environment, **variables})
        if done.returncode not in statuses:
            sys.exit(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr}")
        self.keep(section, done.stdout)

    def keep(self, section, text):
        lines = text.splitlines() if section.startswith(("ktrace events", "ktrace watch")) else [text]
        self.printed.setdefault(section, []).extend(json.loads(line, parse_constant=refuse) for line in lines)

    def lacks(self, what, *sections):
        print(f"without {what}")
        self.incomplete.update(sections)

    def traces(self):
        for trace in TRACES:
            for name in ("info", "summary", "launches", "sites"):
                self.run(f"ktrace {name} --json", name, "--json", DATA / f"{trace}.ktrace")
        for trace in WITH_EVENTS:
            self.run("ktrace events --jsonl", "events", "--jsonl", DATA / f"{trace}.ktrace")
        for keys in BY:
            for trace in ("h200/gemm", "format/ranks", "format/losses"):
                self.run("ktrace summary --by KEY,... --json", "summary", "--by", keys, "--json", DATA / f"{trace}.ktrace")
        for a, b in DIFFS:
            self.run("ktrace diff --json", "diff", "--json", DATA / f"{a}.ktrace", DATA / f"{b}.ktrace")
        for trace in ("h200/gemm", "format/ranks"):
            phase, both = self.phase_of(trace), (DATA / f"{trace}.ktrace",) * 2
            for limit in ("p50 > +3%", "p50 >= -1ns", "count > 0"):
                self.run("ktrace diff --json", "diff", "--json", "--fail-if", f"'{phase}' {limit}", *both, statuses=(0, 3))
        exported = self.work / "exported.json"
        command = [self.arguments.ktrace, "export", "-f", "json", "-o", exported, DATA / "h200" / "gemm.ktrace"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        self.keep("ktrace summary --json", exported.read_text())

    def phase_of(self, trace):
        """A phase of it that has durations."""
        done = subprocess.run([self.arguments.ktrace, "summary", "--json", DATA / f"{trace}.ktrace"], capture_output=True, check=True)
        return next(phase["name"] for phase in json.loads(done.stdout)["phases"] if phase["total_ns"] is not None)

    def watch(self):
        for trace in sorted((DATA / "h200").glob("[pw]*/*.ktrace")):
            self.run("ktrace watch --json", "watch", "--once", "--json", trace)
        if not self.arguments.watched:
            self.lacks("a simulator: watch of a process", "ktrace watch --json", "ktrace watch --json, without a process")
            return
        setup = Setup(self.arguments.ktrace, *self.arguments.watched)
        with Program(setup, "capture", **self.simulator) as program:
            program.hang()
            setup.look_when(program, is_hung)
            self.run("ktrace watch --json, without a process", "watch", "--json")
            watching = subprocess.Popen(setup.command("--json", "-i", "0.05", program.pid), stdout=subprocess.PIPE, text=True)
            try:
                self.keep("ktrace watch --json", "".join(watching.stdout.readline() for _ in range(2)))
            finally:
                watching.kill()
                watching.wait()
                watching.stdout.close()

    def doctor(self):
        section = "ktrace doctor --json"
        self.run(section, "doctor", "--json")
        self.run(section, "doctor", "--json", KTRACE_BACKEND="hip", KTRACE_HIP_LIBRARY=str(self.work / "no.so"), statuses=(0, 1))
        if self.arguments.fake:
            self.run(section, "doctor", "--json", LD_LIBRARY_PATH=self.arguments.fake)
        if not self.arguments.simulator or not self.arguments.fake:
            self.lacks("a simulator", section, "Runtime")

    def lint(self):
        section, nvcc = "ktrace doctor --lint FILE --json", find_nvcc()
        nvdisasm = find_nvdisasm(nvcc)
        if nvcc and nvdisasm:
            path = os.path.dirname(nvdisasm) + os.pathsep + self.environment["PATH"]
            for name in ("horner", "pinned"):
                source, traced, untraced = ROOT / "tests" / "cli" / "lint" / f"{name}.cu", self.work / "traced", self.work / "untraced"
                for cubin, enable in ((traced, 1), (untraced, 0)):
                    build = [nvcc, "-std=c++17", "-arch=sm_90", "-cubin", "-o", cubin, f"-I{ROOT / 'include'}", f"-DKTRACE_ENABLE={enable}"]
                    subprocess.run([*build, source], check=True)
                self.run(section, "doctor", "--lint", traced, "--json", PATH=path)
                self.run(section, "doctor", "--lint", traced, "--untraced", untraced, "--json", PATH=path)
        else:
            self.lacks("nvcc and nvdisasm", section, "Resources")
        if self.arguments.code_objects and find_llvm("llvm-objdump"):
            traced, untraced = self.arguments.code_objects
            self.run(section, "doctor", "--lint", traced, "--untraced", untraced, "--json")
        else:
            self.lacks("code objects and llvm-objdump", section, "Resources")


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def compare(text, runs):
    comparison = Comparison(Page(text))
    for section, printed in runs.printed.items():
        comparison.compare(section, printed)
    comparison.never_printed(runs.incomplete)
    return comparison.faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", required=True)
    parser.add_argument("--simulator", metavar="LIBRARY")
    parser.add_argument("--fake", metavar="FOLDER", help="with a CUDA driver that has a device: tests/cli/fake_cuda.c")
    parser.add_argument("--watched", nargs=2, metavar=("PROGRAM", "KERNELS"), help="tests/sim/watch/program.c, and its kernels")
    parser.add_argument("--code-objects", nargs=2, metavar=("TRACED", "UNTRACED"))
    arguments = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="ktrace-json-") as work:
        runs = Runs(arguments, pathlib.Path(work))
        for part in (runs.traces, runs.watch, runs.doctor, runs.lint):
            part()
    found = compare(text, runs)
    for fault in found:
        print(f"docs/reference/json.md: {fault}")
    # A check that finds nothing wrong in anything is none.
    for right, wrong in (("| `p50_ns` |", "| `p51_ns` |"), ("| string | | of the capture |", "| integer | | of the capture |")):
        if right not in text or len(compare(text.replace(right, wrong), runs)) <= len(found):
            print(f"{wrong} in the place of {right} was not found")
            return 1
    if not found:
        print(f"{sum(map(len, Page(text).rows.values()))} members, of {sum(map(len, runs.printed.values()))} objects")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
