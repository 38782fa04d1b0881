"""A file as a trace: its waves with their events."""

import dataclasses

from . import clocks, pairing, rings
from .sections import AMDGCN, KERNEL, Sections, Wave


@dataclasses.dataclass
class Recorded:
    """One wave."""

    header: Wave
    number: int  # in WAVE
    device: int
    kernel: bytes  # None: not known
    events: list
    corrupt: int
    lost: int
    unfinished: bool
    ambiguous: bool


class Trace:
    def __init__(self, data):
        self.sections = sections = Sections(data)
        self.info, self.devices, self.modules = sections.info, sections.devices, sections.modules
        records = {}
        for ring in sections.rings:
            records.setdefault(ring.wave, []).append(ring)
        self.waves = [self.wave(number, wave, records.get(number, [])) for number, wave in enumerate(sections.waves)]

    def kernel(self, wave, module):
        if module is None:
            return None
        if wave.arch == AMDGCN:
            key = 0, wave.control_offset + wave.kernel_site
        elif wave.kernel_site > 0xFFFF:
            key = 1, wave.kernel_site
        else:
            key = 0, (wave.kernel_site - wave.control_offset) % 0x10000
        site = module.by_key.get(key)
        return site.name if site and site.kind == KERNEL else None

    def wave(self, number, wave, records):
        module = self.sections.module_by_number.get(wave.module)
        process = self.sections.process_of(number)
        decoded = [rings.decode(record, process.capacity(record.lane), wave, module) for record in records]
        ambiguous = any([clocks.resolve(ring, wave) for ring in decoded])
        events = clocks.merge(decoded)
        pairing.pair(events, self.info.arch)
        lanes = {0} if wave.arch == AMDGCN else set(range(32))
        missing = sum(wave.recorded(lane) or 0 for lane in lanes - {record.lane for record in records})
        return Recorded(
            header=wave,
            number=number,
            device=module.device if module else 0,
            kernel=self.kernel(wave, module),
            events=events,
            corrupt=sum(ring.corrupt for ring in decoded),
            lost=sum(ring.lost for ring in decoded) + missing,
            unfinished=wave.end_wall == 0 or any(ring.whole for ring in decoded),
            ambiguous=ambiguous,
        )

    def counters(self):
        """As `ktrace summary --json` names them."""
        waves = self.waves
        states = [event.state for wave in waves for event in wave.events]
        return {
            "waves": len(waves),
            "events": len(states),
            "waves_dropped": self.info.dropped,
            "waves_filtered": self.info.filtered,
            "waves_unfinished": sum(wave.unfinished for wave in waves),
            "slots_lost": sum(wave.lost for wave in waves),
            "ranges_unclosed": states.count("unclosed"),
            "ends_unmatched": states.count("unmatched"),
            "slots_corrupt": sum(wave.corrupt for wave in waves),
            "clocks_ambiguous": sum(wave.ambiguous for wave in waves),
        }


def load(path):
    with open(path, "rb") as file:
        return Trace(file.read())
