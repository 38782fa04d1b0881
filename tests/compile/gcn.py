"""Code objects of gfx942 and gfx950: compile annotated sources, list their instructions, read what kernels ask for.

    compile_code_object(clang, "c", source, output, "gfx942", ["-O2"])
    functions(objdump, path)       {"gemm": [Instruction(address, opcode, operands, target, text)]}
    kernels(readelf, path)         {"gemm": {"vgpr_count": 84, ...}}
    sites(path)                    [Site(kind, distance)]
    symbols(readelf, path)         ["gemm", "gemm.kd"]
"""

import collections
import re
import struct

from toolchain import elf_sections, run_tool

# `target` is the address that a branch goes to, else None.
Instruction = collections.namedtuple("Instruction", "address opcode operands target text")
# `distance` of the event from its kernel's KTRACE_KERNEL, in bytes.
Site = collections.namedtuple("Site", "kind distance")

CHIPS = ("gfx942", "gfx950")
KIND_KERNEL = 1  # record.h

CONSOLE = ["-Wall", "-Wextra", "-Werror"]
PEDANTIC = ["-Wpedantic", *CONSOLE]


def language_flags(language, chip):
    """How clang compiles a source of this language ("c", "hip" or "cl") to a code object of one chip."""
    if language == "hip":
        return ["-x", "hip", "-std=c++17", "-nogpuinc", "-nogpulib", "--cuda-device-only", "--no-gpu-bundle-output",
                f"--offload-arch={chip}", *PEDANTIC]  # fmt: skip
    target = ["--target=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-nogpulib"]
    if language == "cl":
        return ["-x", "cl", "-cl-std=CL2.0", *target, *CONSOLE]
    return ["-x", "c", "-std=c11", *target, *PEDANTIC]


def compile_command(clang, language, source, output, chip, flags):
    return [clang, *language_flags(language, chip), *flags, source, "-o", output]


def compile_code_object(clang, language, source, output, chip, flags):
    run_tool(compile_command(clang, language, source, output, chip, flags))
    return output


# Symbols and line tables name what is annotated; nothing of them is loaded.
NOT_LOADED = re.compile(r"^(\.symtab|\.strtab|\.shstrtab|\.comment|\.debug_.*|)$")


def loaded_sections(path):
    return {name: content for name, content in elf_sections(path).items() if not NOT_LOADED.match(name)}


def different_sections(first, second):
    """Names of sections that are not byte for byte the same in both code objects."""
    a, b = loaded_sections(first), loaded_sections(second)
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
LINE = re.compile(r"^\t(\w+)\s*(.*?)\s*// ([0-9A-F]+): ")
BRANCH = re.compile(r"^(s_branch|s_cbranch_\w+|s_call_b64)$")


def functions(objdump, path):
    """Instructions of every function, in order of address."""
    found, current = {}, None
    for line in run_tool([objdump, "-d", path]).splitlines():
        function, instruction = FUNCTION.match(line), LINE.match(line)
        if function:
            current = found.setdefault(function.group(1), [])
        elif instruction and current is not None:
            opcode, operands, place = instruction.groups()
            address, target = int(place, 16), None
            if BRANCH.match(opcode):
                words = int(operands.split(",")[-1].strip(), 0) & 0xFFFF
                target = address + 4 + 4 * (words - 0x10000 if words & 0x8000 else words)
            current.append(Instruction(address, opcode, operands, target, f"{opcode} {operands}".strip()))
    return found


METADATA = re.compile(r"^  [- ] \.(\w+): +(\S+)$")


def kernels(readelf, path):
    """The metadata of every kernel; numbers are ints."""
    found, current = {}, None
    for line in run_tool([readelf, "--notes", path]).splitlines():
        match = METADATA.match(line)
        if not match:
            continue
        if line.startswith("  - "):
            current = {}
        key, value = match.groups()
        current[key] = int(value) if value.isdigit() else value
        if key == "name":
            found[value.strip("'")] = current
    return found


def sites(path):
    """Every descriptor in order (struct ktrace_site of record.h)."""
    content = elf_sections(path).get("ktrace_sites", b"")
    return [Site(kind, distance) for _, kind, _, _, _, distance in struct.iter_unpack("<HBBIii", content)]


def symbols(readelf, path):
    """Names of what a code object shows to the loader."""
    lines = run_tool([readelf, "--dyn-syms", path]).splitlines()
    return [line.split()[-1] for line in lines if re.match(r"\s+\d+: ", line)]


REGISTERS = re.compile(r"\bs(?:(\d+)\b|\[(\d+):(\d+)\])")


def scalar_registers(operands):
    """Numbers of all SGPRs in them."""
    numbers = set()
    for single, first, last in REGISTERS.findall(operands):
        numbers.update([int(single)] if single else range(int(first), int(last) + 1))
    return numbers
