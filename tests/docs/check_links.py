#!/usr/bin/env python3
"""check_links.py

Links between the repository's pages lead somewhere, to a file and to a heading in it; and files that they name by their path in the
repository, such as `src/capture.c` or `tests/unit/`, exist.
"""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ["*.md", "docs/**/*.md", "examples/*.md", "sim/*.md", "bench/*.md", "tests/*/*.md", "bindings/*/*.md"]
# What cmake/KtraceInstall.cmake installs as documentation: such pages link to nothing else.
INSTALLED = re.compile(r"(README|ARCHITECTURE|CONTRIBUTING|sim/README|bench/.*)\.md$|LICENSE$|(docs|examples|include)(/|$)|bench/results/?$")
FOLDERS = "src|tests|include|sim|bench|docs|examples|cmake|bindings"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def headings(path):
    """What GitHub makes of them."""
    return {
        re.sub(r"[^\w\- ]", "", re.sub(r"^#+", "", line).strip().lower()).replace(" ", "-")
        for line in read(path).splitlines()
        if line.startswith("#")
    }


def problem_of_link(page, target):
    path, _, anchor = target.partition("#")
    file = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    if not os.path.exists(file):
        return "there is no such file"
    if anchor and anchor not in headings(file):
        return "there is no such heading"
    if INSTALLED.match(os.path.relpath(page, ROOT)) and not INSTALLED.match(os.path.relpath(file, ROOT)):
        return "is not installed, as this page is: write it as code"
    return None


def problems(page):
    for number, line in enumerate(read(page).splitlines(), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            problem = None if re.match(r"\w+:", target) else problem_of_link(page, target)
            if problem:
                yield number, target, problem
        for path in re.findall(rf"`((?:{FOLDERS})/[\w./*-]*)`", line):
            name = path.replace("NAME", "*")
            if not any(glob.glob(os.path.join(ROOT, folder, name)) for folder in ("", "tests")):
                yield number, path, "there is no such file"


def main():
    pages = sorted({page for form in PAGES for page in glob.glob(os.path.join(ROOT, form), recursive=True)})
    found = [(page, *problem) for page in pages for problem in problems(page)]
    for page, number, what, problem in found:
        print(f"{os.path.relpath(page, ROOT)}:{number}: {what}: {problem}")
    if len(pages) < 10:
        print(f"only {len(pages)} pages were found")
        return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
