"""The file: its header, its sections, their checksums (docs/format.md, 1)."""

import struct
import zlib

MAGIC = b"\x89KTR\r\n\x1a\n"
HEADER_BYTES = 40
SECTION_HEADER_BYTES = 24
READER_VERSION = 1
FEATURE_AMDGCN, FEATURE_DEVICES, FEATURE_PROCESSES = 1, 2, 4
FLAG_REQUIRED = 1


class Refused(Exception):
    """`status` is "format", or "version" where a newer reader would know better."""

    def __init__(self, sentence, status="format"):
        super().__init__(sentence)
        self.status = status


def require(condition, sentence):
    if not condition:
        raise Refused(sentence)


class Cursor:
    """Little-endian fields of one payload, one after the other."""

    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def bytes(self, count):
        require(count <= len(self.data) - self.at, f"{self.what} ends within a field")
        self.at += count
        return self.data[self.at - count : self.at]

    def take(self, form):
        values = struct.unpack("<" + form, self.bytes(struct.calcsize("<" + form)))
        return values[0] if len(values) == 1 else values

    def string(self):
        text = self.bytes(self.take("I"))
        require(0 not in text, f"{self.what} has a zero byte in a string")
        return text

    def end(self):
        require(self.at == len(self.data), f"{self.what} goes on after its last field")

    def left(self):
        return len(self.data) - self.at


class Header:
    def __init__(self, data):
        require(data[: len(MAGIC)] == MAGIC[: len(data)] and data, "no .ktrace file")
        require(len(data) >= HEADER_BYTES, "cut off within the file header")
        self.version, minimum, self.sections, self.features, bytes_, self.bytes, checksum = struct.unpack_from(
            "<HHIQQII", data, len(MAGIC)
        )
        require(zlib.crc32(data[:36]) == checksum, "the file header is damaged")
        if minimum > READER_VERSION:
            raise Refused(f"a reader of version {minimum} is needed", "version")
        if self.features & ~(FEATURE_AMDGCN | FEATURE_DEVICES | FEATURE_PROCESSES):
            raise Refused(f"unknown features {self.features:#x}", "version")
        require(len(data) >= bytes_, "cut off")
        require(len(data) <= bytes_, "longer than it says")
        possible = HEADER_BYTES <= self.bytes <= len(data) and self.bytes % 8 == 0
        require(possible, "the first section is nowhere")


def sections(data, known):
    """The header, and the payloads by type, of those that are `known`."""
    header, payloads = Header(data), {}
    at = header.bytes
    fit = (len(data) - at) // SECTION_HEADER_BYTES
    require(header.sections <= fit, f"{header.sections} sections are more than fit")
    for number in range(header.sections):
        require(len(data) - at >= SECTION_HEADER_BYTES, f"section {number} is not there")
        type_, flags, payload_bytes, checksum, header_checksum = struct.unpack_from("<4sIQII", data, at)
        require(zlib.crc32(data[at : at + 20]) == header_checksum, f"the header of section {number} is damaged")
        at += SECTION_HEADER_BYTES
        padded = payload_bytes + -payload_bytes % 8
        require(padded <= len(data) - at, f"section {number} goes beyond the file")
        payload = data[at : at + payload_bytes]
        require(zlib.crc32(payload) == checksum, f"section {number} is damaged")
        require(not any(data[at + payload_bytes : at + padded]), f"the padding of section {number} is damaged")
        at += padded
        if type_ in known:
            require(type_ not in payloads, f"two sections {type_}")
            payloads[type_] = payload
        elif flags & FLAG_REQUIRED:
            raise Refused(f"the required section {type_} is unknown", "version")
    require(at == len(data), "bytes after the last section")
    return header, payloads
