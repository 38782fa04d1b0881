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


# VOP3 opcodes whose third source is a lane mask. llvm-mc also prints VGPRs there, where the manuals have only SGPRs.
MASK_SOURCE = ("v_cndmask_b32", "v_addc_co_u32", "v_subb_co_u32", "v_subbrev_co_u32")


# Numbers that are the prefix of another format.
def is_prefix(fmt, op):
    return op >= {"VOP2": 62, "VOP3": 0x380, "SOP2": 0x60, "SOPK": 0x1D}.get(fmt, 1 << 16)


# In 1/(2 pi) and literals the text shows the type as which a source's constants are printed.
INLINE_TYPES = {"0.15915494": "B32", "0.15915494309189532": "B64", "0x3118": "I16"}
LITERALS = (0x3C00, 0x12345678, 0x1)
LITERAL_TYPES = {
    ("0x3c00", "0x12345678", "lit(0x1)"): "B32",
    ("0x3c00", "0x12345678", "0x1"): "F64",
    ("lit(0x3c00)", "0x5678", "lit(0x1)"): "F16",
    ("0x3c00", "0x5678", "lit(0x1)"): "I16",
    ("lit(0x3c00)", "0x12345678", "lit(0x1)"): "PK16",
}

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
    if name.startswith("v_bitop3_"):
        flags.add("SIM_OP_TRUTH_TABLE")
    if fmt == "DS" and "offset1:" in text:
        flags.add("SIM_OP_TWO_OFFSETS")
    if kinds.get("dst") == "a":
        flags.add("SIM_OP_ACC_DST")
    if kinds.get("src0") == "a":
        flags.add("SIM_OP_ACC_SRC")
    return dict(name=name, code=op | segment << 7, format=fmt, dst=dst, sdst=sdst, src=tuple(src), flags=tuple(sorted(flags)))


def changed(before, after):
    """The one operand in which two texts differ."""
    olds, news = (re.split(r", | ", text) for text in (before, after))
    differing = [new for old, new in zip(olds, news) if new != old] if len(olds) == len(news) else []
    return differing[0] if len(differing) == 1 else None


class Prober:
    """Collects questions, asks them all at once, gives the answers to their functions."""

    def __init__(self, chip):
        self.chip = chip
        self.questions = []

    def ask(self, words, then):
        self.questions.append((words, then))

    def run(self):
        questions, self.questions = self.questions, []
        for (_, then), answer in zip(questions, llvm_mc.disassemble(self.chip, [words for words, _ in questions])):
            then(answer[0] if answer else None)


def opcodes_of(prober):
    """Rows by (format, segment, op), each with an encoding that is accepted ("words") and its text."""
    rows = {}

    def found(fmt, segment, op, values):
        def then(text):
            # The first half of a scaled MFMA is no instruction of its own.
            if text is not None and (fmt, segment, op) not in rows and not text.startswith("v_mfma_ld_scale"):
                row = describe(fmt, op, segment, values, text)
                rows[fmt, segment, op] = (row, encode(fmt, op, values, segment), text)
        return then

    for fmt, f in FORMATS.items():
        for segment in SEGMENTS if fmt == "FLAT" else (0,):
            for op in range(1 << f["op"][1]):
                if not is_prefix(fmt, op):
                    for values in candidates(fmt, segment):
                        prober.ask(encode(fmt, op, values, segment), found(fmt, segment, op, values))
    prober.run()
    return rows


def with_field(words, fmt, field, value):
    bit, width = FORMATS[fmt]["fields"][field]
    joined = words[0] | words[1] << 32
    joined = joined & ~(((1 << width) - 1) << bit) | value << bit
    return (joined & 0xFFFFFFFF, joined >> 32) + words[2:]


def probe_sources(prober, row, words, text):
    """What each source may be, and as what its constants are printed."""
    fmt = row["format"]
    row["kinds"] = [set(), set(), set()]
    row["types"] = ["0", "0", "0"]
    if fmt not in ("SOP2", "SOP1", "SOPC", "VOP2", "VOP1", "VOPC", "VOP3", "VOP3P"):
        return
    literals = {}
    for i in range(3):
        name = "src%d" % i
        if row["src"][i] == 0 or name not in FORMATS[fmt]["fields"] or FORMATS[fmt]["fields"][name][1] == 8 and fmt.startswith("VOP"):
            continue

        def accepted(kind, i=i):
            def then(answer):
                if answer is not None:
                    row["kinds"][i].add(kind)
            return then

        def constant(answer, i=i):
            if answer is not None:
                row["kinds"][i].add("CONST")
                row["types"][i] = INLINE_TYPES[changed(text, answer)]

        def literal(value, i=i):
            def then(answer):
                if answer is not None:
                    literals.setdefault(i, {})[value] = changed(text, answer)
                    if len(literals[i]) == len(LITERALS):
                        kind = LITERAL_TYPES[tuple(literals[i][v] for v in LITERALS)]
                        # A literal tells less of 64-bit sources than a constant does, and more of 16-bit ones.
                        if not (row["types"][i] == "B64" and kind == "B32"):
                            row["types"][i] = kind
            return then

        if fmt.startswith("VOP"):
            prober.ask(with_field(words, fmt, name, VGPR + 140), accepted("VECTOR"))
        prober.ask(with_field(words, fmt, name, 12), accepted("SCALAR"))
        prober.ask(with_field(words, fmt, name, 248), constant)
        if fmt not in ("VOP3", "VOP3P") and "SIM_OP_LITERAL_K" not in row["flags"]:
            for value in LITERALS:
                changed_words = with_field(words, fmt, name, 255)
                prober.ask((changed_words[0], value, 0, 0), literal(value))


def operand_bits(row):
    """Bits of the encoding's 64 that are prefix, opcode, or a field of an operand which the opcode has."""
    fmt = row["format"]
    f = FORMATS[fmt]
    mask = ((1 << f["op"][1]) - 1) << f["op"][0]
    for name, (bit, width) in f["fields"].items():
        has = name == "dst" and (row["dst"] or row["sdst"] and fmt != "VOP2" or fmt == "SOPK" and row["src"][0] and "SIM_OP_LITERAL_K" not in row["flags"])
        has = has or name.startswith("src") and row["src"][int(name[3])] and not (fmt == "VOP2" and name == "src2")
        if has:
            mask |= ((1 << width) - 1) << bit
    return mask


PREFIX_BITS = {"SOP2": 30, "SOPK": 28, "SOP1": 23, "SOPC": 23, "SOPP": 23, "VOP2": 31, "VOP1": 25, "VOPC": 25, "VOP3P": 23}


def probe_bits(prober, row, words, text, key, width, skip):
    """Bits that must be as they are ("zero", "one") and bits without meaning ("ignored")."""
    masks = row.setdefault("masks", {}).setdefault(key, {"zero": 0, "one": 0, "ignored": 0})
    joined = sum(word << 32 * i for i, word in enumerate(words))

    def then_for(bit):
        def then(answer):
            if answer is None:
                masks["one" if joined >> bit & 1 else "zero"] |= 1 << bit
            elif answer == text:
                masks["ignored"] |= 1 << bit
        return then

    for bit in range(width[0], width[1]):
        if not skip >> bit & 1:
            flipped = joined ^ 1 << bit
            prober.ask(tuple(flipped >> 32 * i & 0xFFFFFFFF for i in range(4)), then_for(bit))


def probe_second_words(prober, row, words, again):
    """SDWA and DPP, if the opcode has them; `again` gets functions that ask for the second word's bits."""
    fmt = row["format"]
    # Every lane's whole operand; SDWA of VOPC with a scalar destination, DPP as quad_perm:[0,1,2,3].
    sdwa = {"VOP1": 0x00060608, "VOP2": 0x06060608, "VOPC": 0x06068C08}[fmt]
    # Fields of several bits, and registers, have rules of their own.
    sdwa_fields = {"VOP1": 0x00071FFF, "VOP2": 0x07071FFF, "VOPC": 0x0707FFFF}[fmt]
    # 64-bit operands know DPP's row_newbcast only.
    is_wide = max(row["dst"], *row["src"][:2]) > 1
    control = 0x150 if is_wide else 0xE4
    for key, code, second, skip in (("sdwa", 249, sdwa, sdwa_fields), ("dpp", 250, 0xFF000008 | control << 8, 0xFF01FFFF)):
        form = (with_field(words, fmt, "src0", code)[0], second, 0, 0)

        def then(answer, key=key, form=form, skip=skip):
            if answer is not None:
                if key == "sdwa" and fmt != "VOPC" and "dst_sel:" not in answer:
                    row["flags"] += ("SIM_OP_WHOLE_DST",)
                again.append(lambda: probe_bits(prober, row, form, answer, key, (32, 64), skip << 32))
        if "SIM_OP_LITERAL_K" not in row["flags"] and row["src"][0]:
            prober.ask(form, then)


def rows_of(chip):
    prober = Prober(chip)
    found = opcodes_of(prober)
    again = []
    for row, words, text in found.values():
        fmt = row["format"]
        if re.search(r"^\w+_e(32|64)\b", text):
            row["flags"] = tuple(sorted(row["flags"] + ("SIM_OP_SUFFIX",)))
        probe_sources(prober, row, words, text)
        bits = 32 if fmt in ("SOP2", "SOPK", "SOP1", "SOPC", "SOPP", "VOP2", "VOP1", "VOPC") else 64
        prefix = PREFIX_BITS.get(fmt, 26)
        skip = operand_bits(row) | ((1 << 32) - (1 << prefix))
        if fmt == "FLAT":
            skip |= 3 << 14
        probe_bits(prober, row, words, text, "word", (0, bits), skip)
        if fmt in ("VOP2", "VOP1", "VOPC"):
            again.append(lambda r=row, w=words: probe_second_words(prober, r, w, second))
    second = []
    prober.run()
    for step in again:
        step()
    prober.run()
    for step in second:
        step()
    prober.run()
    return {key: row for key, (row, _, _) in found.items()}


def rules(masks, shift=0):
    return "{0x%x, 0x%x}" % (masks["zero"] >> shift & 0xFFFFFFFF, masks["ignored"] >> shift & 0xFFFFFFFF)


NO_RULES = {"zero": 0, "one": 0, "ignored": 0}


def line(row, chips):
    masks = row["masks"]
    flags = list(row["flags"])
    flags += ["SIM_OP_HAS_" + key.upper() for key in ("sdwa", "dpp") if key in masks]
    if row["format"] == "DS" and masks["word"]["one"]:
        flags.append("SIM_OP_GDS_ONLY")
    if row["format"] == "SMEM" and row["src"][0]:
        masks["word"]["ignored"] &= ~(0x7F << 57)  # the offset register, if there is one
    if row["format"] == "DS":
        masks["word"]["ignored"] &= ~0xFFFF  # ds_swizzle_b32: text of one kind of swizzle says little of its offset
    if row["format"] == "FLAT" and (row["dst"] or row["src"][1]):
        masks["word"]["zero"] &= ~(1 << 55)  # llvm-mc lacks returning f32 and f16 atomics of accumulation registers
    if "SIM_OP_LITERAL_K" in row["flags"] and row["name"].endswith("_f16"):
        row["types"][0] = "F16"  # no literal was tried, as it would be the constant
    if row["format"] == "VOP3" and row["name"] in MASK_SOURCE:
        row["kinds"][2].discard("VECTOR")
    kinds = []
    for kind, value_type in zip(row["kinds"], row["types"]):
        names = ["SIM_SOURCE_" + k for k in ("VECTOR", "SCALAR", "CONST") if k in kind]
        kinds.append(" | ".join(names + ["SIM_AS_" + value_type] if value_type != "0" else names) or "0")
    return '{"%s", 0x%x, SIM_%s, %d, %d, %d, {%d, %d, %d}, %s, {%s}, {%s, %s}, %s, %s},\n' % (
        row["name"], row["code"], row["format"], chips, row["dst"], row["sdst"], *row["src"],
        " | ".join(sorted(flags)) or "0", ", ".join(kinds), rules(masks["word"]), rules(masks["word"], 32),
        rules(masks.get("sdwa", NO_RULES), 32), rules(masks.get("dpp", NO_RULES), 32))


def main():
    merged = {}
    for chip, name in enumerate(llvm_mc.CHIPS):
        for row in rows_of(name).values():
            key = (list(FORMATS).index(row["format"]), row["code"], row["name"], line(row, 0))
            merged.setdefault(key, [row, 0])[1] |= 1 << chip
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "opcodes.inc"), "w", encoding="ascii") as out:
        out.write("/* Made by generate_opcodes.py from llvm-mc's disassembler; do not edit. Sorted by format and code. */\n")
        out.write("/* clang-format off */\n")
        for key in sorted(merged):
            out.write(line(*merged[key]))
        out.write("/* clang-format on */\n")


if __name__ == "__main__":
    main()
