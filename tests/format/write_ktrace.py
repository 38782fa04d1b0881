"""A writer of .ktrace files, from docs/format.md as ktrace_file is: says what waves did, gets what a capture would have saved.

    file = File(main_ring_slots=16, lane_ring_slots=8)
    module = file.module()
    kernel, mark = module.site(KERNEL, "gemm"), module.site(MARK, "tile", UINT64)
    wave = file.wave(kernel, start_clock=1000)
    wave.event(1100, mark, payload=42)
    wave.end(2000)                           # left out: an unfinished wave, whose rings are whole
    data = file.bytes()

Rings are filled as a device fills them: indices, sequence numbers, overwriting, and on AMD GCN overhangs and skipped places are
exact. Nothing is checked, so that files which break a rule can be made, too.
"""

import struct
import zlib

from ktrace_file.sections import AMDGCN, KERNEL, NEXT, NONE, NVIDIA, STOP, WAVE_MAGIC

ADDRESS = 0x7F0000001000  # of the first wide site's descriptor
CONTROL_OFFSET = 0x140


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<I", len(data)) + data


def pack_anchors(anchors):
    return b"".join(struct.pack("<3Q", *anchor) for anchor in anchors)


def wall_ns(arch, clock):
    """NVIDIA: 2 GHz, in steps of 32 ns."""
    return 10 * clock if arch == AMDGCN else (1_000_000_000 + clock // 2) // 32 * 32


class Site:
    def __init__(self, module, kind, name, payload_type, wide, id_, line):
        self.module, self.kind, self.name, self.payload_type = module, kind, name, payload_type
        self.wide, self.id, self.line = wide, id_, line

    def bits(self):
        """As in a slot."""
        if self.module.file.arch == AMDGCN:
            return self.id - self.module.control_offset
        return 0xFFFF if self.wide else (self.id + self.module.control_offset) % 0x10000

    def followers(self):
        return self.wide + (self.payload_type != NONE)


class Module:
    def __init__(self, file, number, device, control_offset):
        self.file, self.number, self.device, self.sites = file, number, device, []
        self.control_offset = control_offset

    def site(self, kind, name="", payload_type=NONE, wide=0):
        alike = sum(site.wide == wide for site in self.sites)
        if self.file.arch == AMDGCN:
            id_ = self.control_offset + alike
        else:
            id_ = ADDRESS + 16 * alike if wide else (128 + 16 * alike) % 0x10000
        site = Site(self, kind, name, payload_type, wide, id_, 10 * (len(self.sites) + 1))
        self.sites.append(site)
        return site

    def bytes(self):
        sites = sorted(self.sites, key=lambda site: (site.wide, site.id))
        before = self.control_offset if self.file.arch == AMDGCN else 0  # of another translation unit
        data = struct.pack("<II", self.number, len(sites) + before)
        for i in range(before):
            data += struct.pack("<QI4B", i, 1, KERNEL, NONE, 0, 0) + string("other") + string("other.hip")
        for site in sites:
            data += struct.pack("<QI4B", site.id, site.line, site.kind, site.payload_type, site.wide, 0)
            data += string(site.name) + string("kernel.cu")
        return data


class Device:
    def __init__(self, ordinal, process=0, dropped=0, filtered=0, anchors=(), uuid=bytes(16), bus_id=""):
        self.ordinal, self.process, self.regions, self.dropped, self.filtered = ordinal, process, 100, dropped, filtered
        self.anchors, self.uuid, self.bus_id, self.name = anchors, uuid, bus_id, "written device"


class Ring:
    """Of one lane: its memory, and how many slots it recorded."""

    def __init__(self, capacity, amdgcn):
        self.capacity, self.amdgcn = capacity, amdgcn
        self.memory, self.overhang, self.count, self.ended = [bytes(8)] * capacity, bytes(8), 0, False

    def put(self, slots):
        for number, slot in enumerate(slots):
            self.count += 1
            place = self.count % self.capacity
            if self.amdgcn and number and place == 0:
                self.overhang = slot  # and place 0 is skipped
            else:
                self.memory[place] = slot

    def kept(self):
        if not self.ended:
            return self.memory
        first = max(self.count - self.capacity, 0) + 1
        return [self.memory[index % self.capacity] for index in range(first, self.count + 1)]


class Wave:
    def __init__(self, file, kernel, start_clock, **header):
        self.file, self.kernel, self.start_clock, self.header, self.rings = file, kernel, start_clock, header, {}
        self.end_clock = None
        self.final_counts = None  # to set other ones

    def ring(self, lane):
        if lane not in self.rings:
            main, others = self.file.capacities(self.kernel.module)
            self.rings[lane] = Ring(others if lane else main, self.file.arch == AMDGCN)
        return self.rings[lane]

    def event(self, clock, site, payload=0, token=0, lane=0):
        """The token of what a start or a next opens. `token`: of what a stop or a next closes."""
        ring = self.ring(lane)
        index = ring.count + 1
        sequence = token if site.kind in (STOP, NEXT) else index
        slots = [struct.pack("<IHH", clock % (1 << 32), site.bits(), sequence % 0x10000)]
        if site.wide:
            slots.append(struct.pack("<Q", site.id))
        if site.payload_type != NONE:
            slots.append(struct.pack("<Q", payload % (1 << 64)))
        ring.put(slots)
        return 2 * index + 1 if self.file.arch == AMDGCN else clock | 1

    def leave(self, lane):
        self.ring(lane).ended = True

    def end(self, clock):
        self.end_clock = clock
        for ring in self.rings.values():
            ring.ended = True

    def bytes(self):
        arch, counts = self.file.arch, [0] * 32
        ended = self.end_clock is not None
        for lane in range(32):
            ring = self.rings.get(lane)
            if ring.ended if ring else ended:
                counts[lane] = 8 * ((ring.count if ring else 0) + 1)
        fields = {
            "version": self.file.wire, "arch": arch, "lanes": 64 if arch == AMDGCN else 32,
            "module": self.kernel.module.number, "control_offset": self.kernel.module.control_offset,
            "kernel_site": self.kernel.id if self.kernel.wide else self.kernel.bits(), "grid_id": 7,
            "grid": (4, 1, 1), "workgroup": (0, 0, 0), "block": (256, 1, 1), "wave": 0,
            "start_wall": wall_ns(arch, self.start_clock), "end_wall": wall_ns(arch, self.end_clock) if ended else 0,
            "place": 0, "places": 0 if arch == AMDGCN else 8, "slot": 0, "rank": 0, "queue": 0,
            **self.header,
        }
        f = fields
        return struct.pack(
            "<IHBBIIQQ3I3I3HHQQQQIIIIIIQ32I", WAVE_MAGIC, f["version"], f["arch"], f["lanes"], f["module"],
            f["control_offset"], f["kernel_site"], f["grid_id"], *f["grid"], *f["workgroup"], *f["block"], f["wave"],
            self.start_clock, f["start_wall"], self.end_clock or 0, f["end_wall"], f["place"], f["places"], f["slot"],
            f["rank"], 30, 30 if ended else 0, f["queue"], *(self.final_counts or counts))


class File:
    def __init__(self, arch=NVIDIA, main_ring_slots=16, lane_ring_slots=8, name="written", wire=2, flags=0):
        self.arch, self.wire, self.flags, self.name = arch, wire, flags, name
        self.main_ring_slots, self.lane_ring_slots = main_ring_slots, 0 if arch == AMDGCN else lane_ring_slots
        self.dropped = self.filtered = 0
        self.warning, self.modules, self.waves = "", [], []
        self.anchors, self.ordinal, self.taken_ns = [], None, None
        self.devices = []  # several: each a Device
        self.processes, self.timelines = [], []  # several: each a Process, and a number
        self.origin = []  # of each process, or of the one: an Origin
        self.version, self.header_bytes, self.further = 1, 40, []  # sections: (type, flags, payload)
        self.order = lambda sections: sections

    def module(self, device=0, control_offset=None, number=None):
        if control_offset is None:
            control_offset = 0 if self.arch == AMDGCN else CONTROL_OFFSET
        self.modules.append(Module(self, len(self.modules) if number is None else number, device, control_offset))
        return self.modules[-1]

    def wave(self, kernel, start_clock=1000, **header):
        self.waves.append(Wave(self, kernel, start_clock, **header))
        return self.waves[-1]

    def capacities(self, module):
        if not self.processes:
            return self.main_ring_slots, self.lane_ring_slots
        process = self.processes[self.devices[module.device].process]
        return process.main_ring_slots, process.lane_ring_slots

    def facts(self):
        """Places, nominal clock, wall clock step, compute capability."""
        return {NVIDIA: (8, 2_000_000, 32, 90), AMDGCN: (304, 0, 40, 94)}.get(self.arch, (0, 0, 0, 0))

    def info(self):
        facts = (0, 0, 0, 0) if self.devices else self.facts()
        rings = (0, 0) if self.processes else (self.main_ring_slots, self.lane_ring_slots)
        regions = sum(device.regions for device in self.devices) or 1000
        dropped = sum(device.dropped for device in self.devices) or self.dropped
        filtered = sum(device.filtered for device in self.devices) or self.filtered
        buffer_bytes = 0 if self.processes else 64 << 20
        return struct.pack("<10I4Q", self.wire, self.arch, self.flags, *facts[:3], *rings, facts[3], 0, buffer_bytes,
                           regions, dropped, filtered) + b"".join(
            string(text) for text in (self.name, "" if self.devices else "written device", self.warning))

    def devs(self):
        data = struct.pack("<I", len(self.devices))
        for device in self.devices:
            data += struct.pack("<6I3Q", device.ordinal, *self.facts(), len(device.anchors), device.regions, device.dropped,
                                device.filtered) + pack_anchors(device.anchors) + string(device.name)
        return data + b"".join(struct.pack("<I", module.device) for module in self.modules)

    def proc(self):
        data = struct.pack("<II", len(self.processes), len(self.timelines))
        for p in self.processes:
            data += struct.pack("<IIQIIqII", p.main_ring_slots, p.lane_ring_slots, p.buffer_bytes, p.first_module,
                                p.timeline, p.host_shift_ns, p.shift_uncertainty_ns, p.reserved)
        data += b"".join(struct.pack("<q", number) for number in self.timelines)
        return data + b"".join(struct.pack("<I", device.process) for device in self.devices)

    def orig(self):
        data = struct.pack("<I", len(self.origin))
        for o in self.origin:
            data += o.identity + struct.pack("<II", o.pid, o.host_clock)
            data += b"".join(string(text) for text in (o.label, o.host, o.boot, o.program, o.version))
            data += struct.pack("<I", len(o.reads))
            data += b"".join(struct.pack("<IQQ", *read[:3]) + string(read[3]) for read in o.reads)
            data += struct.pack("<I", len(o.readings)) + pack_anchors(o.readings)
        devices = [(device.uuid, device.bus_id) for device in self.devices] or [(bytes(range(16)), "0000:17:00.0")]
        data += struct.pack("<I", len(devices))
        return data + b"".join(uuid + string(bus_id) for uuid, bus_id in devices)

    def rings(self):
        """RING and SLOT."""
        rings, slots = b"", b""
        for number, wave in enumerate(self.waves):
            for lane, ring in sorted(wave.rings.items()):
                kept = ring.kept()
                if not kept:
                    continue
                rings += struct.pack("<IHHI", number, lane, not ring.ended, len(kept))
                slots += b"".join(kept) + (ring.overhang if self.arch == AMDGCN else b"")
        return rings, slots

    def sections(self):
        rings, slots = self.rings()
        yield b"INFO", 1, self.info()
        yield b"ANCH", 1, pack_anchors(self.anchors)
        yield b"MODS", 1, struct.pack("<I", len(self.modules)) + b"".join(module.bytes() for module in self.modules)
        yield b"WAVE", 1, b"".join(wave.bytes() for wave in self.waves)
        yield b"RING", 1, rings
        yield b"SLOT", 1, slots
        if self.ordinal is not None:
            yield b"ORDN", 0, struct.pack("<I", self.ordinal)
        if self.devices:
            yield b"DEVS", 1, self.devs()
        if self.taken_ns is not None:
            yield b"TAKN", 0, struct.pack("<Q", self.taken_ns)
        if self.processes:
            yield b"PROC", 1, self.proc()
        if self.origin:
            yield b"ORIG", bool(self.processes), self.orig()
        yield from self.further

    def bytes(self):
        sections, body = self.order(list(self.sections())), b""
        for type_, flags, payload in sections:
            header = struct.pack("<4sIQI", type_, flags, len(payload), zlib.crc32(payload))
            body += header + struct.pack("<I", zlib.crc32(header)) + payload + bytes(-len(payload) % 8)
        features = (self.arch == AMDGCN) * 1 + bool(self.devices) * 2 + bool(self.processes) * 4
        header = b"\x89KTR\r\n\x1a\n" + struct.pack(
            "<HHIQQI", self.version, 1, len(sections), features, self.header_bytes + len(body), self.header_bytes)
        header += struct.pack("<I", zlib.crc32(header))
        return header + bytes(range(self.header_bytes - 40)) + body
