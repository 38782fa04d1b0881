#!/usr/bin/env python3
"""A file of one launch holds what the file of the whole trace holds of that launch, and nothing else.

    check_launches.py --ktrace COMMAND --work FOLDER RECORDING...

Every recording is exported whole and launch by launch; both are read back with Perfetto's official schema and compared as
text: tracks, slices, arguments, and times, which count from the trace's time 0 in either.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import check_pftrace
except ImportError as error:
    print(f"skip: {error}: ./run test installs the packages of tests/perfetto/requirements.txt")
    sys.exit(77)


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def launches_of(dump):
    """{index: (the tracks it lies under, its own text)}."""
    found, path, index = {}, [], None
    for line in dump.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        if line.lstrip().startswith("| "):  # what lies on a track, not a track
            depth = len(path)
        else:
            del path[depth:]
            path.append(line.strip())
            match = re.match(r"launch #(\d+): ", path[-1])
            if match:
                index, launch_depth = int(match[1]), depth
                found[index] = (tuple(path[:-1]), "")
            elif index is not None and depth <= launch_depth:
                index = None
        if index is not None:
            found[index] = (found[index][0], found[index][1] + line + "\n")
    return found


def roots_of(dump):
    return [line for line in dump.splitlines() if not line.startswith(" ")]


def facts_of(dump):
    """Of the trace's own track: the instant's name, and its arguments as text."""
    return dump.splitlines()[:2]


def check(ktrace, work, recording):
    require = check_pftrace.require
    info = json.loads(run(ktrace, "launches", "--json", recording))
    whole = os.path.join(work, "whole.pftrace.gz")
    run(ktrace, "export", recording, "-o", whole)
    expected = launches_of(check_pftrace.read(whole).dump())
    require(len(expected) == len(info["launches"]), "{} launches are drawn, {} listed", len(expected),
            len(info["launches"]))
    listed = [launch for launch in info["launches"] if launch["events"]]
    names = [f"part{launch['launch_id']}" for launch in listed]
    said = run(ktrace, "export", "--launches", "--names", ",".join(names), "-o", work, recording)
    paths = re.findall(r"^wrote (.*)$", said, re.MULTILINE)
    require(paths == [os.path.join(work, f"{name}_ktrace.pftrace.gz") for name in names], "it wrote {}", paths)
    for launch, path in zip(listed, paths):
        dump = check_pftrace.read(path).dump()
        index = launch["launch_id"]
        require(launches_of(dump) == {index: expected[index]}, "{} differs from launch {} of the whole trace:\n{}", path,
                index, dump)
        require(len(roots_of(dump)) == 2, "{} has other tracks: {}", path, roots_of(dump))
        track, facts = facts_of(dump)
        for text in (f" only launch #{index}", f" only_launch={index}u", " launches=1u", f" waves={launch['waves']}u",
                     f" events={launch['events']}u"):
            require(text in facts, "{} does not say{}: {}", path, text, facts)
        simulated = bool(info["info"].get("simulated"))
        require((track == check_pftrace.SIMULATED) == simulated, "{} is called {}", path, track)
        require(("simulated_time=true" in facts) == simulated, "{} says {}", path, facts)
    return len(paths)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ktrace", required=True, help="the command")
    parser.add_argument("--work", required=True, help="folder for what is exported")
    parser.add_argument("recordings", nargs="+", metavar="RECORDING")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    faults = 0
    for recording in options.recordings:
        with tempfile.TemporaryDirectory(dir=options.work) as work:
            try:
                print(f"{os.path.basename(recording)}: {check(options.ktrace, work, recording)} launches")
            except check_pftrace.Fault as fault:
                print(f"{recording}: {fault}")
                faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
