"""Kernels compiled at run time, traced inside a capture and untraced outside."""

import weakref
from ctypes import byref, c_void_p

from . import _errors, _library

_TRACE = {None: 0, True: 1, False: 2}  # enum ktrace_program_trace


class Program:
    """A kernel's source, compiled by NVRTC or hipRTC when a kernel is asked for: docs/programs.md.

    source               CUDA C++ or HIP C++; <ktrace/device.h> is there without an include path
    name                 of the source, in messages and traces
    options              for the compiler, such as ["-DTILE=64"]
    headers              {name: text} of what the source includes by these names
    include_directories  a program that has any is not kept in the disk cache
    kernels              names that belong into one module; others are compiled when they are asked for
    backend              'cuda' or 'hip'; default as for captures
    trace                True, False: whatever a capture says; None: traced while `ktrace.active()`
    cache_directory      of the disk cache; '': none; None: docs/settings.md
    """

    def __init__(self, source, *, name=None, options=(), headers=None, include_directories=(), kernels=(), backend=None,
                 trace=None, cache_directory=None):
        if not isinstance(source, str):
            raise TypeError(f"ktrace: source is {source!r}: a str is expected")
        if trace is not None and not isinstance(trace, bool):
            raise TypeError(f"ktrace: trace is {trace!r}: True, False or None is expected")
        o = _library.ProgramOptions()
        o.name = _library.text_bytes(name, "name")
        o.compiler_options, o.compiler_option_count = _library.strings(options, "options")
        headers = dict(headers or {})
        o.headers = (_library.ProgramHeader * len(headers))(
            *(_library.ProgramHeader(_library.text_bytes(key, "a header's name"),
                                     _library.text_bytes(text, f"header {key!r}")) for key, text in headers.items()))
        o.header_count = len(headers)
        o.include_directories, o.include_directory_count = _library.strings(
            [str(path) for path in include_directories], "include_directories")
        o.kernels, o.kernel_count = _library.strings(kernels, "kernels")
        o.backend = _library.text_bytes(backend, "backend")
        o.trace = _TRACE[trace]
        o.cache_directory = b"" if cache_directory == "" else _library.path_bytes(cache_directory, "cache_directory")
        self._library = _library.get()
        handle = c_void_p()
        self._library.program_create(byref(handle), _library.text_bytes(source, "source"), byref(o))
        self._handle = handle
        self._close = weakref.finalize(self, self._library.program_destroy, handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Detach and unload its modules: while none of its kernels runs, or is in a graph that will."""
        self._handle = None
        self._close()

    def _open(self):
        if self._handle is None:
            raise _errors.StateError("ktrace: this program was closed: its kernels are unloaded")
        return self._handle

    def kernel(self, name):
        """The handle of a kernel, an int: a CUfunction of the current context, or a hipFunction_t of the current device. Traced
        or untraced as it was handed out: ask where you launch it, and before a graph is built. It is good as long as the program
        is there."""
        handle, function = self._open(), c_void_p()
        self._library.program_kernel(byref(function), handle, _library.text_bytes(name, "name"))
        return function.value

    @property
    def log(self):
        """What the compiler said the last time; "" if nothing."""
        return self._library.program_log(self._open()).decode(errors="replace")

    @property
    def info(self):
        """The fields of struct ktrace_program_info, as a dict: compilations, finds in the disk cache, ..."""
        handle, info = self._open(), _library.ProgramInfo()
        self._library.program_get_info(byref(info), handle)
        return _library.fields_of(info)
