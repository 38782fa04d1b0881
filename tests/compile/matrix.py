#!/usr/bin/env python3
"""Compile matrix: do the public headers compile everywhere they promise to?

    matrix.py host      ktrace.h and record.h, alone, under gcc, clang, g++ and clang++
    matrix.py nvcc      the device header for every architecture nvcc knows, tracing off and on, in every way of building
    matrix.py nvrtc     the device header through run-time compilation
    matrix.py amdgcn    the device header for gfx942 and gfx950, in C, HIP C++ and OpenCL C, in every way of building
    matrix.py refused   sources that must not compile, each with the message that says so

A case that warns has failed. --only TEXT runs the cases whose name has TEXT in it.
"""

import argparse
import glob
import os
import re
import subprocess
import sys

import gcn
from matrix_amdgcn import amdgcn_cases
from toolchain import ROOT, SKIP, Case, complete_toolkit, find_library, find_llvm, find_nvcc, first_executable, run_cases

HERE = os.path.join(ROOT, "tests", "compile")
INCLUDE = os.path.join(ROOT, "include")
KERNELS = os.path.join(HERE, "all_macros.cu")
LARGEST_BLOCK = os.path.join(HERE, "largest_block.cu")
SECOND_UNIT = os.path.join(HERE, "second_unit.cu")

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only"]
STRICT_C = ["-Wstrict-prototypes", "-Wmissing-prototypes"]
HOST_HEADERS = ["ktrace/ktrace.h", "ktrace/record.h"]


def host_cases(work):
    cases = []
    for compiler, standards in (
        ("gcc", ("c11", "c17")),
        ("clang", ("c11", "c17")),
        ("g++", ("c++17", "c++20")),
        ("clang++", ("c++17", "c++20")),
    ):
        path = first_executable(compiler)
        if not path:
            print(f"skip: {compiler} is not installed")
            continue
        is_c = not compiler.endswith("++")
        for header in HOST_HEADERS:
            # Twice: a header guards itself. Alone: it includes what it needs.
            source = os.path.join(work, header.replace("/", "_") + (".c" if is_c else ".cc"))
            with open(source, "w") as file:
                file.write(f'#include "{header}"\n#include "{header}"\nint ktrace_headers_compile(void);\n')
            for standard in standards:
                flags = STRICT + (STRICT_C if is_c else [])
                cases.append(
                    Case(f"{compiler} -std={standard} {header}", [path, f"-std={standard}", *flags, f"-I{INCLUDE}", source])
                )
    return cases


def gpu_architectures(nvcc):
    listed = subprocess.run([nvcc, "--list-gpu-arch"], check=True, capture_output=True, text=True).stdout
    return [name.replace("compute_", "sm_") for name in listed.split()]


def largest_block_case(nvcc, arch, flags, work):
    """A block of 1024 threads can have 64 registers a thread at the most. ptxas says how many a kernel takes."""
    command = [nvcc, "-std=c++17", f"-I{INCLUDE}", f"-arch={arch}", "-DKTRACE_ENABLE=1", *flags, "-Xptxas=-v", "-cubin"]

    def check():
        done = subprocess.run([*command, "-o", os.path.join(work, f"largest.{arch}.cubin"), LARGEST_BLOCK],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
        used = re.search(r"Used (\d+) registers", done.stdout)
        if done.returncode or not used:
            return done.stdout
        return None if int(used[1]) <= 64 else f"{used[1]} registers: a block of 1024 threads is refused"

    return Case(f"{arch} {' '.join(flags) or '-O3'}, a block of 1024 threads", check=check)


def nvcc_cases(nvcc, work, library):
    common = ["-std=c++17", f"-I{INCLUDE}", "-Xcompiler=-Wall,-Wextra"]
    linking = complete_toolkit(nvcc, work)
    cases = []

    def command(*arguments, compiler=nvcc):
        return [compiler, *common, *arguments]

    def output(*parts):
        return os.path.join(work, "-".join(parts))

    for arch in gpu_architectures(nvcc):
        # Device code only: the host side is the same for every architecture and is built below.
        for name, flags in (
            ("off", ["-DKTRACE_ENABLE=0"]),
            ("on", ["-DKTRACE_ENABLE=1"]),
            ("on -G", ["-DKTRACE_ENABLE=1", "-G"]),
            ("on -lineinfo", ["-DKTRACE_ENABLE=1", "-lineinfo"]),
            ("on, sites in global memory", ["-DKTRACE_ENABLE=1", "-DKTRACE_SITES_IN_GLOBAL=1"]),
        ):
            cubin = output(arch, name.replace(" ", "").replace(",", "")) + ".cubin"
            cases.append(Case(f"{arch} {name}", command(*flags, f"-arch={arch}", "-cubin", "-o", cubin, KERNELS)))
        cases.append(largest_block_case(nvcc, arch, [], work))
        # Debug code for sm_100 and newer has a register for nearly every value: there, nvcc has to be told the most.
        newest = int(arch.removeprefix("sm_")) >= 100
        cases.append(largest_block_case(nvcc, arch, ["-G", "-maxrregcount=64"] if newest else ["-G"], work))
        for name, flags, compiler in (("-rdc=true", ["-rdc=true"], nvcc), ("-dlto", ["-rdc=true", "-dlto"], linking)):
            if not compiler:
                print(f"skip: {arch} on {name}: this toolkit has no libnvvm.so, so nvlink cannot do -dlto")
                continue
            first, second, linked = (output(arch, name, part) for part in ("a.o", "b.o", "linked.o"))
            flags = flags + [f"-arch={arch}"]
            cases.append(
                Case(
                    f"{arch} on {name}, two units",
                    command("-DKTRACE_ENABLE=1", *flags, "-c", "-o", first, KERNELS, compiler=compiler),
                    command("-DKTRACE_ENABLE=1", *flags, "-c", "-o", second, SECOND_UNIT, compiler=compiler),
                    command(*flags, "-dlink", "-o", linked, first, second, compiler=compiler),
                )
            )

    # Whole objects, host side included, and whole programs: one architecture.
    arch = "-arch=sm_90"
    clang = first_executable("clang++")
    for standard in ("c++17", "c++20"):
        for host in ["g++"] + ([clang] if clang else []):
            for enable in ("0", "1"):
                name = f"{os.path.basename(host)} -std={standard} object, KTRACE_ENABLE={enable}"
                object_file = output("object", os.path.basename(host), standard, enable) + ".o"
                flags = [f"-std={standard}", "-ccbin", host, f"-DKTRACE_ENABLE={enable}", arch]
                if host != "g++":
                    flags.append("-Xcompiler=-Wno-unused-function")  # clang: of cuda_fp16.hpp's static functions
                cases.append(
                    Case(name, [nvcc, f"-I{INCLUDE}", "-Xcompiler=-Wall,-Wextra", *flags, "-c", "-o", object_file, KERNELS])
                )
    if library:
        for name, flags, compiler in (
            ("program", [], nvcc),
            ("program -rdc=true", ["-rdc=true"], nvcc),
            ("program -dlto", ["-rdc=true", "-dlto"], linking),
        ):
            if compiler:
                program = output(name.replace(" ", ""))
                flags = flags + ["-DKTRACE_ENABLE=1", "-DKTRACE_MATRIX_MAIN", arch]
                libraries = [library, "-ldeflate", "-ldl", "-lpthread"]
                cases.append(
                    Case(f"sm_90 {name}", command(*flags, "-o", program, KERNELS, SECOND_UNIT, *libraries, compiler=compiler))
                )
    return cases


def nvrtc_cases(nvcc, work, program):
    library = find_library(nvcc, "libnvrtc.so") if nvcc else None
    if not library:
        print("skip: no libnvrtc beside nvcc")
        return []
    cases = []
    for arch in gpu_architectures(nvcc):
        for enable in ("0", "1"):
            cases.append(
                Case(
                    f"nvrtc {arch} KTRACE_ENABLE={enable}",
                    [
                        # libnvrtc opens its libnvrtc-builtins by name
                        "env",
                        f"LD_LIBRARY_PATH={os.path.dirname(library)}",
                        program,
                        library,
                        KERNELS,
                        f"--gpu-architecture={arch}",
                        f"--define-macro=KTRACE_ENABLE={enable}",
                        f"--include-path={INCLUDE}",
                        "--std=c++17",
                    ],
                )
            )
    return cases


def refused_command(source, nvcc, chip, options):
    """How the source is compiled, or None after saying what is missing for that."""
    name, ending = os.path.basename(source), os.path.splitext(source)[1]
    if source.startswith(os.path.join(HERE, "amdgcn")):
        clang = find_llvm("clang")
        if not clang:
            print(f"skip: {name}: clang-22 was not found")
            return None
        flags = [f"-I{INCLUDE}", f"-I{os.path.join(HERE, 'amdgcn')}", *options.split()]
        return gcn.compile_command(clang, ending.lstrip("."), source, os.devnull, chip or "gfx942", flags)
    if ending == ".cu":
        if not nvcc:
            print(f"skip: {name}: nvcc was not found")
            return None
        return [nvcc, "-std=c++17", f"-I{INCLUDE}", "-arch=sm_90", "-cubin", "-o", os.devnull, source]
    return [first_executable("g++" if ending == ".cc" else "gcc"), f"-I{INCLUDE}", "-fsyntax-only", source]


def refused_cases(nvcc):
    """refused/*: the first line of each is `// expect: MESSAGE`; `// chip: CHIP` and `// options: OPTION...` may follow."""
    cases = []
    sources = sorted(glob.glob(os.path.join(HERE, "refused", "*")) + glob.glob(os.path.join(HERE, "amdgcn", "refused", "*")))
    for source in sources:
        with open(source) as file:
            lines = file.read().splitlines()
        notes = dict(line[3:].split(": ", 1) for line in lines[:3] if line.startswith("// ") and ": " in line)
        if not lines[0].startswith("// expect: "):
            raise SystemExit(f"{source}: the first line must be '// expect: MESSAGE'")
        command = refused_command(source, nvcc, notes.get("chip"), notes.get("options", ""))
        if command:
            cases.append(Case(f"refused {os.path.relpath(source, HERE)}", command, expect=notes["expect"]))
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", choices=["host", "nvcc", "nvrtc", "amdgcn", "refused"])
    parser.add_argument("--work", required=True, help="folder for what is built")
    parser.add_argument("--nvcc", help="default: $CUDACXX, PATH, $CUDA_PATH, .tools/cuda")
    parser.add_argument("--library", help="libktrace.a, to link whole programs")
    parser.add_argument("--nvrtc-compile", help="the program nvrtc_compile")
    parser.add_argument("--sources", nargs="*", default=[], help="more annotated sources for amdgcn")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="run the cases whose name contains this")
    arguments = parser.parse_args()
    work = os.path.abspath(arguments.work)
    os.makedirs(work, exist_ok=True)

    nvcc = arguments.nvcc or find_nvcc()
    if arguments.group == "host":
        cases = host_cases(work)
    elif arguments.group == "refused":
        cases = refused_cases(nvcc)
    elif arguments.group == "amdgcn":
        cases = amdgcn_cases(work, arguments.sources)
    elif not nvcc:
        print("skip: nvcc was not found")
        return SKIP
    elif arguments.group == "nvcc":
        cases = nvcc_cases(nvcc, work, arguments.library)
    else:
        cases = nvrtc_cases(nvcc, work, arguments.nvrtc_compile)
    return run_cases(cases, arguments.jobs, arguments.only)


if __name__ == "__main__":
    sys.exit(main())
