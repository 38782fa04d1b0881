#!/usr/bin/env python3
"""What annotations become in machine code on gfx942 and gfx950.

    check_gcn.py disabled SOURCE...   KTRACE_ENABLE=0 gives byte for byte the code object of the source without annotations
    check_gcn.py events SOURCE...     with KTRACE_ENABLE=1 every kernel keeps the RULES below
    check_gcn.py waits SOURCE         what its kernels load in a range is waited for before the range's end, and is not without waits
    check_gcn.py list SOURCE          print the instructions of every function, and what each kernel asks for

A source's language is what its name ends in; those of LANGUAGES are compiled as several.
"""

import argparse
import os
import re
import sys

import gcn
from toolchain import ROOT, SKIP, Case, find_llvm, run_cases

HERE = os.path.join(ROOT, "tests", "compile")
INCLUDE = os.path.join(ROOT, "include")
UNANNOTATED = os.path.join(HERE, "no_ktrace")  # a device.h without annotations
LANGUAGES = {"all_macros.c": ["c", "cl"], "waits.c": ["c", "cl", "hip"]}
# Made to need more registers than there are, which is not what rules about their number are for.
PRESSURE = ("scalar_pressure.c", "vector_pressure.c")

# ---- What an event is: amdgcn_event.h, spelled again. ----------------------------------------------------------------

SGPR, VALUE = r"(?:s\d+|vcc_lo|vcc_hi|m0)", r"(?:\w+|lit\(\w+\)|-?[\d.]+|s\[\d+:\d+\]|(?:src_)?\w+)"
CLOCK = [r"s_memrealtime s\[76:77\]"]
OFFSET = [r"s_and_b32 s85, s82, s83"]
INDEX = [r"s_lshr_b32 s86, s82, 3"]
IF_TOKEN = [r"s_add_u32 s86, s83, 17", rf"s_cmp_lg_u32 {VALUE}, 0", r"s_cselect_b32 s85, s85, s86",
            r"s_cselect_b32 s86, (?:8|16), 0"]  # fmt: skip
WAIT = [r"s_waitcnt lgkmcnt\(0\)"]
STORES = {
    "8": [r"s_store_dwordx2 s\[76:77\], s\[80:81\], s85 glc"],
    "16": [rf"s_mov_b64 s\[78:79\], {VALUE}", r"s_store_dwordx4 s\[76:79\], s\[80:81\], s85 glc"],
}
SITE = r"s_pack_ll_b32_b16 s77, (?:lit\()?(?P<id>\w+)\)?, "
TOKEN = [rf"s_lshl1_add_u32 {SGPR}, s86, 1"]

# Lists of patterns, one an instruction; the first that fits is it.
WHOLE, LATE = [], []  # LATE: the clock was read before, since the token takes time to find
for slot_bytes, store in STORES.items():
    plain = CLOCK + OFFSET + INDEX + WAIT + [SITE + "s86"] + store + [rf"s_add_u32 s82, s82, {slot_bytes}"]
    WHOLE += [INDEX + TOKEN + plain, plain]
    LATE += [OFFSET + INDEX + [SITE + VALUE] + store + [rf"s_add_u32 s82, s82, {slot_bytes}"] + TOKEN]
    LATE += [OFFSET + IF_TOKEN + [SITE + VALUE] + store + [r"s_add_u32 s82, s82, s86"]]
WHOLE, LATE, READ = ([[re.compile(pattern + "$") for pattern in form] for form in forms] for forms in (WHOLE, LATE, [CLOCK + WAIT]))

# What else names an annotation's registers: where a wave begins, and where it ends.
BEGIN = "s_getpc_b64 s[76:77]"  # the first instruction of KTRACE_KERNEL
ELSEWHERE = re.compile(
    r"s_getpc_b64 s\[76:77\]|s_add_u32 s76, s76, \S+|s_addc_u32 s77, s77, \S+|s_mov_b64 \S+, s\[76:77\]"
    r"|s_mov_b64 s\[80:81\], \S+|s_mov_b32 s82, 8|s_mov_b32 s83, \S+|s_mov_b32 s84, \S+"
    r"|s_mov_b32 \S+, s82|s_mov_b32 \S+, s84"
    # s86 was named, so that the descriptor asks for it: without optimization what it holds is copied, and not used
    r"|s_mov_b32 \S+, s86|v_mov_b32_e32 \S+, s86"
)
OURS = set(range(76, 87))
# Clang makes two functions of an OpenCL kernel; the one with the code, which without optimization is called by the other, saves
# and restores what calls preserve: s86, which was named so that the descriptor asks for it.
OPENCL = "__clang_ocl_kern_imp_"
PRESERVED = re.compile(r"v_writelane_b32 v\d+, s86, \d+|v_readlane_b32 s86, v\d+, \d+")


class Event:
    """One event, or the early clock read of one (then `site` is None)."""

    def __init__(self, code, first, form, late):
        self.code, self.first, self.late = code[first : first + len(form)], first, late
        self.address, self.end = self.code[0].address, self.code[-1].address
        matches = [pattern.match(i.text) for pattern, i in zip(form, self.code)]
        self.site = next((int(m.group("id"), 0) for m in matches if "id" in m.re.groupindex), None)


def events(code):
    """The events of one function in order, its early clock reads, and the instructions that belong to neither."""
    found, reads, others, at = [], [], [], 0
    while at < len(code):
        for form in WHOLE + LATE + READ:
            if at + len(form) <= len(code) and all(p.match(i.text) for p, i in zip(form, code[at:])):
                (reads if form in READ else found).append(Event(code, at, form, form in LATE))
                at += len(form)
                break
        else:
            others.append(code[at])
            at += 1
    return found, reads, others


ENDS = re.compile(r"s_(branch|endpgm|setpc_b64|trap)\b")
CALLS = re.compile(r"s_(swappc|call)_b64\b")


def clock_faults(code, found, reads):
    """Late events that something else than their own clock read can lead to."""
    read_ends = {event.first + len(event.code) - 1 for event in reads}
    sources = {}
    for at, i in enumerate(code):
        if i.target is not None:
            sources.setdefault(i.target, []).append(at)
    for event in found:
        seen, waiting = set(), [event.first] if event.late else []
        while waiting:
            at = waiting.pop()
            before = sources.get(code[at].address, [])
            if at > 0 and not ENDS.match(code[at - 1].opcode):
                before = before + [at - 1]
            if at == 0:
                yield event, "the kernel's begin"
            for previous in before:
                i = code[previous]
                if previous in read_ends or previous in seen:
                    continue
                seen.add(previous)
                if CALLS.match(i.opcode) or gcn.scalar_registers(i.operands) & {76, 77}:
                    yield event, f"{i.text} at {i.address:#x}"
                else:
                    waiting.append(previous)


# ---- Rules of `events`: functions of a Build that yield a sentence for each fault. -----------------------------------

RULES = []


def rule(check):
    RULES.append(check)
    return check


class Build:
    """A source compiled with tracing, taken apart."""

    def __init__(self, tools, path, bare, optimized, pressure):
        self.bare, self.optimized, self.pressure = bare, optimized, pressure
        self.metadata = gcn.kernels(tools.readelf, path)
        self.bare_metadata = gcn.kernels(tools.readelf, bare) if bare else {}
        self.sites = gcn.sites(path)
        code_of = gcn.functions(tools.objdump, path)
        self.recording = {name: code for name, code in code_of.items() if any(i.text == BEGIN for i in code)}
        self.events, self.reads, self.others = {}, {}, {}
        for name, code in self.recording.items():
            self.events[name], self.reads[name], self.others[name] = events(code)


@rule
def registers_are_left_alone(build):
    """Where events are, no instruction but an annotation's names an annotation's registers."""
    for name, others in build.others.items():
        for i in others:
            allowed = ELSEWHERE.fullmatch(i.text) or (name.startswith(OPENCL) and PRESERVED.fullmatch(i.text))
            if gcn.scalar_registers(i.operands) & OURS and not allowed:
                yield f"{name}: {i.text} at {i.address:#x} is no event of amdgcn_event.h"


@rule
def events_are_straight(build):
    """Nothing jumps into the middle of an event."""
    for name, found in build.events.items():
        targets = {i.target for i in build.recording[name] if i.target is not None}
        for event in found:
            inside = [t for t in targets if event.address < t <= event.end]
            if inside:
                yield f"{name}: a branch goes to {inside[0]:#x}, inside of the event at {event.address:#x}"


@rule
def clocks_reach_their_events(build):
    """What a stop stores was read for it, and nothing came in between that changes the register."""
    for name, found in build.events.items():
        for event, what in clock_faults(build.recording[name], found, build.reads[name]):
            yield f"{name}: the event at {event.address:#x} has its clock from {what}"


@rule
def every_site_is_an_event(build):
    """Each copy of an event has a site of its own, which says where it is."""
    found = [event for name in build.events for event in build.events[name]]
    expected = [site for site in build.sites if site.kind != gcn.KIND_KERNEL]
    if not expected:
        yield "no site of an event: is it annotated?"
    if len(found) != len(expected):
        yield f"{len(found)} events in machine code, but {len(expected)} sites"
    if len({event.site for event in found}) != len(found):
        yield "two events name one site"
    for name, in_kernel in build.events.items():
        begins = [i.address for i in build.recording[name] if i.text == BEGIN]
        for event in in_kernel:
            distance = event.address - begins[0]
            if event.site >= len(build.sites) or build.sites[event.site].distance != distance:
                yield f"{name}: the event at {event.address:#x} names site {event.site}, which is elsewhere"


@rule
def scalar_registers_are_asked_for(build):
    """All that annotations use, and no more than leave room for 8 waves a SIMD (800 registers, given out by 16)."""
    for name, kernel in build.metadata.items():
        traced = {name, OPENCL + name} & build.recording.keys()
        if traced and not max(OURS) + 1 <= kernel["sgpr_count"] <= 96:
            if not (build.pressure and kernel["sgpr_count"] > 96):  # those of a function that it calls
                yield f"{name}: asks for {kernel['sgpr_count']} scalar registers, not for 87 to 96"


@rule
def tracing_costs_no_registers(build):
    """No vector register more, but for those of a kernel so small that a wave's start needs more (8 are the fewest that a wave
    can have), and nothing is spilled that was not."""
    if not build.optimized or build.pressure:
        return
    for name, traced in build.metadata.items():
        bare = build.bare_metadata[name]
        for key in ("private_segment_fixed_size", "group_segment_fixed_size", "sgpr_spill_count", "vgpr_spill_count",
                    "agpr_count"):  # fmt: skip
            if traced[key] > bare[key]:
                yield f"{name}: {key} is {traced[key]}, untraced {bare[key]}"
        if traced["vgpr_count"] > max(8, bare["vgpr_count"]):
            yield f"{name}: {traced['vgpr_count']} vector registers, untraced {bare['vgpr_count']}"


# ---- Cases -----------------------------------------------------------------------------------------------------------


class Tools:
    def __init__(self):
        self.clang, self.objdump, self.readelf = (find_llvm(name) for name in ("clang", "llvm-objdump", "llvm-readelf"))
        self.missing = [f"{name}-22" for name in ("clang", "ld.lld", "llvm-objdump", "llvm-readelf") if not find_llvm(name)]


def languages(source):
    return LANGUAGES.get(os.path.basename(source), [os.path.splitext(source)[1].lstrip(".")])


TRACED = ["-w", f"-I{INCLUDE}", "-DKTRACE_ENABLE=1"]  # warnings are what matrix.py is for
DISABLED = ["-w", f"-I{INCLUDE}", "-DKTRACE_ENABLE=0"]
BARE = ["-w", f"-I{UNANNOTATED}", f"-I{INCLUDE}"]


def disabled_case(tools, source, language, chip, level, work):
    name = f"{os.path.basename(source)} as {language} {chip} {level}"
    base = os.path.join(work, "gcn." + name.replace(" ", ""))
    # Names in HIP's anonymous namespaces have a hash of the options in them, unless it is given.
    constant = ["-cuid=0"] if language == "hip" else []

    def build(suffix, flags):
        return gcn.compile_code_object(tools.clang, language, source, base + suffix, chip, [level, *constant, *flags])

    def check():
        without = build(".bare.co", BARE)
        if not gcn.kernels(tools.readelf, without):
            return f"{source} has no kernel: nothing was compared"
        different = gcn.different_sections(build(".disabled.co", DISABLED), without)
        if different:
            return f"differ: {', '.join(different)}"
        # The comparison can fail: a traced build is different.
        if level == "-O2" and ".text" not in gcn.different_sections(build(".traced.co", TRACED), without):
            return "a traced build has the code of an unannotated one"
        return None

    return Case(f"disabled is unannotated: {name}", check=check)


def events_case(tools, source, language, chip, level, work):
    name = f"{os.path.basename(source)} as {language} {chip} {level}"
    base = os.path.join(work, "gcn." + name.replace(" ", ""))
    optimized = level in ("-O2", "-O3")

    def check():
        path = gcn.compile_code_object(tools.clang, language, source, base + ".events.co", chip, [level, *TRACED])
        without = None
        if optimized:
            without = gcn.compile_code_object(tools.clang, language, source, base + ".without.co", chip, [level, *BARE])
        build = Build(tools, path, without, optimized, os.path.basename(source) in PRESSURE)
        return "\n".join(sentence for test in RULES for sentence in test(build)) or None

    return Case(f"events: {name}", check=check)


# What arrives later, and what it is waited for by. (Scratch is the compiler's: without optimization it keeps variables there.)
ARRIVES = [(re.compile(r"(global|flat)_load_"), "vmcnt(0)"), (re.compile(r"ds_read|s_load_dword"), "lgkmcnt(0)")]


def not_waited_for(build):
    """How much arrives in the ranges of all kernels, and what of it nothing waits for before the range's end."""
    arrivals, faults = 0, []
    for name, code in build.recording.items():
        found = build.events[name]
        for begin, end in zip(found[::2], found[1::2]):
            inside = code[begin.first + len(begin.code) : end.first]
            for place, i in enumerate(inside):
                waits = [wait for pattern, wait in ARRIVES if pattern.match(i.text)]
                arrivals += bool(waits)
                for wait in waits:
                    if not any(j.opcode == "s_waitcnt" and wait in j.operands for j in inside[place:]):
                        faults.append(f"{name}: {i.text} at {i.address:#x} is not waited for before the end of its range")
    return arrivals, faults


def waits_case(tools, source, language, chip, level, work):
    name = f"{os.path.basename(source)} as {language} {chip} {level}"
    base = os.path.join(work, "gcn." + name.replace(" ", ""))

    def taken_apart(suffix, *flags):
        path = gcn.compile_code_object(tools.clang, language, source, base + suffix, chip, [level, *TRACED, *flags])
        return Build(tools, path, None, False, False)

    def check():
        build = taken_apart(".waits.co")
        arrivals, faults = not_waited_for(build)
        if arrivals < len(build.recording):
            return f"only {arrivals} loads in ranges of {len(build.recording)} kernels"
        # The rule can fail. (Without optimization what is loaded is stored, which waits.)
        if level != "-O0":
            arrivals, missing = not_waited_for(taken_apart(".without.co", "-DNO_WAITS"))
            if len(missing) < arrivals:
                return f"without waits {arrivals - len(missing)} of {arrivals} loads are waited for"
        return "\n".join(faults) or None

    return Case(f"waits: {name}", check=check)


def print_list(tools, source, work):
    for language in languages(source):
        for chip in gcn.CHIPS:
            path, without = (os.path.join(work, f"list.{name}.co") for name in ("traced", "bare"))
            gcn.compile_code_object(tools.clang, language, source, path, chip, ["-O2", *TRACED])
            gcn.compile_code_object(tools.clang, language, source, without, chip, ["-O2", *BARE])
            build = Build(tools, path, without, True, False)
            for name, code in build.recording.items():
                print(f"{name} as {language} for {chip}: {len(code)} instructions, {len(build.events[name])} events")
                for key in ("sgpr_count", "vgpr_count", "agpr_count", "private_segment_fixed_size"):
                    if name in build.metadata:
                        print(f"  {key} {build.metadata[name][key]}, untraced {build.bare_metadata[name][key]}")
                begins = {event.address for event in build.events[name]}
                for i in code:
                    print(f"    {i.address:05x}{'*' if i.address in begins else ' '} {i.text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["disabled", "events", "waits", "list"])
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--work", required=True, help="folder for what is built")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="run the cases whose name contains this")
    arguments = parser.parse_args()
    work = os.path.abspath(arguments.work)
    os.makedirs(work, exist_ok=True)

    tools = Tools()
    if tools.missing:
        print(f"skip: {', '.join(tools.missing)} not found")
        return SKIP
    if arguments.what == "list":
        print_list(tools, arguments.sources[0], work)
        return 0
    make = {"disabled": disabled_case, "events": events_case, "waits": waits_case}[arguments.what]
    cases = [
        make(tools, source, language, chip, level, work)
        for source in arguments.sources
        for language in languages(source)
        for chip in gcn.CHIPS
        for level in ("-O0", "-O1", "-O2", "-O3")
    ]
    return run_cases(cases, arguments.jobs, arguments.only)


if __name__ == "__main__":
    sys.exit(main())
