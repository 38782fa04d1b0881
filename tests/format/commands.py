#!/usr/bin/env python3
"""What the command says of .ktrace files is what is in them: the second reader, against the text that users get.

    commands.py --ktrace COMMAND FILE.ktrace...

`ktrace events --jsonl` has each event of each wave, with its exact payload and what is not whole about it, and on AMD GCN, where
a clock is a time, its time and duration; `ktrace summary --json` the counters, `ktrace sites --json` the annotations.
"""

import argparse
import collections
import json
import math
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ktrace_file  # noqa: E402
from ktrace_file import sections as k  # noqa: E402

KINDS = {k.MARK: "mark", k.PUSH: "push", k.POP: "pop", k.START: "start", k.STOP: "stop", k.NEXT: "next"}
TYPES = [None, "bool", "int64", "uint64", "float32", "float64", "int32", "uint32"]
PS_A_TICK = 10_000  # AMD GCN
UNKNOWN = "(unknown kernel)"


class Fault(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Fault(text)


def run(ktrace, *arguments):
    done = subprocess.run([ktrace, *arguments], capture_output=True, text=True, errors="replace", timeout=60)
    require(done.returncode == 0, f"{' '.join(arguments)}: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def payload(type_, bits):
    if type_ == k.BOOL:
        return bits != 0
    if type_ in (k.INT64, k.INT32):
        return bits - (bits >> 63 << 64)
    if type_ in (k.FLOAT32, k.FLOAT64):
        form, whole = ("<f", "<I") if type_ == k.FLOAT32 else ("<d", "<Q")
        value = struct.unpack(form, struct.pack(whole, bits))[0]
        return repr(value) if math.isnan(value) or math.isinf(value) else value
    return bits


def text(data):
    return data.decode(errors="replace")


def expected_event(event, events, amdgcn):
    fields = {"lane": event.lane, "kind": KINDS[event.kind], "name": text(event.name), "state": event.state}
    if event.site.file and (event.site.name or b"ktrace/device/" not in event.site.file):  # the place of a user's annotation
        fields |= {"file": text(event.site.file), "line": event.site.line}
    if event.payload_type:
        fields |= {"payload_type": TYPES[event.payload_type], "payload": payload(event.payload_type, event.payload)}
    if event.state == "superseded":
        del fields["name"]
    if amdgcn:
        fields["clock"] = (event.clock - events[0].clock) * PS_A_TICK
        if event.kind in (k.PUSH, k.START) and event.partner is not None:
            fields["duration_ps"] = (events[event.partner].clock - event.clock) * PS_A_TICK
    return fields


def expected_waves(trace):
    amdgcn = trace.info.arch == k.AMDGCN
    for wave in trace.waves:
        if wave.events:
            head = wave.header
            yield ((wave.device, head.place, head.workgroup, head.wave, text(wave.kernel or UNKNOWN.encode())),
                   [expected_event(event, wave.events, amdgcn) for event in wave.events])


def listed_waves(lines, trace):
    """Events of one wave lie together; two waves of the same place in two launches do, too."""
    amdgcn, key, waves = trace.info.arch == k.AMDGCN, None, []
    for line in lines:
        event = json.loads(line)
        workgroup = tuple(event.pop("workgroup"))
        where = [event.pop(name) for name in ("launch_id", "device", "place", "wave", "kernel")]
        if (workgroup, where) != key:
            key, begin = (workgroup, where), event["time_ps"]
            waves.append(((where[1], where[2], workgroup, where[3], where[4]), []))
        event = {"name": "", "state": "", **event}
        if event["state"] == "superseded":
            del event["name"]
        time = event.pop("time_ps")
        require(not waves[-1][1] or time >= last, f"times of {waves[-1][0]} fall")
        last = time
        if amdgcn:
            event["clock"] = time - begin
        else:
            event.pop("duration_ps", None)
        waves[-1][1].append(event)
    return waves


def check_events(ktrace, path, trace):
    def in_order(waves):
        return sorted(waves, key=lambda wave: (wave[0], json.dumps(wave[1], sort_keys=True)))

    listed = in_order(listed_waves(run(ktrace, "events", "--jsonl", path).splitlines(), trace))
    expected = in_order(expected_waves(trace))
    for (key, events), (other_key, others) in zip(expected, listed):
        require(key == other_key, f"a wave {key} is expected, {other_key} listed")
        for number, (event, other) in enumerate(zip(events, others)):
            require(event == other, f"wave {key}, event {number}: expected {event}, listed {other}")
        require(len(events) == len(others), f"wave {key}: {len(events)} events expected, {len(others)} listed")
    require(len(expected) == len(listed), f"{len(expected)} waves with events expected, {len(listed)} listed")


def check_counters(ktrace, path, trace):
    info = json.loads(run(ktrace, "summary", "--json", path))["info"]
    for name, value in trace.counters().items():
        require(info[name] == value, f"{name}: {info[name]}, not {value}")
    require(info["name"] == text(trace.info.name), f"name: {info['name']}")
    require(info["arch"] == trace.info.arch, f"architecture: {info['arch']}")
    require(info.get("devices", 1) == len(trace.devices), f"devices: {info.get('devices')}")


def check_sites(ktrace, path, trace):
    """How many annotations of each kind and name there are, and how often each recorded."""
    copies, recorded, listed_copies, listed = (collections.Counter() for _ in range(4))
    for module in trace.modules:
        for site in module.sites:
            if site.kind != k.KERNEL:
                copies[KINDS[site.kind], text(site.name)] += 1
    for wave in trace.waves:
        for event in wave.events:
            site = event.site
            if site.kind != k.NEXT or event.kind != k.STOP:  # its start counts it
                recorded[text(wave.kernel or UNKNOWN.encode()), KINDS[site.kind], text(site.name)] += 1
    for row in json.loads(run(ktrace, "sites", "--json", path))["sites"]:
        key = row["kind"], row["name"] or ""
        listed_copies[key] += row["copies"] if row["kernel"] is None else 0
        if row["events"]:
            listed[row["kernel"], *key] += row["events"]
    require(listed == recorded, f"sites: {dict(listed)} events, not {dict(recorded)}")
    for key, count in listed_copies.items():
        require(count <= copies[key], f"sites: {count} copies of {key} without events, of {copies[key]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", required=True, help="the command")
    parser.add_argument("file", nargs="+")
    options = parser.parse_args()
    failures = 0
    for path in options.file:
        trace = ktrace_file.load(path)
        try:
            check_events(options.ktrace, path, trace)
            check_counters(options.ktrace, path, trace)
            check_sites(options.ktrace, path, trace)
        except Fault as fault:
            failures += 1
            print(f"FAILED  {path}: {fault}")
        else:
            print(f"ok      {path}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
