#!/usr/bin/env python3
"""anonymous.py ROOT FILE.ktrace... - makes recordings fit to be kept in tests/data, in place.

Their section ORIG, which names the host, the program and the device, goes; files below the folder ROOT, of which the sites are, are
named from there.
"""

import os
import re
import struct
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ktrace_file import container  # noqa: E402

LEFT_OUT = {b"ORIG"}


def shorter(payload, root):
    """`payload` with strings, which stand behind their length, without `root` at their begin."""
    for match in reversed(list(re.finditer(re.escape(root), payload))):
        length = struct.unpack_from("<I", payload, match.start() - 4)[0]
        if not len(root) < length < 4096:
            raise SystemExit(f"{root.decode()} stands within a string")
        payload = (payload[: match.start() - 4] + struct.pack("<I", length - len(root)) + payload[match.end() :])
    return payload


def rewritten(data, root):
    header = container.Header(data)
    version, minimum, count, features = struct.unpack_from("<HHIQ", data, len(container.MAGIC))
    at, kept = header.bytes, []
    for _ in range(count):
        type_, flags, bytes_, _, _ = struct.unpack_from("<4sIQII", data, at)
        at += container.SECTION_HEADER_BYTES
        payload = data[at : at + bytes_]
        at += bytes_ + -bytes_ % 8
        if type_ in LEFT_OUT:
            continue
        if type_ == b"MODS":
            payload = shorter(payload, root)
        head = struct.pack("<4sIQI", type_, flags, len(payload), zlib.crc32(payload))
        kept.append(head + struct.pack("<I", zlib.crc32(head)) + payload + bytes(-len(payload) % 8))
    body = data[container.HEADER_BYTES : header.bytes] + b"".join(kept)
    head = container.MAGIC + struct.pack("<HHIQQI", version, minimum, len(kept), features, container.HEADER_BYTES + len(body), header.bytes)
    return head + struct.pack("<I", zlib.crc32(head)) + body


def main():
    root = os.path.join(sys.argv[1], "").encode()
    for path in sys.argv[2:]:
        with open(path, "rb") as file:
            data = file.read()
        data = rewritten(data, root)
        with open(path, "wb") as file:
            file.write(data)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
