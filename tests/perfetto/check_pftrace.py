#!/usr/bin/env python3
"""Check a .pftrace.gz against the official schema, as a reader that shares no code with the writer.

    check_pftrace.py FILE...                       every rule below
    check_pftrace.py --dump FILE                   and print the tracks and events as text
    check_pftrace.py --golden TEXT FILE            and compare that text; --update writes it
    check_pftrace.py --synthetic FILE              and the payloads of make_synthetic's trace, value by value
    check_pftrace.py --fields perfetto_fields.h    compare our table of field numbers with the schema

Needs the packages of requirements.txt. The rules are those of the viewer's importer (trace_processor): what it drops or
repairs in silence is an error here.
"""

import argparse
import collections
import difflib
import json
import math
import re
import sys
import zlib

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

MEMBER_BYTES = 1 << 20
CLEARED = pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
NEEDS = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
BOOTTIME = 6
BEGIN, END, INSTANT = (
    pb.TrackEvent.TYPE_SLICE_BEGIN,
    pb.TrackEvent.TYPE_SLICE_END,
    pb.TrackEvent.TYPE_INSTANT,
)
SPANS = {"Warp Span", "Wave Span"}
SIMULATED = "ktrace (simulated time)"  # the first track of what no hardware recorded


RELATIONS = [("string", name) for name in ("self", "device", "host", "realtime", "placed", "none")]

class Fault(Exception):
    pass


def require(condition, text, *values):
    if not condition:
        raise Fault(text.format(*values))


# ---- Bytes ------------------------------------------------------------------------------------------------------


def members(data):
    """The uncompressed content of every gzip member."""
    while data:
        require(data[:3] == b"\x1f\x8b\x08", "a gzip member begins with {}", data[:3].hex())
        require(data[3] == 0, "gzip flags {}: a name or a comment makes the bytes differ", data[3])
        require(data[4:8] == bytes(4), "gzip time is not 0")
        stream = zlib.decompressobj(31)
        content = stream.decompress(data)
        require(stream.eof, "the last gzip member is cut off")
        yield content
        data = stream.unused_data


def packets(content):
    """Packet by packet, so that a large trace needs no second copy."""
    at = 0
    while at < len(content):
        require(content[at] == 0x0A, "byte {} begins no packet", at)
        at, length, shift = at + 1, 0, 0
        while True:
            byte = content[at]
            length |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                break
        require(byte != 0 or shift == 7, "a length at byte {} is longer than it needs to be", at)
        require(at + length <= len(content), "the last packet is cut off")
        packet = pb.TracePacket()
        packet.ParseFromString(content[at : at + length])
        at += length
        yield packet


def no_unknown_fields(message):
    require(len(UnknownFieldSet(message)) == 0, "{} has fields that the schema does not know", message.DESCRIPTOR.name)
    for field, value in message.ListFields():
        if field.message_type:
            for child in value if isinstance(value, collections.abc.Sequence) or hasattr(value, "add") else [value]:
                no_unknown_fields(child)


# ---- The importer -----------------------------------------------------------------------------------------------

Track = collections.namedtuple("Track", "uuid name parent ordering rank children events")
Event = collections.namedtuple("Event", "time type name category arguments")
Slice = collections.namedtuple("Slice", "begin end depth instant name category arguments")


def value_of(annotation):
    """(type, value), as text."""
    kind = annotation.WhichOneof("value")
    if kind is None and annotation.dict_entries:
        return "dict", {entry.name: value_of(entry) for entry in annotation.dict_entries}
    require(kind is not None, "annotation {} has no value", annotation.name)
    value = getattr(annotation, kind)
    if kind == "double_value":
        require(math.isfinite(value), "annotation {} is {}: the viewer shows that as nothing", annotation.name, value)
    return kind.removesuffix("_value"), value


class Sequence:
    def __init__(self):
        self.valid = False
        self.clear()

    def clear(self):
        self.categories, self.names, self.arguments = {}, {}, {}
        self.clock, self.track, self.time = None, None, None
        self.events = 0


class Reader:
    def __init__(self):
        self.sequences = collections.defaultdict(Sequence)
        self.tracks = {}
        self.roots = []
        self.boottime = None
        self.time_zero = None
        self.packet_count = self.event_count = 0

    def read(self, packet):
        self.packet_count += 1
        no_unknown_fields(packet)
        require(packet.trusted_packet_sequence_id, "packet {} has no sequence id", self.packet_count)
        sequence = self.sequences[packet.trusted_packet_sequence_id]
        if packet.sequence_flags & CLEARED:
            require(not sequence.valid, "sequence {} is begun twice", packet.trusted_packet_sequence_id)
            sequence.clear()
            sequence.valid = True
        else:
            require(sequence.valid, "sequence {} does not begin cleared", packet.trusted_packet_sequence_id)
        if packet.HasField("trace_packet_defaults"):
            require(packet.sequence_flags & CLEARED, "defaults after the sequence's first packet")
            sequence.clock = packet.trace_packet_defaults.timestamp_clock_id
            if packet.trace_packet_defaults.HasField("track_event_defaults"):
                sequence.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        if packet.HasField("interned_data"):
            require(packet.sequence_flags & NEEDS, "interned data without SEQ_NEEDS_INCREMENTAL_STATE")
            self.intern(sequence.categories, packet.interned_data.event_categories)
            self.intern(sequence.names, packet.interned_data.event_names)
            self.intern(sequence.arguments, packet.interned_data.debug_annotation_names)
        if packet.HasField("clock_snapshot"):
            require(not packet.HasField("track_event") and not packet.HasField("track_descriptor"),
                    "the importer reads nothing else of a packet with a clock snapshot")
            self.snapshot(sequence, packet.clock_snapshot)
        if packet.HasField("track_descriptor"):
            self.declare(packet.track_descriptor)
        if packet.HasField("track_event"):
            self.event(sequence, packet)

    def intern(self, table, entries):
        for entry in entries:
            require(entry.iid, "interned id 0")
            require(entry.iid not in table, "id {} is interned twice", entry.iid)
            table[entry.iid] = entry.name

    def snapshot(self, sequence, snapshot):
        clocks = {clock.clock_id: clock for clock in snapshot.clocks}
        require(BOOTTIME in clocks, "a clock snapshot without BOOTTIME")
        boottime = clocks[BOOTTIME].timestamp
        if self.boottime is None:
            require(snapshot.primary_trace_clock == BOOTTIME, "the first snapshot does not name the trace's clock")
        require(self.boottime in (None, boottime), "BOOTTIME moves between snapshots: their hashes may be equal")
        self.boottime = boottime
        for number, clock in clocks.items():
            if number == BOOTTIME:
                require(not clock.is_incremental, "BOOTTIME cannot be incremental")
                continue
            require(64 <= number < 128, "clock {} belongs to no sequence", number)
            require(clock.is_incremental and clock.unit_multiplier_ns == 1, "clock {} is not incremental in ns", number)
            require(clock.timestamp == boottime, "clock {} is anchored elsewhere", number)
            sequence.time = boottime

    def declare(self, descriptor):
        require(descriptor.uuid, "a track without a uuid")
        require(descriptor.uuid not in self.tracks, "track {} is declared twice", descriptor.uuid)
        require(descriptor.name, "track {} has no name", descriptor.uuid)
        require(descriptor.HasField("sibling_order_rank"), "track {} has no rank", descriptor.name)
        require(descriptor.sibling_merge_behavior == pb.TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE,
                "track {} may be merged with another of its name", descriptor.name)
        parent = None
        if descriptor.parent_uuid:
            parent = self.tracks.get(descriptor.parent_uuid)
            require(parent, "track {}: its parent {} is not declared yet", descriptor.name, descriptor.parent_uuid)
            require(parent.ordering == pb.TrackDescriptor.EXPLICIT, "track {}: its parent has no explicit order",
                    descriptor.name)
        track = Track(descriptor.uuid, descriptor.name, parent, descriptor.child_ordering,
                      descriptor.sibling_order_rank, [], [])
        siblings = parent.children if parent else self.roots
        require(all(sibling.rank != track.rank for sibling in siblings[-1:]), "track {}: its rank is taken", track.name)
        require(not siblings or siblings[-1].rank < track.rank, "track {}: ranks do not rise", track.name)
        siblings.append(track)
        self.tracks[track.uuid] = track

    def event(self, sequence, packet):
        event = packet.track_event
        require(packet.sequence_flags & NEEDS, "an event without SEQ_NEEDS_INCREMENTAL_STATE")
        require(packet.HasField("timestamp"), "an event without a time")
        clock = packet.timestamp_clock_id or sequence.clock
        if clock == BOOTTIME:
            time = packet.timestamp
        else:
            require(sequence.time is not None, "a sequence's clock is used before its snapshot")
            sequence.time += packet.timestamp
            time = sequence.time
        require(0 <= time < 1 << 63, "time {} is no int64", time)
        uuid = event.track_uuid or sequence.track
        track = self.tracks.get(uuid)
        require(track, "an event on track {}, which is not declared yet", uuid)
        require(not (event.name and event.name_iid), "an event with two names")
        if event.name_iid:
            require(event.name_iid in sequence.names, "event name {} is not interned", event.name_iid)
        name = sequence.names[event.name_iid] if event.name_iid else event.name
        for iid in event.category_iids:
            require(iid in sequence.categories, "category {} is not interned", iid)
        categories = [sequence.categories[iid] for iid in event.category_iids] + list(event.categories)
        arguments = {}
        for annotation in event.debug_annotations:
            if annotation.name_iid:
                require(annotation.name_iid in sequence.arguments, "annotation {} is not interned", annotation.name_iid)
                annotation.name = sequence.arguments[annotation.name_iid]
            require(annotation.name and annotation.name not in arguments, "annotation {!r} twice", annotation.name)
            arguments[annotation.name] = value_of(annotation)
        require(event.type in (BEGIN, END, INSTANT), "event type {}", event.type)
        require((event.type == END) == (name == "" and not categories), "{} event named {!r}", event.type, name)
        require(len(categories) <= 1, "{} categories", len(categories))
        if self.time_zero is None:
            require(track.name in ("ktrace", SIMULATED), "the first event is on track {}", track.name)
            require((track.name == SIMULATED) == name.endswith(" (simulated time)") == ("simulated_time" in arguments),
                    "{!r} on track {}: is it simulated?", name, track.name)
            self.time_zero = time
        self.event_count += 1
        track.events.append(Event(time, event.type, name, categories[0] if categories else "", arguments))

    # ---- Slices -------------------------------------------------------------------------------------------------

    def slices(self, track):
        """What the viewer draws: slices and instants in order of begin, outer ones first."""
        drawn, open_slices = [], []
        last = None
        for event in sorted(track.events, key=lambda e: e.time):  # stable, as the importer's sort is
            require(last is None or event.time >= last, "time runs back")
            last = event.time
            if event.type == END:
                require(open_slices, "track {}: an end without a begin", track.name)
                index = open_slices.pop()
                begun = drawn[index]
                require(not set(begun.arguments) & set(event.arguments), "{}: an argument twice", begun.name)
                drawn[index] = begun._replace(end=event.time, arguments={**begun.arguments, **event.arguments})
                continue
            instant = event.type == INSTANT
            drawn.append(Slice(event.time, event.time if instant else None, len(open_slices), instant, event.name,
                               event.category, event.arguments))
            if event.type == BEGIN:
                open_slices.append(len(drawn) - 1)
        require(not open_slices, "track {}: {} slices never end", track.name, len(open_slices))
        return drawn

    def check_tracks(self):
        for track in self.tracks.values():
            require(bool(track.children) <= (track.ordering == pb.TrackDescriptor.EXPLICIT), "{}: children without order",
                    track.name)
            for event in track.events:
                require(event.time >= self.boottime, "an event before the clock's anchor")
            drawn = self.slices(track)
            for one in drawn:
                require(one.end >= one.begin, "{}: negative duration", one.name)
            span = drawn[0] if drawn and drawn[0].name in SPANS else None
            if not span:
                continue
            require(sum(one.depth == 0 for one in drawn) == 1, "track {}: something beside its span", track.name)
            for child in track.children:
                require(re.fullmatch(r"ranges [1-9][0-9]*", child.name), "{} under a wave", child.name)
                require(child.name == f"ranges {child.rank}", "{} has rank {}", child.name, child.rank)
                drawn += self.slices(child)
            for one in drawn:
                require(span.begin <= one.begin and one.end <= span.end, "{} leaves its span", one.name)

    def check_tree(self):
        """kernel / launch / place / workgroup / wave / ranges n; of several devices, each its own kernels."""
        require(self.roots and self.roots[0].name in ("ktrace", SIMULATED), "the first track is not \"ktrace\"")
        kernels = self.roots[1:]
        devices = [root for root in kernels if re.match(r"device \d+: |.*: .* #\d+$", root.name)]
        if devices:
            require(devices == kernels, "a track beside those of devices")
            for device in devices:
                drawn = self.slices(device)
                require(len(drawn) == 1 and drawn[0].category == "ktrace.device", "device {!r} says nothing", device.name)
                require("clock_uncertainty_ns" in drawn[0].arguments, "device {!r} says nothing of its clock", device.name)
                require(device.name.startswith("device ") or drawn[0].arguments.get("relation") in RELATIONS,
                        "device {!r} of several processes does not say what relates its times", device.name)
            kernels = [kernel for device in devices for kernel in device.children]
        for kernel in kernels:
            for launch in kernel.children:
                require(re.match(r"launch #\d+: grid\(.*\) block\(.*\), \d+ of \d+ (warps|waves)$", launch.name),
                        "launch track {!r}", launch.name)
                for place in launch.children:
                    require(re.fullmatch(r"SM \d+|XCD\d+/SE\d+/SH\d+/CU\d+|CPU \d+", place.name), "place {!r}",
                            place.name)
                    for workgroup in place.children:
                        require(re.fullmatch(r"(CTA|WG)\(\d+, \d+, \d+\)", workgroup.name), "workgroup {!r}",
                                workgroup.name)
                        for wave in workgroup.children:
                            require(re.fullmatch(r"Warp \d+|Wave\d+", wave.name), "wave {!r}", wave.name)
                            drawn = self.slices(wave)
                            require(drawn and drawn[0].name in SPANS, "wave {!r} has no span", wave.name)

    # ---- Text ---------------------------------------------------------------------------------------------------

    def argument_text(self, typed):
        kind, value = typed
        if kind == "dict":
            return "{" + ", ".join(f"{name}={self.argument_text(entry)}" for name, entry in value.items()) + "}"
        if kind == "string":
            return json.dumps(value, ensure_ascii=False)
        if kind == "double":
            return repr(value)
        return {"bool": str(value).lower(), "uint": f"{value}u", "int": f"{value}"}[kind]

    def dump(self):
        lines = []

        def walk(track, depth):
            lines.append("  " * depth + track.name)
            for one in self.slices(track):
                begin = one.begin - self.time_zero
                time = f"{begin}" if one.instant else f"{begin}+{one.end - one.begin}"
                text = "  " * depth + "  | " + "  " * one.depth + f"{time} ns {one.name} [{one.category}]"
                lines.append(text + "".join(f" {name}={self.argument_text(value)}"
                                            for name, value in one.arguments.items()))
            for child in sorted(track.children, key=lambda t: t.rank):
                walk(child, depth + 1)

        for root in sorted(self.roots, key=lambda t: t.rank):
            walk(root, 0)
        return "\n".join(lines) + "\n"


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    sizes, parts = [], []
    for content in members(data):
        sizes.append(len(content))
        parts.append(content)
    require(all(size == MEMBER_BYTES for size in sizes[:-1]), "gzip members of {} bytes", set(sizes[:-1]))
    reader = Reader()
    for packet in packets(b"".join(parts)):
        reader.read(packet)
    reader.check_tracks()
    reader.check_tree()
    return reader


# ---- The table, and the synthetic trace -------------------------------------------------------------------------


def schema_message(name):
    if name == "Clock":
        return pb.ClockSnapshot.Clock.DESCRIPTOR
    return getattr(pb, name).DESCRIPTOR


def check_fields(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    fields, values = text.split("#define KT_PERFETTO_VALUES")
    rows = re.findall(r"X\((\w+),\s*(\w+),\s*(\d+)\)", fields)
    require(len(rows) > 30, "{}: no table of fields", path)
    for message, field, number in rows:
        found = schema_message(message).fields_by_name.get(field)
        require(found, "{} has no field {}", message, field)
        require(found.number == int(number), "{}.{} is {}, not {}", message, field, found.number, number)
    named = re.findall(r"X\((\w+),\s*(\w+),\s*(\d+)\)", values)
    require(len(named) > 5, "{}: no table of values", path)
    for scope, value, number in named:
        if scope == "BuiltinClock":
            found = pb.DESCRIPTOR.enum_types_by_name[scope].values_by_name.get(value)
        else:
            found = schema_message(scope).enum_values_by_name.get(value)
        require(found, "{} has no value {}", scope, value)
        require(found.number == int(number), "{}.{} is {}, not {}", scope, value, found.number, number)
    return len(rows) + len(named)


FLOAT_MAX, DOUBLE_MAX = 3.4028234663852886e38, 1.7976931348623157e308
SYNTHETIC = {
    "bool": [("bool", False), ("bool", True)],
    "int": [("int", v) for v in (0, 1, -1, 2**63 - 1, -(2**63), -1234567890123)] + [None],
    "uint": [("uint", v) for v in (0, 1, 2**64 - 1, 2**64 - 2, 2**63, 127, 128)],
    "int32": [("int", v) for v in (0, -1, 2**31 - 1, -(2**31))],
    "uint32": [("uint", v) for v in (0, 1, 2**32 - 1, 2**31)],
    "float": [("string", "nan"), ("string", "inf"), ("string", "-inf"), ("double", -0.0), ("double", 2.0**-149),
              ("double", FLOAT_MAX), ("double", 0.10000000149011612)],
    "double": [("string", "nan"), ("string", "nan"), ("string", "inf"), ("string", "-inf"), ("double", -0.0),
               ("double", 5e-324), ("double", DOUBLE_MAX), ("double", 0.1)],
}


def check_synthetic(reader):
    found = collections.defaultdict(list)
    for track in reader.tracks.values():
        for event in track.events:
            if event.name in SYNTHETIC:
                found[event.name].append(event.arguments.get("payload"))
    for name, expected in SYNTHETIC.items():
        # repr tells -0.0 from 0.0 and True from 1
        require(repr(found[name]) == repr(expected), "{} payloads: {}, not {}", name, found[name], expected)


def main():
    parser = argparse.ArgumentParser(description="Check a .pftrace.gz against the official schema.")
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--dump", action="store_true", help="print tracks and events as text")
    parser.add_argument("--golden", metavar="TEXT", help="compare that text with this file (one FILE)")
    parser.add_argument("--update", action="store_true", help="write the golden file instead")
    parser.add_argument("--synthetic", action="store_true", help="FILE is make_synthetic's: check every payload")
    parser.add_argument("--fields", metavar="HEADER", help="compare perfetto_fields.h with the schema")
    options = parser.parse_args()
    if not options.files and not options.fields:
        parser.error("nothing to check")
    if options.golden and len(options.files) != 1:
        parser.error("--golden goes with one file")

    if options.fields:
        try:
            print(f"{options.fields}: {check_fields(options.fields)} numbers as in the schema")
        except Fault as fault:
            print(f"{options.fields}: {fault}", file=sys.stderr)
            return 1
    for path in options.files:
        try:
            reader = read(path)
            if options.synthetic:
                check_synthetic(reader)
        except Fault as fault:
            print(f"{path}: {fault}", file=sys.stderr)
            return 1
        if options.dump:
            sys.stdout.write(reader.dump())
        if options.golden and options.update:
            with open(options.golden, "w", encoding="utf-8") as file:
                file.write(reader.dump())
        elif options.golden:
            with open(options.golden, encoding="utf-8") as file:
                expected = file.read()
            if reader.dump() != expected:
                sys.stderr.writelines(difflib.unified_diff(expected.splitlines(True), reader.dump().splitlines(True),
                                                           options.golden, path))
                print(f"{path}: differs from {options.golden} (--update accepts it)", file=sys.stderr)
                return 1
        if not options.dump:
            print(f"{path}: {reader.packet_count} packets, {len(reader.tracks)} tracks, {reader.event_count} events, "
                  f"{len(reader.sequences)} sequences: correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
