"""Disassembly of many encodings with one llvm-mc process."""

import re
import shutil
import subprocess

TOOL = "llvm-mc-22"
CHIPS = ("gfx942", "gfx950")

# Printed after the instructions of each line of input, so that output can be told apart: v_mov_b32 with a literal.
_MARKER = "\tv_mov_b32_e32 v255, 0x4b"
_MARKER_WORDS = (0x7FFE02FF, 0x4B000000)
_WARNING = re.compile(r"^[^:]*:(\d+):(\d+): warning: (.*)$", re.M)


def available():
    return shutil.which(TOOL) is not None


def _bytes(words):
    return "[" + ",".join("0x%02x" % byte for word in words for byte in word.to_bytes(4, "little")) + "]"


def disassemble(chip, encodings):
    """For each tuple of words the first instruction in it: (bytes, text), or None if llvm-mc rejects or warns of it."""
    lines = []
    for number, words in enumerate(encodings):
        lines.append(_bytes(words))
        lines.append(_bytes((_MARKER_WORDS[0], _MARKER_WORDS[1] | number)))
    run = subprocess.run(
        [TOOL, "--disassemble", "--triple=amdgcn-amd-amdhsa", "-mcpu=" + chip, "-show-encoding", "-"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    rejected = set()
    for line, column, _ in _WARNING.findall(run.stderr):
        if int(column) == 2 and int(line) % 2 == 1:
            rejected.add((int(line) - 1) // 2)
    results = []
    first = None
    for line in run.stdout.splitlines():
        if line.startswith(_MARKER):
            number = len(results)
            results.append(None if first is None or number in rejected else _parse(first))
            first = None
        elif first is None and line.startswith("\t") and "; encoding: [" in line:
            first = line
    if len(results) != len(encodings):
        raise RuntimeError("%s: %d answers to %d encodings: %s" % (TOOL, len(results), len(encodings), run.stderr[-500:]))
    return results


def _parse(line):
    text, _, encoding = line.partition("; encoding: [")
    text = text.split(" ; ")[0].split("\t;")[0]
    return encoding.count("0x"), " ".join(text.split())
