#!/usr/bin/env python3
"""check_commands.py --ktrace COMMAND

What pages show of the command's output is what it prints: of each block that begins with `$ ktrace`, every line is among those of
the real output, in that order. Lines may be left out. The traces are those of tests/data, found by their names.
"""

import argparse
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ["docs/command.md"]


def blocks(page):
    """(command, lines), of what is indented by four columns."""
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", page, re.MULTILINE):
        lines = [line[4:] for line in block.splitlines()]
        for part in re.split(r"^(?=\$ ktrace )", "\n".join(lines), flags=re.MULTILINE):
            command, _, shown = part.strip("\n").partition("\n")
            if command.startswith("$ ktrace "):
                yield command[2:], [line for line in shown.split("\n") if line]


def output(ktrace, command):
    names = {os.path.basename(path): path for path in glob.glob(f"{ROOT}/tests/data/**/*.ktrace", recursive=True)}
    words = [names.get(word, word) for word in command.split()[1:]]
    done = subprocess.run([ktrace, *words], capture_output=True, text=True, timeout=60)
    return done.stdout.splitlines() if done.returncode == 0 else [done.stderr]


def first_missing(shown, printed):
    at = 0
    for line in shown:
        while at < len(printed) and printed[at].rstrip() != line:
            at += 1
        if at == len(printed):
            return line
        at += 1
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", required=True)
    arguments = parser.parse_args()
    failed = False
    for path in PAGES:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            found = list(blocks(file.read()))
        for command, shown in found:
            line = first_missing(shown, output(arguments.ktrace, command))
            if line is not None or not shown:
                print(f"{path}: {command}: {line!r} is not what it prints, or not there")
                failed = True
        if not found:
            print(f"{path} shows no command")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
