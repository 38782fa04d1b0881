"""What was recorded: immutable, readable from any thread, independent of the capture it came from."""

import json
import operator
import os
import weakref
from ctypes import byref, c_char_p, c_int64, c_uint64, c_void_p

from . import _errors, _events, _library

ALIGNMENTS = ("host", "start")  # enum ktrace_merge_align
RELATIONS = ("self", "device", "host", "realtime", "placed", "none")  # enum ktrace_relation


class Summary(dict):
    """The JSON summary as a dict ("info", "warning", "launches", "phases"); `str()` of it is the summary as text."""

    def __init__(self, values, text):
        super().__init__(values)
        self._text = text

    def __str__(self):
        return self._text

    def __reduce__(self):
        return Summary, (dict(self), self._text)


class Trace:
    """Made by a capture's `read`, `snapshot` and `peek`, by `ktrace.collect_trace` and by `ktrace.load`."""

    def __init__(self, handle):
        self._library = _library.get()
        self._handle = handle
        weakref.finalize(self, self._library.trace_destroy, handle)

    def __repr__(self):
        info = self.info
        launches, waves, events = (f"{info[many]:,} {one if info[many] == 1 else many}"
                                   for one, many in (("launch", "launches"), ("wave", "waves"), ("event", "events")))
        return f"<ktrace.Trace {info['name']!r} on {info['device']}: {launches}, {waves}, {events}>"

    # ---- Looking

    @property
    def info(self):
        """The fields of struct ktrace_trace_info, as a dict."""
        info = _library.TraceInfo()
        self._library.trace_get_info(byref(info), self._handle)
        return _library.fields_of(info)

    @property
    def devices(self):
        """The fields of struct ktrace_device_info of each device, as a list of dicts."""
        devices = []
        for i in range(self.info["devices"]):
            device = _library.DeviceInfo()
            self._library.trace_device(byref(device), self._handle, i)
            devices.append(_library.fields_of(device))
        return devices

    @property
    def processes(self):
        """Who recorded: the fields of struct ktrace_process_info of each process, as a list of dicts. "relation" says what
        relates its times to the timeline's, in one word of RELATIONS. One, but for traces that `ktrace.merge` made."""
        processes = []
        for i in range(self.info["processes"]):
            process = _library.ProcessInfo()
            self._library.trace_process(byref(process), self._handle, i)
            fields = _library.fields_of(process)
            fields["relation"] = RELATIONS[fields["relation"]]
            processes.append(fields)
        return processes

    @property
    def warning(self):
        """Why the trace is empty or not whole, one sentence; "" when all is well."""
        return self._library.trace_warning(self._handle).decode(errors="replace")

    @property
    def empty(self):
        """Whether there are no events."""
        return self.info["events"] == 0

    def summary(self):
        """Totals of each phase, a Summary; None where there are no events."""
        if self.empty:
            return None
        values = json.loads(self._text(self._library.trace_summary_json))
        return Summary(values, self._text(self._library.trace_summary_text))

    def launches(self):
        """Each launch in the order of first timestamps, as a list of dicts: "launch_id", "kernel", "grid", "block", "begin_ps",
        "end_ps", "waves", "events", ... and "phases", a list of dicts like those of the summary."""
        if self.empty:
            return []
        return json.loads(self._text(self._library.trace_launches_json))["launches"]

    def _text(self, call):
        text = c_void_p()
        call(byref(text), self._handle)
        return self._library.taken(text).decode(errors="replace")

    # ---- Arrays

    def events(self):
        """Every event as a NumPy structured array of `ktrace.EVENT_DTYPE`, wave by wave and in the order of time."""
        return _events.events(self._library, self._handle, self.info["events"])

    def waves(self):
        """Every wave as a NumPy structured array of `ktrace.WAVE_DTYPE`: what `events()["wave"]` is an index of."""
        return _events.waves(self._library, self._handle, self.info["waves"])

    def dataframe(self):
        """events() as a pandas DataFrame, with the kernel, workgroup and place of each event's wave as columns."""
        kernels = [launch["kernel"] for launch in self.launches()]
        return _events.dataframe(self.events, self.waves, kernels)

    # ---- Files

    def export(self, path=None, *, exporter="perfetto", out_dir=None):
        """Write the trace and return where. Without `path` that is <name>_ktrace.pftrace.gz in `out_dir` (default: the current
        folder), with a numeric suffix where that exists; `path` is overwritten. None where there are no events."""
        if path is not None and out_dir is not None:
            raise TypeError("ktrace: export takes path or out_dir, not both: out_dir is where a new name is made up")
        if path is None and exporter != "perfetto":
            raise TypeError(f"ktrace: export to {exporter!r} needs a path: names are made up for 'perfetto' only")
        if self.empty:
            return None
        if path is not None:
            self._library.trace_export(self._handle, _library.text_bytes(exporter, "exporter"),
                                       _library.path_bytes(path, "path"))
            return os.fsdecode(path)
        made = c_void_p()
        self._library.trace_export_new(byref(made), self._handle, _library.path_bytes(out_dir, "out_dir"))
        return os.fsdecode(self._library.taken(made))

    def export_launches(self, names=None, *, out_dir=None):
        """One Perfetto file for each launch that has events, in the order of first timestamps; returns their paths. `names`:
        one for each, else "<kernel>_launch_<index>"."""
        directory = _library.path_bytes(out_dir, "out_dir")
        return export_launches(
            self._library, names,
            lambda paths, count, *names: self._library.trace_export_launches(paths, count, self._handle, directory,
                                                                             *names))

    def save(self, path):
        """Write all of it as a .ktrace file, which `ktrace.load` and the command `ktrace` read; returns the path."""
        self._library.trace_save(self._handle, _library.path_bytes(path, "path"))
        return os.fsdecode(path)


def load(path):
    """The Trace in a .ktrace file."""
    return taken(_library.get().trace_load, _library.path_bytes(path, "path"))


def merge(traces, *, name=None, labels=None, align="host", offsets_ns=None):
    """One Trace of several: of the ranks of a program, of processes on one device or many, of consecutive reads.

    traces      Trace objects, or paths of .ktrace files
    name        of the trace; default: that of the first
    labels      what the traces' processes are called, one a trace; None, or None among them: as they say themselves
    align       "host": by the clock of a device that two recorded, else by the host's. "start": each trace's first wave at
                the begin, whatever clocks say
    offsets_ns  by how much each trace's times are moved besides, one a trace

    ArgumentError: nothing relates two of them, a read is in two, they are of CUDA and HIP or simulated and not; see
    ktrace_trace_merge."""
    if isinstance(traces, (Trace, str, bytes, os.PathLike)):
        raise TypeError(f"ktrace: traces is {traces!r}: a sequence of traces is expected")
    traces = [trace if isinstance(trace, Trace) else load(trace) for trace in traces]
    if not traces:
        raise _errors.ArgumentError("ktrace: there is no trace to merge")
    if align not in ALIGNMENTS:
        raise _errors.ArgumentError(f"ktrace: align is {align!r}: 'host' or 'start' is expected")
    options = _library.MergeOptions(name=_library.text_bytes(name, "name"), align=ALIGNMENTS.index(align))
    if labels is not None:
        if isinstance(labels, (str, bytes)):
            raise TypeError(f"ktrace: labels is {labels!r}: a sequence of strs is expected, not one")
        labels = [_library.text_bytes(label, f"labels[{i}]") for i, label in enumerate(labels)]
        options.labels, options.label_count = (c_char_p * len(labels))(*labels), len(labels)
    if offsets_ns is not None:
        offsets = [operator.index(offset) for offset in offsets_ns]
        for i, offset in enumerate(offsets):
            if abs(offset) >= 2**63:
                raise _errors.ArgumentError(f"ktrace: offsets_ns[{i}] is {offset}: 64 bits are the most")
        options.offsets_ns, options.offset_count = (c_int64 * len(offsets))(*offsets), len(offsets)
    handles = (c_void_p * len(traces))(*(trace._handle for trace in traces))
    return taken(_library.get().trace_merge, handles, len(traces), byref(options))


def taken(call, *arguments):
    """The Trace that a call hands over; None where it hands over none."""
    handle = c_void_p()
    call(byref(handle), *arguments)
    return Trace(handle) if handle else None


def export_launches(library, names, call):
    """What `call(paths, count, names, name_count)` writes."""
    array, number = (None, 0) if names is None else _library.strings(names, "names")
    paths, count = c_void_p(), c_uint64()
    call(byref(paths), byref(count), array, number)
    return library.taken_paths(paths, count)
