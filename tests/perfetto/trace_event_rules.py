"""What the Trace Event Format asks of a file, and what its readers need besides: numbers that a double holds, and complete events
that nest on their thread once their times are whole nanoseconds, since Perfetto drops those that do not.

The format is documented by the catapult project ("Trace Event Format"); this is written from that, not from the exporter.
"""

import collections
import decimal
import json

METADATA = {"process_name": ("name", str), "thread_name": ("name", str), "process_sort_index": ("sort_index", int),
            "thread_sort_index": ("sort_index", int)}
COMMON = {"ph", "pid", "tid", "name", "args"}
MEMBERS = {"X": COMMON | {"ts", "dur", "cat"}, "i": COMMON | {"ts", "s", "cat"}, "b": COMMON | {"ts", "id2", "cat"},
           "e": COMMON | {"ts", "id2", "cat"}, "M": COMMON}
OPTIONAL = {"args"}
LARGEST_INTEGER = 2**53


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def whole_ns(us):
    ns = us * 1000
    return int(ns) if ns == int(ns) else None


def faults_of_event(event):
    phase = event.get("ph")
    if phase not in MEMBERS:
        return [f"phase {phase!r}"]
    faults = [f"member {name!r}" for name in event.keys() - MEMBERS[phase]]
    faults += [f"no {name!r}" for name in MEMBERS[phase] - event.keys() - OPTIONAL]
    if faults:
        return faults
    faults += [f"{name!r} is no integer" for name in ("pid", "tid") if type(event[name]) is not int]
    faults += [f"{name!r} is no text" for name in ("name", "cat", "s") if name in event and not isinstance(event[name], str)]
    faults += [f"{name!r} is not in whole nanoseconds" for name in ("ts", "dur")
               if name in event and (not isinstance(event[name], decimal.Decimal) or whole_ns(event[name]) is None)]
    if not isinstance(event.get("args", {}), dict):
        faults.append("args is no object")
    if "dur" in event and event["dur"] < 0:
        faults.append("it ends before it begins")
    if phase == "i" and event["s"] not in ("g", "p", "t"):
        faults.append(f"scope {event['s']!r}")
    if phase in "be" and not (isinstance(event["id2"], dict) and list(event["id2"]) == ["local"] and isinstance(event["id2"]["local"], str)):
        faults.append("no id of its own process")
    if phase == "M":
        key, kind = METADATA.get(event["name"], (None, None))
        if key is None or set(event.get("args", {})) != {key} or type(event["args"][key]) is not kind:
            faults.append(f"metadata {event['name']!r} with {event.get('args')}")
    return faults


def numbers(value):
    if isinstance(value, dict):
        for part in value.values():
            yield from numbers(part)
    elif isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif type(value) is int:
        yield value


def nesting_faults(spans):
    """Of [(begin, end)] in the order of the file."""
    open_ends = []
    for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            yield f"{begin} to {end} ns goes beyond {open_ends[-1]}, where what it lies in ends"
        open_ends.append(end)


def faults_of(path):
    """Up to 20 sentences."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file, parse_float=decimal.Decimal, parse_constant=refuse_constant)
    if trace.get("displayTimeUnit") not in ("ms", "ns") or not isinstance(trace.get("traceEvents"), list):
        return ["no object with displayTimeUnit and traceEvents"]
    faults, spans, open_ids = [], collections.defaultdict(list), {}
    for index, event in enumerate(trace["traceEvents"]):
        of_event = faults_of_event(event)
        of_event += [f"the number {number} is not exact in a double" for number in numbers(event) if abs(number) > LARGEST_INTEGER]
        faults += [f"event {index}: {fault}" for fault in of_event]
        if of_event:
            continue
        if event["ph"] == "X":
            begin = whole_ns(event["ts"])
            spans[event["pid"], event["tid"]].append((begin, begin + whole_ns(event["dur"])))
        elif event["ph"] == "b":
            if open_ids.setdefault((event["pid"], event["cat"], event["id2"]["local"]), event) is not event:
                faults.append(f"event {index}: begins while the one before is open")
        elif event["ph"] == "e":
            begun = open_ids.pop((event["pid"], event["cat"], event["id2"]["local"]), None)
            if begun is None or begun["name"] != event["name"] or begun["ts"] > event["ts"]:
                faults.append(f"event {index}: ends what did not begin so")
    faults += [f"{key} never ends" for key in open_ids]
    for thread, of_thread in spans.items():
        faults += [f"process {thread[0]}, thread {thread[1]}: {fault}" for fault in nesting_faults(of_thread)]
    return faults[:20]
