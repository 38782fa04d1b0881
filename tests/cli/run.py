#!/usr/bin/env python3
"""Runs the case files of tests/cli/cases: commands with their exact output.

    run.py --ktrace build/release/bin/ktrace [--update] [CASE...]

A case file is a session in a new folder, which holds copies of tests/data/format/v1.ktrace
and of those beside it that the case names. Its path is written as $PWD:

    # a comment; blank lines separate
    $ ktrace summary missing.ktrace      a command for sh; `ktrace` is the one under test, also as "$KTRACE"
    | a line of standard output
    ! a line of standard error
    = 1                                  exit status, where it is not 0

Output that does not end with a newline is followed by a line that says so: "|\\" or "!\\". --update writes what the
commands say now into the files; look at the difference before it is committed.
"""

import argparse
import difflib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TRACES = sorted((HERE.parent / "data" / "format").glob("*.ktrace"))
TIMEOUT_S = 60


def marked(output: bytes, mark: str, folder: str) -> list[str]:
    lines = output.decode("utf-8", "backslashreplace").replace(folder, "$PWD").split("\n")
    ending = [] if lines[-1] == "" else [f"{mark}\\"]
    if not ending:
        lines.pop()
    return [f"{mark} {line}" if line else mark for line in lines] + ending


def run_command(command: str, folder: str, environment: dict[str, str]) -> list[str]:
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    lines = [f"$ {command}"] + marked(done.stdout, "|", folder) + marked(done.stderr, "!", folder)
    return lines + ([f"= {done.returncode}"] if done.returncode else [])


def actual(case: pathlib.Path, ktrace: pathlib.Path) -> list[str]:
    """The case file as it would be if everything it expects were what happens."""
    lines = []
    with tempfile.TemporaryDirectory(prefix="ktrace-cli-") as folder:
        os.makedirs(f"{folder}/.path")
        os.symlink(ktrace, f"{folder}/.path/ktrace")
        for trace in TRACES:
            if trace.name == "v1.ktrace" or trace.name in case.read_text():
                shutil.copy(trace, folder)
        environment = {
            "PATH": f"{folder}/.path:/usr/bin:/bin",
            "KTRACE": str(ktrace),
            "LC_ALL": "C",
            "HOME": folder,
        }
        environment |= {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
        for line in case.read_text().split("\n"):
            if line.startswith("$ "):
                lines += run_command(line[2:], folder, environment)
            elif line[:1] not in ("|", "!", "="):
                lines.append(line)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", type=pathlib.Path, required=True, help="the command to test")
    parser.add_argument("--update", action="store_true", help="write what happens into the case files")
    parser.add_argument("case", nargs="*", help="names of cases; all if none is given")
    arguments = parser.parse_args()
    ktrace = arguments.ktrace.resolve(strict=True)
    cases = sorted((HERE / "cases").glob("*.case"))
    if arguments.case:
        cases = [case for case in cases if case.stem in arguments.case]
    failures = 0
    for case in cases:
        expected = case.read_text()
        happened = "\n".join(actual(case, ktrace))
        if happened == expected:
            print(f"ok      {case.stem}")
            continue
        if arguments.update:
            case.write_text(happened)
            print(f"updated {case.stem}")
            continue
        failures += 1
        print(f"FAILED  {case.stem}")
        sys.stdout.writelines(
            line + "\n"
            for line in difflib.unified_diff(
                expected.split("\n"), happened.split("\n"), "expected", "happened", lineterm=""
            )
        )
    print(f"{len(cases)} cases, {failures} failed")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
