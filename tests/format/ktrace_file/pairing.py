"""Which end closes which range (docs/format.md, 3.5)."""

import dataclasses

from .sections import AMDGCN, POP, PUSH, START, STOP


@dataclasses.dataclass(eq=False)
class Range:
    begin: int  # index of its event in the wave, as `end` is
    lane: int
    name: bytes
    half: int = 0  # of its token
    end: int = None
    claimed: bool = False  # by a pop
    popped: bool = False  # by the lane that pushed it


@dataclasses.dataclass(eq=False)
class Claim:
    pop: int
    lane: int
    range: Range = None  # None: rule 3 decides when all events are read


class Stacks:
    """Pushes and pops of one wave."""

    def __init__(self):
        self.ranges, self.claims, self.unmatched = [], [], set()
        self.from_below = {}  # lane: how many it claimed by rules 2 and 3

    def push(self, event, lane, name):
        self.ranges.append(Range(event, lane, name))

    def newest(self, wanted):
        return next((range_ for range_ in reversed(self.ranges) if wanted(range_)), None)

    def pop(self, event, lane):
        so_far = self.from_below.get(lane, 0)
        if own := self.newest(lambda r: r.lane == lane and not r.popped):
            own.popped = True
            self.claim(event, lane, own)
        elif below := self.newest(lambda r: r.lane < lane and not r.claimed):
            self.from_below[lane] = so_far + 1
            self.claim(event, lane, below)
        elif sum(r.lane < lane and r.claimed for r in self.ranges) > so_far:
            self.from_below[lane] = so_far + 1
            self.claims.append(Claim(event, lane))
        elif above := self.newest(lambda r: r.lane > lane and not r.claimed):
            for range_ in self.ranges[self.ranges.index(above) :]:
                range_.popped |= range_.lane == above.lane
            self.claim(event, lane, above)
        else:
            self.unmatched.add(event)

    def claim(self, event, lane, range_):
        range_.claimed = True
        self.claims.append(Claim(event, lane, range_))

    def decide(self, lane):
        """The lane's claims by rule 3."""
        taken, at = [], len(self.claims)
        for number in reversed([i for i, claim in enumerate(self.claims) if claim.lane == lane and claim.range is None]):
            at = min(at, number)
            while at > 0 and self.claims[number].range is None:
                at -= 1
                other = self.claims[at]
                if other.lane != lane and other.range and other.range.lane < lane and other.range not in taken:
                    taken.append(other.range)
                    self.claims[number].range = other.range

    def finish(self, events):
        for lane in sorted({claim.lane for claim in self.claims if claim.range is None}):
            self.decide(lane)
        for claim in self.claims:
            events[claim.pop].state = "superseded"
            if claim.range:
                claim.range.end = claim.pop


class Tokens:
    """Starts and stops of one wave; a next is both."""

    def __init__(self, arch):
        self.amdgcn = arch == AMDGCN
        self.ranges, self.unmatched = [], set()

    def start(self, event, lane, name, half):
        self.ranges.append(Range(event, lane, name, half))

    def named(self, half, lane, events):
        """The range that a stop by this lane closes."""
        had = [r for r in self.ranges if r.half == half]
        for range_ in reversed(had):
            if range_.end is None:
                return range_
        if not had:
            return None
        if self.amdgcn:
            return had[-1]
        for range_ in reversed(self.ranges):
            if range_.end is None and range_.name == had[-1].name:
                return range_
        return had[-1] if events[had[-1].end].lane != lane else None

    def stop(self, number, event, events):
        range_ = self.named(event.half, event.lane, events)
        if range_ is None:
            self.unmatched.add(number)
            return
        if range_.end is not None:
            events[range_.end].state = "superseded"
        range_.end = number


def pair(events, arch):
    """Sets `partner`, `state`, and the names of ends."""
    stacks, tokens = Stacks(), Tokens(arch)
    for number, event in enumerate(events):
        if event.kind == PUSH:
            stacks.push(number, event.lane, event.name)
        elif event.kind == POP:
            stacks.pop(number, event.lane)
        elif event.kind == START:
            tokens.start(number, event.lane, event.name, event.half)
        elif event.kind == STOP:
            tokens.stop(number, event, events)
    stacks.finish(events)
    for number in stacks.unmatched | tokens.unmatched:
        events[number].state = "unmatched"
    for range_ in stacks.ranges + tokens.ranges:
        if range_.end is None:
            events[range_.begin].state = "unclosed"
        else:
            events[range_.begin].partner, events[range_.end].partner = range_.end, range_.begin
            events[range_.end].state = ""
            events[range_.end].name = range_.name
