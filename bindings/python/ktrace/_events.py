"""Events and waves as NumPy arrays, and as a pandas DataFrame. Both packages are optional: imported when they are needed."""

import ctypes
from ctypes import byref

from . import _library

KINDS = {2: "mark", 3: "push", 4: "pop", 5: "start", 6: "stop"}
PAYLOAD_TYPES = {0: "", 1: "bool", 2: "int64", 3: "uint64", 4: "float32", 5: "float64", 6: "int32", 7: "uint32"}
NO_INDEX = 0xFFFFFFFF

# Documented in docs/python.md.
EVENT_DTYPE = [("launch", "<u4"), ("wave", "<i8"), ("time_ns", "<f8"), ("time_ps", "<i8"), ("clock_ticks", "<u8"),
               ("kind", "<U5"), ("name", "O"), ("payload", "O"), ("payload_type", "<U7"), ("payload_bits", "<u8"),
               ("partner", "<i8"), ("duration_ns", "<f8"), ("lane", "<u4"), ("file", "O"), ("line", "<u4")]
WAVE_DTYPE = [("launch", "<u4"), ("device", "<u4"), ("workgroup", "<u4", (3,)), ("wave", "<u4"), ("place", "<u4"),
              ("lane_count", "<u4"), ("begin_ps", "<i8"), ("end_ps", "<i8"), ("events", "<u4"), ("slots_lost", "<u8"),
              ("unfinished", "?")]


def _numpy(who):
    try:
        import numpy
    except ImportError as error:
        raise ImportError(f"ktrace: Trace.{who}() needs NumPy, which could not be imported ({error}): "
                          f"pip install numpy") from error
    return numpy


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"ktrace: Trace.dataframe() needs pandas, which could not be imported ({error}): "
                          f"pip install pandas, or use Trace.events()") from error
    return pandas


def _records(np, library, handle, count):
    """struct ktrace_event_record of every event."""
    records = np.zeros(count, np.dtype(_library.EventRecord))
    if count:
        library.trace_event_records(ctypes.c_void_p(records.ctypes.data), records.itemsize, handle, 0, count)
    return records


def _texts(np, addresses):
    """The strings at some addresses, as objects: each address is read once, and equal strings are one object."""
    unique, inverse = np.unique(addresses, return_inverse=True)
    known = {}
    table = np.empty(len(unique), object)
    for i, address in enumerate(unique.tolist()):
        text = ctypes.string_at(address).decode(errors="replace")
        table[i] = known.setdefault(text, text)
    return table[inverse]


def _words(np, table, numbers, dtype):
    """The words for small numbers; one that is not in `table` stands for itself."""
    words = [table.get(i, str(i)) for i in range(max(table) + 1)]
    return np.array(words, dtype)[numbers]


def _payloads(np, types, bits):
    """Python values, exact for every type."""
    values = np.empty(len(bits), object)
    signed = bits.view(np.int64)
    low = bits.astype(np.uint32)
    for number, typed in ((1, low != 0), (2, signed), (3, bits), (4, low.view(np.float32)), (5, bits.view(np.float64)),
                          (6, signed), (7, low)):
        chosen = types == number
        if chosen.any():
            values[chosen] = typed[chosen].tolist()
    return values


def events(library, handle, count):
    np = _numpy("events")
    records = _records(np, library, handle, count)
    out = np.zeros(count, EVENT_DTYPE)
    for name in ("launch", "wave", "time_ps", "clock_ticks", "lane", "line"):
        out[name] = records[name]
    out["time_ns"] = records["time_ps"] / 1000
    out["kind"] = _words(np, KINDS, records["kind"], "U5")
    out["name"] = _texts(np, records["name"])
    out["file"] = _texts(np, records["file"])
    types = records["payload_type"]
    bits = np.ascontiguousarray(records["payload"])
    out["payload_type"] = _words(np, PAYLOAD_TYPES, types, "U7")
    out["payload_bits"] = bits
    out["payload"] = _payloads(np, types, bits)
    out["partner"] = _partners(np, records)
    out["duration_ns"] = _durations(np, out)
    return out


def _partners(np, records):
    """As rows of the array, instead of indexes within the wave; -1: none."""
    rows = np.arange(len(records))
    begins = np.ones(len(records), bool)
    begins[1:] = records["wave"][1:] != records["wave"][:-1]
    first = np.maximum.accumulate(np.where(begins, rows, 0))
    return np.where(records["partner"] == NO_INDEX, -1, first + records["partner"])


def _durations(np, out):
    """Of ranges, at their begins; NaN elsewhere."""
    begins = (out["partner"] > np.arange(len(out))) & ((out["kind"] == "push") | (out["kind"] == "start"))
    durations = np.full(len(out), np.nan)
    durations[begins] = (out["time_ps"][out["partner"][begins]] - out["time_ps"][begins]) / 1000
    return durations


def waves(library, handle, count):
    np = _numpy("waves")
    infos = (_library.WaveInfo * count)()
    size = ctypes.sizeof(_library.WaveInfo)
    for i, info in enumerate(infos):
        info.struct_size = size
        library.trace_wave(byref(info), handle, i)
    out = np.zeros(count, WAVE_DTYPE)
    if count:
        table = np.frombuffer(infos, np.dtype(_library.WaveInfo))
        for name in out.dtype.names:
            out[name] = table[name]
    return out


def dataframe(events_of, waves_of, kernels):
    pandas = _pandas()
    np = _numpy("dataframe")
    table, waves_table = events_of(), waves_of()
    of = waves_table[table["wave"]]
    columns = {"launch": table["launch"],
               "kernel": _category(pandas, np.array(kernels, object)[table["launch"]]),
               "device": of["device"], "place": of["place"]}
    for i, axis in enumerate("xyz"):
        columns[f"workgroup_{axis}"] = of["workgroup"][:, i]
    columns["wave_in_workgroup"] = of["wave"]
    for name in ("wave", "time_ns", "time_ps", "clock_ticks"):
        columns[name] = table[name]
    for name in ("kind", "name"):
        columns[name] = _category(pandas, table[name].astype(object))
    for name in ("payload", "payload_type", "partner", "duration_ns", "lane", "file", "line"):
        columns[name] = table[name]
    for name in ("payload_type", "file"):
        columns[name] = _category(pandas, columns[name].astype(object))
    return pandas.DataFrame({name: pandas.Series(values) for name, values in columns.items()})


def _category(pandas, values):
    return pandas.Categorical(values)
