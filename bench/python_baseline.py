#!/usr/bin/env python3
"""What a plain Python script takes for the same records: the slots of host_decode's capture to gzip'd Chrome JSON.

A loop over struct.iter_unpack pairs pushes with pops by a stack and starts with stops by their token, turns clocks to time
by a straight line through the wave's two anchors, and makes one dict a range or mark. Less is done than by libktrace: lane 0
only, no check of sequence numbers, no fit of clocks, no launches, no statistics.

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

MARK, PUSH, POP, START, STOP = 2, 3, 4, 5, 6
ENCODERS = {
    "dump": "json.dump into gzip.open, as most scripts do",
    "dumps": "json.dumps, then gzip.compress with level 1: the fastest in the standard library",
}


def read_dump(path, part):
    """Sites by their 16 bits, and (facts, slots) of every `part`th wave."""
    with open(path, "rb") as file:
        name, version, sites, waves = file.readline().split()
        if (name, version) != (b"host_decode", b"1"):
            raise SystemExit(f"{path}: not a dump of host_decode")
        by_id = {}
        for _ in range(int(sites)):
            site, kind, following, text = file.readline().rstrip(b"\n").split(b" ", 3)
            by_id[int(site)] = (int(kind), int(following), text.decode())
        facts = [tuple(map(int, file.readline().split())) for _ in range(int(waves))]
        kept = []
        for number, wave in enumerate(facts):
            slots = file.read(wave[3] * 8)
            if number % part == 0:
                kept.append((wave, slots))
    return by_id, kept


def convert(sites, waves):
    """The loop. Returns Chrome's trace events and how many device events they came from."""
    out = []
    count = 0
    for (place, workgroup, wave, _, start_ticks, start_ns, end_ticks, end_ns), slots in waves:
        us_per_tick = (end_ns - start_ns) / (end_ticks - start_ticks) / 1000
        start_us = start_ns / 1000
        low_ticks = start_ticks & 0xFFFFFFFF
        thread = f"CTA {workgroup} warp {wave}"
        stack = []
        open_tokens = {}
        records = struct.iter_unpack("<IHH", slots)
        for clock, site, _ in records:
            kind, following, name = sites[site]
            time_us = start_us + ((clock - low_ticks) & 0xFFFFFFFF) * us_per_tick
            count += 1
            if kind == STOP:
                low, high, _ = next(records)
                begin_us, begin_name, payload = open_tokens.pop(low | 1)
                event = {"name": begin_name, "ph": "X", "ts": begin_us, "dur": time_us - begin_us,
                         "pid": place, "tid": thread}
                if payload is not None:
                    event["args"] = {"payload": payload}
                out.append(event)
                continue
            payload = None
            if following:
                low, middle, high = next(records)
                payload = low | middle << 32 | high << 48
            if kind == PUSH:
                stack.append((time_us, name, payload))
            elif kind == POP:
                begin_us, begin_name, payload = stack.pop()
                event = {"name": begin_name, "ph": "X", "ts": begin_us, "dur": time_us - begin_us,
                         "pid": place, "tid": thread}
                if payload is not None:
                    event["args"] = {"payload": payload}
                out.append(event)
            elif kind == START:
                open_tokens[clock | 1] = (time_us, name, payload)
            else:
                event = {"name": name, "ph": "i", "ts": time_us, "pid": place, "tid": thread}
                if payload is not None:
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
