#!/usr/bin/env python3
"""check_views.py --ktrace COMMAND FILE.ktrace...: the views of each trace agree.

Events as CSV and as JSON are the same. Ranges paired here, and waves put together here, from what `ktrace events` lists have
the statistics that `ktrace summary --by` tells, and sites the events that `ktrace sites` counts. Times are whole
picoseconds, so that sums are exact here.
"""

import argparse
import collections
import csv
import io
import json
import math
import pathlib
import subprocess
import sys


class Fault(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Fault(text)


class Trace:
    def __init__(self, ktrace, path):
        self.ktrace, self.path = ktrace, path
        self.events = list(csv.DictReader(io.StringIO(self.run("events", "--csv"))))

    def run(self, *arguments):
        done = subprocess.run([self.ktrace, *arguments, self.path], capture_output=True, text=True, timeout=60)
        require(done.returncode == 0, f"{' '.join(arguments)}: exit status {done.returncode}: {done.stderr}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))


def payload(kind, text):
    if kind == "bool":
        return {"true": True, "false": False}[text]
    if kind.startswith("float"):
        return repr(float(text))
    return int(text)


def check_json_lines(trace):
    lines = [json.loads(line) for line in trace.run("events", "--jsonl").splitlines()]
    require(len(lines) == len(trace.events), f"{len(lines)} lines of JSON, {len(trace.events)} of CSV")
    for number, (line, row) in enumerate(zip(lines, trace.events)):
        workgroup = line.pop("workgroup")
        line |= {f"workgroup_{axis}": workgroup[i] for i, axis in enumerate("xyz")}
        for key, text in row.items():
            if text == "":
                require(key not in line, f"event {number}: JSON alone has {key}")
            elif key == "payload":
                value = line[key]
                if row["payload_type"].startswith("float"):
                    require(isinstance(value, float) or value in ("nan", "inf", "-inf"), f"event {number}: {value!r}")
                    value = repr(float(value))
                require(value == payload(row["payload_type"], text), f"event {number}: payload {value!r}, {text}")
            else:
                require(str(line[key]) == text, f"event {number}: {key} is {line[key]!r} and {text}")
        require(set(line) <= set(row), f"event {number}: CSV lacks {set(line) - set(row)}")


def describe(durations_ps):
    """By nearest rank, in nanoseconds."""
    ordered = sorted(durations_ps)

    def rank(percent):
        return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1] / 1000

    return {
        "total_ns": sum(ordered) / 1000,
        "mean_ns": sum(ordered) / 1000 / len(ordered),
        "min_ns": ordered[0] / 1000,
        "p50_ns": rank(50),
        "p90_ns": rank(90),
        "p99_ns": rank(99),
        "max_ns": ordered[-1] / 1000,
    }


def close(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b))


KEYS = {
    "phase": ("kernel", "name", "kind"),
    "launch": ("launch_id",),
    "place": ("device", "place"),
    "wave": ("wave",),
    "workgroup": ("workgroup_x", "workgroup_y", "workgroup_z"),
}
KIND = {"mark": "mark", "push": "range", "start": "token"}


def check_groups(trace, by, word, arguments=()):
    """Of ranges and marks, by `by`."""
    ranges, marks, unclosed = collections.defaultdict(list), collections.Counter(), collections.Counter()
    for event in trace.events:
        if event["kind"] not in KIND:
            continue
        key = tuple(KIND.get(event[name], event[name]) if name == "kind" else event[name] for part in by for name in KEYS[part])
        if event["kind"] == "mark":
            marks[key] += 1
        elif event["state"] == "unclosed":
            unclosed[key] += 1
        else:
            ranges[key].append(int(event["duration_ps"]))
    expected = set(ranges) | set(marks) | set(unclosed)
    answer = trace.json("summary", "--by", word, *arguments)
    found = set()
    for group in answer["groups"]:
        group["name"] = group.pop("phase", None)
        for i, axis in enumerate("xyz"):
            group[f"workgroup_{axis}"] = (group.get("workgroup") or [None] * 3)[i]
        key = tuple(str(group[name]) for part in by for name in KEYS[part])
        found.add(key)
        require(key in expected, f"{word}: {key} is not among the events")
        require(group["marks"] == marks[key], f"{word}: {key}: {group['marks']} marks, not {marks[key]}")
        require(group["unclosed"] == unclosed[key], f"{word}: {key}: unclosed {group['unclosed']}, not {unclosed[key]}")
        require(group["count"] == len(ranges[key]), f"{word}: {key}: {group['count']} ranges, not {len(ranges[key])}")
        if ranges[key]:
            for name, value in describe(ranges[key]).items():
                require(close(group[name], value), f"{word}: {key}: {name} is {group[name]}, not {value}")
    require(found == expected, f"{word}: missing: {expected - found}")
    totals = [group["total_ns"] or 0 for group in answer["groups"]]
    require(totals == sorted(totals, reverse=True), f"{word}: not sorted by total")
    return answer


def check_imbalance(trace, word):
    answer = check_groups(trace, ("place",), word, ("--phase", "*"))
    totals = [group["total_ns"] for group in answer["groups"] if group["count"]]
    require(len(answer["imbalance"]) == (1 if totals else 0), "imbalance: one row")
    for row in answer["imbalance"]:
        mean = sum(totals) / len(totals)
        require(row["places"] == len(totals), f"imbalance: {row['places']} places, not {len(totals)}")
        require(close(row["mean_ns"], mean), f"imbalance: mean {row['mean_ns']}, not {mean}")
        require(row["max_ns"] == max(totals), f"imbalance: max {row['max_ns']}, not {max(totals)}")
        if mean:
            require(close(row["max_over_mean"], max(totals) / mean), "imbalance: the quotient is another")


def check_sites(trace):
    """Events of CSV lines that have their place count for it; a next is a stop and a start there."""
    rows = trace.json("sites")["sites"]
    counted = collections.Counter()
    for event in trace.events:
        if event["file"]:
            counted[event["kernel"], event["file"], int(event["line"]), event["kind"]] += 1
    for row in rows:
        if row["file"] is None or row["kind"] in ("stop", "start", "next"):
            continue
        key = row["kernel"], row["file"], row["line"], row["kind"]
        same = [r for r in rows if (r["kernel"], r["file"], r["line"], r["kind"]) == key]
        total = sum(r["events"] for r in same)
        require(total == counted[key], f"sites: {key}: {total} events, not {counted[key]}")
    starts = sum(row["events"] for row in rows if row["kind"] in ("start", "next"))
    require(starts == sum(event["kind"] == "start" for event in trace.events), f"sites: {starts} starts")


def check(ktrace, path):
    trace = Trace(ktrace, path)
    info = trace.json("summary")["info"]
    require(len(trace.events) == info["events"], f"{len(trace.events)} events listed, {info['events']} summarized")
    word = {1: "sm", 2: "cu"}.get(info["arch"], "sm")
    check_json_lines(trace)
    check_groups(trace, ("phase",), "phase")
    check_groups(trace, ("launch",), "launch", ("--phase", "*"))
    check_groups(trace, ("workgroup", "wave"), "workgroup,wave", ("--phase", "*"))
    check_groups(trace, ("phase", "place"), f"phase,{word}")
    check_imbalance(trace, word)
    check_sites(trace)
    return len(trace.events)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", required=True)
    parser.add_argument("file", nargs="+")
    arguments = parser.parse_args()
    failures = 0
    for path in arguments.file:
        name = pathlib.Path(path).name
        try:
            print(f"ok      {name}: {check(arguments.ktrace, path)} events")
        except Fault as fault:
            failures += 1
            print(f"FAILED  {name}: {fault}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
