#!/usr/bin/env python3
"""The exporters of text hold what Perfetto's file holds: the same waves, ranges and marks, names, payloads and times.

    check_text_exports.py --work FOLDER --ktrace COMMAND TRACE.ktrace...
    check_text_exports.py --work FOLDER --synthetic MAKE_SYNTHETIC [--golden FOLDER [--update]]

Perfetto's file is read with its official schema, by check_pftrace.py; Chrome's with Python's JSON; CSV with Python's csv.
The times of both are whole nanoseconds, those of CSV exact; Chrome's follows its format's rules besides
(trace_event_rules.py). With --golden, bytes are compared too.
"""

import argparse
import collections
import csv
import decimal
import difflib
import json
import os
import re
import subprocess
import sys

try:
    import check_pftrace
except ImportError as error:
    print(f"skip: {error}: ./run test installs the packages of tests/perfetto/requirements.txt")
    sys.exit(77)

import trace_event_rules  # noqa: E402

require = check_pftrace.require
Item = collections.namedtuple("Item", "category name begin_ps end_ps arguments")  # end None: a mark
ARGUMENTS = ("payload", "lane", "end_payload", "end_lane")


def exact(value):
    """A payload so that 1, 1.0 and True, and 0.0 and -0.0, differ; integers as text, since JSON has large ones so."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)


# ---- Perfetto ---------------------------------------------------------------------------------------------------


def perfetto_waves(path):
    """{(launch, "SM 0 CTA(0, 0, 0) Warp 0"): [Item]}"""
    reader = check_pftrace.read(path)
    waves = collections.defaultdict(list)

    def walk(track, launch, place):
        match = re.match(r"launch #(\d+): ", track.name)
        if match:
            launch, place = int(match[1]), []
        elif launch is not None:
            place = place + [track.name]
        drawn = reader.slices(track) if launch is not None and len(place) >= 3 else []
        for one in drawn:
            arguments = {name: exact(one.arguments[name][1]) for name in ARGUMENTS if name in one.arguments}
            if one.category == "ktrace.wave":
                arguments = {name: exact(value[1]) for name, value in one.arguments.items()}
            begin, end = ((time - reader.time_zero) * 1000 for time in (one.begin, one.end))
            waves[launch, " ".join(place[:3])].append(
                Item(one.category, one.name, begin, None if one.instant else end, arguments)
            )
        for child in track.children:
            walk(child, launch, place)

    for root in reader.roots:
        walk(root, None, [])
    return waves


# ---- Chrome -----------------------------------------------------------------------------------------------------


def picoseconds(us):
    return int(decimal.Decimal(us) * 1000000)


def chrome_waves(path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file, parse_float=str)  # times exactly; payloads are made floats again below
    waves, processes, threads = collections.defaultdict(list), {}, {}
    open_ranges = {}
    for event in trace["traceEvents"]:
        where = event["pid"], event["tid"]
        if event["ph"] == "M":
            if event["name"] == "process_name":
                require(event["pid"] not in processes, "process {} is named twice", event["pid"])
                processes[event["pid"]] = event["args"]["name"]
            elif event["name"] == "thread_name":
                require(where not in threads, "thread {} is named twice", where)
                threads[where] = event["args"]["name"]
            continue
        require(where in threads, "an event on thread {}, which has no name", where)
        launch = re.search(r"launch #(\d+): ", processes[event["pid"]])
        if event["cat"] in ("ktrace.trace", "ktrace.launch"):
            continue
        arguments = {
            name: exact(float(value) if isinstance(value, str) and re.fullmatch(r"-?\d+\.?\d*(e[-+]?\d+)?", value)
                        and ("." in value or "e" in value) else value)
            for name, value in event.get("args", {}).items()
        }
        key = int(launch[1]), threads[where]
        begin = picoseconds(event["ts"])
        if event["ph"] == "X":
            require(picoseconds(event["dur"]) >= 0, "{} has a negative duration", event["name"])
            waves[key].append(Item(event["cat"], event["name"], begin, begin + picoseconds(event["dur"]), arguments))
        elif event["ph"] == "i":
            waves[key].append(Item(event["cat"], event["name"], begin, None, arguments))
        elif event["ph"] == "b":
            require(event["id2"]["local"] not in open_ranges, "range {} begins within itself", event["id2"])
            open_ranges[event["id2"]["local"]] = event, begin, arguments, key
        elif event["ph"] == "e":
            opened, begun, arguments, its_key = open_ranges.pop(event["id2"]["local"])
            require((opened["name"], opened["cat"], its_key) == (event["name"], event["cat"], key),
                    "range {} ends as another", event["id2"])
            waves[key].append(Item(event["cat"], event["name"], begun, begin, arguments))
        else:
            require(False, "phase {!r}", event["ph"])
    require(not open_ranges, "ranges {} never end", list(open_ranges))
    return waves


# ---- CSV --------------------------------------------------------------------------------------------------------


def csv_items(path):
    """{(launch, wave index in the launch): [Item]}, in the order of the file."""
    waves = collections.defaultdict(list)
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            mark = row["kind"] == "mark"
            arguments = {}
            for name in ("payload", "end_payload"):
                kind, text = row[f"{name}_type"], row[name]
                if kind:
                    is_number = kind.startswith("float") and text not in ("nan", "inf", "-inf")
                    arguments[name] = exact(float(text)) if is_number else text
            for name in ("lane", "end_lane"):
                if row[name] not in ("", "0"):
                    arguments[name] = row[name]
            name = row["name"] + (" (unclosed)" if row["state"] == "unclosed" else "")
            begin, end = int(row["begin_ps"]), int(row["end_ps"])
            if row["duration_ps"]:
                require(int(row["duration_ps"]) == end - begin, "{}: its duration is not its end less its begin", name)
            key = (int(row["launch_id"]), row["place"], row["workgroup_x"], row["workgroup_y"], row["workgroup_z"],
                   row["wave"])
            waves[key].append(Item(f"ktrace.{row['kind']}", name, begin, None if mark else end, arguments))
    return waves


# ---- Comparison -------------------------------------------------------------------------------------------------


def in_order(items):
    return sorted(items, key=lambda item: (item.category, item.name, item.begin_ps, item.end_ps or 0, repr(item)))


def nearest_ns(item):
    begin, end = ((ps + 500) // 1000 * 1000 if ps is not None else None for ps in (item.begin_ps, item.end_ps))
    return item._replace(begin_ps=begin, end_ps=end)


def same(left, right, where, slack_ps):
    require(len(left) == len(right), "{}: {} items, not {}", where, len(left), len(right))
    for a, b in zip(left, right):
        require((a.category, a.name, a.arguments) == (b.category, b.name, b.arguments), "{}: {} and {}", where, a, b)
        require((a.end_ps is None) == (b.end_ps is None), "{}: {} and {}", where, a, b)
        require(abs(a.begin_ps - b.begin_ps) <= slack_ps, "{}: {} and {}", where, a, b)
        require(abs((a.end_ps or 0) - (b.end_ps or 0)) <= slack_ps, "{}: {} and {}", where, a, b)


def check(files):
    faults = trace_event_rules.faults_of(files["chrome"])
    require(not faults, "Chrome: {}", "; ".join(faults))
    perfetto, chrome, rows = perfetto_waves(files["perfetto"]), chrome_waves(files["chrome"]), csv_items(files["csv"])
    require(set(perfetto) == set(chrome), "waves: {}", set(perfetto) ^ set(chrome))
    # Equal ranges of a wave in another order would be the same trace, so both are sorted, by what is equal in both.
    for key, items in perfetto.items():
        same(in_order(items), in_order(chrome[key]), f"launch {key[0]}, {key[1]}", 1000)
    flat = in_order(item for items in chrome.values() for item in items if item.category != "ktrace.wave")
    same(flat, in_order(nearest_ns(item) for items in rows.values() for item in items), "CSV", 0)
    return len(flat)


def export(command, work, name):
    files = {}
    for exporter, suffix in (("perfetto", "pftrace.gz"), ("chrome", "json"), ("csv", "csv")):
        files[exporter] = os.path.join(work, f"{name}.{suffix}")
        subprocess.run(command(exporter, files[exporter]), check=True, stdout=subprocess.DEVNULL)
    return files


def compare_golden(files, folder, update):
    for exporter in ("chrome", "csv"):
        name = os.path.basename(files[exporter])
        golden = os.path.join(folder, name)
        with open(files[exporter], encoding="utf-8") as file:
            found = file.read()
        if update:
            with open(golden, "w", encoding="utf-8") as file:
                file.write(found)
            continue
        with open(golden, encoding="utf-8") as file:
            expected = file.read()
        if found != expected:
            sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), found.splitlines(True), golden, name))
            require(False, "{} is not as in {}", files[exporter], golden)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", required=True)
    parser.add_argument("--ktrace")
    parser.add_argument("--synthetic")
    parser.add_argument("--golden")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("traces", nargs="*")
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    failures = 0
    jobs = []
    for number, path in enumerate(arguments.traces):
        jobs.append((path, f"{number}", lambda exporter, out, path=path: [
            arguments.ktrace, "export", "-f", exporter, "-o", out, path]))
    if arguments.synthetic:
        for arch, option in (("nvidia", []), ("amdgcn", ["--amdgcn"])):
            jobs.append((arch, f"synthetic_{arch}", lambda exporter, out, option=option: [
                arguments.synthetic, "--exporter", exporter, *option, out]))
    for label, name, command in jobs:
        try:
            files = export(command, arguments.work, name)
            print(f"{label}: {check(files)} ranges and marks: the same in all formats")
            if arguments.golden:
                compare_golden(files, arguments.golden, arguments.update)
        except check_pftrace.Fault as fault:
            failures += 1
            print(f"{label}: {fault}")
    return 1 if failures or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
