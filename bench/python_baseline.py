#!/usr/bin/env python3
"""What a plain Python script takes for the same events: 16-byte records of host_decode's capture to gzip'd Chrome JSON.

A loop over struct.iter_unpack pairs pushes with pops by a stack and starts with stops by their token, turns clocks to time
by a straight line through the wave's two anchors, and makes one dict a range or mark. Less is done than by libktrace: events
of all lanes are merged already and follow each other without payload slots between them; there is no check of sequence
numbers, no fit of clocks, no launches, no statistics.

Usage: python_baseline.py [--part N] [--encoder dump|dumps] DUMP     DUMP: from host_decode --dump
Prints Markdown. Every Nth wave is read (16 unless told), because memory grows with the events: rates are those of the part.
"""

import argparse
import gzip
import io
import json
import os
import platform
import statistics
import struct
import time

MARK, PUSH, POP, START = 2, 3, 4, 5
RECORD = struct.Struct("<IHHQ")  # clock, site, token, payload
ENCODERS = {
    "dump": "json.dump into gzip.open, as most scripts do",
    "dumps": "json.dumps, then gzip.compress with level 1: the fastest in the standard library",
}


def read_dump(path, part):
    """Sites by number, and (facts, records) of every `part`th wave."""
    with open(path, "rb") as file:
        name, version, sites, waves = file.readline().split()
        if (name, version) != (b"host_decode", b"1"):
            raise SystemExit(f"{path}: not a dump of host_decode")
        by_number = []
        for _ in range(int(sites)):
            kind, has_payload, text = file.readline().rstrip(b"\n").split(b" ", 2)
            by_number.append((int(kind), has_payload == b"1", text.decode()))
        facts = [tuple(map(int, file.readline().split())) for _ in range(int(waves))]
        kept = []
        for number, wave in enumerate(facts):
            records = file.read(wave[3] * RECORD.size)
            if number % part == 0:
                kept.append((wave, records))
    return by_number, kept


def convert(sites, waves):
    """The loop. Returns Chrome's trace events and how many device events they came from."""
    out = []
    count = 0
    for (place, workgroup, wave, event_count, start_ticks, start_ns, end_ticks, end_ns), records in waves:
        us_per_tick = (end_ns - start_ns) / (end_ticks - start_ticks) / 1000
        start_us = start_ns / 1000
        low_ticks = start_ticks & 0xFFFFFFFF
        thread = f"CTA {workgroup} warp {wave}"
        stack = []
        started = {}
        count += event_count
        for clock, site, token, payload in RECORD.iter_unpack(records):
            kind, has_payload, name = sites[site]
            time_us = start_us + ((clock - low_ticks) & 0xFFFFFFFF) * us_per_tick
            if kind == PUSH:
                stack.append((time_us, name, has_payload, payload))
                continue
            if kind == START:
                started[token] = (time_us, name, has_payload, payload)
                continue
            if kind == MARK:
                event = {"name": name, "ph": "i", "ts": time_us, "pid": place, "tid": thread}
            else:
                begin_us, name, has_payload, payload = stack.pop() if kind == POP else started.pop(token)
                event = {"name": name, "ph": "X", "ts": begin_us, "dur": time_us - begin_us, "pid": place, "tid": thread}
            if has_payload:
                event["args"] = {"payload": payload}
            out.append(event)
    return out, count


def encode(events, encoder):
    document = {"traceEvents": events, "displayTimeUnit": "ns"}
    if encoder == "dumps":
        return gzip.compress(json.dumps(document).encode(), compresslevel=1)
    memory = io.BytesIO()
    with gzip.open(memory, "wt") as file:
        json.dump(document, file)
    return memory.getvalue()


def peak_bytes():
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--encoder", choices=ENCODERS, default="dump")
    parser.add_argument("dump")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    sites, waves = read_dump(arguments.dump, arguments.part)
    before_bytes = peak_bytes()
    steps_ns = {"loop: decode, pair": [], "JSON with gzip": [], "total": []}
    for _ in range(arguments.rounds):
        began = time.process_time_ns()
        events, count = convert(sites, waves)
        converted = time.process_time_ns()
        data = encode(events, arguments.encoder)
        done = time.process_time_ns()
        del events
        for times, ns in zip(steps_ns.values(), (converted - began, done - converted, done - began)):
            times.append(ns)

    print(f"{len(waves)} waves, every {arguments.part}th: {count} events. {ENCODERS[arguments.encoder]}. "
          f"Python {platform.python_version()}, one core, CPU time (user and system), median of {arguments.rounds} rounds.\n")
    print("| step | CPU ms | ns an event | million events/s | bytes out |\n|---|---|---|---|---|")
    for step, times in steps_ns.items():
        ns = statistics.median(times)
        bytes_out = "" if step.startswith("loop") else len(data)
        print(f"| {step} | {ns / 1e6:.1f} | {ns / count:.0f} | {1e3 * count / ns:.3f} | {bytes_out} |")
    peak = peak_bytes()
    print(f"\n{len(data) / count:.2f} bytes an event. Peak memory: {peak / (1 << 20):.0f} MiB for this part, "
          f"{(peak - before_bytes) / count:.0f} bytes an event above what the interpreter and the records take.")


if __name__ == "__main__":
    main()
