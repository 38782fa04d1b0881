"""Disassembly of many encodings with few llvm-mc processes."""

import re
import shutil
import subprocess

TOOL = "llvm-mc-22"
CHIPS = ("gfx942", "gfx950")

# After each encoding stands an instruction that tells its output from the next one's: v_mov_b32 with a literal.
_MARKER = "\tv_mov_b32_e32 v255, 0x4b"
_MARKER_WORDS = (0x7FFE02FF, 0x4B000000)
_AT_ONCE = 20000
_WARNING = re.compile(r"^[^:]*:(\d+):(\d+): warning: ", re.M)


def available():
    return shutil.which(TOOL) is not None


def _bytes(words):
    return "[" + ",".join("0x%02x" % byte for word in words for byte in word.to_bytes(4, "little")) + "]"


def disassemble(chip, encodings):
    """For each tuple of words (text, is_all): the first instruction in it and whether it is all of the words; or None if
    llvm-mc rejects it, warns of it, prints a register that it calls invalid, or crashes."""
    answers = []
    for first in range(0, len(encodings), _AT_ONCE):
        answers += _disassemble(chip, encodings[first : first + _AT_ONCE])
    return answers


def _disassemble(chip, encodings):
    lines = []
    for number, words in enumerate(encodings):
        lines.append(_bytes(words))
        lines.append(_bytes((_MARKER_WORDS[0], _MARKER_WORDS[1] | number)))
    run = subprocess.run(
        [TOOL, "--disassemble", "--triple=amdgcn-amd-amdhsa", "-mcpu=" + chip, "-"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode < 0:
        # It crashes on some encodings, as on a literal in VOP3, and then what it printed last is lost.
        if len(encodings) == 1:
            return [None]
        half = len(encodings) // 2
        return _disassemble(chip, encodings[:half]) + _disassemble(chip, encodings[half:])
    return _parse(run, len(encodings))


def _parse(run, count):
    warned, rejected = set(), set()
    for line, column in _WARNING.findall(run.stderr):
        (rejected if int(column) == 2 else warned).add(int(line) // 2)
    answers = []
    printed = []
    for line in run.stdout.splitlines():
        if line.startswith(_MARKER):
            number = len(answers)
            if number in rejected or not printed or "/*" in printed[0]:
                answers.append(None)
            else:
                text = printed[0].partition(" ; ")[0].partition("\t; ")[0]
                answers.append((" ".join(text.split()), len(printed) == 1 and number not in warned))
            printed = []
        elif line.startswith("\t") and not line.startswith("\t."):
            printed.append(line)
    if len(answers) != count:
        raise RuntimeError("%s: %d answers to %d encodings: %s" % (TOOL, len(answers), count, run.stderr[-500:]))
    return answers
