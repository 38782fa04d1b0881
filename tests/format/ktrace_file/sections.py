"""What is in the sections, and the rules that they obey (docs/format.md, 2, 3.1 and 4)."""

import dataclasses
import math
import struct

from .container import FEATURE_AMDGCN, FEATURE_DEVICES, FEATURE_PROCESSES, Cursor, Refused, require, sections
from .processes import Process, read_origin, read_processes

NVIDIA, AMDGCN, HOST = 1, 2, 3
WIRE_VERSION = 2
KERNEL, MARK, PUSH, POP, START, STOP, NEXT = range(1, 8)
NONE, BOOL, INT64, UINT64, FLOAT32, FLOAT64, INT32, UINT32 = range(8)
FLAG_PEEK, FLAG_KEEP_LAST, FLAG_SIMULATED = 1, 2, 4
SLOTS_MAX = 1 << 30  # of a ring, and of a wave
SITE_TEXT_MAX = 4094  # bytes of a site's name and file
WAVE_MAGIC = 0x5657544B
ONCE = (b"INFO", b"ANCH", b"MODS", b"WAVE", b"RING", b"SLOT")
AT_MOST_ONCE = (b"ORDN", b"DEVS", b"TAKN", b"PROC", b"ORIG")


@dataclasses.dataclass
class Site:
    id: int
    line: int
    kind: int
    payload_type: int
    wide: int
    name: bytes
    file: bytes


@dataclasses.dataclass
class Module:
    number: int
    device: int
    sites: list

    def __post_init__(self):
        self.by_key = {(site.wide, site.id): site for site in self.sites}


@dataclasses.dataclass
class Device:
    ordinal: int
    places: int
    nominal_khz: int
    wall_step_ns: int
    compute_capability: int
    regions: int
    dropped: int
    filtered: int
    anchors: list
    name: bytes
    process: int = 0


@dataclasses.dataclass
class Info:
    wire: int
    arch: int
    flags: int
    places: int
    nominal_khz: int
    wall_step_ns: int
    main_ring_slots: int
    lane_ring_slots: int
    compute_capability: int
    reserved: int
    buffer_bytes: int
    regions: int
    dropped: int
    filtered: int
    name: bytes = b""
    device: bytes = b""
    warning: bytes = b""


@dataclasses.dataclass
class Wave:
    magic: int
    version: int
    arch: int
    lanes: int
    module: int
    control_offset: int
    kernel_site: int
    grid_id: int
    grid: tuple
    workgroup: tuple
    block: tuple
    wave: int
    start_clock: int
    start_wall: int
    end_clock: int
    end_wall: int
    place: int
    places: int
    hardware_slot: int
    cluster_rank: int
    start_gap: int
    end_gap: int
    queue: int
    final_counts: tuple

    def recorded(self, lane):
        """How many slots, once the lane ended."""
        return self.final_counts[lane] // 8 - 1 if self.final_counts[lane] >= 8 else None


@dataclasses.dataclass
class Ring:
    wave: int
    lane: int
    whole: int
    count: int
    slots: tuple = ()  # of 8 bytes each
    overhang: bytes = b""


def read_info(payload):
    cursor = Cursor(payload, "INFO")
    info = Info(*cursor.take("10I4Q"))
    if info.wire > WIRE_VERSION:
        raise Refused(f"wire version {info.wire}", "version")
    require(info.wire >= 1, "wire version 0")
    require(info.arch in (NVIDIA, AMDGCN, HOST), f"architecture {info.arch}")
    info.name, info.device, info.warning = cursor.string(), cursor.string(), cursor.string()
    cursor.end()
    require(info.arch != AMDGCN or info.lane_ring_slots == 0, "AMD GCN has no rings of other lanes")
    require(info.reserved == 0, "what is reserved is 0")
    for slots in (info.main_ring_slots, info.lane_ring_slots):
        require(slots & (slots - 1) == 0 and slots <= SLOTS_MAX, f"a ring of {slots} slots")
    return info


def read_anchors(cursor, count):
    return [cursor.take("3Q") for _ in range(count)]


def read_site(cursor):
    id_, line, kind, payload_type, wide, reserved = cursor.take("QI4B")
    require(KERNEL <= kind <= NEXT, f"a site of kind {kind}")
    require(payload_type <= UINT32, f"payload type {payload_type}")
    require(wide <= 1 and reserved == 0, "a site's wide is 0 or 1, what is reserved 0")
    name, file = cursor.string(), cursor.string()
    require(len(name) + len(file) <= SITE_TEXT_MAX, "a site's name and file are too long")
    return Site(id_, line if file else 0, kind, payload_type, wide, name, file)


def read_modules(payload, arch):
    cursor, modules = Cursor(payload, "MODS"), []
    count = cursor.take("I")
    require(count <= cursor.left() // 8, "more modules than bytes")
    for _ in range(count):
        number, site_count = cursor.take("II")
        require(site_count <= cursor.left() // 24, "more sites than bytes")
        require(not modules or number > modules[-1].number, "modules are in ascending order")
        sites = [read_site(cursor) for _ in range(site_count)]
        keys = [(site.wide, site.id) for site in sites]
        require(all(a < b for a, b in zip(keys, keys[1:])), f"module {number}: sites are in ascending order")
        if arch == AMDGCN:
            require(keys == [(0, i) for i in range(site_count)], f"module {number}: ids are 0, 1, 2 and so on")
        else:
            narrow = [id_ for wide, id_ in keys if not wide]
            require(len(narrow) <= 4096, f"module {number}: too many sites")
            require(all(id_ <= 0xFFFF for id_ in narrow), f"module {number}: an id is modulo 2^16")
        modules.append(Module(number, 0, sites))
    cursor.end()
    return modules


def read_waves(payload, info):
    require(len(payload) % 256 == 0, "WAVE ends within a wave")
    waves = []
    for fields in struct.iter_unpack("<IHBBIIQQ3I3I3HHQQQQIIIIIIQ32I", payload):
        wave = Wave(*fields[:8], fields[8:11], fields[11:14], fields[14:17], *fields[17:29], fields[29:])
        what = f"wave {len(waves)}"
        require(wave.magic == WAVE_MAGIC, f"{what} is none")
        if not 1 <= wave.version <= WIRE_VERSION:
            raise Refused(f"{what}: version {wave.version}", "version")
        require(wave.arch in (NVIDIA, AMDGCN, HOST), f"{what}: architecture {wave.arch}")
        require((wave.arch == AMDGCN) == (info.arch == AMDGCN), f"{what}: architecture {wave.arch} in a file of {info.arch}")
        require(1 <= wave.lanes <= (64 if info.arch == AMDGCN else 32), f"{what}: {wave.lanes} lanes")
        require(all(wave.grid) and all(wave.block), f"{what}: a grid or block without extent")
        require(all(w < g for w, g in zip(wave.workgroup, wave.grid)), f"{what}: its workgroup is outside of the grid")
        in_workgroup = -(-math.prod(wave.block) // (64 if info.arch == AMDGCN else 32))
        require(wave.wave < in_workgroup, f"{what}: number {wave.wave} of {in_workgroup} in its workgroup")
        require(math.prod(wave.grid) * in_workgroup < 1 << 64, f"{what}: more waves in the grid than there can be")
        waves.append(wave)
    return waves


def check_capacities(process, has_rings, arch):
    for slots in (process.main_ring_slots, process.lane_ring_slots):
        require(slots & (slots - 1) == 0 and slots <= SLOTS_MAX, f"a ring of {slots} slots")
    if arch == AMDGCN:
        require(process.lane_ring_slots == 0, "AMD GCN has no rings of other lanes")
    if has_rings:
        require(process.main_ring_slots, "rings without a capacity")
        require(process.lane_ring_slots or arch == AMDGCN, "rings of other lanes without a capacity")


def check_ring(ring, capacity, wave, arch):
    require(ring.lane == 0 if arch == AMDGCN else ring.lane <= 31, f"lane {ring.lane}")
    require(ring.whole <= 1, f"whole is {ring.whole}")
    require(capacity and ring.count <= capacity, f"{ring.count} slots of {capacity}")
    require(not ring.whole or ring.count == capacity, "not all of its slots")
    if not ring.whole:
        final = wave.final_counts[ring.lane]
        require(final >= 8 and final % 8 == 0, f"a final count of {final}")
        require(ring.count <= final // 8 - 1, f"{ring.count} slots, but a final count of {final}")


def read_rings(payload, slots, arch, waves, process_of):
    require(len(payload) % 12 == 0, "RING ends within a ring")
    require(len(slots) % 8 == 0, "SLOT ends within a slot")
    rings, at, total = [], 0, {}
    overhang = 8 if arch == AMDGCN else 0
    for ring in (Ring(*fields) for fields in struct.iter_unpack("<IHHI", payload)):
        require(ring.wave < len(waves), f"ring {len(rings)}: there is no wave {ring.wave}")
        require(not rings or (rings[-1].wave, rings[-1].lane) < (ring.wave, ring.lane), f"ring {len(rings)}: not in order")
        check_ring(ring, process_of(ring.wave).capacity(ring.lane), waves[ring.wave], arch)
        end = at + 8 * ring.count
        require(end + overhang <= len(slots), f"ring {len(rings)}: its slots are not there")
        ring.slots = tuple(slots[i : i + 8] for i in range(at, end, 8))
        ring.overhang = slots[end : end + overhang]
        at = end + overhang
        rings.append(ring)
        total[ring.wave] = total.get(ring.wave, 0) + ring.count
    require(at == len(slots), "slots of no ring")
    require(all(count <= SLOTS_MAX for count in total.values()), "more slots in a wave than there can be")
    return rings


def read_devices(payload, info, modules):
    cursor = Cursor(payload, "DEVS")
    count = cursor.take("I")
    require(2 <= count <= 1024, f"{count} are not several devices")
    devices = []
    for _ in range(count):
        ordinal, places, khz, step, capability, anchors, regions, dropped, filtered = cursor.take("6I3Q")
        require(anchors <= cursor.left() // 24, "DEVS ends within a device")
        anchors = read_anchors(cursor, anchors)
        devices.append(Device(ordinal, places, khz, step, capability, regions, dropped, filtered, anchors, cursor.string()))
    for module in modules:
        module.device = cursor.take("I")
        require(module.device < count, f"module {module.number}: there is no device {module.device}")
    cursor.end()
    require(not (info.places or info.nominal_khz or info.wall_step_ns or info.compute_capability or info.device),
            "INFO tells of one device")
    for field in ("regions", "dropped", "filtered"):
        require(getattr(info, field) == sum(getattr(device, field) for device in devices), f"the sum of {field} is wrong")
    return devices


def read_number(payloads, type_, form):
    """The only field of a section that need not be there."""
    if type_ not in payloads:
        return None
    cursor = Cursor(payloads[type_], type_.decode())
    number = cursor.take(form)
    cursor.end()
    return number


class Sections:
    """All of a file that needs no interpretation."""

    def __init__(self, data):
        self.header, payloads = sections(data, ONCE + AT_MOST_ONCE)
        for type_ in ONCE:
            require(type_ in payloads, f"there is no section {type_}")
        self.info = info = read_info(payloads[b"INFO"])
        require(bool(self.header.features & FEATURE_AMDGCN) == (info.arch == AMDGCN), "features do not fit the architecture")
        require(bool(self.header.features & FEATURE_DEVICES) == (b"DEVS" in payloads), "features do not fit the devices")
        anchors = payloads[b"ANCH"]
        require(len(anchors) % 24 == 0, "ANCH ends within an anchor")
        anchors = read_anchors(Cursor(anchors, "ANCH"), len(anchors) // 24)
        self.modules = read_modules(payloads[b"MODS"], info.arch)
        ordinal = read_number(payloads, b"ORDN", "I")
        self.taken_ns = read_number(payloads, b"TAKN", "Q")
        if b"DEVS" in payloads:
            require(not anchors, "ANCH tells of one device")
            self.devices = read_devices(payloads[b"DEVS"], info, self.modules)
        else:
            self.devices = [self.one_device(ordinal or 0, anchors)]
        self.read_processes(payloads)
        self.module_by_number = {module.number: module for module in self.modules}
        self.waves = read_waves(payloads[b"WAVE"], info)
        if len(self.devices) > 1:
            for number, wave in enumerate(self.waves):
                require(wave.module in self.module_by_number, f"wave {number}: there is no module {wave.module}")
        self.rings = read_rings(payloads[b"RING"], payloads[b"SLOT"], info.arch, self.waves, self.process_of)
        several = len(self.processes) > 1
        for process in self.processes:
            nothing = several and not process.main_ring_slots and not process.lane_ring_slots
            check_capacities(process, self.rings and not nothing, info.arch)

    def read_processes(self, payloads):
        """PROC and ORIG."""
        info, several = self.info, b"PROC" in payloads
        require(bool(self.header.features & FEATURE_PROCESSES) == several, "features do not fit the processes")
        if several:
            require(b"DEVS" in payloads and b"ORIG" in payloads, "PROC is not there without DEVS and ORIG")
            require(not (info.main_ring_slots or info.lane_ring_slots or info.buffer_bytes), "INFO tells of one process")
            self.processes, self.timelines = read_processes(payloads[b"PROC"], self.devices, self.modules)
        else:
            self.processes, self.timelines = [Process(info.main_ring_slots, info.lane_ring_slots, info.buffer_bytes)], [0]
        of_process = [(device.process, device.ordinal) for device in self.devices]
        require(len(set(of_process)) == len(of_process), "two devices of a process with one number")
        self.origin = read_origin(payloads[b"ORIG"], len(self.processes), len(self.devices)) if b"ORIG" in payloads else None

    def process_of(self, wave):
        """Of a wave by its number."""
        module = self.module_by_number.get(self.waves[wave].module) if len(self.processes) > 1 else None
        return self.processes[self.devices[module.device].process if module else 0]

    def one_device(self, ordinal, anchors):
        info = self.info
        return Device(ordinal, info.places, info.nominal_khz, info.wall_step_ns, info.compute_capability, info.regions,
                      info.dropped, info.filtered, anchors, info.device)
