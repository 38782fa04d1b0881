"""The compile matrix of gfx942 and gfx950: what `matrix.py amdgcn` compiles, and what is looked at in the results."""

import glob
import os

import gcn
from toolchain import ROOT, Case, find_llvm

HERE = os.path.join(ROOT, "tests", "compile", "amdgcn")
INCLUDE = os.path.join(ROOT, "include")
C, HIP = os.path.join(HERE, "all_macros.c"), os.path.join(HERE, "all_macros.hip")
SECOND_C, SECOND_HIP = os.path.join(HERE, "second_unit.c"), os.path.join(HERE, "second_unit.hip")
LANGUAGES = (("c", C), ("hip", HIP), ("cl", C))

LEVELS = ("-O0", "-O1", "-O2", "-O3")
# Ways of building, each with one chip and -O2 unless it says otherwise.
OPTIONS = {
    "c": ["-std=c17", "-std=c23", "-std=gnu11", "-flto", "-fPIC", "-ffunction-sections"],
    "hip": ["-std=c++20", "-std=c++23", "-fno-exceptions -fno-rtti", "-D__HIPCC_RTC__", "-fno-gpu-rdc"],
    "cl": ["-cl-std=CL3.0", "-cl-fast-relaxed-math"],
}
ALL_OPTIONS = ["-g", "-g -O0", "-Os", "-Oz", "-fno-inline", "-fno-inline -O0", "-ffast-math", "-DKTRACE_ENABLE",
               *(f"-mcode-object-version={version}" for version in (4, 5, 6))]  # fmt: skip
# With XNACK on or off, or not known: the registers that LLVM keeps for it lie behind the kernel's.
FEATURES = ("gfx942:xnack-", "gfx942:xnack+", "gfx942:sramecc+:xnack+", "gfx942:sramecc-:xnack-", "gfx950:xnack+")


def enable(value):
    return [f"-DKTRACE_ENABLE={value}", f"-I{INCLUDE}"]


def scalar_registers_case(name, readelf, output, command):
    """What traced kernels ask for stays between what annotations use and what leaves room for 8 waves a SIMD."""

    def check():
        counts = {name: kernel["sgpr_count"] for name, kernel in gcn.kernels(readelf, output).items()}
        traced = [count for count in counts.values() if count >= 87]
        # all_macros has one kernel that is not traced
        return None if len(traced) + 1 >= len(counts) and max(traced) <= 96 else f"scalar registers: {counts}"

    return Case(name, command, check=check)


def units_case(name, readelf, output, *commands):
    """Two translation units become one module: one control block, and a section with the sites of both."""

    def check():
        symbols = gcn.symbols(readelf, output)
        if symbols.count("ktrace_control_block") != 1:
            return f"{symbols.count('ktrace_control_block')} control blocks"
        kernels = [site for site in gcn.sites(output) if site.kind == gcn.KIND_KERNEL]
        return None if "second" in symbols and len(kernels) >= 4 else f"{len(kernels)} kernels have a site: {symbols}"

    return Case(name, *commands, check=check)


def amdgcn_cases(work, more_sources):
    clang, lld, readelf = (find_llvm(name) for name in ("clang", "ld.lld", "llvm-readelf"))
    if not clang or not lld or not readelf:
        print("skip: clang-22, ld.lld-22 or llvm-readelf-22 was not found")
        return []
    cases = []

    def output(*parts):
        return os.path.join(work, "gcn." + "".join(parts).replace(" ", "").replace("/", "_").replace(":", "_"))

    def add(language, source, chip, flags, compiler=clang, expect=None):
        kind = f"{os.path.basename(source)} as {language} {chip}"
        name = " ".join([os.path.basename(compiler), kind, *flags])
        flags = [f"-I{INCLUDE}", *flags]
        cases.append(Case(name, gcn.compile_command(compiler, language, source, output(name), chip, flags), expect=expect))

    for language, source in LANGUAGES:
        for chip in gcn.CHIPS:
            for level in LEVELS:
                for value in ("0", "1"):
                    add(language, source, chip, [level, f"-DKTRACE_ENABLE={value}"])
        for options in OPTIONS[language] + ALL_OPTIONS:
            add(language, source, "gfx942", ["-O2", "-DKTRACE_ENABLE=1", *options.split()])

    # Other sources: one chip, since the first ones are for both.
    listed = [source for source in glob.glob(os.path.join(HERE, "*.[ch]*")) if os.path.splitext(source)[1] in (".c", ".hip")]
    for source in sorted(set(listed) - {C, HIP}) + more_sources:
        for value in ("0", "1"):
            add(os.path.splitext(source)[1].lstrip("."), source, "gfx950", ["-O2", f"-DKTRACE_ENABLE={value}"])

    # Clang 19 knows gfx942, and its plain C lacks an attribute.
    older = find_llvm("clang", 19)
    if older and find_llvm("ld.lld", 19):
        for level in ("-O0", "-O2"):
            for language, source in (("hip", HIP), ("cl", C)):
                add(language, source, "gfx942", [level, "-DKTRACE_ENABLE=1"], compiler=older)
        add("c", C, "gfx942", ["-DKTRACE_ENABLE=1"], older, "ktrace: kernels in plain C need clang 21 or newer")
    else:
        print("skip: clang-19 or ld.lld-19 was not found")

    for target in FEATURES:
        name = f"{target} scalar registers"
        command = gcn.compile_command(clang, "hip", HIP, output(name), target, ["-O2", *enable(1)])
        cases.append(scalar_registers_case(name, readelf, output(name), command))

    # Two units. C objects are linked by lld; relocatable device code of HIP is bitcode, which lld compiles, too.
    def unit(language, source, suffix, *flags):
        return gcn.compile_command(clang, language, source, output(suffix), "gfx942", ["-O2", "-c", *enable(1), *flags])

    for name, language, sources, flags in (
        ("two units of C", "c", (C, SECOND_C), []),
        ("two units of C, LTO", "c", (C, SECOND_C), ["-flto"]),
        ("two units of HIP, -fgpu-rdc", "hip", (HIP, SECOND_HIP), ["-fgpu-rdc"]),
    ):
        linked, objects = output(name, ".co"), [output(name, f".{i}.o") for i in (1, 2)]
        commands = [unit(language, source, f"{name}.{i}.o", *flags) for i, source in enumerate(sources, 1)]
        link = [lld, "-shared", "-m", "elf64_amdgpu", "--no-undefined", "-plugin-opt=mcpu=gfx942", *objects, "-o", linked]
        cases.append(units_case(name, readelf, linked, *commands, link))

    # HIP's two passes, for the host and for the device, in one object.
    bundler = find_llvm("clang-offload-bundler")
    if not bundler:
        print("skip: HIP for host and devices: clang-offload-bundler-22 was not found")
    for flags in ([], ["-fgpu-rdc"]) if bundler else ():
        name = " ".join(["HIP for host and devices", *flags])
        command = [clang, "-x", "hip", "-std=c++17", "-nogpuinc", "-nogpulib", *gcn.PEDANTIC, "-O2", "-c", *enable(1), *flags,
                   *(f"--offload-arch={chip}" for chip in gcn.CHIPS), HIP, "-o", output(name)]  # fmt: skip
        cases.append(Case(name, command))
    return cases
