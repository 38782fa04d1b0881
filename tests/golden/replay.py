#!/usr/bin/env python3
"""What was recorded on hardware or on the simulator, decoded and exported again: the twin of the GPU tests and of the simulated
captures for machines without a GPU or without a compiler for one.

    replay.py --ktrace COMMAND --work FOLDER [--update] [--only TEXT]

Every NAME.ktrace below tests/data/h200/ and tests/data/sim/ is exported and read back with Perfetto's official schema. Its
golden file, at the same place below tests/golden/, NAME.txt, holds what came out, or for large recordings NAME.json the
summary.
"""

import argparse
import difflib
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
DATA = os.path.join(TESTS, "data")
SOURCES = ["h200", "sim"]  # of tests/data
SMALL_BYTES = 20000  # recordings up to this size have every track and event in their golden file

sys.path.insert(0, os.path.join(TESTS, "perfetto"))
import check_pftrace  # noqa: E402


def recordings():
    for source in SOURCES:
        for folder, _, files in sorted(os.walk(os.path.join(DATA, source))):
            for file in sorted(files):
                if file.endswith(".ktrace"):
                    yield os.path.relpath(os.path.join(folder, file), DATA)[: -len(".ktrace")]


def run(command, *arguments):
    done = subprocess.run([command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise check_pftrace.Fault(f"ktrace {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def outcome(options, name):
    """The golden file's path and what it should hold."""
    recording = os.path.join(DATA, name + ".ktrace")
    exported = os.path.join(options.work, name.replace(os.sep, "_") + ".pftrace.gz")
    run(options.ktrace, "export", recording, "-o", exported)
    reader = check_pftrace.read(exported)  # raises Fault where the trace is not sound
    if os.path.getsize(recording) <= SMALL_BYTES:
        return os.path.join(HERE, name + ".txt"), reader.dump()
    return os.path.join(HERE, name + ".json"), run(options.ktrace, "summary", "--json", recording)


def compare(options, name):
    path, actual = outcome(options, name)
    if options.update:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(actual)
        return None
    if not os.path.exists(path):
        return f"no golden file {os.path.relpath(path)}: --update writes it"
    with open(path, encoding="utf-8") as file:
        expected = file.read()
    if actual == expected:
        return None
    lines = list(difflib.unified_diff(expected.splitlines(), actual.splitlines(), path, "now", lineterm="", n=1))
    return "\n".join([*lines[:40], f"({len(lines)} lines differ; --update accepts them)"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ktrace", required=True, help="the command")
    parser.add_argument("--work", required=True, help="folder for what is exported")
    parser.add_argument("--update", action="store_true", help="write the golden files")
    parser.add_argument("--only", default="", help="recordings whose name contains this")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)

    names = [name for name in recordings() if options.only in name]
    failed = 0
    for name in names:
        try:
            sentence = compare(options, name)
        except check_pftrace.Fault as fault:
            sentence = str(fault)
        if sentence:
            failed += 1
            print(f"FAIL: {name}\n{sentence}")
    if not names:
        print(f"no recordings below {DATA}")
        return 1
    print(f"{len(names) - failed} of {len(names)} recordings as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
