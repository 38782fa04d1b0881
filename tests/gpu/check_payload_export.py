#!/usr/bin/env python3
"""Compare the Perfetto files that test_payload_forms saved with the values that they must show.

    check_payload_export.py DIR        a --save DIR of test_payload_forms: every NAME.pftrace.gz with its NAME.expected

Reads them with Perfetto's own schema, on any machine; needs the packages of tests/perfetto/requirements.txt, and exits with
77 without them. A line of NAME.expected is the launch's index, the kind of value and its text (of a double, its bits).
"""

import collections
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "perfetto"))
try:
    import check_pftrace
except ImportError as error:
    print(f"skip: {error}: install the packages of tests/perfetto/requirements.txt")
    sys.exit(77)

# What each annotation of the kernel shows for one value: its arguments, the value in each.
FORMS = {
    "absent": (),
    "mark": ("payload",),
    "range": ("payload",),
    "push": ("payload",),
    "start": ("payload",),
    "next": ("payload", "end_payload"),
}


def text_of(typed):
    kind, value = typed
    if kind == "double":
        return f"double {struct.unpack('<Q', struct.pack('<d', value))[0]:016x}"
    return f"{kind} {str(value).lower() if kind == 'bool' else value}"


def slices_of(reader, launch):
    """What is drawn of a launch's waves, by name, in order of time."""
    found = collections.defaultdict(list)

    def walk(track):
        for one in reader.slices(track):
            if one.name in FORMS:
                found[one.name].append(one)
        for child in track.children:
            walk(child)

    walk(launch)
    for drawn in found.values():
        drawn.sort(key=lambda one: one.begin)
    return found


def check(export, expected):
    reader = check_pftrace.read(export)
    wanted = collections.defaultdict(list)
    for line in expected.read_text().splitlines():
        launch, text = line.split(" ", 1)
        wanted[int(launch)].append(text)
    launches = [launch for kernel in reader.roots if kernel.name == "forms" for launch in kernel.children]
    check_pftrace.require(len(launches) == len(wanted) > 0, "{} launches, not {}", len(launches), len(wanted))
    count = 0
    for index, launch in enumerate(launches):
        found = slices_of(reader, launch)
        for name, arguments in FORMS.items():
            shown = [{key: text_of(one.arguments[key]) for key in one.arguments} for one in found[name]]
            must = [{key: text for key in arguments} for text in wanted[index]]
            for at, pair in enumerate(zip(shown, must)):
                check_pftrace.require(pair[0] == pair[1], "{}, {} {}: {}, not {}", launch.name, name, at, *pair)
            check_pftrace.require(len(shown) == len(must), "{}, {}: {} values, not {}", launch.name, name, len(shown),
                                  len(must))
            count += len(must)
    return count


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    pairs = [(path, path.with_name(path.name.removesuffix(".expected") + ".pftrace.gz"))
             for path in sorted(pathlib.Path(sys.argv[1]).glob("*.expected"))]
    if not pairs:
        print(f"{sys.argv[1]}: no NAME.expected: run test_payload_forms --save {sys.argv[1]}", file=sys.stderr)
        return 1
    for expected, export in pairs:
        try:
            print(f"{export}: {check(str(export), expected)} payloads as expected")
        except (check_pftrace.Fault, OSError) as fault:
            print(f"{export}: {fault}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
