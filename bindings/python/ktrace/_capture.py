"""Captures, and process-wide collection."""

import operator
import os
import weakref
from ctypes import byref, c_void_p

from . import _errors, _library, _trace


def _whole(value, what, largest):
    """A count; None and 0 are the default."""
    if value is None:
        return 0
    if isinstance(value, bool):
        raise TypeError(f"ktrace: {what} is {value!r}: a number is expected")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"ktrace: {what} is {value!r}: a number is expected") from None
    if not 0 <= number <= largest:
        raise _errors.ArgumentError(f"ktrace: {what} is {number}: it must lie between 0 and {largest}")
    return number


def _numbers(values, what):
    """Numbers with commas between them, as filters and lists of devices have them."""
    words = []
    for value in values:
        if isinstance(value, str):
            words.append(value)
        elif value is None:
            raise TypeError(f"ktrace: {what} is {values!r}: each is a number, or text such as '2-5'")
        else:
            words.append(str(_whole(value, f"{what} {values!r}: an element", 2**32 - 1)))
    return ",".join(words)


def _blocks_text(blocks):
    if blocks is None or isinstance(blocks, str):
        return blocks
    if isinstance(blocks, (tuple, list)) and 1 <= len(blocks) <= 3:
        return _numbers(blocks, "blocks")
    raise TypeError(f"ktrace: blocks is {blocks!r}: up to three coordinates are expected, such as (0, 0, 0) or (0, '2-5', "
                    f"'*'), or a filter as text, such as 'xcc:2 every:64'")


def _devices_text(devices):
    if devices is None or isinstance(devices, str):
        return devices
    if isinstance(devices, (tuple, list, range)):
        if not devices:
            raise _errors.ArgumentError("ktrace: devices is empty: name at least one, or None for those in use")
        return _numbers(devices, "devices")
    return str(_whole(devices, "devices", 2**32 - 1))


def _options(name=None, blocks=None, out_dir=None, events_per_wave=None, events_per_lane=None, buffer_bytes=None,
             keep_last=None, devices=None, backend=None, stay_armed=False):
    if keep_last is not None and not isinstance(keep_last, bool):
        raise TypeError(f"ktrace: keep_last is {keep_last!r}: True, False or None is expected")
    options = _library.CaptureOptions()
    options.name = _library.text_bytes(name, "name")
    options.buffer_bytes = _whole(buffer_bytes, "buffer_bytes", 2**64 - 1)
    options.events_per_wave = _whole(events_per_wave, "events_per_wave", 2**32 - 1)
    options.events_per_lane = _whole(events_per_lane, "events_per_lane", 2**32 - 1)
    options.keep_last = {None: 0, True: 1, False: -1}[keep_last]
    options.backend = _library.text_bytes(backend, "backend")
    options.blocks = _library.text_bytes(_blocks_text(blocks), "blocks")
    options.directory = _library.path_bytes(out_dir, "out_dir")
    options.devices = _library.text_bytes(_devices_text(devices), "devices")
    options.stay_armed = bool(stay_armed)
    return options


class Capture:
    """A window in which annotated kernels record; made by `ktrace.capture` and opened by `with`.

    All methods may be called inside the block and after it, from any thread. What they show is one snapshot: all that was
    recorded since the block began, or was last read or cleared.
    """

    def __init__(self, options):
        self._options = options
        self._handle = None
        self._closed = False
        self._close = None
        self._library = None

    # ---- The block

    def __enter__(self):
        if self._handle is not None or self._closed:
            raise _errors.StateError("ktrace: this capture was begun already: make another one with ktrace.capture")
        self._library = _library.get()
        handle = c_void_p()
        self._library.capture_begin(byref(handle), byref(self._options))
        self._handle = handle
        self._close = weakref.finalize(self, self._library.capture_destroy, handle)
        return self

    def __exit__(self, kind, error, traceback):
        if self._closed:
            return
        try:
            self._library.capture_stop(self._handle)
        except _errors.Error as problem:
            if kind is None:
                raise
            _library.log.warning("the capture could not be read when the block was left by %s: %s", kind.__name__,
                                 problem)

    def close(self):
        """End the capture and forget what it shows; nothing more can be asked of it. Happens by itself when it is not
        referenced any more."""
        self._closed = True
        self._handle = None
        if self._close is not None:
            self._close()

    def _open(self):
        if self._closed:
            raise _errors.StateError("ktrace: this capture was closed: nothing can be asked of it any more")
        if self._handle is None:
            raise _errors.StateError("ktrace: this capture has not begun: use it as in `with ktrace.capture(...) as trace:`")
        return self._handle

    # ---- Traces

    def read(self):
        """Wait for the devices and return a Trace of what was recorded since the beginning, or the last read or clear; the next
        one starts anew. After the block, with stay_armed: what was recorded since."""
        handle = self._open()
        return _trace.taken(self._library.capture_read, handle)

    def snapshot(self):
        """The same Trace without starting anew; of what was read last, if nothing was recorded since."""
        handle = self._open()
        return _trace.taken(self._library.capture_snapshot, handle)

    def peek(self):
        """What is there, without waiting: kernels may be running or hung. Nothing is cleared."""
        handle = self._open()
        return _trace.taken(self._library.capture_peek, handle)

    def clear(self):
        """Wait for the devices, then forget what was recorded and what the capture shows."""
        handle = self._open()
        self._library.capture_clear(handle)

    # ---- Of one snapshot

    def summary(self):
        """Totals of each phase, a Summary; None where there are no events."""
        return self.snapshot().summary()

    def launches(self):
        """Each launch in the order of first timestamps, a list of dicts: see Trace.launches."""
        return self.snapshot().launches()

    def events(self):
        """As Trace.events."""
        return self.snapshot().events()

    def waves(self):
        """As Trace.waves."""
        return self.snapshot().waves()

    def dataframe(self):
        """As Trace.dataframe."""
        return self.snapshot().dataframe()

    def save(self, path):
        """As Trace.save."""
        return self.snapshot().save(path)

    def export(self):
        """Write <name>_ktrace.pftrace.gz into out_dir, with a numeric suffix where that exists; returns its path. None
        where there are no events."""
        handle, path = self._open(), c_void_p()
        self._library.capture_export(byref(path), handle)
        path = self._library.taken(path)
        return None if path is None else os.fsdecode(path)

    def export_launches(self, names=None):
        """One file into out_dir for each launch that has events, in the order of first timestamps; returns their paths.
        `names`: one for each, else "<kernel>_launch_<index>"."""
        handle = self._open()
        return _trace.export_launches(
            self._library, names,
            lambda paths, count, *names: self._library.capture_export_launches(paths, count, handle, *names))


def capture(name="ktrace", *, blocks=None, out_dir=None, events_per_wave=None, events_per_lane=None, buffer_bytes=None,
            keep_last=None, devices=None, backend=None, stay_armed=False):
    """A Capture, to be opened by `with`. None means what the environment says, or the default: docs/settings.md.

    name             of the trace and of its files
    blocks           which waves record: (x, y, z), each a number, '2-5' or '*', or a filter as text ('xcc:2 every:64')
    out_dir          where files go; it must exist
    events_per_wave  slots of a wave's ring; a payload takes one of its own
    events_per_lane  the same for lanes that record while lane 0 is not active (NVIDIA)
    buffer_bytes     device memory for waves
    keep_last        True: a ring that wraps keeps its newest events instead of raising OverflowError
    devices          'active', 'all', a number, or several
    backend          'cuda' or 'hip'
    stay_armed       True: kernels still record after the block, for read()
    """
    return Capture(_options(name, blocks, out_dir, events_per_wave, events_per_lane, buffer_bytes, keep_last, devices,
                            backend, stay_armed))


# ---- Process-wide collection -------------------------------------------------------------------------------------


def enable(*, blocks=None, out_dir=None, events_per_wave=None, events_per_lane=None, buffer_bytes=None, keep_last=None,
           devices=None, backend=None):
    """Record from now on, outside of captures, whatever KTRACE_ENABLE says. Settings are those of `capture`."""
    options = _options(None, blocks, out_dir, events_per_wave, events_per_lane, buffer_bytes, keep_last, devices,
                       backend)
    _library.get().enable(byref(options))


def disable():
    """End that, and forget what was not collected. Nothing happens where it is off."""
    _library.get().disable()


def active():
    """Whether a capture is open in this process or process-wide collection is on."""
    return bool(_library.get().active())


def collect_trace():
    """Read the devices and return a Trace of what process-wide collection recorded; the same one until something new is. None
    where the collection is off."""
    return _trace.taken(_library.get().collect_trace)


def summary():
    """The Summary of collect_trace(); None where there are no events, or the collection is off."""
    trace = collect_trace()
    return None if trace is None else trace.summary()


def collect(name="kernel", out_dir=None):
    """Write the trace of collect_trace() as <name>_ktrace.pftrace.gz into `out_dir`, or that of the settings; returns its path.
    None where there are no events, or the collection is off."""
    library, path = _library.get(), c_void_p()
    library.collect(byref(path), _library.text_bytes(name, "name"), _library.path_bytes(out_dir, "out_dir"))
    path = library.taken(path)
    return None if path is None else os.fsdecode(path)
