#!/usr/bin/env python3
"""Writes opcodes.inc: the opcodes of gfx942 and gfx950 as llvm-mc's disassembler knows them.

Every opcode number of every format is given to the disassembler with field values that show in the text which operands
there are and how wide: a register range in the text that begins with a field's value is that field's.
"""

import itertools
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import llvm_mc

VGPR = 256
# Fields: name -> (bit of the encoding's 64, width).
FORMATS = {
    "SOP2": dict(base=0x80000000, op=(23, 7), fields={"dst": (16, 7), "src1": (8, 8), "src0": (0, 8)}),
    "SOPK": dict(base=0xB0000000, op=(23, 5), fields={"dst": (16, 7)}),
    "SOP1": dict(base=0xBE800000, op=(8, 8), fields={"dst": (16, 7), "src0": (0, 8)}),
    "SOPC": dict(base=0xBF000000, op=(16, 7), fields={"src1": (8, 8), "src0": (0, 8)}),
    "SOPP": dict(base=0xBF800000, op=(16, 7), fields={}),
    "SMEM": dict(base=0xC0000000, op=(18, 8), fields={"dst": (6, 7), "src0": (0, 6), "imm": (17, 1), "offset": (32, 21)}),
    "VOP2": dict(base=0x00000000, op=(25, 6), fields={"dst": (17, 8), "src1": (9, 8), "src0": (0, 9)}),
    "VOP1": dict(base=0x7E000000, op=(9, 8), fields={"dst": (17, 8), "src0": (0, 9)}),
    "VOPC": dict(base=0x7C000000, op=(17, 8), fields={"src1": (9, 8), "src0": (0, 9)}),
    "VOP3": dict(base=0xD0000000, op=(16, 10), fields={"dst": (0, 8), "src0": (32, 9), "src1": (41, 9), "src2": (50, 9)}),
    "VOP3P": dict(base=0xD3800000, op=(16, 7), fields={"dst": (0, 8), "src0": (32, 9), "src1": (41, 9), "src2": (50, 9)}),
    "DS": dict(base=0xD8000000, op=(17, 8), fields={"src0": (32, 8), "src1": (40, 8), "src2": (48, 8), "dst": (56, 8), "offset": (0, 16), "gds": (16, 1)}),
    "MUBUF": dict(base=0xE0000000, op=(18, 7), fields={"src0": (32, 8), "dst": (40, 8), "src1": (48, 5), "src2": (56, 8), "en": (12, 2)}),
    "MTBUF": dict(base=0xE8000000, op=(15, 4), fields={"src0": (32, 8), "dst": (40, 8), "src1": (48, 5), "src2": (56, 8), "en": (12, 2)}),
    "FLAT": dict(base=0xDC000000, op=(18, 7), fields={"src0": (32, 8), "src1": (40, 8), "src2": (48, 7), "dst": (56, 8), "sc0": (16, 1), "sve": (13, 1)}),
}
SEGMENTS = {0: "flat", 1: "scratch", 2: "global"}


def encode(fmt, op, values, segment=0):
    f = FORMATS[fmt]
    word = f["base"] | op << f["op"][0] | segment << 14
    for name, value in values.items():
        bit, width = f["fields"][name]
        assert value < 1 << width, (fmt, name, value)
        word |= value << bit
    return (word & 0xFFFFFFFF, word >> 32, 0, 0)


def candidates(fmt, segment):
    """Field values to try, those that show most first."""
    if fmt in ("SOP2", "SOPK", "SOP1", "SOPC", "SOPP"):
        yield {n: v for n, v in {"dst": 8, "src0": 40, "src1": 20}.items() if n in FORMATS[fmt]["fields"]}
    elif fmt == "SMEM":
        for dst, src0, imm in ((8, 10, 1), (0, 10, 1), (8, 0, 0), (0, 0, 0)):
            yield {"dst": dst, "src0": src0, "imm": imm, "offset": imm}
    elif fmt in ("VOP2", "VOP1", "VOPC"):
        yield {n: v for n, v in {"dst": 8, "src0": VGPR + 40, "src1": 80}.items() if n in FORMATS[fmt]["fields"]}
        yield {n: 0 for n in FORMATS[fmt]["fields"]}
    elif fmt in ("VOP3", "VOP3P"):
        for src2, src1, src0 in itertools.product((VGPR + 120, 60, 0), (VGPR + 80, 20, 0), (VGPR + 40, 40, 0)):
            yield {"dst": 8, "src0": src0, "src1": src1, "src2": src2}
        yield {"dst": 0, "src0": 0, "src1": 0, "src2": 0}
    elif fmt == "DS":
        for offset, gds in ((0x201, 0), (0x201, 1), (0, 0)):
            for dst, src2, src1, src0 in itertools.product((120, 0), (80, 0), (40, 0), (8, 0)):
                yield {"src0": src0, "src1": src1, "src2": src2, "dst": dst, "offset": offset, "gds": gds}
    elif fmt in ("MUBUF", "MTBUF"):
        yield {"src0": 8, "dst": 40, "src1": 4, "src2": 5, "en": 3}
        yield {"src0": 0, "dst": 0, "src1": 0, "src2": 0, "en": 0}
    elif fmt == "FLAT":
        for dst, src1, saddr, src0 in itertools.product((120, 0), (40, 0), ((0,), (127, 40), (127, 40))[segment], (8, 0)):
            yield {"src0": src0, "src1": src1, "src2": saddr, "dst": dst, "sc0": 1, "sve": int(segment == 1)}
    else:
        raise ValueError(fmt)


REGISTER = re.compile(r"\b([vsa])(?:(\d+)\b|\[(\d+):(\d+)\])")


def base_name(text):
    mnemonic = text.split(" ")[0]
    return re.sub(r"_(e32|e64|sdwa|dpp)$", "", mnemonic)


def describe(fmt, op, segment, values, text):
    """The table's row, without chips."""
    registers = {}
    for kind, one, first, last in REGISTER.findall(text):
        if one:
            registers[kind, int(one)] = 1
        else:
            registers[kind, int(first)] = int(last) - int(first) + 1
    name = base_name(text)
    operands = text.partition(" ")[2].split(", ")
    dst = sdst = 0
    src = [0, 0, 0]
    flags = set()
    kinds = {}
    for field in ("dst", "src0", "src1", "src2"):
        if field not in values:
            continue
        value = values[field]
        if fmt == "SMEM" and field == "src0":
            value *= 2
        elif fmt in ("MUBUF", "MTBUF") and field == "src1":
            value *= 4
        elif fmt in ("VOP2", "VOP1", "VOPC", "VOP3", "VOP3P") and field.startswith("src") and value >= VGPR:
            value -= VGPR
        width = 0
        for kind in "vsa":
            if (kind, value) in registers:
                width = registers[kind, value]
                kinds[field] = kind
        if field == "dst":
            dst = width
        else:
            src[int(field[3])] = width
    if fmt.startswith("VOP") and kinds.get("dst") == "s":
        dst, sdst = 0, dst
    if fmt == "VOP3" and len(operands) > 1 and operands[1] in ("s[0:1]", "vcc"):
        sdst = 2
    if fmt == "VOPC":
        sdst = 2
        flags.add("SIM_OP_IMPLICIT_VCC_OUT")
    if fmt == "VOP2" and len(operands) > 1 and operands[1] == "vcc":
        sdst = 2
        flags.add("SIM_OP_IMPLICIT_VCC_OUT")
    if fmt == "VOP2" and operands[-1] == "vcc":
        src[2] = 2
        flags.add("SIM_OP_IMPLICIT_VCC_IN")
    if fmt == "VOP2" and any(o in ("0x0", "0", "lit(0x0)") for o in operands):
        flags.add("SIM_OP_LITERAL_K")
        src = [1, 1, 1]
        if not operands[-1].startswith(("0", "lit")):
            flags.add("SIM_OP_FACTOR_K")
    if fmt == "SOPK":
        if operands[0].startswith("hwreg"):
            src[0] = 1
            dst = 0
            if len(operands) > 1 and not operands[-1].startswith("s"):
                flags.add("SIM_OP_LITERAL_K")
        elif name.startswith("s_cmpk") or name == "s_cbranch_i_fork":
            src[0], dst = dst, 0
    if fmt == "SMEM" and name.startswith("s_atc_probe"):
        dst = 0
    if name.startswith(("v_mfma", "v_smfmac")):
        flags.add("SIM_OP_MATRIX")
        if name.startswith("v_smfmac"):
            flags.add("SIM_OP_SPARSE")
    if fmt in ("FLAT", "MUBUF") and "_atomic_" in name:
        flags.add("SIM_OP_ATOMIC")
    if fmt == "DS" and "offset1:" in text:
        flags.add("SIM_OP_TWO_OFFSETS")
    if kinds.get("dst") == "a":
        flags.add("SIM_OP_ACC_DST")
    if kinds.get("src0") == "a":
        flags.add("SIM_OP_ACC_SRC")
    return dict(name=name, code=op | segment << 7, format=fmt, dst=dst, sdst=sdst, src=tuple(src), flags=tuple(sorted(flags)))


def rows_of(chip):
    questions, keys = [], []
    for fmt, f in FORMATS.items():
        for segment in SEGMENTS if fmt == "FLAT" else (0,):
            for op in range(1 << f["op"][1]):
                # Numbers of these that are other formats' prefixes.
                if (fmt == "VOP2" and op >= 62) or (fmt == "VOP3" and op >= 0x380) or (fmt == "SOP2" and op >= 0x60) or (fmt == "SOPK" and op >= 0x1D):
                    continue
                for values in candidates(fmt, segment):
                    questions.append(encode(fmt, op, values, segment))
                    keys.append((fmt, segment, op, values))
    rows = {}
    for (fmt, segment, op, values), answer in zip(keys, llvm_mc.disassemble(chip, questions)):
        if answer is None or (fmt, segment, op) in rows:
            continue
        if "/*Invalid" in answer[1]:
            continue
        rows[fmt, segment, op] = describe(fmt, op, segment, values, answer[1])
    return rows


def main():
    per_chip = [rows_of(chip) for chip in llvm_mc.CHIPS]
    merged = {}
    for chip, rows in enumerate(per_chip):
        for row in rows.values():
            key = tuple(row.values())
            merged.setdefault(key, [row, 0])[1] |= 1 << chip
    order = list(FORMATS)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "opcodes.inc"), "w") as out:
        out.write("/* Made by generate_opcodes.py from llvm-mc-22's disassembler; do not edit. Sorted by format, code. */\n")
        out.write("/* clang-format off */\n")
        for row, chips in sorted(merged.values(), key=lambda r: (order.index(r[0]["format"]), r[0]["code"], r[1])):
            out.write('{"%s", 0x%x, SIM_%s, %d, %d, %d, {%d, %d, %d}, %s},\n' % (
                row["name"], row["code"], row["format"], chips, row["dst"], row["sdst"], *row["src"], " | ".join(row["flags"]) or "0"))
        out.write("/* clang-format on */\n")


if __name__ == "__main__":
    main()
