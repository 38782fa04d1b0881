#!/usr/bin/env python3
"""Two readers of .ktrace files agree: libktrace, and ktrace_file, which was written from docs/format.md alone.

    compare.py --dump PROGRAM FILE.ktrace...

Every wave, every event with its clock, payload and partner, and every counter of what is missing. PROGRAM is dump_traces.c.
"""

import argparse
import json
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ktrace_file  # noqa: E402
from ktrace_file import sections  # noqa: E402


UNKNOWN = b"(unknown kernel)"


class Library:
    """libktrace in a process of its own, asked again and again."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, data):
        self.process.stdin.write(struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"libktrace ended with {self.process.wait()}")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


def event_as_library(event):
    fields = {
        "clock": event.clock,
        "lane": event.lane,
        "kind": event.kind,
        "line": event.site.line,
        "payload_type": event.payload_type,
        "payload": event.payload,
        "state": event.state,
        "file": event.site.file.hex(),
    }
    if event.kind not in (sections.POP, sections.STOP):
        fields["name"] = event.name.hex()
    if event.partner is not None:
        fields["partner"] = event.partner
    return fields


def read(data):
    """By ktrace_file, in the words of the library's program."""
    try:
        trace = ktrace_file.Trace(data)
    except ktrace_file.Refused as refused:
        return {"status": refused.status, "sentence": str(refused)}
    return {
        "counters": trace.counters(),
        "waves": [
            {
                "number": wave.number,
                "device": wave.device,
                "unfinished": wave.unfinished,
                "slots_lost": wave.lost,
                "start": wave.header.start_clock,
                "kernel": (UNKNOWN if wave.kernel is None else wave.kernel).hex(),
                "events": [event_as_library(event) for event in wave.events],
            }
            for wave in trace.waves
        ],
    }


def difference(here, library, leave_out=()):
    """The first, as text; "" where both say the same. What is left out depends on more than the page says."""
    if "status" in here or "status" in library:
        both = "status" in here and "status" in library
        if here.get("status") == library.get("status") or (both and "status" in leave_out):
            return ""
        words = [answer.get("sentence", "an answer") for answer in (here, library)]
        if "status" in library:
            words[1] = bytes.fromhex(words[1]).decode(errors="replace")
        return f"here {here.get('status')}: {words[0]}; libktrace {library.get('status')}: {words[1]}"
    for mine, its in zip(here["waves"], library["waves"]):
        for number, (a, b) in enumerate(zip(mine["events"], its["events"])):
            if a != b and any(a.get(key) != b.get(key) for key in (a.keys() | b.keys()) - set(leave_out)):
                return f"wave {mine['number']}, event {number}: here {a}; libktrace {b}"
        if len(mine["events"]) != len(its["events"]):
            return f"wave {mine['number']}: here {len(mine['events'])} events; libktrace {len(its['events'])}"
        for key in mine:
            if key != "events" and mine[key] != its[key] and key not in leave_out:
                return f"wave {mine['number']}: {key} here {mine[key]}; libktrace {its[key]}"
    if here["counters"] != library["counters"]:
        return f"here {here['counters']}; libktrace {library['counters']}"
    return "" if len(here["waves"]) == len(library["waves"]) else "another number of waves"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dump", required=True, help="dump_traces")
    parser.add_argument("file", nargs="+")
    options = parser.parse_args()
    library, failures = Library(options.dump), 0
    for path in options.file:
        with open(path, "rb") as file:
            data = file.read()
        here = read(data)
        text = difference(here, library.read(data)) or here.get("sentence")
        failures += bool(text)
        print(f"FAILED  {path}: {text}" if text else f"ok      {path}: {here['counters']['events']} events")
    return 1 if failures or library.end() else 0


if __name__ == "__main__":
    sys.exit(main())
