"""libktrace itself: which file it is, its functions, and errors as exceptions.

It is loaded when it is first used, so that importing the package never fails. A process has one: an extension that is linked
with libktrace.so.0 and this package must share it, or captures would not see that extension's kernels.
"""

import atexit
import ctypes
import logging
import os
import pathlib
import sys
import threading
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

from . import _errors

SONAME = "libktrace.so.0"
VERSION = (0, 1)  # before 1.0 another minor version may be another ABI

log = logging.getLogger("ktrace")

# ---- Structs of ktrace.h, in its order ---------------------------------------------------------------------------


class Sized(ctypes.Structure):
    """A struct that begins with its size."""

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(type(self)), **fields)


class CaptureOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("buffer_bytes", c_uint64),
                ("events_per_wave", c_uint32), ("events_per_lane", c_uint32), ("keep_last", c_int),
                ("filter", c_void_p), ("backend", c_char_p), ("blocks", c_char_p), ("directory", c_char_p),
                ("devices", c_char_p), ("stay_armed", c_int)]


class ProgramHeader(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("text", c_char_p)]


class ProgramOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("compiler_options", POINTER(c_char_p)),
                ("compiler_option_count", c_size_t), ("headers", POINTER(ProgramHeader)), ("header_count", c_size_t),
                ("include_directories", POINTER(c_char_p)), ("include_directory_count", c_size_t),
                ("kernels", POINTER(c_char_p)), ("kernel_count", c_size_t), ("backend", c_char_p), ("trace", c_int),
                ("cache_directory", c_char_p)]


class ProgramInfo(Sized):
    _fields_ = [("struct_size", c_size_t), ("compilations", c_uint64), ("disk_hits", c_uint64),
                ("disk_writes", c_uint64), ("disk_failures", c_uint64), ("modules", c_uint64), ("not_cached", c_char_p)]


class TraceInfo(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("device", c_char_p), ("arch", c_uint32),
                ("places", c_uint32), ("origin_ns", c_uint64), ("duration_ps", c_int64), ("launches", c_uint64),
                ("waves", c_uint64), ("events", c_uint64), ("waves_dropped", c_uint64), ("waves_filtered", c_uint64),
                ("waves_unfinished", c_uint64), ("slots_lost", c_uint64), ("ranges_unclosed", c_uint64),
                ("ends_unmatched", c_uint64), ("slots_corrupt", c_uint64), ("clocks_ambiguous", c_uint64),
                ("clock_hz", c_double), ("clock_residual_ns", c_double), ("simulated", c_int), ("devices", c_uint32),
                ("processes", c_uint32)]


class DeviceInfo(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("ordinal", c_uint32), ("places", c_uint32),
                ("launches", c_uint64), ("waves", c_uint64), ("events", c_uint64), ("waves_dropped", c_uint64),
                ("waves_filtered", c_uint64), ("clock_offset_ns", c_int64), ("clock_uncertainty_ns", c_double),
                ("clock_residual_ns", c_double), ("clock_contradiction_ns", c_double), ("process", c_uint32),
                ("label", c_char_p), ("uuid", c_char_p), ("pci_bus_id", c_char_p)]


class ProcessInfo(Sized):
    _fields_ = [("struct_size", c_size_t), ("label", c_char_p), ("host", c_char_p), ("boot", c_char_p),
                ("program", c_char_p), ("version", c_char_p), ("filter", c_char_p), ("pid", c_uint32),
                ("devices", c_uint32), ("launches", c_uint64), ("waves", c_uint64), ("events", c_uint64),
                ("waves_dropped", c_uint64), ("waves_filtered", c_uint64), ("relation", c_int), ("shift_ns", c_int64)]


class WaveInfo(Sized):
    _fields_ = [("struct_size", c_size_t), ("launch", c_uint32), ("workgroup", c_uint32 * 3), ("wave", c_uint32),
                ("place", c_uint32), ("lane_count", c_uint32), ("begin_ps", c_int64), ("end_ps", c_int64),
                ("events", c_uint32), ("slots_lost", c_uint64), ("unfinished", c_int), ("device", c_uint32)]


class EventRecord(ctypes.Structure):
    _fields_ = [("time_ps", c_int64), ("clock_ticks", c_uint64), ("payload", c_uint64), ("name", c_void_p),
                ("file", c_void_p), ("wave", c_uint64), ("launch", c_uint32), ("line", c_uint32), ("kind", c_uint32),
                ("lane", c_uint32), ("partner", c_uint32), ("payload_type", c_uint32)]


class MergeOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("labels", POINTER(c_char_p)), ("label_count", c_uint64),
                ("align", c_int), ("offsets_ns", POINTER(c_int64)), ("offset_count", c_uint64)]


def fields_of(struct):
    """A Sized as a dict, with text as str."""
    values = {}
    for name, _ in type(struct)._fields_[1:]:
        value = getattr(struct, name)
        values[name] = value.decode(errors="replace") if isinstance(value, bytes) else value
    return values


# ---- Functions ---------------------------------------------------------------------------------------------------

LOG = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)
HANDLE = POINTER(c_void_p)
TEXT = POINTER(c_void_p)  # a string to be freed
PATHS = POINTER(c_void_p)
NAMES = POINTER(c_char_p)

# Those that return a status; the others have another result below.
FUNCTIONS = {
    "capture_begin": [HANDLE, POINTER(CaptureOptions)],
    "capture_clear": [c_void_p],
    "capture_read": [HANDLE, c_void_p],
    "capture_snapshot": [HANDLE, c_void_p],
    "capture_peek": [HANDLE, c_void_p],
    "capture_stop": [c_void_p],
    "capture_export": [TEXT, c_void_p],
    "capture_export_launches": [PATHS, POINTER(c_uint64), c_void_p, NAMES, c_uint64],
    "enable": [POINTER(CaptureOptions)],
    "disable": [],
    "collect": [TEXT, c_char_p, c_char_p],
    "collect_trace": [HANDLE],
    "attach_cuda_module": [c_void_p],
    "detach_cuda_module": [c_void_p],
    "attach_hip_module": [c_void_p],
    "detach_hip_module": [c_void_p],
    "hip_library": [POINTER(c_char_p)],
    "program_create": [HANDLE, c_char_p, POINTER(ProgramOptions)],
    "program_kernel": [HANDLE, c_void_p, c_char_p],
    "program_get_info": [POINTER(ProgramInfo), c_void_p],
    "trace_get_info": [POINTER(TraceInfo), c_void_p],
    "trace_device": [POINTER(DeviceInfo), c_void_p, c_uint64],
    "trace_process": [POINTER(ProcessInfo), c_void_p, c_uint64],
    "trace_wave": [POINTER(WaveInfo), c_void_p, c_uint64],
    "trace_event_records": [c_void_p, c_size_t, c_void_p, c_uint64, c_uint64],
    "trace_summary_text": [TEXT, c_void_p],
    "trace_summary_json": [TEXT, c_void_p],
    "trace_launches_json": [TEXT, c_void_p],
    "trace_export": [c_void_p, c_char_p, c_char_p],
    "trace_export_new": [TEXT, c_void_p, c_char_p],
    "trace_export_launches": [PATHS, POINTER(c_uint64), c_void_p, c_char_p, NAMES, c_uint64],
    "trace_merge": [HANDLE, POINTER(c_void_p), c_uint64, POINTER(MergeOptions)],
    "trace_save": [c_void_p, c_char_p],
    "trace_load": [HANDLE, c_char_p],
}
OTHERS = {
    "last_error": (c_char_p, []),
    "version": (c_char_p, []),
    "set_log": (None, [LOG, c_void_p]),
    "active": (c_int, []),
    "capture_destroy": (None, [c_void_p]),
    "trace_destroy": (None, [c_void_p]),
    "trace_warning": (c_char_p, [c_void_p]),
    "paths_free": (None, [c_void_p, c_uint64]),
    "program_log": (c_char_p, [c_void_p]),
    "program_destroy": (None, [c_void_p]),
}


class Library:
    """The functions of libktrace without their prefix. Those that return a status raise instead."""

    def __init__(self, c, path):
        self.path = path
        for name, (result, arguments) in OTHERS.items():
            setattr(self, name, self._function(c, name, result, arguments))
        self._check_version()
        for name, arguments in FUNCTIONS.items():
            setattr(self, name, self._raising(self._function(c, name, c_int, arguments)))
        self._free = ctypes.CDLL(None).free
        self._free.restype, self._free.argtypes = None, [c_void_p]
        self._say = LOG(_say)
        self.set_log(self._say, None)
        # What is said later, as by process-wide collection at the exit of the process, has no interpreter to be said in.
        atexit.register(self.set_log, LOG(), None)

    def _function(self, c, name, result, arguments):
        try:
            function = getattr(c, "ktrace_" + name)
        except AttributeError:
            raise _errors.LibraryError(f"{self.path} has no ktrace_{name}: it is older than this package; install both "
                                       f"from one version of ktrace") from None
        function.restype, function.argtypes = result, arguments
        return function

    def _check_version(self):
        version = self.version().decode()
        if tuple(int(part) for part in version.split(".")[:2]) != VERSION:
            raise _errors.LibraryError(f"{self.path} is ktrace {version}, and this package is for "
                                       f"{VERSION[0]}.{VERSION[1]}: install both from one version of ktrace")

    def _raising(self, function):
        last_error = self.last_error

        def call(*arguments):
            status = function(*arguments)
            if status < 0:
                raise _errors.of_status(status, last_error().decode(errors="replace"))

        return call

    def taken(self, text):
        """The string of a TEXT, which is freed; None for NULL."""
        if not text:
            return None
        try:
            return ctypes.string_at(text.value)
        finally:
            self._free(text)

    def taken_paths(self, paths, count):
        try:
            strings = ctypes.cast(paths, NAMES)
            return [os.fsdecode(strings[i]) for i in range(count.value)]
        finally:
            self.paths_free(paths, count)


def _say(_, sentence):
    log.warning("%s", sentence.decode(errors="replace"))


# ---- Which file --------------------------------------------------------------------------------------------------

PACKAGE = pathlib.Path(__file__).resolve().parent


def _loaded():
    """(library, path) of the one that the process has, or (None, None). The loader knows it by its SONAME."""
    try:
        c = ctypes.CDLL(SONAME, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None, None
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            path = line.split(None, 5)[-1].strip()
            if os.path.basename(path).startswith("libktrace.so"):
                return c, path
    return c, SONAME


def _candidates():
    """Files in the order in which they are tried, each with what it is."""
    yield PACKAGE / "lib" / SONAME, "of the wheel"
    root = PACKAGE.parent.parent.parent
    if (root / "include" / "ktrace" / "ktrace.h").is_file():
        for preset in ("release", "install", "demo"):
            yield root / "build" / preset / SONAME, "of the build tree"
    yield SONAME, "by the loader's rules: LD_LIBRARY_PATH, /etc/ld.so.conf"
    for prefix in (sys.prefix, os.path.expanduser("~/.local"), "/usr/local"):
        for folder in ("lib", "lib64"):
            yield pathlib.Path(prefix) / folder / SONAME, "installed"


def _open(path):
    c = ctypes.CDLL(str(path))
    return c, str(path)


def _find():
    wanted = os.environ.get("KTRACE_LIBRARY", "")
    c, path = _loaded()
    if wanted:
        if c is not None and os.path.exists(wanted) and os.path.exists(path) and not os.path.samefile(wanted, path):
            raise _errors.LibraryError(
                f"KTRACE_LIBRARY is {wanted!r}, but this process has loaded {path} already: captures of one would not see "
                f"the kernels of the other. Unset it, or let it name that file")
        try:
            return _open(wanted)
        except OSError as error:
            raise _errors.LibraryError(f"KTRACE_LIBRARY is {wanted!r}, which cannot be loaded: {error}") from None
    if c is not None:
        return c, path
    tried = []
    for path, what in _candidates():
        if isinstance(path, pathlib.Path) and not path.is_file():
            tried.append(f"{path} ({what}): there is no such file")
            continue
        try:
            return _open(path)
        except OSError as error:
            tried.append(f"{path} ({what}): {error}")
    raise _errors.LibraryError(f"{SONAME} was not found. Build and install ktrace, or set KTRACE_LIBRARY to the file. "
                               "Tried:\n  " + "\n  ".join(tried))


_lock = threading.Lock()
_library = None


def get():
    """The library, loaded the first time. LibraryError: there is none, and what was tried."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                _library = Library(*_find())
    return _library


def include():
    """The folder to give a compiler with -I, for `#include <ktrace/device.h>`: that of the wheel, of the checkout, or beside the
    library. LibraryError: there is none, and where it was looked for."""
    places = [PACKAGE / "include", PACKAGE.parent.parent.parent / "include",
              pathlib.Path(get().path).resolve().parent.parent / "include"]
    for place in places:
        if (place / "ktrace" / "device.h").is_file():
            return str(place)
    raise _errors.LibraryError("ktrace/device.h was not found. Looked in " + ", ".join(map(str, places)))


# ---- Values on their way in --------------------------------------------------------------------------------------


def text_bytes(value, what):
    """A str for the library; None stays None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"ktrace: {what} is {value!r}: a str is expected")
    return _no_zero(value.encode("utf-8", errors="surrogateescape"), value, what)


def path_bytes(value, what):
    """A path for the library; None stays None."""
    if value is None:
        return None
    try:
        path = os.fsencode(value)
    except TypeError:
        raise TypeError(f"ktrace: {what} is {value!r}: a str, bytes or os.PathLike is expected") from None
    if not path:
        raise _errors.ArgumentError(f"ktrace: {what} is empty: give a path, or None for the default")
    return _no_zero(path, value, what)


def _no_zero(encoded, value, what):
    if b"\0" in encoded:
        raise _errors.ArgumentError(f"ktrace: {what} is {value!r}: it must not hold a zero character")
    return encoded


def strings(values, what):
    """(array, count) of the strs of a sequence, for NAMES."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"ktrace: {what} is {values!r}: a sequence of strs is expected, not one")
    encoded = [text_bytes(value, f"{what}[{i}]") for i, value in enumerate(values)]
    if None in encoded:
        raise TypeError(f"ktrace: {what}[{encoded.index(None)}] is None: a str is expected")
    return (c_char_p * len(encoded))(*encoded), len(encoded)
