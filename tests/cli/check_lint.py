#!/usr/bin/env python3
"""check_lint.py --ktrace COMMAND --work FOLDER WHAT: what `ktrace doctor --lint` says of machine code made here.

    cuda    kernels of lint/ for several GPUs, by nvcc; examples; programs, fatbins, debug builds
    amdgcn  the same by clang for gfx942 and gfx950; bundles
    files   what has no machine code, and files that are damaged
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "compile"))

import gcn  # noqa: E402
import sass  # noqa: E402
from toolchain import SKIP, find_llvm, find_nvcc, find_nvdisasm, run_tool  # noqa: E402

INCLUDE = [f"-I{ROOT / 'include'}"]
TRACED, UNTRACED = [*INCLUDE, "-DKTRACE_ENABLE=1"], [*INCLUDE, "-DKTRACE_ENABLE=0"]
KERNELS = HERE / "lint"
EMPTY = {("moved_out", "math"), ("tokens", "nothing"), ("waits", "nothing"), ("waits", "nothing wide")}  # ranges that hold nothing, by symbol
# What a range of kernels.h has inside at least, of instructions.
INSIDE = {
    "pinned": {"math": 8}, "loop": {"all": 6, "turn": 1}, "unrolled": {"part": 3}, "barrier": {"wait": 1},
    "waits": {"load": 1}, "divergent": {"outer": 6, "inner": 2}, "jump": {"choice": 20}, "tokens": {"tile": 3, "store": 1},
}  # fmt: skip
COPIES = {"unrolled": {"part": 4}, "loop": {"all": 1, "turn": 1}, "tokens": {"tile": 1, "store": 1, "nothing": 1}}


class Fault(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Fault(text)


class Lint:
    """The command, where a disassembler is in PATH."""

    def __init__(self, ktrace, folders=()):
        self.ktrace = ktrace
        self.environment = {**os.environ, "NO_COLOR": "1"}
        self.environment["PATH"] = os.pathsep.join([*map(str, folders), os.environ["PATH"]])

    def run(self, *arguments, **more):
        command = [self.ktrace, "doctor", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, env={**self.environment, **more})
        require(done.returncode in (0, 1, 2, 3), f"{' '.join(command)}: exit status {done.returncode}: {done.stderr}")
        return done

    def json(self, *arguments):
        done = self.run("--lint", *arguments, "--json")
        require(done.returncode == 0, f"{arguments}: exit status {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def refused(self, sentence, *arguments, **more):
        done = self.run("--lint", *arguments, **more)
        require(done.returncode == 1, f"{arguments}: exit status {done.returncode}, not 1:\n{done.stdout}")
        require(re.search(sentence, done.stderr), f"{arguments}: says {done.stderr!r}, not {sentence!r}")
        require(not done.stdout, f"{arguments}: prints {done.stdout!r}")


def warned(report):
    return {(finding["symbol"], finding["name"]) for finding in report["findings"] if finding["severity"] == "warning"}


def ranges(module):
    """{symbol: {name: row}} of what begins a range."""
    return {
        function["symbol"]: {row["name"]: row for row in function["sites"] if "examined_copies" in row}
        for function in module["annotated"]
    }


def check_kernels(report, what):
    """What is said of kernels.h, whatever it was compiled for."""
    require(warned(report) == EMPTY, f"{what}: warns of {sorted(warned(report))}, not of {sorted(EMPTY)}")
    require(report["warnings"] == len(EMPTY) * len(report["modules"]), f"{what}: {report['warnings']} warnings")
    require(set(report["not_examined"].values()) == {0}, f"{what}: not examined: {report['not_examined']}")
    for finding in report["findings"]:
        if finding["rule"] == "empty-range":
            place = f'range "{finding["name"]}" ({finding["file"]}:{finding["line"]})'
            expected = (
                f"nothing lies between the clock reads of {place}: the compiler moved its work out; "
                "hold what it computes there with KTRACE_PIN, or with KTRACE_WAIT where that needs what a load brings "
                "(docs/annotating.md)"
            )
            require(finding["sentence"] == expected, f"{what}: {finding['sentence']}")
    for module in report["modules"]:
        found = ranges(module)
        for symbol, least in INSIDE.items():
            for name, count in least.items():
                inside = found[symbol][name]["least_instructions_inside"]
                require(inside >= count, f"{what}: {symbol}: {inside} instructions in {name}, expected {count}")
        for symbol, copies in COPIES.items():
            for name, count in copies.items():
                require(found[symbol][name]["copies"] == count, f"{what}: {symbol}: {found[symbol][name]}")
        by_name = {function["name"]: function for function in module["annotated"]}
        for name in ("scale<2>", "scale<3>", "relax<true>"):
            require(name in by_name, f"{what}: no {name} among {sorted(by_name)}")
        require("relax<false>" not in by_name, f"{what}: relax<false> has annotations")
        for name, function in by_name.items():
            compared = function["untraced"] is not None
            require(compared == (name == "relax<true>"), f"{what}: {name}: {function['untraced']}")
        traced, untraced = by_name["relax<true>"]["traced"], by_name["relax<true>"]["untraced"]
        require(untraced["code_bytes"] < traced["code_bytes"], f"{what}: {traced} {untraced}")


def events_of(module):
    return sum(row["copies"] for function in module["annotated"] for row in function["sites"])


# ---- NVIDIA ----------------------------------------------------------------------------------------------------------


class Cuda:
    def __init__(self, nvcc, nvdisasm, work):
        self.nvcc, self.nvdisasm, self.work = nvcc, nvdisasm, work
        self.cuobjdump = str(pathlib.Path(nvdisasm).with_name("cuobjdump"))

    def cubin(self, source, name, flags, arch):
        return sass.compile_cubin(self.nvcc, str(source), str(self.work / name), ["-w", *flags], arch)

    def architectures(self):
        known = run_tool([self.nvcc, "--list-gpu-code"]).split()
        return [arch for arch in ("sm_75", "sm_80", "sm_90", "sm_100") if arch in known]

    def resources(self, cubin):
        """{symbol: (registers, stack, shared)} as cuobjdump tells."""
        text = run_tool([self.cuobjdump, "-res-usage", cubin])
        found = re.findall(r"Function (\S+):\s*REG:(\d+) STACK:(\d+) SHARED:(\d+)", text)
        return {name: tuple(map(int, numbers)) for name, *numbers in found}

    def between(self, cubin, symbol, opcode):
        """How many of an instruction stand between the first two clock reads of 32 bits."""
        code = sass.instructions(self.nvdisasm, cubin)[symbol]
        reads = [i for i, one in enumerate(code) if "SR_CLOCKLO" in one.operands and one.opcode == "CS2R.32"]
        return sum(one.opcode.startswith(opcode) for one in code[reads[0] : reads[1]])


def check_cuda_resources(cuda, report, cubin):
    expected = cuda.resources(cubin)
    for function in report["modules"][0]["annotated"]:
        if not function["traced"]:
            continue
        traced = function["traced"]
        told = (traced["registers"], traced["stack_bytes"], traced["shared_bytes"])
        require(told == expected[function["symbol"]], f"{cubin}: {function['symbol']}: {told}, {expected}")


def cuda_architectures(lint, cuda):
    flags_of = {"sm_80": ["-lineinfo"], "sm_90": ["-DKTRACE_SITES_IN_GLOBAL=1"]}
    for arch in cuda.architectures():
        flags = flags_of.get(arch, [])
        what = " ".join([arch, *flags])
        cubin = cuda.cubin(KERNELS / "kernels.cu", f"kernels.{what.replace(' ', '')}.cubin", [*TRACED, *flags], arch)
        report = lint.json(cubin)
        check_kernels(report, what)
        module = report["modules"][0]
        require(module["target"] == arch, f"{what}: {module['target']}")
        check_cuda_resources(cuda, report, cubin)
        reads = sum(
            "SR_CLOCKLO" in one.operands and one.opcode == "CS2R.32"
            for code in sass.instructions(cuda.nvdisasm, cubin).values()
            for one in code
        )
        require(events_of(module) == reads, f"{what}: {events_of(module)} events, {reads} clock reads")
        require(cuda.between(cubin, "moved_out", "FFMA") == 0, f"{what}: the compiler did not move anything out")
        require(cuda.between(cubin, "pinned", "FFMA") == 8, f"{what}: the compiler moved out what is pinned")
        require(cuda.between(cubin, "waits", "PMTRIG") == 2, f"{what}: the waits for loads are not in their range")
        # Which ptxas keeps in its kernel's section.
        function = ranges(module)["calls"]["function"]
        require(function["most_instructions_inside"] > 10, f"{what}: {function}")


def cuda_programs(lint, cuda):
    two = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]"]
    source, small = str(KERNELS / "kernels.cu"), str(KERNELS / "big.cu")
    fatbin, program, ptx = (str(cuda.work / name) for name in ("kernels.fatbin", "program.o", "ptx.o"))
    run_tool([cuda.nvcc, "-w", "-std=c++17", *TRACED, *two, "-fatbin", "-o", fatbin, source])
    run_tool([cuda.nvcc, "-w", "-std=c++17", *TRACED, *two, "-DWITH_MAIN", "-c", "-o", program, source])
    for path in (fatbin, program):
        report = lint.json(path)
        check_kernels(report, path)
        targets = [module["target"] for module in report["modules"]]
        require(targets == ["sm_80", "sm_90"], f"{path}: {targets}")
    before = set(os.listdir(cuda.work))
    lint.run("--lint", program, TMPDIR=str(cuda.work))
    require(set(os.listdir(cuda.work)) == before, f"left behind: {set(os.listdir(cuda.work)) - before}")
    run_tool([cuda.nvcc, "-w", "-std=c++17", *TRACED, "-arch=compute_90", "-c", "-o", ptx, small])
    lint.refused("has PTX only", ptx)
    text = str(cuda.work / "kernels.ptx")
    run_tool([cuda.nvcc, "-w", "-std=c++17", *TRACED, "-ptx", "-arch=compute_90", "-o", text, small])
    lint.refused("this is PTX", text)
    relocatable = str(cuda.work / "relocatable.o")
    run_tool([cuda.nvcc, "-w", "-std=c++17", *TRACED, "-arch=sm_90", "-dc", "-o", relocatable, small])
    lint.refused("its device code is relocatable", relocatable)


def cuda_debug(lint, cuda):
    """A debug build is not examined, and that is said."""
    report = lint.json(cuda.cubin(KERNELS / "big.cu", "debug.cubin", [*TRACED, "-G"], "sm_90"))
    require(report["warnings"] == 0, f"a debug build: {report['findings']}")
    notes = {finding["symbol"] for finding in report["findings"] if finding["rule"] == "debug-build"}
    require(notes == {"big"}, f"a debug build: {report['findings']}")


def cuda_examples(lint, cuda):
    for source in sorted((ROOT / "examples").glob("*.cu")):
        if "KTRACE_KERNEL" not in source.read_text() and source.stem != "gemm":
            continue
        report = lint.json(cuda.cubin(source, f"{source.stem}.cubin", TRACED, "sm_90"))
        require(not warned(report), f"{source.name}: {report['findings']}")
        if source.stem == "two_instances":
            compared = [f for m in report["modules"] for f in m["annotated"] if f["untraced"]]
            require(compared, f"{source.name}: no kernel has an untraced instance")


def cuda_comparison(lint, cuda):
    """Traced against untraced builds, made to need more than they have."""
    source = KERNELS / "big.cu"
    traced = cuda.cubin(source, "traced.cubin", TRACED, "sm_90")
    untraced = cuda.cubin(source, "untraced.cubin", UNTRACED, "sm_90")
    few = cuda.cubin(source, "few.cubin", [*TRACED, "-maxrregcount=32"], "sm_90")
    untraced_few = cuda.cubin(source, "untraced_few.cubin", [*UNTRACED, "-maxrregcount=32"], "sm_90")
    report = lint.json(traced, "--untraced", untraced)
    expected = cuda.resources(untraced)
    told = report["modules"][0]["annotated"][0]["untraced"]
    told = (told["registers"], told["stack_bytes"], told["shared_bytes"])
    require(told == expected["big"], f"untraced: {told}, {expected}")
    require(lint.run("--lint", traced, "--strict").returncode == 0, "--strict: nothing to warn of")
    for first, second, rule, numbers in ((few, untraced, "spill", 1), (traced, untraced_few, "occupancy", 0)):
        report = lint.json(first, "--untraced", second)
        found = [f for f in report["findings"] if f["rule"] == rule and f["symbol"] == "big"]
        require(len(found) == 1 and found[0]["severity"] == "warning", f"{rule}: {report['findings']}")
        for cubin in (first, second):
            number = str(cuda.resources(cubin)["big"][numbers])
            require(number in found[0]["sentence"], f"{rule}: {found[0]['sentence']} without {number}")
    lint.refused("has annotations: compile it without", traced, "--untraced", traced)
    other = cuda.cubin(source, "other.cubin", UNTRACED, "sm_80")
    lint.refused("has none of the annotated kernels of .* for the same GPU", traced, "--untraced", other)
    lint.refused("has no annotation in its kernel: was it compiled without KTRACE_ENABLE=1", untraced)
    header = b"%-16s%-12s%-6s%-6s%-8s%-10s`\n" % (b"a.o/", b"0", b"0", b"0", b"644", b"64")
    (cuda.work / "other.a").write_bytes(b"!<arch>\n" + header + bytes(64))
    lint.refused("in this archive there is no machine code of NVIDIA's", cuda.work / "other.a")
    done = lint.run("--lint", traced, "--untraced", untraced_few, "--strict")
    require(done.returncode == 3, f"--strict: warnings, and exit status {done.returncode}")


def cuda_missing(lint, cuda):
    """Without the toolkit, the sentence says what brings it."""
    nowhere = {"PATH": "", "CUDA_PATH": str(cuda.work), "VIRTUAL_ENV": "", "CONDA_PREFIX": ""}
    if os.path.exists("/usr/local/cuda/bin/nvdisasm"):
        return
    cubin = cuda.work / "traced.cubin"
    lint.refused("nvdisasm was not found.*CUDA toolkit", cubin, **nowhere)
    lint.refused("cuobjdump was not found.*CUDA toolkit", cuda.work / "program.o", **nowhere)
    folder = cuda.work / "broken"
    folder.mkdir(exist_ok=True)
    (folder / "nvdisasm").write_text("#!/bin/sh\necho 'no licence' >&2\nexit 4\n")
    (folder / "nvdisasm").chmod(0o755)
    lint.refused("nvdisasm ended with exit status 4, having said 'no licence'", cubin, PATH=str(folder))
    for environment in "VIRTUAL_ENV", "CONDA_PREFIX":  # where `pip install nvidia-cuda-nvdisasm` puts it
        by_pip = folder / environment / "lib/python3.11/site-packages/nvidia/cu13/bin"
        by_pip.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "nvdisasm", by_pip)
        lint.refused("nvdisasm ended with exit status 4", cubin, **{**nowhere, environment: str(folder / environment)})


def check_cuda(ktrace, work):
    nvcc = find_nvcc()
    nvdisasm = find_nvdisasm(nvcc)
    if not nvcc or not nvdisasm:
        print("skip: nvcc or nvdisasm was not found")
        return SKIP
    lint = Lint(ktrace, [pathlib.Path(nvdisasm).parent])
    cuda = Cuda(nvcc, nvdisasm, work)
    for check in (cuda_architectures, cuda_programs, cuda_debug, cuda_examples, cuda_comparison, cuda_missing):
        check(lint, cuda)
        print(f"ok: {check.__name__}")
    return 0


# ---- AMD -------------------------------------------------------------------------------------------------------------


def hip(clang, output, *flags):
    source = str(KERNELS / "kernels.hip")
    run_tool([clang, "-w", "-x", "hip", "-std=c++17", "-nogpuinc", "-nogpulib", *flags, source, "-o", str(output)])
    return str(output)


DEVICE = ["--cuda-device-only", "--no-gpu-bundle-output"]


def check_code_object(lint, readelf, path, what):
    report = lint.json(path)
    check_kernels(report, what)
    module = report["modules"][0]
    expected = gcn.kernels(readelf, path)
    for function in module["annotated"]:
        traced, kernel = function["traced"], expected[function["symbol"]]
        told_keys = ("registers", "accumulation_registers", "scalar_registers", "stack_bytes", "shared_bytes")
        told = [traced[key] for key in told_keys]
        keys = ("vgpr_count", "agpr_count", "sgpr_count", "private_segment_fixed_size", "group_segment_fixed_size")
        require(told == [kernel[key] for key in keys], f"{what}: {function['symbol']}: {told} {kernel}")
    sites = [site for site in gcn.sites(path) if site.kind != gcn.KIND_KERNEL]
    require(events_of(module) == len(sites), f"{what}: {events_of(module)} events, {len(sites)} descriptors")
    return report


def check_amdgcn(ktrace, work):
    clang, objdump, readelf, lld = (find_llvm(name) for name in ("clang", "llvm-objdump", "llvm-readelf", "ld.lld"))
    if not (clang and objdump and readelf and lld):
        print("skip: clang-22, lld-22 or llvm-22 was not found")
        return SKIP
    lint = Lint(ktrace)
    for chip in gcn.CHIPS:
        for level in ("-O2", "-O3"):
            path = hip(clang, work / f"kernels.{chip}{level}.co", f"--offload-arch={chip}", level, *DEVICE, *TRACED)
            report = check_code_object(lint, readelf, path, f"{chip} {level}")
            require(report["modules"][0]["target"] == chip, f"{path}: {report['modules'][0]['target']}")
        untraced = hip(clang, work / f"untraced.{chip}.co", f"--offload-arch={chip}", "-O2", *DEVICE, *UNTRACED)
        report = lint.json(work / f"kernels.{chip}-O2.co", "--untraced", untraced)
        compared = {function["symbol"]: function["untraced"] for function in report["modules"][0]["annotated"]}
        expected = gcn.kernels(readelf, untraced)["loop"]["vgpr_count"]
        require(compared["loop"]["registers"] == expected, f"{chip}: {compared}")
        lint.refused("has no annotation in any of its", untraced)
        print(f"ok: {chip}")
    # Not optimized: each event is found, and what nothing moved out is not warned of.
    path = hip(clang, work / "debug.co", "--offload-arch=gfx942", "-O0", *DEVICE, *TRACED)
    report = lint.json(path)
    sites = [site for site in gcn.sites(path) if site.kind != gcn.KIND_KERNEL]
    require(events_of(report["modules"][0]) == len(sites), f"-O0: {report['modules'][0]}")
    require(("moved_out", "math") not in warned(report), f"-O0: {report['findings']}")
    print("ok: -O0")

    both = ["--offload-arch=gfx942", "--offload-arch=gfx950", "-O2", *TRACED]
    for name, flags in (
        ("kernels.o", ["-c"]),
        ("kernels.new.o", ["-c", "--offload-new-driver"]),
        ("kernels.so", ["-shared", "-fPIC"]),
        ("kernels.bundle", ["--cuda-device-only", "--gpu-bundle-output"]),
    ):
        report = lint.json(hip(clang, work / name, *both, *flags))
        targets = sorted(module["target"] for module in report["modules"])
        require(targets == list(gcn.CHIPS), f"{name}: {targets}")
        check_kernels(report, name)
        print(f"ok: {name}")
    pack = ["--cuda-device-only", "--gpu-bundle-output", "--offload-compress"]
    packed = hip(clang, work / "packed.bundle", *both, *pack)
    lint.refused("its code objects are compressed", packed)

    for source in (ROOT / "examples" / "amdgcn").iterdir():
        language = source.suffix[1:]
        if language not in ("c", "cl", "hip") or "KTRACE_KERNEL(" not in source.read_text():
            continue
        path = str(work / f"{source.name}.co")
        if "hipModuleLoad" in source.read_text() or "int main" in source.read_text():
            continue
        gcn.compile_code_object(clang, language, str(source), path, "gfx942", ["-w", "-O3", *TRACED])
        report = lint.json(path)
        require(not warned(report), f"{source.name}: {report['findings']}")
        require(events_of(report["modules"][0]) > 0, f"{source.name}: no events")
        print(f"ok: {source.name}")

    def without(**more):
        lint.refused("llvm-objdump was not found.*LLVM", work / "debug.co", PATH="", **more)

    if not os.path.exists("/opt/rocm/llvm/bin/llvm-objdump"):
        without(ROCM_PATH=str(work))
    return 0


# ---- Files -----------------------------------------------------------------------------------------------------------


def check_damage(lint, path, work):
    """A file that was cut off or changed is read, or refused in a sentence."""
    content = path.read_bytes()
    damaged = work / f"damaged.{path.name}"
    pieces = [content[: len(content) * i // 12] for i in range(12)]
    for at in [*range(16, 64, 6), *range(len(content) - 640, len(content), 80)]:
        pieces.append(content[:at] + b"\xff\xff\xff\xff" + content[at + 4 :])
    for piece in pieces:
        damaged.write_bytes(piece)
        done = lint.run("--lint", damaged, "--timeout", 2)  # llvm-objdump may hang
        if done.returncode == 1:
            one_sentence = done.stderr.startswith("ktrace: ") and done.stderr.count("\n") == 1
            require(one_sentence, f"{path.name}: {done.stderr!r}")
    print(f"ok: {len(pieces)} ways to damage {path.name}")


def check_files(ktrace, work):
    nvdisasm = find_nvdisasm(None)
    lint = Lint(ktrace, [pathlib.Path(nvdisasm).parent] if nvdisasm else [])
    lint.refused("is a directory", work)
    lint.refused("cannot open it: No such file", work / "nowhere")
    (work / "empty").write_bytes(b"")
    lint.refused("the file is empty", work / "empty")
    lint.refused("this is a text file", __file__)
    lint.refused("this is no file with machine code", next((ROOT / "tests" / "data" / "h200").glob("*.ktrace")))
    lint.refused("has no machine code of a GPU", ktrace)
    lint.refused("no regular file", "/dev/null")
    (work / "small").write_bytes(b"\x7fELF\x01\x01" + bytes(64))
    lint.refused("no 64-bit little-endian ELF file", work / "small")
    (work / "no_sections").write_bytes(b"\x7fELF\x02\x01" + bytes(10) + b"\2\0\xbe\0" + bytes(100))
    lint.refused("has no sections", work / "no_sections")
    for arguments in (["--strict"], ["--untraced", "x"], ["--lint", "x", "y"]):
        require(lint.run(*arguments).returncode == 2, f"{arguments} is taken")
    print("ok: files that have none")
    for path in sorted((HERE.parent / "fuzz" / "corpus" / "lint").glob("*")):
        if path.suffix in (".cubin", ".co", ".bundle"):
            check_damage(lint, path, work)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cuda", "amdgcn", "files"])
    parser.add_argument("--ktrace", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    check = {"cuda": check_cuda, "amdgcn": check_amdgcn, "files": check_files}[arguments.what]
    try:
        return check(os.path.abspath(arguments.ktrace), work)
    except (Fault, RuntimeError) as fault:
        print(f"FAILED: {fault}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
