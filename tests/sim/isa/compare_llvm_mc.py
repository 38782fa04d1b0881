#!/usr/bin/env python3
"""Decoding and text of sim/isa against llvm-mc: compare_llvm_mc.py PRINT_INSTRUCTIONS FOLDER_OF_llvm_mc.py [options].

For each opcode of both chips a base encoding that llvm-mc accepts is varied: every field while the others stay, all fields at
random, then random words. Fields take all their values; operand fields only for the first of the opcodes that are alike, and
some for the others. Acceptance, length and text must agree.
"""

import argparse
import collections
import random
import re
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("printer")
    parser.add_argument("isa_folder")
    parser.add_argument("--show", type=int, default=20, help="disagreements to print")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", type=int, default=60000, help="random encodings a chip")
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.isa_folder)
    import llvm_mc

    if not llvm_mc.available():
        print("skipped: there is no %s" % llvm_mc.TOOL)
        return 77
    import generate_opcodes

    failed = 0
    for number, chip in enumerate(llvm_mc.CHIPS):
        encodings = [
            words
            for words in encodings_of(chip, generate_opcodes, random.Random(arguments.seed), arguments.random)
            if not crashes(words)
        ]
        ours = printed(arguments.printer, number, encodings)
        # Only as many words as we say that there are: another length shows as more than one instruction, or as none.
        asked = [words[: length // 4] if length else words for words, (length, _) in zip(encodings, ours)]
        theirs = llvm_mc.disassemble(chip, asked)
        failed |= report(chip, encodings, ours, theirs, arguments.show)
    return failed


def crashes(words):
    """llvm-mc 22 crashes instead of rejecting reserved SDWA selects, and a literal in VOP3 (sources and scalar destinations)
    and as a buffer's offset, where these chips have none. That we reject them is a fixed case of test_decode.c."""
    if words[0] >> 26 == 0x34:
        opcode = words[0] >> 16 & 0x3FF
        is_scalar = (opcode < 0x100 or opcode == 0x289) and words[0] & 255 == 255
        return is_scalar or 255 in (words[1] & 511, words[1] >> 9 & 511, words[1] >> 18 & 511)
    if words[0] >> 26 in (0x38, 0x3A):
        return words[1] >> 24 == 255
    if words[0] >> 31 == 0 and words[0] & 511 == 249:
        return 7 in (words[1] >> 8 & 7, words[1] >> 16 & 7, words[1] >> 24 & 7) or words[1] >> 11 & 3 == 3
    return False


def encodings_of(chip, opcodes, generator, random_count):
    prober = opcodes.Prober(chip)
    bases = opcodes.opcodes_of(prober)
    alike = set()
    for row, words, _ in bases.values():
        fmt = row["format"]
        likeness = (fmt, row["dst"], row["sdst"], row["src"], row["flags"])
        is_first = likeness not in alike
        alike.add(likeness)
        for field in sweeps(fmt, opcodes):
            bit, width = field
            joined = words[0] | words[1] << 32
            if width <= 4 or width <= 9 and is_first:
                values = range(1 << width)
            else:
                values = [generator.getrandbits(width) for _ in range(12)] + [1 << i for i in range(width)]
            for value in values:
                changed = joined & ~(((1 << width) - 1) << bit) | value << bit
                yield pad(fmt, changed, generator)
        # Any bits below the opcode's: fields together.
        first, width = opcodes.FORMATS[fmt]["op"]
        for _ in range(40):
            keep = (((1 << width) - 1) << first) | prefix_mask(fmt, opcodes)
            noise = generator.getrandbits(64)
            if generator.random() < 0.5:
                noise &= generator.getrandbits(64) & generator.getrandbits(64)
                joined_noise = joined ^ noise & ~keep
            else:
                joined_noise = joined & keep | noise & ~keep
            yield pad(fmt, joined_noise, generator)
        if fmt in ("VOP1", "VOP2", "VOPC") and row["src"][0]:
            for code in (249, 250):
                form = opcodes.with_field(words, fmt, "src0", code)[0]
                yield from second_words(form, code, is_first, generator)
            if row["src"][1]:
                for code in (12, 106, 125, 126, 128, 139, 193, 240, 242, 248, 251, 255):
                    form = opcodes.with_field(opcodes.with_field(words, fmt, "src0", 249), fmt, "src1", code)[0]
                    yield (form, 0x86060608, 0, 0)
    for _ in range(random_count):
        yield tuple(generator.getrandbits(32) for _ in range(4))


def prefix_mask(fmt, opcodes):
    first = opcodes.PREFIX_BITS.get(fmt, 26)
    segment = 3 << 14 if fmt == "FLAT" else 0
    return (1 << 32) - (1 << first) | segment


def sweeps(fmt, opcodes):
    """(bit, width) of every field."""
    yield from opcodes.FORMATS[fmt]["fields"].values()
    yield from {
        "SOPK": [(0, 16)],
        "SOPP": [(0, 16)],
        "SMEM": [(13, 1), (14, 1), (15, 1), (16, 1), (57, 7), (32, 7), (14, 4)],
        "VOP3": [(8, 3), (11, 4), (15, 1), (59, 2), (61, 3), (8, 7)],
        "VOP3P": [(8, 3), (11, 4), (15, 1), (59, 2), (61, 3)],
        "DS": [(25, 1), (8, 8)],
        "MUBUF": [(0, 12), (14, 4), (12, 4), (53, 3)],
        "MTBUF": [(0, 12), (12, 3), (19, 7), (53, 3)],
        "FLAT": [(0, 13), (13, 1), (16, 2), (25, 1), (55, 1)],
    }.get(fmt, [])


def pad(fmt, joined, generator):
    third = generator.choice((0, 1, 0x3F800000, 0x3C00, 0x12345678, 0xFFFFFFFF, generator.getrandbits(32)))
    if joined >> 32 == 0 and fmt in ("SOP2", "SOPK", "SOP1", "SOPC", "VOP1", "VOP2", "VOPC"):
        return (joined & 0xFFFFFFFF, third, 0, 0)
    return (joined & 0xFFFFFFFF, joined >> 32 & 0xFFFFFFFF, third, 0)


def second_words(form, code, is_first, generator):
    if code == 249:
        base = 0x06060608
        fields = ((0, 8), (8, 3), (11, 2), (13, 3), (16, 3), (19, 3), (22, 2), (24, 3), (27, 3), (30, 2), (8, 8))
    else:
        base = 0xFF00E408
        fields = ((0, 8), (8, 9), (17, 3), (20, 4), (24, 4), (28, 4))
    for bit, width in fields:
        for value in range(1 << width) if width <= 4 or is_first else [generator.getrandbits(width) for _ in range(8)]:
            yield (form, base & ~(((1 << width) - 1) << bit) | value << bit, 0, 0)
    for _ in range(8):
        yield (form, generator.getrandbits(32), 0, 0)


def printed(printer, chip, encodings):
    lines = "".join("%d %x %x %x %x\n" % ((chip,) + words) for words in encodings)
    run = subprocess.run([printer], input=lines, capture_output=True, text=True, check=True)
    answers = []
    for line in run.stdout.splitlines():
        length, _, text = line.partition(" ")
        answers.append((int(length), text))
    if len(answers) != len(encodings):
        raise RuntimeError("%d answers to %d encodings" % (len(answers), len(encodings)))
    return answers


# Exceptions: where we differ from llvm-mc, and why. Anything else that differs is an error.
REJECTED = (
    (r"\bnull\b|src_flat_scratch_base", "operand codes 125, 230, 231 are of later chips"),
    (r"\bsrc_(?:shared|private|pops|vccz|execz|scc)", "read-only scalar values where only registers can be"),
    (r"\bs\[\d+:103\]", "SGPRs end at s101: 102 and 103 are FLAT_SCRATCH"),
    (r"\b[va]\[\d+:(?:25[6-9]|2[6-9]\d)\]", "VGPRs end at 255"),
    (r"\b[va]\[\d*[13579]:", "VGPRs of 64 bits and more begin at an even one (gfx90a and later)"),
    (r"^v_(?:cndmask_b32|addc_co_u32|subb_co_u32|subbrev_co_u32)_e64 .*, v\[\d+:\d+\](?: clamp)?$", "a lane mask in VGPRs"),
    (r"^global_load_lds_.*, exec\b", "EXEC as an address, which llvm-mc has in no other global instruction"),
)
ACCEPTED = (
    (
        r"^(?:global|flat)_atomic_(?:pk_add|add|min|max)_f(?:16|32|64) a.* sc0",
        "llvm-mc lacks some returning float atomics of accumulation registers; the manuals have no such rule",
    ),
)


def excuse(words, ours, theirs):
    """Why one side may reject what the other prints (the text of the side that rejects is empty), or print another text."""
    if ours and theirs:
        # Of the FLAT segment's 13 bits of offset the hardware ignores the highest; llvm-mc prints it.
        offset = re.search(r" offset:(\d+)", theirs)
        if theirs.startswith("flat_") and offset and int(offset[1]) >= 4096:
            low = int(offset[1]) - 4096
            if ours == theirs.replace(offset[0], " offset:%d" % low if low else ""):
                return "bit 12 of FLAT's offset is ignored"
        # llvm-mc 22 takes the constant of v_fmaak_f32 and its like for an operand code, if it is one of an inline constant.
        constant = "0x%x" % words[1]
        if re.match(r"v_(?:fma|mad)[am]k_", ours) and 128 <= words[1] <= 248 and constant in ours:
            if re.fullmatch(re.escape(ours).replace(constant, r"(?:0x[0-9a-f]+|-?[0-9.]+)"), theirs):
                return "llvm-mc takes the constant of fmaak, fmamk, madak, madmk for an operand code"
        return None
    for pattern, reason in ACCEPTED if ours else REJECTED:
        if re.search(pattern, ours or theirs):
            return reason
    return None


def report(chip, encodings, ours, theirs, show):
    counts = collections.Counter()
    kinds = collections.defaultdict(list)
    for words, (length, text), answer in zip(encodings, ours, theirs):
        if answer is None and length == 0:
            counts["both reject"] += 1
        elif answer is not None and length and answer[1] and answer[0] == text:
            counts["agree"] += 1
        else:
            kind = "we accept" if answer is None else "we reject" if not length else "length" if not answer[1] else "text"
            reason = None if kind == "length" else excuse(words, text, answer[0] if answer else "")
            if reason:
                counts["%s: %s" % (kind, reason)] += 1
            else:
                counts["WRONG: " + kind] += 1
                kinds[kind].append((words, text, answer[0] if answer else "-"))
    print("%s: %d encodings: %s" % (chip, len(encodings), ", ".join("%s %d" % item for item in sorted(counts.items()))))
    for kind, entries in kinds.items():
        seen = collections.Counter()
        for words, text, answer in entries:
            name = (text if text else answer).split(" ")[0]
            seen[name] += 1
            if seen[name] <= 2 and show > 0 and sum(1 for n in seen) <= show:
                print("  %s: [%s] ours '%s' llvm-mc '%s'" % (kind, " ".join("%08x" % w for w in words), text, answer))
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
