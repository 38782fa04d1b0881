"""Machine code of CUDA sources: compile to a cubin, take its sections, list its instructions.

    cubin = compile_cubin(nvcc, source, output, ["-DKTRACE_ENABLE=1"])
    sections(cubin)                     {".text._Z4gemm...": bytes}
    instructions(nvdisasm, cubin)       {"_Z4gemm...": [Instruction(address, predicate, opcode, operands, text)]}
"""

import collections
import re
import struct
import subprocess

Instruction = collections.namedtuple("Instruction", "address predicate opcode operands text")

SHT_NOBITS = 8
SHF_ALLOC = 2


def compile_cubin(nvcc, source, output, flags, arch="sm_90"):
    command = [nvcc, "-std=c++17", f"-arch={arch}", "-cubin", "-o", output, *flags, source]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if result.returncode != 0:
        raise RuntimeError(f"$ {' '.join(command)}\n{result.stdout}")
    return output


def sections(cubin):
    """Content of every ELF section by name (64-bit little-endian, which all cubins are). What is only reserved, such as
    shared memory, is its size as bytes of a decimal number."""
    with open(cubin, "rb") as file:
        data = file.read()
    if data[:6] != b"\x7fELF\x02\x01":
        raise RuntimeError(f"{cubin}: not a 64-bit little-endian ELF file")
    offset = struct.unpack_from("<Q", data, 0x28)[0]
    entry_bytes, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + i * entry_bytes) for i in range(count)]
    names_offset = headers[names_index][4]
    found = {}
    for name_offset, kind, _flags, _address, start, size in headers:
        end = data.index(b"\0", names_offset + name_offset)
        name = data[names_offset + name_offset : end].decode()
        found[name] = str(size).encode() if kind == SHT_NOBITS else data[start : start + size]
    return found


def code_sections(cubin):
    """What decides how kernels behave: their instructions, constants, global and shared memory. Names, line tables and
    notes are left out."""
    kept = (".text.", ".nv.constant", ".nv.global", ".nv.shared", ".rodata")
    return {name: content for name, content in sections(cubin).items() if name.startswith(kept)}


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
