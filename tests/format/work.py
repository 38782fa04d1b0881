#!/usr/bin/env python3
"""No valid file makes a reader of traces hang: four times as much of anything is about four times the work.

    work.py --count PROGRAM [--size N] [SHAPE...]

Shapes are what could be expensive: deep nesting, ranges that overlap, lanes that leave late, tokens that are alike, rings full of
garbage, many sites, names, modules, kernels, launches, places. Work is counted in basic blocks that ran (count_work.c), for
loading a trace and for each thing that reads one, so that no clock decides. Linear is 4, sorting 4.5, quadratic 16.
"""

import argparse
import os
import random
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compare import Library  # noqa: E402
from ktrace_file.sections import AMDGCN, KERNEL, MARK, NEXT, POP, PUSH, START, STOP, UINT64  # noqa: E402
from write_ktrace import Device, File  # noqa: E402

LIMIT = 5.5
SMALL = 50_000  # blocks: too few to tell


def power_of_two(count):
    return 1 << count.bit_length()


def one_wave(slots, arch=1):
    """A file with a ring for that many slots in each lane, a kernel, and a site of each kind."""
    file = File(arch, power_of_two(slots), power_of_two(slots), "work")
    module = file.module()
    kernel = module.site(KERNEL, "kernel")
    sites = {kind: module.site(kind, "" if kind in (POP, STOP) else "name") for kind in range(MARK, NEXT + 1)}
    return file, file.wave(kernel), sites


def nested(n):
    file, wave, sites = one_wave(n)
    for i in range(n):
        wave.event(1000 + i, sites[PUSH if i < n // 2 else POP])
    wave.end(1000 + n)
    return file


def never_closed(n):
    file, wave, sites = one_wave(n)
    for i in range(n):
        wave.event(1000 + i, sites[PUSH if i % 2 else START])
    wave.end(1000 + n)
    return file


def unmatched(n):
    file, wave, sites = one_wave(n)
    for i in range(n):
        wave.event(1000 + i, sites[POP if i % 2 else STOP], token=i | 1)
    wave.end(1000 + n)
    return file


def leave_late(n):
    """Lane 0 enters and leaves, all others leave what it left, one after the other: each by rule 3."""
    file, wave, sites = one_wave(n)
    lanes, clock = 8, 1000
    each = n // (lanes + 1)
    for lane in range(lanes):
        for i in range(each):
            if lane == 0:
                wave.event(clock := clock + 1, sites[PUSH])
            wave.event(clock := clock + 1, sites[POP], lane=lane)
    wave.end(clock)
    return file


def lanes_in_turn(n):
    """What one lane enters another leaves, and the other way round."""
    random_ = random.Random(1)
    file, wave, sites = one_wave(n)
    for i in range(n):
        wave.event(1000 + i, sites[random_.choice((PUSH, POP))], lane=random_.randrange(32))
    wave.end(1000 + n)
    return file


def overlapping(n):
    """Token ranges that are all open at once, and end in the order in which they began."""
    file, wave, sites = one_wave(n)
    tokens = [wave.event(1000 + 2 * i, sites[START]) for i in range(n // 2)]
    for i, token in enumerate(tokens):
        wave.event(1000 + n + 2 * i, sites[STOP], token=token)
    wave.end(1000 + 2 * n + 10)
    return file


def alike(n):
    """Tokens with the same half, closed again and again."""
    file, wave, sites = one_wave(n)
    for i in range(n):
        clock = 1000 + (i << 16)
        wave.event(clock, sites[START if i < n // 2 else STOP], token=1001)
    wave.end(1000 + (n << 16))
    return file


def used_up(n):
    """Stops with a token that is closed: of an open range of the same name, and of none."""
    file, wave, sites = one_wave(n)
    first = wave.event(1000, sites[START])
    wave.event(1001, sites[STOP], token=first)
    for i in range(n):
        wave.event(1010 + 2 * i, sites[START if i < n // 3 else STOP], token=first, lane=i % 2)
    wave.end(1010 + 2 * n)
    return file


def nexts(n):
    file, wave, sites = one_wave(n)
    token = 0
    for i in range(n):
        token = wave.event(1000 + 2 * i, sites[NEXT], token=token)
    wave.end(1000 + 2 * n)
    return file


def garbage(n, arch=1, whole=True):
    """A ring of n places with sites that are known and everything else at random."""
    random_ = random.Random(2)
    file = File(arch, n, 8, "garbage")
    module = file.module()
    kernel = module.site(KERNEL, "kernel")
    sites = [module.site(kind, "name", payload_type) for kind in range(MARK, NEXT + 1) for payload_type in (0, UINT64)]
    wave = file.wave(kernel)
    wave.event(1000, sites[0])
    ring = wave.ring(0)
    ring.memory = [struct.pack("<IHH", random_.getrandbits(32), random_.choice(sites).bits(),
                               random_.choice((place, random_.getrandbits(16)))) for place in range(n)]
    if not whole:
        ring.count = 3 * n + 5
        wave.end(1 << 33)
    return file


def many_waves(n, launches):
    """Of one launch, which repeats itself, or of as many launches."""
    file, first, sites = one_wave(4)
    file.waves.clear()
    for i in range(n):
        wave = file.wave(first.kernel, 1000 + i, grid_id=i if launches else 0, place=i % 132,
                         grid=(1 << 20, 1, 1), workgroup=(i // 4, 0, 0) if not launches else (0, 0, 0))
        wave.event(1010 + i, sites[MARK])
        wave.end(1020 + i)
    return file


def many_places(n):
    file = many_waves(n, False)
    for i, wave in enumerate(file.waves):
        wave.header["place"] = i
    return file


def many_names(n):
    """Sites with names of their own, in one module, each recorded once."""
    file = File(1, power_of_two(2 * n), 8, "names")
    module = file.module()
    wave = file.wave(module.site(KERNEL, "kernel", wide=1))
    for i in range(n):
        wave.event(1000 + i, module.site(PUSH, f"name {i * 7919 % n}", wide=1))
    wave.end(1000 + n)
    return file


def many_modules(n):
    """Each with a kernel and a mark of its own, and a launch."""
    file = File(1, 4, 4, "modules")
    for i in range(n):
        module = file.module()
        wave = file.wave(module.site(KERNEL, f"kernel {i}"), 1000 + i, grid_id=i)
        wave.event(1010 + i, module.site(MARK, f"mark {i}"))
        wave.end(1020 + i)
    return file


def many_anchors(n):
    file = many_waves(16, True)
    file.anchors = [(10**18 + 1000 * i, 10**18 + 1000 * i + 700, 10**9 + 1000 * i) for i in range(n)]
    return file


def two_devices(n):
    file = many_waves(n // 2, True)
    second = file.module(1)
    kernel, mark = second.site(KERNEL, "other"), second.site(MARK, "mark")
    anchors = [(10**18 + 1000 * i, 10**18 + 1000 * i + 700, 10**9 + 1000 * i) for i in range(n // 8)]
    file.devices = [Device(0, anchors=anchors), Device(1, anchors=anchors)]
    for i in range(n // 2):
        wave = file.wave(kernel, 1000 + i, grid_id=i)
        wave.event(1010 + i, mark)
        wave.end(1020 + i)
    return file


def long_texts(n):
    """As many events as the longest name there is, in a trace whose own name is as long as a file."""
    file = File(1, power_of_two(n), 8, "t" * n)
    file.warning = "w" * n
    module = file.module()
    wave = file.wave(module.site(KERNEL, "k" * 4085))
    mark = module.site(MARK, "m" * 4085)
    for i in range(n):
        wave.event(1010 + i, mark)
    wave.end(1010 + n)
    return file


def one_site_in_many_kernels(n):
    """A device function's annotations in every kernel of a module."""
    file = File(1, 8, 8, "kernels")
    module = file.module()
    shared = [module.site(MARK, f"mark {i}", wide=1) for i in range(4)]
    for i in range(n):
        wave = file.wave(module.site(KERNEL, f"kernel {i}", wide=1), 1000 + i, grid_id=i)
        for mark in shared:
            wave.event(1010 + i, mark)
        wave.end(1020 + i)
    return file


SHAPES = {
    "nested": nested,
    "never closed": never_closed,
    "unmatched": unmatched,
    "leave late": leave_late,
    "lanes in turn": lanes_in_turn,
    "overlapping": overlapping,
    "alike": alike,
    "used up": used_up,
    "nexts": nexts,
    "garbage, whole": garbage,
    "garbage, wrapped": lambda n: garbage(n, whole=False),
    "garbage, AMD GCN": lambda n: garbage(n, AMDGCN),
    "many waves": lambda n: many_waves(n, False),
    "many launches": lambda n: many_waves(n, True),
    "many places": many_places,
    "many names": many_names,
    "many modules": many_modules,
    "many anchors": many_anchors,
    "two devices": two_devices,
    "long texts": long_texts,
    "one site in many kernels": one_site_in_many_kernels,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", required=True, help="count_work")
    parser.add_argument("--size", type=int, default=1024, help="of the smaller file of each shape; the other is 4 times it")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("shape", nargs="*", default=list(SHAPES), help=", ".join(SHAPES))
    options = parser.parse_args()
    program, failures = Library(options.count), 0
    for name in options.shape:
        files = [SHAPES[name](size).bytes() for size in (options.size, 4 * options.size)]
        work = [program.read(data) for data in files]
        refused = [answer["sentence"] for answer in work if "sentence" in answer]
        ratios = {} if refused else {what: work[1][what] / max(work[0][what], 1) for what in work[0]}
        much = [f"{what}: {work[0][what]} and {work[1][what]} blocks" for what, ratio in ratios.items()
                if ratio > LIMIT and work[1][what] > SMALL]
        faults = refused + much
        failures += bool(faults)
        print(f"FAILED  {name}: {'; '.join(faults)}" if faults else f"ok      {name}: {max(ratios.values()):.1f} times the work")
        if options.verbose:
            print("       ", {what: f"{work[1][what]} ({ratio:.1f})" for what, ratio in ratios.items()})
    return 1 if failures or program.end() else 0


if __name__ == "__main__":
    sys.exit(main())
