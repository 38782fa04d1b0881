#!/usr/bin/env python3
"""Recorded .ktrace files are kept for ever: none vanishes, none changes, and together they have all that the format knows.

    fixtures.py [--update] [--list]

tests/format/fixtures.txt has a line for each .ktrace file below tests/data/: SHA-256, length, path. A file that is not there, or
is another one, is a failure; a new one is added with --update, which never takes out or changes a line. --list says which files
have each feature.
"""

import argparse
import hashlib
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MANIFEST = os.path.join(HERE, "fixtures.txt")

sys.path.insert(0, HERE)
from ktrace_file import Refused, Trace, sections  # noqa: E402
from ktrace_file.container import HEADER_BYTES  # noqa: E402

KINDS = {sections.MARK: "mark", sections.PUSH: "push", sections.POP: "pop", sections.START: "start", sections.STOP: "stop"}
TYPES = ["no payload", "bool", "int64", "uint64", "float32", "float64", "int32", "uint32"]
STATES = ["unclosed", "superseded", "unmatched"]


def of_header(data, trace):
    header, info = trace.sections.header, trace.info
    yield f"format version {header.version}"
    yield f"wire version {info.wire}, {('NVIDIA', 'AMD GCN', 'host')[info.arch - 1]}"
    if header.bytes > HEADER_BYTES:
        yield "more behind the file header"
    types, at = [], header.bytes
    while at < len(data):
        type_, flags, payload_bytes = struct.unpack_from("<4sIQ", data, at)
        types.append(type_)
        at += 24 + payload_bytes + -payload_bytes % 8
    for type_ in types:
        if type_ in sections.AT_MOST_ONCE:
            yield f"section {type_.decode()}"
        elif type_ not in sections.ONCE:
            yield "an optional section of the future"
    if [type_ for type_ in types if type_ in sections.ONCE] != list(sections.ONCE):
        yield "sections in another order"
    for bit, text in ((1, "peek"), (2, "keep_last"), (4, "simulated")):
        if info.flags & bit:
            yield text
    if info.dropped:
        yield "waves dropped"
    if info.filtered:
        yield "waves filtered"
    if info.warning:
        yield "a warning"
    if not trace.waves:
        yield "no waves"
    if any(device.anchors for device in trace.devices):
        yield "host anchors"


def of_rings(trace):
    arch = "AMD GCN" if trace.info.arch == sections.AMDGCN else "NVIDIA"
    for ring in trace.sections.rings:
        wave = trace.sections.waves[ring.wave]
        capacity = trace.sections.process_of(ring.wave).capacity(ring.lane)
        if ring.whole:
            newest = ring.slots[0] != bytes(8)  # place 0 is used from the second lap on
            yield f"a whole ring, {arch}, {'wrapped' if newest else 'not wrapped'}"
        elif wave.recorded(ring.lane) > capacity:
            yield f"a wrapped ring, {arch}"
        if ring.lane:
            yield "rings of other lanes"
        if any(ring.overhang):
            yield "an overhang with a payload"


def of_events(trace):
    for wave in trace.waves:
        for event in wave.events:
            yield KINDS[event.kind]
            if event.site.kind == sections.NEXT:
                yield "next"
            yield TYPES[event.payload_type]
            if event.payload_type:
                yield f"{TYPES[event.payload_type]} in a {KINDS[event.kind]}"
            if event.site.wide:
                yield "a wide site" + (" with a payload" if event.payload_type else "")
            if event.state:
                yield event.state
        if wave.unfinished:
            yield "an unfinished wave"
        if wave.lost:
            yield "slots lost"
        if wave.corrupt:
            yield "slots corrupt"
        if wave.ambiguous:
            yield "ambiguous clocks"
        if wave.kernel is None:
            yield "an unknown kernel"
        if wave.events and wave.events[-1].clock - wave.header.start_clock >= 1 << 32:
            yield "a clock that turned"


WANTED = {
    "format version 1",
    *(f"wire version {version}, {arch}" for version in (1, 2) for arch in ("NVIDIA", "AMD GCN")),
    "wire version 2, host",
    *(f"section {type_.decode()}" for type_ in sections.AT_MOST_ONCE),
    *("more behind the file header", "an optional section of the future", "sections in another order"),
    *("peek", "keep_last", "simulated", "waves dropped", "waves filtered", "a warning", "no waves", "host anchors"),
    *(f"a whole ring, {arch}, {how}" for arch in ("NVIDIA", "AMD GCN") for how in ("wrapped", "not wrapped")),
    *(f"a wrapped ring, {arch}" for arch in ("NVIDIA", "AMD GCN")),
    *("rings of other lanes", "an overhang with a payload", "next", *KINDS.values(), *TYPES, *STATES),
    *(f"{type_} in a {kind}" for type_ in TYPES[1:] for kind in ("mark", "push", "start")),
    *("a wide site", "a wide site with a payload", "an unfinished wave", "slots lost", "slots corrupt", "ambiguous clocks"),
    *("an unknown kernel", "a clock that turned"),
}


def features(data):
    trace = Trace(data)
    return {*of_header(data, trace), *of_rings(trace), *of_events(trace)}


def found():
    for folder, _, files in os.walk(os.path.join(ROOT, "tests", "data")):
        for file in files:
            if file.endswith(".ktrace"):
                yield os.path.relpath(os.path.join(folder, file), ROOT)


def pinned():
    with open(MANIFEST, encoding="utf-8") as file:
        lines = [line.split(maxsplit=2) for line in file.read().splitlines() if not line.startswith("#")]
    return {path: (digest, int(length)) for digest, length, path in lines}


def faults(kept, has):
    for path, (digest, length) in sorted(kept.items()):
        full = os.path.join(ROOT, path)
        if not os.path.exists(full):
            yield f"{path} is gone: files of every released version stay readable, so their fixtures stay"
            continue
        with open(full, "rb") as file:
            data = file.read()
        if (hashlib.sha256(data).hexdigest(), len(data)) != (digest, length):
            yield f"{path} is not the file that it was: give a new recording a new name"
        try:
            for feature in features(data):
                has.setdefault(feature, []).append(path)
        except Refused as refused:
            yield f"{path}: {refused}"
    for feature in sorted(WANTED - has.keys()):
        yield f"no fixture has: {feature}"


def update(kept):
    for path in sorted(set(found()) - kept.keys()):
        with open(os.path.join(ROOT, path), "rb") as file:
            data = file.read()
        kept[path] = hashlib.sha256(data).hexdigest(), len(data)
        print(f"added {path}")
    with open(MANIFEST, "w", encoding="utf-8") as file:
        file.write("# SHA-256, bytes and path of every .ktrace file that is kept. See fixtures.py.\n")
        for path, (digest, length) in sorted(kept.items()):
            file.write(f"{digest} {length:6} {path}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    kept = pinned() if os.path.exists(MANIFEST) else {}
    if options.update:
        update(kept)
    has = {}
    failures = list(faults(kept, has))
    for path in sorted(set(found()) - kept.keys()):
        failures.append(f"{path} is not in {os.path.relpath(MANIFEST, ROOT)}: add it with fixtures.py --update")
    for feature, paths in sorted(has.items()):
        if options.list:
            print(f"{feature}: {len(paths)}, such as {min(paths, key=len)}")
    print("\n".join(failures) or f"{len(kept)} files as they were, with {len(has)} features")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
