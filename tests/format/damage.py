#!/usr/bin/env python3
"""Damaged .ktrace files, to both readers.

    damage.py --dump PROGRAM [--seed N] [--cases N] FILE.ktrace...

As they are, damaged files are refused, or say what the undamaged one says: a sample of every file's bytes is changed and cut
off. With checksums made right again both readers refuse the same files, and say the same of all others: what docs/format.md
leaves open shows here. PROGRAM is dump_traces.c; damage to every byte is done in C, exhaustive.c.
"""

import argparse
import os
import random
import struct
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compare import Library, difference, read  # noqa: E402

SECTION = struct.Struct("<4sIQII")


def sections(data):
    """Where each section's header is, and its payload's bytes."""
    at = struct.unpack_from("<I", data, 32)[0]
    while at + SECTION.size <= len(data):
        payload_bytes = SECTION.unpack_from(data, at)[2]
        yield at, payload_bytes
        at += SECTION.size + payload_bytes + -payload_bytes % 8


def repair(data):
    """Checksums and padding, of a file whose lengths are right."""
    for at, payload_bytes in sections(data):
        begin, end = at + SECTION.size, at + SECTION.size + payload_bytes
        data[end : end + -payload_bytes % 8] = bytes(-payload_bytes % 8)
        struct.pack_into("<I", data, at + 16, zlib.crc32(data[begin:end]))
        struct.pack_into("<I", data, at + 20, zlib.crc32(data[at : at + 20]))
    struct.pack_into("<I", data, 36, zlib.crc32(data[:36]))


def changed_byte(random_, old):
    flipped = old ^ 1 << random_.randrange(8)
    return random_.choice([flipped, 0, 0xFF, random_.randrange(256), (old + 1) % 256, (old - 1) % 256])


def damaged_bytes(random_, data):
    """Some bytes of payloads, or of headers but for lengths; checksums right again. And what may be said in two ways then."""
    copy, types = bytearray(data), set()
    places, changes = list(sections(data)), random_.choice([1, 1, 1, 2])
    for _ in range(changes):
        at, payload_bytes = random_.choice(places)
        kind = random_.randrange(20)
        if kind == 0:
            where = random_.randrange(8, 18)
        elif kind == 1 or payload_bytes == 0:
            where = at + random_.randrange(8)
        else:
            where = at + SECTION.size + random_.randrange(payload_bytes)
        copy[where] = changed_byte(random_, copy[where])
        types.add(bytes(data[at : at + 4]))
    repair(copy)
    # The library knows times alone, from which it gets the clock back, but for clocks that make no sense; and a kernel is one
    # of a launch, that of its first wave. Which of two faults is told first is nobody's rule.
    in_two_ways = {"kernel"}
    if changes > 1:
        in_two_ways.add("status")
    if types - {b"RING", b"SLOT"}:
        in_two_ways.add("clock")
    return bytes(copy), in_two_ways


def damaged_sections(random_, data):
    """A section more or less, longer or shorter, or of another file's kind; and all checksums right."""
    parts = [bytearray(data[at : at + SECTION.size + payload_bytes]) for at, payload_bytes in sections(data)]
    number, kind = random_.randrange(len(parts)), random_.randrange(6)
    if kind == 0:
        del parts[number]
    elif kind == 1:
        parts.insert(random_.randrange(len(parts) + 1), bytearray(parts[number]))
    elif kind == 2:
        del parts[number][max(SECTION.size, len(parts[number]) - random_.randrange(1, 40)) :]
    elif kind == 3:
        parts[number] += random_.randbytes(random_.randrange(1, 40))
    elif kind == 4:
        parts[number][:4] = random_.choice([b"ORDN", b"DEVS", b"TAKN", b"PROC", b"ORIG", b"NEWS"])
    else:
        random_.shuffle(parts)
    begin = struct.unpack_from("<I", data, 32)[0]
    copy = bytearray(data[:begin])
    for part in parts:
        struct.pack_into("<Q", part, 8, len(part) - SECTION.size)
        copy += part + bytes(-len(part) % 8)
    struct.pack_into("<I", copy, 12, len(parts))
    struct.pack_into("<Q", copy, 24, len(copy))
    if random_.random() < 0.3:
        copy[16] ^= random_.choice([1, 2, 4])
    repair(copy)
    return bytes(copy), {"kernel", "status", "clock"}


def check_repaired(library, random_, data, cases):
    refused = 0
    for number in range(cases):
        case, leave_out = (damaged_sections if number % 5 == 0 else damaged_bytes)(random_, data)
        here = read(case)
        refused += "status" in here
        if text := difference(here, library.read(case), leave_out):
            return f"case {number}, checksums right: {text}", case
    return f"{refused} of {cases} refused by both", None


def check_as_it_is(library, random_, data, cases):
    """Damage that nobody hides."""
    whole = read(data)
    for number in range(cases):
        case = bytearray(data)
        if number % 4 == 0:
            del case[random_.randrange(len(case)) :]
        else:
            at = random_.randrange(len(case))
            case[at] = changed_byte(random_, case[at])
        case = bytes(case)
        here = read(case)
        if text := difference(here, library.read(case)):
            return f"damaged case {number}: {text}", case
        if "status" not in here and (here != whole or len(case) != len(data)):
            return f"damaged case {number}: another answer, and no error", case
    return "", None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dump", required=True, help="dump_traces")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=200, help="of each kind, for each file")
    parser.add_argument("--keep", help="write the first case that fails there")
    parser.add_argument("file", nargs="+")
    options = parser.parse_args()
    library, failures = Library(options.dump), 0
    for path in options.file:
        with open(path, "rb") as file:
            data = file.read()
        random_ = random.Random(f"{options.seed} {os.path.basename(path)}")
        text, case = check_as_it_is(library, random_, data, options.cases)
        if case is None:
            text, case = check_repaired(library, random_, data, options.cases)
        print(f"{'ok      ' if case is None else 'FAILED  '}{path}: {text}")
        if case is not None:
            failures += 1
            if options.keep:
                with open(options.keep, "wb") as file:
                    file.write(case)
                return 1
    return 1 if failures or library.end() else 0


if __name__ == "__main__":
    sys.exit(main())
