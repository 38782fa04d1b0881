"""Compiles amdgcn.c for both chips and writes amdgcn_code.h; with --check says whether the file is what it would write.

    update.py [--check] CLANG INCLUDE_DIRECTORY

Exit code 77: the file was made by another version of clang, so that nothing can be said.
"""

import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
FLAGS = ["--target=amdgcn-amd-amdhsa", "-nogpulib", "-O2", "-mcode-object-version=4", "-fuse-ld=lld", "-Wl,--strip-all",
         "-Wall", "-Wextra", "-Werror"]


def version_of(clang):
    return subprocess.run([clang, "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]


def compiled(clang, include, chip):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "code")
        subprocess.run([clang, *FLAGS, f"-mcpu={chip}", f"-I{include}", "-o", path, FOLDER / "amdgcn.c"], check=True)
        return path.read_bytes()


def text_of(clang, include):
    lines = ["/* amdgcn_code.h - made by update.py from amdgcn.c with:", f" * {version_of(clang)}", " */", "/* clang-format off */"]
    for chip in ("gfx942", "gfx950"):
        code = compiled(clang, include, chip)
        lines.append(f"static const unsigned char service_code_{chip}[{len(code)}] __attribute__((aligned(4096))) = {{")
        lines += ["    " + ", ".join(f"0x{byte:02x}" for byte in code[i : i + 20]) + "," for i in range(0, len(code), 20)]
        lines.append("};")
    return "\n".join(lines) + "\n"


def main(arguments):
    check = arguments[:1] == ["--check"]
    clang, include = arguments[check:]
    target = FOLDER / "amdgcn_code.h"
    if not check:
        target.write_text(text_of(clang, include))
        return 0
    there = target.read_text()
    if version_of(clang) not in there:
        print(f"amdgcn_code.h was made by another clang than {version_of(clang)}")
        return 77
    if there != text_of(clang, include):
        print("amdgcn_code.h is not what amdgcn.c compiles to: ninja update_service_code")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
