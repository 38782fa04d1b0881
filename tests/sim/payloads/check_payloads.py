#!/usr/bin/env python3
"""check_payloads.py RECORD CODE_OBJECT FOLDER LANGUAGE

Payloads of every type, from the device to a file and from there to events, summary and Perfetto: RECORD (record.c) makes all of
them in FOLDER, and here is known from values.inc what they must be, bit by bit. Perfetto's file is decoded with the official
schema; where that is missing the rest is checked, and the test counts as skipped."""

import json
import math
import os
import re
import struct
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "perfetto"))

NONE, BOOL, INT64, UINT64, FLOAT32, FLOAT64, INT32, UINT32 = range(8)  # enum ktrace_payload_type
MARK, PUSH, POP, START, STOP = 2, 3, 4, 5, 6  # enum ktrace_kind
MASK = (1 << 64) - 1
INTEGERS = {"CHAR": 8, "SCHAR": 8, "SHORT": 16, "INT": 32, "LONG": 64, "LLONG": 64}
UNSIGNED = {"UCHAR": 8, "USHORT": 16, "UINT": 32, "ULONG": 64, "ULLONG": 64}


def float_of(bits, letter, code):
    return struct.unpack("<" + letter, struct.pack("<" + code, bits))[0]


def float32_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def expected(kind, bits):
    """(payload type, bits as the trace has them or None for any NaN, what Perfetto shows)"""
    if kind == "BOOL":
        return BOOL, bits, ("bool", bits != 0)
    if kind in INTEGERS:
        width = INTEGERS[kind]
        value = bits - (1 << width) if bits >> (width - 1) else bits
        return (INT64 if width == 64 else INT32), value & MASK, ("int", value)
    if kind in UNSIGNED:
        return (UINT64 if UNSIGNED[kind] == 64 else UINT32), bits, ("uint", bits)
    if kind == "HALF":
        value = float_of(bits, "e", "H")
        stored = None if math.isnan(value) else float32_bits(value)
    elif kind == "BFLOAT16":
        stored = bits << 16
        value = float_of(stored, "f", "I")
    elif kind == "FLOAT":
        stored, value = bits, float_of(bits, "f", "I")
    else:
        assert kind == "DOUBLE", kind
        stored, value = bits, float_of(bits, "d", "Q")
    shown = ("string", "nan" if math.isnan(value) else "inf" if value > 0 else "-inf")
    return FLOAT64 if kind == "DOUBLE" else FLOAT32, stored, ("double", value) if math.isfinite(value) else shown


def read_values(language):
    with open(os.path.join(here, "values.inc"), encoding="utf-8") as file:
        everywhere, others = file.read().split("#define VALUES_BUT_FOR_OPENCL")
    text = everywhere if language == "cl" else everywhere + others
    values = {name: expected(kind, int(bits, 16)) for name, kind, bits in re.findall(r"X\((\w+), (\w+), (0x\w+)\)", text)}
    assert len(values) > 60, len(values)
    return values


def events_wanted(values):
    """(kind, name, payload) of all events, in order of the kernels' source."""
    nothing = (NONE, 0, None)
    wanted = [(MARK, "mark nothing", nothing)] + [(MARK, "mark " + name, value) for name, value in values.items()]
    for name, value in [("nothing", nothing), *values.items()]:
        wanted += [(PUSH, "push " + name, value), (POP, "", nothing)]
    wanted += [(START, "start nothing", nothing), (STOP, "start nothing", nothing)]
    for name, value in values.items():
        wanted += [(START, "start " + name, value), (STOP, "start " + name, nothing)]
        wanted += [(START, "stop " + name, nothing), (STOP, "stop " + name, value)]
        wanted += [(START, "both " + name, value), (STOP, "both " + name, value)]
    # a next is a stop and a start, the payload the start's
    for name, value in [("nothing", nothing), *values.items()]:
        wanted += [(START, "next " + name, value), (STOP, "next " + name, nothing)]
    return wanted


def is_nan32(bits):
    return bits & 0x7F800000 == 0x7F800000 and bits & 0x7FFFFF != 0


def check_events(lines, values):
    wanted = events_wanted(values)
    assert len(lines) == len(wanted), f"{len(lines)} events, not {len(wanted)}"
    for line, (kind, name, (payload_type, bits, _)) in zip(lines, wanted):
        event = json.loads(line)
        got = int(event["bits"], 16)
        same_bits = is_nan32(got) if bits is None else got == bits
        assert (event["kind"], event["name"], event["type"]) == (kind, name, payload_type) and same_bits, (
            f"{event}, not kind {kind} '{name}' type {payload_type} bits {'of a NaN' if bits is None else hex(bits)}")


def phases_wanted(values):
    names = ["nothing", *values]
    wanted = {("marks", "mark", "mark " + name) for name in names}
    wanted |= {("pushes", "range", "push " + name) for name in names}
    wanted |= {("tokens", "token", start + name) for start in ("start ", "stop ", "both ") for name in values}
    wanted |= {("tokens", "token", "start nothing")}
    return wanted | {("nexts", "token", "next " + name) for name in names}


def check_summary(path, values):
    with open(path, encoding="utf-8") as file:
        summary = json.load(file)
    phases = {(phase["kernel"], phase["kind"], phase["name"]): phase["count"] for phase in summary["phases"]}
    wanted = phases_wanted(values)
    assert set(phases) == wanted, sorted(set(phases) ^ wanted)
    assert set(phases.values()) == {1}, phases


def check_perfetto(path, values):
    import check_pftrace

    reader = check_pftrace.read(path)
    drawn = {}
    for track in reader.tracks.values():
        for one in reader.slices(track):
            drawn.setdefault(one.name, []).append(one)
    for name, (_, _, shown) in {"nothing": (NONE, 0, None), **values}.items():
        for what in ("mark", "push", "start", "stop", "both", "next"):
            if name == "nothing" and what in ("stop", "both"):
                continue
            one, *others = drawn[f"{what} {name}"]
            assert not others, f"{what} {name} is drawn {1 + len(others)} times"
            assert one.instant == (what == "mark"), what
            wanted = {}
            if shown and what != "stop":
                wanted["payload"] = shown
            if shown and what in ("stop", "both"):
                wanted["end_payload"] = shown
            got = {key: one.arguments[key] for key in ("payload", "end_payload") if key in one.arguments}
            # repr tells -0.0 from 0.0 and True from 1
            assert repr(got) == repr(wanted), f"{what} {name}: {got}, not {wanted}"


def main():
    record, code_object, folder, language = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    values = read_values(language)
    run = subprocess.run([record, code_object, folder], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    check_events(run.stdout.splitlines(), values)
    check_summary(os.path.join(folder, "summary.json"), values)
    print(f"{len(values)} values: events and summary are right")
    try:
        import google.protobuf
        import perfetto.protos
    except ImportError as error:
        print(f"skip: Perfetto's file: {error}: ./run test installs the packages of tests/perfetto/requirements.txt")
        return 77
    check_perfetto(os.path.join(folder, "payloads.pftrace.gz"), values)
    print("and so is Perfetto's file")
    return 0


try:
    sys.exit(main())
except AssertionError as fault:
    sys.exit(f"FAILED: {fault}")
