"""Finding compilers, reading ELF files, running cases: what matrix.py, check_sass.py and check_gcn.py share."""

import concurrent.futures
import glob
import os
import shutil
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = os.path.join(ROOT, ".tools")
SKIP = 77  # ctest's SKIP_RETURN_CODE


def first_executable(*candidates):
    for candidate in candidates:
        found = candidate and shutil.which(candidate)
        if found:
            return found
    return None


def find_nvcc():
    """$CUDACXX, PATH, $CUDA_PATH, .tools/cuda. CMake passes its own choice with --nvcc."""
    cuda_path = os.environ.get("CUDA_PATH")
    return first_executable(
        os.environ.get("CUDACXX"),
        "nvcc",
        cuda_path and os.path.join(cuda_path, "bin", "nvcc"),
        os.path.join(TOOLS, "cuda", "bin", "nvcc"),
    )


def find_nvdisasm(nvcc):
    return first_executable(
        os.path.join(TOOLS, "cuda", "bin", "nvdisasm"),
        os.path.join(TOOLS, "nvdisasm"),
        nvcc and os.path.join(os.path.dirname(nvcc), "nvdisasm"),
        "nvdisasm",
    )


def find_llvm(name, version=22):
    """A program of LLVM, such as "clang" or "llvm-objdump"; version 22 also in ROCm's folder."""
    rocm = os.path.join(os.environ.get("ROCM_PATH", "/opt/rocm"), "llvm", "bin", f"{name}-{version}")
    return first_executable(f"{name}-{version}", rocm)


def find_library(nvcc, name):
    """The newest file of a library that came with this nvcc, such as libnvrtc.so."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    found = []
    for folder in ("lib64", "lib", "targets/x86_64-linux/lib", "nvvm/lib64"):
        found += glob.glob(os.path.join(root, folder, name + "*"))
    return max(found, key=len) if found else None


def complete_toolkit(nvcc, folder):
    """An nvcc that can link with -dlto. nvlink wants nvvm/lib64/libnvvm.so, which toolkits made of PyPI's wheels keep
    elsewhere: then a copy of the toolkit, made of links, that has it there. None if there is no libnvvm at all."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    if os.path.exists(os.path.join(root, "nvvm", "lib64", "libnvvm.so")):
        return nvcc
    library = find_library(nvcc, "libnvvm.so")
    if not library:
        return None
    copy = os.path.join(folder, "toolkit")
    shutil.rmtree(copy, ignore_errors=True)
    os.makedirs(os.path.join(copy, "nvvm", "lib64"))
    os.makedirs(os.path.join(copy, "bin"))
    for entry in os.listdir(root):
        if entry not in ("bin", "nvvm"):
            os.symlink(os.path.join(root, entry), os.path.join(copy, entry))
    for part in ("bin", "nvvm"):
        for entry in os.listdir(os.path.join(root, part)):
            if (part, entry) != ("nvvm", "lib64"):
                os.symlink(os.path.join(root, part, entry), os.path.join(copy, part, entry))
    os.symlink(library, os.path.join(copy, "nvvm", "lib64", "libnvvm.so"))
    return os.path.join(copy, "bin", "nvcc")


SHT_NOBITS = 8


def elf_sections(path):
    """Content of every section by name, of a 64-bit little-endian ELF file, which all cubins and code objects are. What is
    only reserved, such as shared memory, is its size as bytes of a decimal number."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x7fELF\x02\x01":
        raise RuntimeError(f"{path}: not a 64-bit little-endian ELF file")
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


def run_tool(command):
    """What it prints; RuntimeError with all of it if it fails."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if result.returncode != 0:
        raise RuntimeError(f"$ {' '.join(command)}\n{result.stdout}")
    return result.stdout


class Case:
    """Commands run in order; the first that fails, fails the case. `check`, if given, runs after them and returns a
    sentence on failure. `expect` makes it a case that must fail, saying this."""

    def __init__(self, name, *commands, check=None, expect=None):
        self.name, self.commands, self.check, self.expect = name, commands, check, expect

    def run(self):
        """None, or what went wrong."""
        for command in self.commands:
            result = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600
            )
            if self.expect is not None and result.returncode != 0:
                if self.expect in result.stdout:
                    return None
                return f"$ {' '.join(command)}\nfailed without saying {self.expect!r}:\n{result.stdout}"
            if result.returncode != 0:
                return f"$ {' '.join(command)}\n{result.stdout}(exit code {result.returncode})"
            if self.expect is None and "warning" in result.stdout:
                return f"$ {' '.join(command)}\n{result.stdout}(a warning counts as a failure)"
        if self.expect is not None:
            return f"compiled, but should have failed with {self.expect!r}"
        try:
            return self.check() if self.check else None
        except RuntimeError as error:
            return str(error)


def shortened(text, lines=40):
    all_lines = text.rstrip().splitlines()
    left_out = len(all_lines) - lines
    return "\n".join(all_lines[:lines] + ([f"... and {left_out} more lines"] if left_out > 0 else []))


def run_cases(cases, jobs, only=None):
    """Run them `jobs` at a time, say how each went, and return the exit code."""
    if only:
        cases = [case for case in cases if only in case.name]
    if not cases:
        print("no case to run")
        return SKIP
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for case, problem in zip(cases, pool.map(Case.run, cases)):
            print(f"{'FAIL' if problem else 'ok'}: {case.name}")
            if problem:
                failed += 1
                print("    " + shortened(problem).replace("\n", "\n    "))
            sys.stdout.flush()
    print(f"{len(cases) - failed} of {len(cases)} cases passed")
    return 1 if failed else 0
