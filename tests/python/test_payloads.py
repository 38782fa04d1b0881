"""Payloads of every type, through the device to Python, exactly."""

import math
import struct

import ktrace
import support

try:
    import numpy
except ImportError as error:
    support.skip(f"no NumPy ({error})")

# (name, how the bits get there, type in the array)
MARKS = [("bool", "<?7x", "bool"), ("int8", "<b7x", "int32"), ("uint16", "<H6x", "uint32"), ("int32", "<i4x", "int32"),
         ("uint32", "<I4x", "uint32"), ("int64", "<q", "int64"), ("uint64", "<Q", "uint64"), ("half", "<e6x", "float32"),
         ("float32", "<f4x", "float32"), ("float64", "<d", "float64")]
INF, NAN = math.inf, math.nan
VALUES = [
    (False, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0),
    (True, -128, 65535, -2**31, 2**32 - 1, -2**63, 2**64 - 1, -0.0, -0.0, -0.0),
    (True, -1, 1, -1, 2**31, -1, 2**63, 65504.0, 2.0**-149, 5e-324),
    (True, 127, 32768, 2**31 - 1, 1, 2**63 - 1, 2**53 + 1, INF, -INF, INF),
    (True, 5, 7, 9, 11, 2**53 + 1, 13, NAN, NAN, NAN),
    (False, 1, 1, 1, 1, 1, 1, 2.0**-24, 0.1, 0.1),
]


def as_float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class Payloads(support.KernelCase):
    def events_of(self, values):
        data = b"".join(struct.pack(form, value) for (_, form, _), value in zip(MARKS, values))
        with ktrace.capture() as trace:
            self.launch("payloads", values=data)
        return trace.events()

    def test_exact(self):
        for values in VALUES:
            with self.subTest(values=values):
                events = self.events_of(values)
                self.assertEqual(events["name"].tolist(), ["none"] + [name for name, _, _ in MARKS])
                self.assertEqual(events["payload_type"].tolist(), [""] + [kind for _, _, kind in MARKS])
                self.assertIsNone(events["payload"][0])
                for (name, _, kind), value, seen in zip(MARKS, values, events["payload"][1:]):
                    wanted = as_float32(value) if kind == "float32" else value
                    self.assertIs(type(seen), type(value), name)
                    if isinstance(value, float):
                        self.assertEqual(math.copysign(1, seen), math.copysign(1, wanted), name)
                        self.assertTrue(seen == wanted or math.isnan(seen) and math.isnan(wanted), name)
                    else:
                        self.assertEqual(seen, wanted, name)

    def test_bits(self):
        events = self.events_of(VALUES[1])
        bits = dict(zip(events["name"].tolist(), events["payload_bits"].tolist()))
        self.assertEqual(bits["int8"], 2**64 - 128)
        self.assertEqual(bits["uint64"], 2**64 - 1)
        self.assertEqual(bits["float32"], 2**31)
        of = {name: events["payload_bits"][events["name"] == name] for name in ("int64", "float64")}
        self.assertEqual(of["int64"].view(numpy.int64)[0], -2**63)
        self.assertEqual(math.copysign(1, of["float64"].view(numpy.float64)[0]), -1)


if __name__ == "__main__":
    support.library()
    support.main()
