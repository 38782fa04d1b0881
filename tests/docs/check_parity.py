#!/usr/bin/env python3
"""check_parity.py

docs/parity.md names a test for each promise. Here: every test that it names exists, file and case; those of the H200 are run by
tests/gpu/run_all.sh; every name of ktrace's that it mentions is in a public header; rows are numbered without gaps; and no row is
without a test unless it says why. Links are check_links.py's.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "parity.md")
TESTS = os.path.join(ROOT, "tests")
COLUMNS = ("#", "promise", "ours", "CUDA", "HIP")
EXCUSES = ("Advice", "Cannot arise", "**")  # of a row without a test; ** is how it says what is missing
# What each column may name: nothing that was recorded by the other one's machines.
NOT_IN = {"CUDA": ("sim/", "golden/sim/", "compile/amdgcn/"), "HIP": ("gpu/", "golden/h200/", "compile/refused/")}
# How a case of a test is written in its source.
CASES = (
    r"\bTEST_CASE\({}\)",  # tests/gpu
    r"\b(?:cmocka_unit_test\w*|TRACED_TEST|TEST|TEST_WITH_FILES)\({}[,)]",
    r'\bRECORDS(?:_OPEN)?\("{}",|\bRECORDS(?:_OPEN)?\(\s*"{}",|\bRUNS\({}\)',  # tests/sim/capture/golden
)
# A variable of the environment of the reference, which is quoted.
FOREIGN = re.compile(r"FLYDSL_\w+")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def tree(folder):
    return "\n".join(
        read(path, name) for path, _, names in os.walk(os.path.join(ROOT, folder)) for name in names
    )


def rows(page):
    """(line number, cells) of every row of a table."""
    for number, line in enumerate(page.splitlines(), 1):
        if re.match(r"\|(?! # |-)", line):
            yield number, [cell.strip() for cell in line.strip("|").split("|")]


def python_case(text, case):
    """A function of the script, or a command of it."""
    return re.search(rf"\bdef {case}\(|\"{case}\"", text)


def problem_of_test(name, run_all):
    path, _, case = name.partition(":")
    file = os.path.join(TESTS, path)
    if not os.path.isfile(file):
        return "there is no such file"
    program = os.path.splitext(os.path.basename(path))[0]
    if path.startswith("gpu/test_") and program not in run_all:
        return "tests/gpu/run_all.sh does not run it"
    if not case:
        return "a case of it has to be named" if path.endswith((".c", ".cu")) and "/refused/" not in path else None
    text = read(file)
    if path.endswith(".py"):
        found = python_case(text, case)
    else:
        found = any(re.search(form.replace("{}", re.escape(case)), text) for form in CASES)
    return None if found else "there is no such case in it"


def problems(page):
    run_all = set(re.findall(r"\btest_\w+", read(TESTS, "gpu", "run_all.sh")))
    public = tree("include") + read(ROOT, "docs", "settings.md")
    number = 0
    for line, cells in rows(page):
        if len(cells) != len(COLUMNS):
            yield line, f"{len(cells)} cells, not {len(COLUMNS)}"
            continue
        number += 1
        if cells[0] != str(number):
            yield line, f"this is row {number}, not {cells[0]}"
        if not all(cells):
            yield line, "an empty cell"
        for column in ("CUDA", "HIP"):
            cell = cells[COLUMNS.index(column)]
            names = re.findall(r"`([^`]+)`", cell)
            if re.sub(r"`[^`]+`", "", cell).strip(" -"):
                yield line, f"{column}: {cell!r} is more than names of tests"
            if not names and not any(excuse in cells[2] for excuse in EXCUSES):
                yield line, f"{column}: no test, and no reason"
            for name in names:
                if name.startswith(NOT_IN[column]):
                    yield line, f"{column}: {name} belongs to the other column"
                problem = problem_of_test(name, run_all)
                if problem:
                    yield line, f"{column}: {name}: {problem}"
        for name in re.findall(r"\b(?:ktrace_\w+|KTRACE_\w+)", FOREIGN.sub("", cells[2])):
            if not re.search(rf"\b{name}\b", public):
                yield line, f"{name} is in no public header"
    if number == 0:
        yield 1, "no rows"


def page_rows(page):
    return sum(1 for _ in rows(page))


def main():
    page = read(PAGE)
    found = list(problems(page))
    for line, text in found:
        print(f"docs/parity.md:{line}: {text}")
    # A check that finds nothing wrong in anything is none.
    broken = page.replace("gpu/test_output.cu:nothing", "gpu/test_output.cu:anything", 1).replace(
        "unit/test_pair.c:ranges_nest", "unit/test_pairs.c:ranges_nest", 1
    )
    if len(list(problems(broken))) != len(found) + 2:
        print("two broken names were not found")
        return 1
    if not found:
        print(f"{page_rows(page)} rows, all tests and names are there")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
