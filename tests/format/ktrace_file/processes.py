"""Files of several processes, and who recorded (docs/format.md, 2.10 and 2.11)."""

import dataclasses

from .container import Cursor, require

SEVERAL_MAX = 1024
FAR_NS = 3_456_000_000_000_000  # that a timeline is from the first
SHIFT_MAX_NS = 1 << 61
REALTIME = 1


@dataclasses.dataclass
class Process:
    main_ring_slots: int
    lane_ring_slots: int
    buffer_bytes: int
    first_module: int = 0
    timeline: int = 0
    host_shift_ns: int = 0
    shift_uncertainty_ns: int = 0
    reserved: int = 0

    def capacity(self, lane):
        return self.lane_ring_slots if lane else self.main_ring_slots


@dataclasses.dataclass
class Origin:
    identity: bytes
    pid: int
    host_clock: int
    label: bytes
    host: bytes
    boot: bytes
    program: bytes
    version: bytes
    reads: list  # (capture, first, last, filter)
    readings: list  # (real before, monotonic, real after)


def read_processes(payload, devices, modules):
    """Sets the process of each device, too."""
    cursor = Cursor(payload, "PROC")
    count, timeline_count = cursor.take("II")
    require(2 <= count <= SEVERAL_MAX, f"{count} are not several processes")
    require(count <= len(devices), f"{count} processes have {len(devices)} devices")
    require(count <= len(devices), f"{count} processes of {len(devices)} devices")
    require(1 <= timeline_count <= count, f"{timeline_count} timelines of {count} processes")
    processes = [Process(*cursor.take("IIQIIqII")) for _ in range(count)]
    timelines = [cursor.take("q") for _ in range(timeline_count)]
    for device in devices:
        device.process = cursor.take("I")
        require(device.process < count, f"there is no process {device.process}")
    cursor.end()
    require(processes[0].first_module == 0, "the first process's modules do not begin with 0")
    for number, process in enumerate(processes):
        require(process.timeline < timeline_count, f"process {number}: there is no timeline {process.timeline}")
        require(process.reserved == 0, "what is reserved is 0")
        require(abs(process.host_shift_ns) <= SHIFT_MAX_NS, "a host's clock is too far away")
        require(number == 0 or process.first_module >= processes[number - 1].first_module, "processes are in order")
    require(timelines[0] == 0, "the first timeline is 0 from itself")
    require(all(abs(number) <= FAR_NS for number in timelines), "a timeline is too far away")
    for module in modules:
        owner = max(i for i, process in enumerate(processes) if process.first_module <= module.number)
        require(devices[module.device].process == owner, f"module {module.number} has a number of another process")
    return processes, timelines


def read_reads(cursor):
    for _ in range(cursor.take("I")):
        capture, first, last = cursor.take("IQQ")
        require(capture and first, "captures and reads are counted from 1")
        require(first <= last < (1 << 64) - 1, "reads are in order")
        yield capture, first, last, cursor.string()


def read_origin(payload, process_count, device_count):
    """The processes, and the UUID and bus id of each device."""
    cursor = Cursor(payload, "ORIG")
    require(cursor.take("I") == process_count, "another number of processes")
    processes = []
    for _ in range(process_count):
        identity, (pid, clock) = cursor.bytes(16), cursor.take("II")
        require(clock == REALTIME, f"host clock {clock}")
        strings = [cursor.string() for _ in range(5)]
        reads = list(read_reads(cursor))
        readings = [cursor.take("3Q") for _ in range(cursor.take("I"))]
        processes.append(Origin(identity, pid, clock, *strings, reads, readings))
    require(cursor.take("I") == device_count, "another number of devices")
    devices = []
    for _ in range(device_count):
        devices.append((cursor.bytes(16), cursor.string()))
        require(len(devices[-1][1]) < 32, "a bus id is shorter")
    cursor.end()
    return processes, devices
