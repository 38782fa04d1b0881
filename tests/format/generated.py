#!/usr/bin/env python3
"""Files that nobody recorded, to both readers: random waves on rings of all sizes, with all that can lie in them.

    generated.py --dump PROGRAM [--seed N] [--cases N] [--keep FILE]

Lanes that push, pop, start, stop and leave as they like; payloads that look like events; wide sites; rings that wrapped, were in
use, have garbage in them, or are longer than there are sequence numbers; clocks that turn. write_ktrace.py writes them.
"""

import argparse
import os
import random
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compare import Library, difference, read  # noqa: E402
from ktrace_file.sections import AMDGCN, HOST, KERNEL, MARK, NEXT, NONE, NVIDIA, POP, PUSH, START, STOP, UINT32  # noqa: E402
from ktrace_file.processes import Origin, Process  # noqa: E402
from write_ktrace import Device, File  # noqa: E402


# Of a mark, push, pop, start, stop and next.
WEIGHTS = [(4, 4, 4, 2, 2, 1), (6, 1, 1, 0, 0, 0), (0, 0, 0, 3, 3, 2), (1, 5, 5, 1, 1, 1), (1, 1, 1, 6, 6, 6)]


def add_sites(random_, file, module):
    """By kind: several of each, with payloads and without."""
    sites = {}
    for kind in (MARK, PUSH, POP, START, STOP, NEXT):
        sites[kind] = []
        for number in range(random_.choice([1, 2, 3])):
            wide = int(file.arch != AMDGCN and random_.random() < 0.25)
            type_ = NONE if kind == POP else random_.choice([NONE, NONE, *range(1, UINT32 + 1)])
            name = "" if kind in (POP, STOP) else random_.choice(["a", "b", "c"]) + str(number)
            sites[kind].append(module.site(kind, name, type_, wide))
    return sites


def payload(random_, file, sites, clock):
    if random_.random() < 0.3:  # what looks like an event
        site = random_.choice(random_.choice(list(sites.values())))
        return struct.unpack("<Q", struct.pack("<IHH", clock % (1 << 32), site.bits(), random_.randrange(64)))[0]
    special = [0, 1, (1 << 64) - 1, 1 << 31, 0x7FF8000000000000]
    return random_.choice([*special, random_.getrandbits(64), random_.getrandbits(16)])


def play(random_, file, wave, sites, events, clock, steps):
    """Events of some lanes; lanes behind the first record now and then."""
    lanes = [0] if file.arch == AMDGCN else random_.choice([[0], [0, 1], [0, 3, 17], [5], list(range(8))])
    weights = random_.choice(WEIGHTS)
    tokens = [0, 1, 12345]
    for _ in range(events):
        clock += random_.choice(steps)
        kind = random_.choices((MARK, PUSH, POP, START, STOP, NEXT), weights)[0]
        site = random_.choice(sites[kind])
        token = random_.choice(tokens[-4:]) if random_.random() < 0.8 else random_.choice(tokens)
        if kind == STOP:
            token |= 1
        elif random_.random() < 0.1:
            token = 0
        lane = random_.choice(lanes) if random_.random() < 0.6 else lanes[0]
        opened = wave.event(clock, site, payload(random_, file, sites, clock), token, lane)
        if kind in (START, NEXT):
            tokens.append(opened)
    return clock


def spoil(random_, wave):
    """A slot that no device wrote."""
    ring = random_.choice(list(wave.rings.values()))
    like_an_event = struct.pack("<IHH", random_.getrandbits(32), random_.randrange(0x140, 0x400), random_.randrange(100))
    slots = [bytes(8), random_.randbytes(8), like_an_event, random_.choice(ring.memory)]
    ring.memory[random_.randrange(ring.capacity)] = random_.choice(slots)


def two_processes(random_, file):
    """With rings of different sizes, and modules with numbers from 7 on of the second."""
    for number in range(2):
        lanes = 0 if file.arch == AMDGCN else random_.choice([1, 4, 8])
        file.processes.append(Process(random_.choice([2, 8, 32]), lanes, 1 << 20, 7 * number, number))
        file.origin.append(Origin(bytes([number + 1] * 16), 100 + number, 1, f"rank {number}", "", "", "", "", [], []))
        file.devices.append(Device(0, number))
    file.timelines = [0, random_.choice([0, 1000, -5])]


def generate(random_):
    arch = random_.choice([NVIDIA, NVIDIA, NVIDIA, AMDGCN, AMDGCN, HOST])
    file = File(arch, random_.choice([1, 2, 4, 8, 8, 16, 64]), random_.choice([1, 2, 4, 8, 16]), wire=random_.choice([1, 2]))
    if random_.random() < 0.2:
        two_processes(random_, file)
    modules = []
    for device in range(len(file.devices) or 1):
        control_offset = random_.choice([0, 3]) if arch == AMDGCN else random_.choice([0, 0x140, 0xFFF0])
        module = file.module(device, control_offset, number=7 * device)
        kernel = module.site(KERNEL, "kernel", wide=int(arch != AMDGCN and random_.random() < 0.2))
        modules.append((kernel, add_sites(random_, file, module)))
    steps = random_.choice([[0, 1, 2, 100], [10], [1 << 30, 5], [0], [(1 << 32) - 1, 7], [1 << 24, 1 << 25, 3]])
    for number in range(random_.choice([1, 2, 3])):
        start = random_.choice([1000, (1 << 32) - 50, 5 << 32])
        kernel, sites = random_.choice(modules)
        wave = file.wave(kernel, start, workgroup=(number, 0, 0))
        clock = play(random_, file, wave, sites, random_.choice([1, 5, 20, 60, 200]), start, steps)
        for lane in wave.rings:
            if random_.random() < 0.4:
                wave.leave(lane)
        if random_.random() < 0.5:
            wave.end(clock + random_.choice([0, 5, 1 << 21, 1 << 33, -1000]) if clock > 2000 else clock)
        while wave.rings and random_.random() < 0.3:
            spoil(random_, wave)
    return file.bytes()


def generate_long(random_):
    """One ring with as many places as there are sequence numbers, or more: the clock alone tells what is newest."""
    arch = random_.choice([NVIDIA, AMDGCN])
    capacity = random_.choice([1 << 15, 1 << 16, 1 << 17])
    file = File(arch, capacity)
    module = file.module()
    kernel, sites = module.site(KERNEL, "kernel"), add_sites(random_, file, module)
    wave = file.wave(kernel, 1000)
    mark, clock = random_.choice(sites[MARK]), 1000
    for _ in range(random_.choice([10, capacity // 2, capacity + 100, 2 * capacity + 7])):
        clock += 3
        wave.event(clock, mark, clock)
    play(random_, file, wave, sites, 30, clock, [1, 5])
    if random_.random() < 0.3:
        wave.end(clock + 1000)
    return file.bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dump", required=True, help="dump_traces")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--long", type=int, default=3, help="how many with long rings")
    parser.add_argument("--keep", help="write the first file that is read in two ways there")
    options = parser.parse_args()
    library, events, refused = Library(options.dump), 0, 0
    for number in range(options.cases + options.long):
        random_ = random.Random(f"{options.seed} {number}")
        data = generate(random_) if number < options.cases else generate_long(random_)
        here = read(data)
        text = difference(here, library.read(data))
        refused += "status" in here
        if text or "status" in here:
            print(f"FAILED  case {number} of seed {options.seed}: {text or here['sentence']}")
            if options.keep:
                with open(options.keep, "wb") as file:
                    file.write(data)
            return 1
        events += here["counters"]["events"]
    print(f"ok      {options.cases + options.long} files, {events} events, read alike")
    return 1 if library.end() or not events else 0


if __name__ == "__main__":
    sys.exit(main())
