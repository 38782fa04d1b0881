#!/usr/bin/env python3
"""What annotations become in machine code.

    check_sass.py disabled SOURCE...   KTRACE_ENABLE=0 gives byte for byte the code of the source without annotations
    check_sass.py events SOURCE...     with KTRACE_ENABLE=1 every kernel keeps the RULES below
    check_sass.py list SOURCE          print the instructions of every function, to look at
"""

import argparse
import os
import sys

import sass
from toolchain import ROOT, SKIP, Case, find_nvcc, find_nvdisasm, run_cases

HERE = os.path.join(ROOT, "tests", "compile")
INCLUDE = os.path.join(ROOT, "include")
UNANNOTATED = os.path.join(HERE, "no_ktrace")  # a device.h without annotations
# The matrix' own source is made for all of them; examples may use what only newer ones have.
ARCHITECTURES = {"all_macros.cu": ["sm_75", "sm_90", "sm_100"]}


def clock_reads(code):
    return [i for i in code if i.opcode.startswith(("CS2R", "S2UR", "S2R")) and "SR_CLOCKLO" in i.operands]


# Rules of `events`: functions of (function name, its instructions) that return a sentence when broken, else None.
RULES = []


def rule(check):
    RULES.append(check)
    return check


def disabled_case(nvcc, source, arch, flags, work):
    name = f"{os.path.basename(source)} {arch} {' '.join(flags)}".rstrip()
    base = os.path.join(work, name.replace(" ", ""))

    def check():
        disabled = sass.compile_cubin(
            nvcc, source, base + ".disabled.cubin", [*flags, f"-I{INCLUDE}", "-DKTRACE_ENABLE=0"], arch
        )
        bare = sass.compile_cubin(nvcc, source, base + ".bare.cubin", [*flags, f"-I{UNANNOTATED}", f"-I{INCLUDE}"], arch)
        if not any(section.startswith(".text.") for section in sass.code_sections(bare)):
            return f"{source} has no kernel: nothing was compared"
        different = sass.different_sections(disabled, bare)
        return f"differ: {', '.join(different)}" if different else None

    return Case(f"disabled is unannotated: {name}", check=check)


def traced_differs_case(nvcc, source, work):
    """The comparison can fail: a traced build is different."""
    base = os.path.join(work, os.path.basename(source))

    def check():
        traced = sass.compile_cubin(nvcc, source, base + ".traced.cubin", [f"-I{INCLUDE}", "-DKTRACE_ENABLE=1"])
        bare = sass.compile_cubin(nvcc, source, base + ".bare.cubin", [f"-I{UNANNOTATED}", f"-I{INCLUDE}"])
        return None if sass.different_sections(traced, bare) else "a traced build has the code of an unannotated one"

    return Case(f"traced is not: {os.path.basename(source)}", check=check)


def events_case(nvcc, nvdisasm, source, arch, work):
    name = f"{os.path.basename(source)} {arch}"
    cubin = os.path.join(work, name.replace(" ", "") + ".events.cubin")

    def check():
        sass.compile_cubin(nvcc, source, cubin, [f"-I{INCLUDE}", "-DKTRACE_ENABLE=1"], arch)
        functions = sass.instructions(nvdisasm, cubin)
        if not any(clock_reads(code) for code in functions.values()):
            return "no function reads the clock: is it annotated?"
        broken = [(name, test(name, code)) for name, code in functions.items() for test in RULES]
        return "\n".join(f"{name}: {sentence}" for name, sentence in broken if sentence) or None

    return Case(f"events: {name}", check=check)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["disabled", "events", "list"])
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--work", required=True, help="folder for what is built")
    parser.add_argument("--nvcc")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="run the cases whose name contains this")
    arguments = parser.parse_args()
    work = os.path.abspath(arguments.work)
    os.makedirs(work, exist_ok=True)

    nvcc = arguments.nvcc or find_nvcc()
    if not nvcc:
        print("skip: nvcc was not found")
        return SKIP
    nvdisasm = find_nvdisasm(nvcc)
    if arguments.what != "disabled" and not nvdisasm:
        print("skip: nvdisasm was not found: ./run test installs it under .tools/")
        return SKIP

    if arguments.what == "list":
        cubin = os.path.join(work, "list.cubin")
        sass.compile_cubin(nvcc, arguments.sources[0], cubin, [f"-I{INCLUDE}", "-DKTRACE_ENABLE=1"])
        for name, code in sass.instructions(nvdisasm, cubin).items():
            print(f"{name}: {len(code)} instructions, {len(clock_reads(code))} clock reads")
            for instruction in code:
                print(f"    {instruction.address:05x}  {instruction.text}")
        return 0

    cases = []
    for source in arguments.sources:
        for arch in ARCHITECTURES.get(os.path.basename(source), ["sm_90"]):
            if arguments.what == "disabled":
                # Not -G: there, the token that the source declares is a variable in memory.
                for flags in ([], ["-lineinfo"], ["-Xptxas=-O1"]):
                    cases.append(disabled_case(nvcc, source, arch, flags, work))
            else:
                cases.append(events_case(nvcc, nvdisasm, source, arch, work))
        if arguments.what == "disabled":
            cases.append(traced_differs_case(nvcc, source, work))
    return run_cases(cases, arguments.jobs, arguments.only)


if __name__ == "__main__":
    sys.exit(main())
