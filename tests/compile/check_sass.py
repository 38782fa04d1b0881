#!/usr/bin/env python3
"""What annotations become in machine code.

    check_sass.py disabled SOURCE...   KTRACE_ENABLE=0 gives byte for byte the code of the source without annotations
    check_sass.py events SOURCE...     with KTRACE_ENABLE=1 every kernel keeps the RULES below
    check_sass.py pairs SOURCE         every traced_X adds to bare_X what an event may add, and nothing that it must not
    check_sass.py waits SOURCE         what a range of its kernels loads is waited for before the range's end, and is not if pinned
    check_sass.py list SOURCE          print the instructions of every function, to look at
"""

import argparse
import collections
import os
import re
import sys

import sass
from toolchain import ROOT, SKIP, Case, find_nvcc, find_nvdisasm, run_cases

HERE = os.path.join(ROOT, "tests", "compile")
INCLUDE = os.path.join(ROOT, "include")
UNANNOTATED = os.path.join(HERE, "no_ktrace")  # a device.h without annotations
# The matrix' own source is made for all of them; examples may use what only newer ones have.
ARCHITECTURES = {
    "all_macros.cu": ["sm_75", "sm_90", "sm_100"],
    "event_pairs.cu": ["sm_80", "sm_90", "sm_100", "sm_120"],
    "waits.cu": ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"],
}


def clock_reads(code):
    return [i for i in code if i.opcode.startswith(("CS2R", "S2UR", "S2R")) and "SR_CLOCKLO" in i.operands]


def event_reads(code):
    """Places of the clock reads that are events'."""
    return [place for place, i in enumerate(code) if i.opcode == "CS2R.32" and "SR_CLOCKLO" in i.operands]


# Rules of `events`: functions of (function name, its instructions) that return a sentence when broken, else None.
RULES = []


def rule(check):
    RULES.append(check)
    return check


# What an event may never be: a branch, a call, a barrier, an atomic, a fence.
FORBIDDEN = re.compile(
    r"^(BRA|BRX|JMP|JMX|CALL|RET|BSSY|BSYNC|BREAK|BMOV|WARPSYNC|ENDCOLLECTIVE|YIELD|NANOSLEEP|BAR|MEMBAR|FENCE|ERRBAR|CCTL"
    r"|ATOM|ATOMG|ATOMS|RED|REDG|REDUX|ELECT|SHFL|MATCH|SYNCS|EXIT)(\.|$)"
)
# Instructions that one event may add at the most, by kernel of event_pairs.cu (range and token are two events).
MOST_INSTRUCTIONS = {
    "mark": 9, "push": 9, "pop": 9, "mark_32": 14, "mark_64": 15, "range": 18, "next": 11, "token": 22, "divergent": 10,
}


@rule
def stores_follow_their_clock(_, code):
    """Between an event's clock read and the store of that clock nothing forbidden runs."""
    for place, read in enumerate(code):
        if not read.opcode.startswith("CS2R.32") or "SR_CLOCKLO" not in read.operands:
            continue
        register = read.operands.split(",")[0].strip()
        for later in code[place + 1 :]:
            if later.opcode.startswith("STG.E.64") and re.search(rf"\b{register}(\.reuse)?$", later.operands):
                break
            # (BSSY only prepares a branch that the kernel's own code takes later.)
            if FORBIDDEN.match(later.opcode) and not later.opcode.startswith("BSSY"):
                return f"{later.text} between the clock read at {read.address:#x} and its store"
    return None


@rule
def sites_are_immediates(_, code):
    """The word that names an event's site takes one register, the count or the token: no register holds the site."""
    for place, read in enumerate(code):
        if not read.opcode.startswith("CS2R.32") or "SR_CLOCKLO" not in read.operands:
            continue
        clock = read.operands.split(",")[0].strip()
        word, writer = f"R{int(clock[1:]) + 1}", None
        for later in code[place + 1 :]:
            if later.opcode.startswith("STG.E.64") and re.search(rf"\b{clock}(\.reuse)?$", later.operands):
                break
            if later.operands.split(",")[0].strip() == word:
                writer = later
        if writer and len(re.findall(r"\bU?R\d+", writer.operands.split(",", 1)[1])) > 1:
            return f"{writer.text} takes the site from a register, for the clock read at {read.address:#x}"
    return None


@rule
def waits_do_nothing_else(_, code):
    """A wait's PMTRIG triggers nothing, and is executed where a comparison says so only."""
    for i in code:
        if i.opcode == "PMTRIG" and (i.operands != "0x0" or not i.predicate):
            return f"{i.text} at {i.address:#x}"
    return None


# What arrives later than the instruction behind it is issued.
ARRIVES = re.compile(r"^(LDG|LDS|MUFU|F2F)(\.|$)")


def registers(operand):
    """Numbers of registers in the text of operands."""
    return {int(number) for number in re.findall(r"\bR(\d+)", operand)}


def written(instruction):
    first = int(instruction.operands.split(",")[0].strip().removeprefix("R"))
    pair = re.search(r"\.64(\.|$)", instruction.opcode) and instruction.opcode.startswith("L") or ".F64." in instruction.opcode
    return {first, first + 1} if pair else {first}


def not_waited_for(code):
    """How much arrives in the ranges of a function, and what of it nothing reads before the range's end. (A warp issues
    in order: an instruction that reads a register has the warp wait for it.)"""
    arrivals, faults = 0, []
    reads = event_reads(code)
    for begin, end in zip(reads[::2], reads[1::2]):
        for place in range(begin, end):
            if not ARRIVES.match(code[place].opcode):
                continue
            arrivals += 1
            waiting = written(code[place])
            for later in code[place + 1 : end]:
                # A pair may be named by its first register, as what FP64 reads is.
                waiting -= registers(later.operands.split(",", 1)[-1])
            if waiting:
                faults.append(f"{code[place].text} at {code[place].address:#x} is not read before the end of its range")
    return arrivals, faults


def waits_cases(nvcc, nvdisasm, source, arch, work):
    def functions(name, *flags):
        cubin = os.path.join(work, f"waits.{arch}.{name}.cubin")
        sass.compile_cubin(nvcc, source, cubin, [*flags, f"-I{INCLUDE}", "-DKTRACE_ENABLE=1"], arch)
        return sass.instructions(nvdisasm, cubin)

    def waits():
        faults = []
        for name, code in functions("waits").items():
            arrivals, missing = not_waited_for(code)
            faults += [f"{name}: {fault}" for fault in missing]
            faults += [] if arrivals else [f"{name}: nothing arrives in its ranges"]
        return "\n".join(faults) or None

    def pins():
        """The rule can fail: pins have nothing wait. (A bool is compared with 0 where it is loaded.)"""
        waited = {name for name, code in functions("pins", "-DPINS_ONLY").items() if not not_waited_for(code)[1]}
        return f"pins wait, too, in {', '.join(waited)}" if waited != {"load_bool"} else None

    def debug():
        """Without optimization what is loaded is stored, which waits for it; the wait itself is there all the same, behind a
        branch that joins."""
        without, recording = [], 0
        for name, code in functions("debug", "-G").items():
            recording += len(event_reads(code)) > 0
            if event_reads(code) and not any(i.opcode == "PMTRIG" and i.operands == "0x0" for i in code):
                without.append(name)
        return f"no wait in {', '.join(without)}" if without or not recording else None

    return [Case(f"waits {arch}", check=waits), Case(f"pins {arch}", check=pins), Case(f"waits {arch} -G", check=debug)]


def pair_cases(nvcc, nvdisasm, source, arch, work):
    cubin = os.path.join(work, f"pairs.{arch}.cubin")
    functions = {}

    def listing():
        if not functions:
            sass.compile_cubin(nvcc, source, cubin, [f"-I{INCLUDE}", "-DKTRACE_ENABLE=1"], arch)
            functions.update(sass.instructions(nvdisasm, cubin))
        return functions

    def control(code):
        """A branch is a branch: by which predicate, the wave's or the lanes', is ptxas's choice."""
        opcodes = ("BRA" if i.opcode == "BRA.U" else i.opcode for i in code if FORBIDDEN.match(i.opcode))
        return collections.Counter(opcodes)

    def case(name):
        def check():
            traced, bare = listing()[f"traced_{name}"], listing()[f"bare_{name}"]
            events = 2 if name == "divergent" else 8
            reads = len(clock_reads(traced)) - len(clock_reads(bare))
            if reads < events:
                return f"only {reads} clock reads for {events} events"
            # ptxas may peel the first turn of a loop off: then its event is there twice, and so is the loop's own branch.
            peeled = reads - events
            added, removed = control(traced) - control(bare), control(bare) - control(traced)
            if removed or added.total() > peeled or set(added) - {"BRA"}:
                return f"adds {added}, takes away {removed}"
            added = (len(traced) - len(bare)) / reads  # code is padded to 128 bytes: 8 instructions at the most
            if added > MOST_INSTRUCTIONS[name] + 8 / events:
                return f"{added:.1f} instructions an event, more than {MOST_INSTRUCTIONS[name]}"
            return None

        return Case(f"pair {name} {arch}", check=check)

    return [case(name) for name in MOST_INSTRUCTIONS]


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
    parser.add_argument("what", choices=["disabled", "events", "pairs", "waits", "list"])
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
            elif arguments.what == "pairs":
                cases.extend(pair_cases(nvcc, nvdisasm, source, arch, work))
            elif arguments.what == "waits":
                cases.extend(waits_cases(nvcc, nvdisasm, source, arch, work))
            else:
                cases.append(events_case(nvcc, nvdisasm, source, arch, work))
        if arguments.what == "disabled":
            cases.append(traced_differs_case(nvcc, source, work))
    return run_cases(cases, arguments.jobs, arguments.only)


if __name__ == "__main__":
    sys.exit(main())
