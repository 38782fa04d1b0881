"""Machine code of CUDA sources: compile to a cubin, take its sections, list its instructions.

    cubin = compile_cubin(nvcc, source, output, ["-DKTRACE_ENABLE=1"])
    code_sections(cubin)                {".text._Z4gemm...": bytes}
    instructions(nvdisasm, cubin)       {"_Z4gemm...": [Instruction(address, predicate, opcode, operands, text)]}
"""

import collections
import re
import subprocess

from toolchain import elf_sections, run_tool

Instruction = collections.namedtuple("Instruction", "address predicate opcode operands text")


def compile_cubin(nvcc, source, output, flags, arch="sm_90"):
    command = [nvcc, "-std=c++17", f"-arch={arch}", "-cubin", "-o", output, *flags, source]
    run_tool(command)
    return output


def code_sections(cubin):
    """What decides how kernels behave: their instructions, constants, global and shared memory. Names, line tables and
    notes are left out."""
    kept = (".text.", ".nv.constant", ".nv.global", ".nv.shared", ".rodata")
    return {name: content for name, content in elf_sections(cubin).items() if name.startswith(kept)}


def different_sections(first, second):
    """Names of code sections that are not byte for byte the same in both cubins."""
    a, b = code_sections(first), code_sections(second)
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


SECTION = re.compile(r"^\s*\.section\s+([^,\s]+)")
LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][A-Z0-9_.]*)\s*(.*?)\s*;")


def instructions(nvdisasm, cubin):
    """Instructions of every function, in order of address."""
    listing = subprocess.run([nvdisasm, "-c", cubin], check=True, stdout=subprocess.PIPE, text=True).stdout
    functions, current = {}, None
    for line in listing.splitlines():
        section = SECTION.match(line)
        if section:
            name = section.group(1)
            current = functions.setdefault(name[len(".text.") :], []) if name.startswith(".text.") else None
        match = LINE.match(line)
        if match and current is not None:
            address, predicate, opcode, operands = match.groups()
            current.append(Instruction(int(address, 16), predicate, opcode, operands, line.split("*/", 1)[1].strip()))
    return functions
