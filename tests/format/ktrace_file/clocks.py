"""Clocks of 64 bits, and the order of a wave's events (docs/format.md, 3.4)."""

LEAVE_TICKS = 1 << 20
TURN = 1 << 32
LARGEST = (1 << 64) - 1


def forward(events, clock):
    for event in events:
        clock = event.clock = min(clock + (event.clock - clock) % TURN, LARGEST)


def backward(events, clock):
    for event in reversed(events):
        clock = event.clock = max(clock - (clock - event.clock) % TURN, 0)


def resolve(ring, wave):
    """Whether the clocks of the ring's events are ambiguous afterwards."""
    if not ring.events:
        return False
    if ring.from_end:
        backward(ring.events, min(wave.end_clock + LEAVE_TICKS, LARGEST))
        return ring.events[0].clock < wave.start_clock
    forward(ring.events, wave.start_clock)
    if ring.whole or wave.end_wall == 0:
        return False
    left = wave.end_clock - ring.events[-1].clock
    return left < -LEAVE_TICKS or left >= TURN


def merge(rings):
    """By clock, then lane, then the ring's own order: rings come in the order of their lanes."""
    return sorted((event for ring in rings for event in ring.events), key=lambda event: (event.clock, event.lane))
