#!/usr/bin/env python3
"""check_snippets.py

C code on pages that say that it comes from an example is in that example, line by line: what is compiled and run there is what is
read here. Code on a page may leave out the rest of a function, but nothing in between.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = {"docs/captures.md": "examples/amdgcn/layers.c"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def missing(page, example):
    """The first lines of the page's pieces of C that are not in the example."""
    pieces = re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [piece.splitlines()[0] for piece in pieces if piece not in example], len(pieces)


def main():
    failed = False
    for page, example in PAGES.items():
        lines, pieces = missing(read(page), read(example))
        for line in lines:
            print(f"{page}: what begins with {line.strip()!r} is not in {example}")
        if pieces == 0:
            print(f"{page} has no code")
        failed |= bool(lines) or pieces == 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
