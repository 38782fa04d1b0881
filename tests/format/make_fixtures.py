#!/usr/bin/env python3
"""Fixtures that have what no recording has, written from docs/format.md. How those in tests/data/format/ were made:

    make_fixtures.py --out FOLDER [NAME...]

They are kept as they are, whatever becomes of this program (fixtures.py): what is new gets a new name.
"""

import argparse
import os
import random
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import generated  # noqa: E402
from ktrace_file.sections import (  # noqa: E402
    AMDGCN, BOOL, FLOAT32, FLOAT64, HOST, INT32, INT64, KERNEL, MARK, NEXT, NVIDIA, POP, PUSH, START, STOP, UINT32, UINT64)
from ktrace_file.processes import Origin, Process  # noqa: E402
from write_ktrace import Device, File  # noqa: E402

GARBAGE = 0xDEADBEEF << 32  # in the upper half of a slot, which means nothing
TURN = 1 << 32


def bits(form, value):
    return int.from_bytes(struct.pack("<" + form, value), "little")


VALUES = {
    BOOL: [GARBAGE, GARBAGE | 1],
    INT64: [0, (1 << 63) - 1, 1 << 63, (1 << 64) - 1],
    UINT64: [0, (1 << 64) - 1, 1 << 63],
    FLOAT32: [GARBAGE | bits("f", value) for value in (0.0, -0.0, 0.1, float("inf"), float("-inf"), float("nan"))],
    FLOAT64: [bits("d", value) for value in (0.1, 5e-324, float("inf"), float("-inf"), float("nan"))],
    INT32: [GARBAGE, GARBAGE | 0x7FFFFFFF, GARBAGE | 0x80000000, GARBAGE | 0xFFFFFFFF],
    UINT32: [GARBAGE, GARBAGE | 0xFFFFFFFF],
}
NAMES = {BOOL: "bool", INT64: "int64", UINT64: "uint64", FLOAT32: "float32", FLOAT64: "float64", INT32: "int32", UINT32: "uint32"}


def payloads(arch, slots):
    """Every type in everything that takes one."""
    file = File(arch, slots, 8, "payloads", flags=0)
    module = file.module()
    kernel, pop = module.site(KERNEL, "payloads"), module.site(POP)
    wave, clock = file.wave(kernel), 1000
    for type_, values in VALUES.items():
        named = [(MARK, NAMES[type_]), (PUSH, NAMES[type_]), (START, NAMES[type_]), (STOP, ""), (NEXT, NAMES[type_])]
        mark, push, start, stop, next_ = (module.site(kind, name, type_) for kind, name in named)
        for number, value in enumerate(values):
            wave.event(clock := clock + 10, mark, value)
            if number < 2:
                wave.event(clock := clock + 10, push, value)
                token = wave.event(clock := clock + 10, start, value)
                token = wave.event(clock := clock + 10, next_, value, token)
                wave.event(clock := clock + 10, stop, value, token)
                wave.event(clock := clock + 10, pop)
    wave.end(clock + 50)
    file.ordinal = 5
    return file


def peek(arch):
    """Rings in use, one in its first lap and others in later ones, some with their newest slots behind a stop or a payload."""
    file = File(arch, 16, 8, "peek", flags=3)
    module = file.module()
    kernel, mark, push, pop = (module.site(*site) for site in ((KERNEL, "peeked"), (MARK, "turn"), (PUSH, "body"), (POP,)))
    like = module.site(MARK, "like a slot", UINT64)
    start, stop, next_ = module.site(START, "token"), module.site(STOP), module.site(NEXT, "next")
    sites = [mark, push, pop, like, start, stop, next_]
    for number, count in enumerate((3, 9, 14, 30, 47)):
        clock, token = 1000 + 7 * number, 0
        wave = file.wave(kernel, clock, workgroup=(number % 4, 0, 0), wave=number // 4)
        for i in range(count):
            clock += 20
            lane = 9 if arch == NVIDIA and i % 5 == 3 else 0
            value = struct.unpack("<Q", struct.pack("<IHH", clock, mark.bits(), i + 1))[0]
            site = sites[(i + number) % len(sites)]
            opened = wave.event(clock, site, value, token, lane)
            token = opened if site in (start, next_) else token
        if number == 2 and arch == NVIDIA:
            wave.leave(9)
    if arch == NVIDIA:
        file.anchors = [(1_700_000_000_000_000_000, 1_700_000_000_000_000_900, 1_000_000_400)]
        file.taken_ns = 1_700_000_000_000_020_000
    return file


def wide_sites():
    """Descriptors in global memory: rings that wrapped, which begin with an address or a payload that looks like an event."""
    file = File(NVIDIA, 8, 4, "wide sites", flags=2)
    module = file.module()
    kernel, narrow = module.site(KERNEL, "wide", wide=1), module.site(MARK, "narrow")
    wide = {kind: module.site(kind, "" if kind in (POP, STOP) else "wide", type_, wide=1)
            for kind, type_ in ((MARK, UINT64), (PUSH, INT32), (POP, 0), (START, 0), (STOP, FLOAT64), (NEXT, 0))}
    for number in range(8):
        wave, clock, token = file.wave(kernel, workgroup=(number % 4, 0, 0), wave=number // 4), 1000, 0
        for i in range(9 + number):
            site = [wide[MARK], wide[PUSH], narrow, wide[START], wide[NEXT], wide[STOP], wide[POP]][(i + number) % 7]
            value = struct.unpack("<Q", struct.pack("<IHH", clock, narrow.bits(), wave.ring(0).count + 3))[0]
            opened = wave.event(clock := clock + 13, site, value, token)
            token = opened if site.kind in (START, NEXT) else token
        wave.end(clock + 5)
    return file


def clocks():
    """Clocks that turn, forward and from the end; gaps that nothing places."""
    file = File(NVIDIA, 8, 4, "clocks", flags=2)
    module = file.module()
    kernel, mark = module.site(KERNEL, "long"), module.site(MARK, "turn")
    far = 3 * TURN // 4
    waves = (5, far, 100), (20, far, 100), (3, 1000, 3 * TURN), (20, 50, -(1 << 19)), (3, 50, -(1 << 21))
    for number, (count, step, after) in enumerate(waves):
        start = 10 * TURN - 77
        wave = file.wave(kernel, start, workgroup=(number % 4, 0, 0), wave=number // 4, place=number)
        for i in range(count):
            wave.event(start + (i + 1) * step, mark, lane=i % 2 * 6)
        wave.end(start + count * step + after)
    return file


def losses():
    """What is not whole: slots that no site explains, lanes without a record, a module and waves that are not there."""
    file = File(NVIDIA, 8, 4, "losses")
    module = file.module()
    kernel, mark, push = module.site(KERNEL, "lossy"), module.site(MARK, "tick", INT32), module.site(PUSH, "open")
    spoiled, elsewhere, lost = (file.wave(kernel, workgroup=(number, 0, 0), grid_id=number) for number in range(3))
    for wave in (spoiled, elsewhere, lost):
        for i in range(3):
            wave.event(1000 + 10 * i, mark, i)
        wave.event(1100, push)
        wave.end(1200)
    spoiled.rings[0].memory[3] = b"\xFF" * 8
    spoiled.rings[0].memory[7] = struct.pack("<IHH", 1100, push.bits(), 9)
    elsewhere.header["module"] = 99
    lost.final_counts = [8 * (7 + 1)] + [8 * (3 + 1)] * 2 + [8] * 29
    file.wave(mark, grid_id=3).end(1200)  # names an annotation for its kernel
    file.dropped, file.filtered, file.warning = 12, 34, "the buffer was too small"
    return file


def pops_and_stops():
    """Each rule of 3.5: lanes that part, and leave ranges in different orders."""
    random_ = random.Random(3)
    file = File(NVIDIA, 256, 64, "pops and stops")
    module = file.module()
    kernel = module.site(KERNEL, "parted")
    sites = {kind: [module.site(kind, "" if kind in (POP, STOP) else name) for name in ("a", "b")]
             for kind in (MARK, PUSH, POP, START, STOP, NEXT)}
    for number in range(6):
        wave = file.wave(kernel, workgroup=(number % 4, 0, 0), wave=number // 4)
        wave.end(generated.play(random_, file, wave, sites, 40, 1000, [0, 3, 8]) + 10)
    return file


def host():
    """The third architecture: no device recorded this."""
    file = File(HOST, 16, 16, "host")
    module = file.module(control_offset=0xFFF0)
    kernel, push, pop = module.site(KERNEL, "function"), module.site(PUSH, "body"), module.site(POP)
    wave = file.wave(kernel, block=(1, 1, 1), grid=(1, 1, 1))
    wave.event(1100, push)
    wave.event(1900, pop)
    wave.end(2000)
    return file


def origin(number, **more):
    fields = {"label": f"rank {number}", "host": "node", "boot": "0f0e", "program": "/usr/bin/train", "version": "0.1.0",
              "reads": [(1, 1, 2, ""), (2, 1, 1, "0,0,0")],
              "readings": [(1_700_000_000_000_000_000, 5_000_000_000, 1_700_000_000_000_000_200)]}
    return Origin(bytes([number + 1] * 16), 100 + number, 1, **{**fields, **more})


def processes():
    """Three processes on two timelines: two share a device, with buffers of two sizes; the third was on another host."""
    file = File(NVIDIA, name="processes")
    now = 1_700_000_000_000_000_000
    file.processes = [Process(16, 8, 1 << 20, 0, 0), Process(8, 4, 2 << 20, 2, 0, -1500, 40), Process(32, 16, 3 << 20, 5, 1)]
    file.timelines = [0, -7_000_000]
    file.origin = [origin(0), origin(1), origin(2, host="other", boot="1f1e", label="", reads=[], readings=[])]
    anchors = [(now, now + 700, 1_000_000_300), (now + 90_000, now + 90_900, 1_000_090_400)]
    shared = {"anchors": anchors, "uuid": b"1" * 16, "bus_id": "0000:65:00.0"}
    file.devices = [Device(0, 0, 1, 2, anchors, b"0" * 16, "0000:17:00.0"), Device(1, 0, **shared),
                    Device(0, 1, 0, 5, **shared), Device(0, 2)]
    for number, (device, first) in enumerate(((0, 0), (1, 1), (2, 2), (3, 6))):
        module = file.module(device, number=first)
        kernel, push, pop, mark = (module.site(*site) for site in ((KERNEL, "step"), (PUSH, "body"), (POP,), (MARK, "turn")))
        wave = file.wave(kernel, 1000 + 100 * number)
        wave.event(1500, push)
        for i in range(10):
            wave.event(1600 + 10 * i, mark, lane=i % 2 * 4)
        wave.event(1900, pop)
        if number != 2:
            wave.end(2000)
    return file


def processes_amdgcn():
    """Two simulated processes: a timeline for each, and no clock but the simulator's."""
    file = File(AMDGCN, name="simulated processes", flags=4)
    file.processes = [Process(16, 0, 1 << 20, 0, 0), Process(0, 0, 1 << 20, 1, 1)]
    file.timelines, file.origin = [0, 3000], [origin(0, readings=[]), origin(1, readings=[])]
    file.devices = [Device(0, 0), Device(0, 1, filtered=3)]
    module, _ = file.module(0), file.module(1)
    kernel, mark = module.site(KERNEL, "step"), module.site(MARK, "turn", INT32)
    wave = file.wave(kernel)
    for i in range(12):
        wave.event(1100 + i, mark, i)
    wave.end(1200)
    return file


def one_process():
    """Who recorded, where one did."""
    file = host()
    file.arch, file.name, file.origin = NVIDIA, "one process", [origin(0)]
    return file


def future():
    """By a later ktrace, which readers of version 1 understand."""
    file = host()
    file.arch, file.name, file.version, file.header_bytes, file.flags = NVIDIA, "future", 9, 64, 0xFFFF0000
    file.further = [(b"LATR", 0, b"what no reader of version 1 knows"), (b"LATR", 0xFFFFFFFE, b"")]
    file.order = lambda sections: sections[::-1]
    return file


FIXTURES = {
    "payloads": lambda: payloads(NVIDIA, 512), "payloads_amdgcn": lambda: payloads(AMDGCN, 128), "peek": lambda: peek(NVIDIA),
    "peek_amdgcn": lambda: peek(AMDGCN), "wide_sites": wide_sites, "clocks": clocks, "losses": losses,
    "pops_and_stops": pops_and_stops, "host": host, "future": future,
    "processes": processes, "processes_amdgcn": processes_amdgcn, "one_process": one_process,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("name", nargs="*", default=list(FIXTURES), help=", ".join(FIXTURES))
    options = parser.parse_args()
    for name in options.name:
        with open(os.path.join(options.out, name + ".ktrace"), "wb") as file:
            file.write(FIXTURES[name]().bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
