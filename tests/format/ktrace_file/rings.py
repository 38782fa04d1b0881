"""From a ring's slots to events (docs/format.md, 3.2, 3.3 and 3.6)."""

import dataclasses
import struct

from .sections import AMDGCN, BOOL, FLOAT32, INT32, KERNEL, NEXT, NONE, START, STOP, UINT32, Site

SEQUENCES = 1 << 16
WIDE = 0xFFFF
TRIAL_SLOTS = 64
EDGE_TICKS = 1 << 24
HALF_CLOCK = 1 << 31


@dataclasses.dataclass
class Event:
    clock: int  # 32 bits, until clocks.py makes 64 of it
    lane: int
    kind: int
    name: bytes
    site: Site
    payload_type: int = NONE
    payload: int = 0  # bits, extended to 64
    half: int = 0  # of the token that it opens or closes
    partner: int = None  # index in its wave; this and what follows by pairing.py
    state: str = ""  # "unclosed", "superseded", "unmatched"


def has_token(site):
    return site.kind in (STOP, NEXT)


def followers(site):
    return (site.wide != 0) + (site.payload_type != NONE)


def extended(bits, payload_type):
    if payload_type in (BOOL, UINT32, FLOAT32):
        return bits & 0xFFFFFFFF
    if payload_type == INT32:
        return ((bits & 0xFFFFFFFF) ^ HALF_CLOCK) - HALF_CLOCK & 0xFFFFFFFFFFFFFFFF
    return bits


class Slots:
    """One ring of one wave, its slots in the order in which they are given."""

    def __init__(self, slots, capacity, wave, module, overhang):
        self.bits = [int.from_bytes(slot, "little") for slot in slots]
        self.fields = [struct.unpack("<IHH", slot) for slot in slots]
        self.capacity, self.wave, self.module = capacity, wave, module
        self.overhang = int.from_bytes(overhang, "little") if wave.arch == AMDGCN else None
        self.amdgcn = wave.arch == AMDGCN

    def site(self, i, behind):
        """That the slot names; `behind` is the slot behind it, or None."""
        bits, sites = self.fields[i][1], self.module.by_key if self.module else {}
        if self.amdgcn:
            found = sites.get((0, self.wave.control_offset + bits))
        elif bits == WIDE:
            found = sites.get((1, self.bits[behind])) if behind is not None else None
        else:
            found = sites.get((0, (bits - self.wave.control_offset) % SEQUENCES))
        return found if found and found.kind != KERNEL else None

    def token_is_possible(self, i, site):
        half = self.fields[i][2]
        return half % 2 == 1 or (half == 0 and site.kind == NEXT)


class Walk:
    """Slots in the order of their indices, from `first_index` on."""

    def __init__(self, ring, order, first_index):
        self.ring, self.order, self.first_index = ring, order, first_index
        self.wrapped = first_index > 1

    def site(self, i):
        """Of the event that begins there; None: none does."""
        ring, slot = self.ring, self.order[i]
        left = len(self.order) - i
        site = ring.site(slot, self.order[i + 1] if left > 1 else None)
        if site is None or followers(site) >= left:
            return None
        if ring.amdgcn and self.wrapped and i == 0 and self.first_index % ring.capacity == 0:
            if has_token(site) or ring.capacity >= SEQUENCES:
                return None
        if has_token(site):
            return site if ring.token_is_possible(slot, site) else None
        return site if ring.fields[slot][2] == (self.first_index + i) % SEQUENCES else None

    def against(self, begin):
        end, at, points, found = min(begin + TRIAL_SLOTS, len(self.order)), begin, 0, []
        while at < end:
            site = self.site(at)
            if site:
                found.append((at, site))
                at += followers(site)
            else:
                points += 2
            at += 1
        if len(found) > 1 and found[0][0] == begin and has_token(found[0][1]):
            clocks = [self.ring.fields[self.order[at]][0] for at, _ in found[:2]]
            points += (clocks[1] - clocks[0]) % (1 << 32) >= EDGE_TICKS
        return points

    def begin(self):
        if not self.wrapped:
            return 0
        return min(range(min(2, len(self.order)) + 1), key=self.against)

    def events(self, begin, lane):
        """The events, and the slots that are corrupt."""
        ring, events, corrupt, at = self.ring, [], [], begin
        while at < len(self.order):
            site = self.site(at)
            if site is None:
                corrupt.append(self.order[at])
            else:
                events += self.event(at, site, lane)
                at += followers(site)
            at += 1
        return events, corrupt

    def payload(self, i, site):
        at, ring = i + site.wide, self.ring
        if ring.amdgcn and (self.first_index + i) % ring.capacity == ring.capacity - 1:
            return ring.overhang
        return ring.bits[self.order[at + 1]]

    def event(self, i, site, lane):
        clock, _, half = self.ring.fields[self.order[i]]
        own_half = (2 * (self.first_index + i) + 1 if self.ring.amdgcn else clock | 1) % SEQUENCES
        event = Event(clock, lane, site.kind, site.name, site)
        if site.payload_type != NONE:
            event.payload_type = site.payload_type
            event.payload = extended(self.payload(i, site), site.payload_type)
        event.half = half if site.kind == STOP else own_half
        if site.kind != NEXT:
            return [event]
        event.kind = START
        return [Event(clock, lane, STOP, b"", site, half=half), event] if half else [event]


class Whole:
    """A ring whose lane had not ended: which slot was written last?"""

    def __init__(self, ring):
        self.ring, self.capacity = ring, len(ring.fields)

    def may_begin(self, place):
        ring = self.ring
        site = ring.site(place, (place + 1) % self.capacity) if ring.bits[place] else None
        if site is None or has_token(site):
            return site if site and ring.token_is_possible(place, site) else None
        return site if (ring.fields[place][2] - place) % min(self.capacity, SEQUENCES) == 0 else None

    def candidates(self):
        found, covered, count = [], 0, 0
        for i in range(2 * self.capacity):
            place = i % self.capacity
            site, sequence = self.may_begin(place), self.ring.fields[place][2]
            if site and covered:
                newer = not has_token(site) and sequence == (count + self.capacity) % SEQUENCES
                if not newer or (self.ring.amdgcn and place == 0):
                    site = None
            if site:
                covered = followers(site)
                count = count + 1 if has_token(site) else sequence + 1
                if i >= self.capacity:
                    found.append((place, site))
            elif covered:
                covered -= 1
                count += 1
        return found

    def by_sequence(self, candidates):
        laps = SEQUENCES // self.capacity
        lap_of = [(place, self.ring.fields[place][2] // self.capacity) for place, _ in candidates]
        best = (0, 0, 0)
        for lap in list(dict.fromkeys(lap for _, lap in lap_of))[:16]:
            before = (lap - 1) % laps
            agree = sum(its == before for _, its in lap_of)
            for place, its in lap_of:
                agree += (its == lap) - (its == before)
                if its == lap and agree > best[0]:
                    best = (agree, lap, place)
        _, lap, head = best
        newest = lap * self.capacity + head
        if lap == 0 and any(place == 0 or (place > head and its == laps - 1) for place, its in lap_of):
            newest += SEQUENCES
        return self.behind(newest)

    def behind(self, newest):
        ring, full = self.ring, newest + self.capacity - 1
        last = newest + followers(self.may_begin(newest % self.capacity))
        clock = ring.fields[newest % self.capacity][0]
        while last < full:
            place = (last + 1) % self.capacity
            site = self.may_begin(place)
            step = (ring.fields[place][0] - clock) % (1 << 32)
            if not site or not has_token(site) or last + 1 + followers(site) > full or step >= HALF_CLOCK:
                break
            clock = ring.fields[place][0]
            last += 1 + followers(site)
        return last

    def by_clock(self, candidates):
        steps = [
            ((self.ring.fields[b][0] - self.ring.fields[a][0]) % (1 << 32), a, site)
            for (a, site), (b, _) in zip(candidates, candidates[1:])
        ]
        largest = max(steps, key=lambda step: step[0], default=(0,))
        if largest[0] >= HALF_CLOCK:
            return largest[1] + self.capacity + followers(largest[2])
        place, site = candidates[-1]
        return place + (self.capacity if self.ring.bits[0] else 0) + followers(site)

    def last_index(self):
        """0: nothing was written."""
        candidates = self.candidates()
        numbered = [(place, site) for place, site in candidates if not has_token(site)]
        if numbered and self.capacity < SEQUENCES:
            return self.by_sequence(numbered)
        return self.by_clock(candidates) if candidates else 0


@dataclasses.dataclass
class Decoded:
    events: list
    corrupt: int
    lost: int
    from_end: bool  # how clocks are counted
    whole: bool


def decode(record, capacity, wave, module):
    ring = Slots(record.slots, capacity, wave, module, record.overhang)
    corrupt = 0
    if record.whole:
        last = Whole(ring).last_index()
        first = max(last - capacity + 1, 1)
        order = [index % capacity for index in range(first, last + 1)]
        corrupt = sum(ring.bits[place] != 0 for place in set(range(capacity)) - set(order))
    else:
        first = wave.recorded(record.lane) - record.count + 1
        order = list(range(record.count))
    walk = Walk(ring, order, first)
    begin = walk.begin()
    events, slots = walk.events(begin, record.lane)
    corrupt += sum(not record.whole or ring.bits[slot] != 0 for slot in slots)
    return Decoded(events, corrupt, first - 1 + begin, walk.wrapped and not record.whole and wave.end_wall != 0,
                   bool(record.whole))
