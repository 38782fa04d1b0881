#!/usr/bin/env python3
"""check_man.py --ktrace COMMAND --pages FOLDER

Every command has its manual page, which groff or mandoc renders without a warning, and which has what the help has: all of its
words, in its order, but for titles.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)


def words(text):
    """Without hyphens, which pages add at the ends of lines, and overstrikes."""
    text = re.sub(r".\x08", "", text).replace("\u2010", "-")
    return re.findall(r"\w+", re.sub(r"-\n\s*", "", text).replace("-", "").lower())


def render(page):
    """(text, warnings), in lines wide enough to be broken nowhere."""
    if shutil.which("groff"):
        done = run("groff", "-man", "-Tutf8", "-P-c", "-ww", "-rLL=1000n", "-rHY=0", str(page))
        return done.stdout, done.stderr
    text = run("mandoc", "-Tutf8", "-O", "width=1000", str(page)).stdout
    return text, run("mandoc", "-Tlint", "-W", "warning", str(page)).stdout


def faults_of(ktrace, page, command):
    if not page.exists():
        return ["there is no page"]
    help_text = run(ktrace, *command, "--help").stdout
    text, warnings = render(page)
    faults = [warnings] if warnings else []
    said, at = words(text), 0
    body = help_text.split("\n", 1)[1] if command else help_text.split("\n\n", 1)[1]
    for word in words(re.sub(r"^(Usage|Options|Examples|Environment|Commands|Exit status):", "", body, flags=re.MULTILINE)):
        try:
            at = said.index(word, at) + 1
        except ValueError:
            return faults + [f"{word!r} is not where the help has it: {' '.join(said[at:at + 8])}"]
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", required=True)
    parser.add_argument("--pages", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if not shutil.which("groff") and not shutil.which("mandoc"):
        print("skip: there is neither groff nor mandoc here")
        return 77
    commands = re.findall(r"^  (\w+) ", run(arguments.ktrace, "--help").stdout.split("Options:")[0], re.MULTILINE)
    failed = len(commands) < 9
    for command in [[], *([name] for name in commands)]:
        page = arguments.pages / ("-".join(["ktrace", *command]) + ".1")
        for fault in faults_of(arguments.ktrace, page, command):
            failed = True
            print(f"{page.name}: {fault}")
    print(f"{len(commands) + 1} pages")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
