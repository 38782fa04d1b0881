"""ktrace: named phases inside GPU kernels, recorded and looked at.

    with ktrace.capture("gemm", blocks=(0, 0, 0)) as trace:
        launch_gemm()

    print(trace.summary())
    print(trace.export())        # gemm_ktrace.pftrace.gz, for ui.perfetto.dev

docs/python.md is the guide. Calls of libktrace release the GIL; what it has to say unasked goes to the logger "ktrace" as a
warning, a sentence at a time.
"""

from ._capture import Capture, active, capture, collect, collect_trace, disable, enable, summary
from ._errors import (ArgumentError, CompileError, DeviceError, Error, FormatError, IOError, LibraryError, MemoryError,
                      NoDeviceError, NotFoundError, OverflowError, StateError, Status, UnsupportedError, VersionError)
from ._events import EVENT_DTYPE, WAVE_DTYPE
from ._library import get as _get
from ._library import include
from ._modules import attach_cuda_module, attach_hip_module, detach_cuda_module, detach_hip_module, hip_library
from ._program import Program
from ._trace import Summary, Trace, load, merge


def version():
    """The library's, such as "0.1.0"."""
    return _get().version().decode()


def library():
    """The path of the libktrace that is used."""
    return _get().path


# Without IOError, MemoryError and OverflowError, which are not to take the place of Python's.
__all__ = [
    "ArgumentError", "Capture", "CompileError", "DeviceError", "EVENT_DTYPE", "Error", "FormatError", "LibraryError",
    "NoDeviceError", "NotFoundError", "Program", "StateError", "Status", "Summary", "Trace", "UnsupportedError",
    "VersionError", "WAVE_DTYPE", "active", "attach_cuda_module", "attach_hip_module", "capture", "collect",
    "collect_trace", "detach_cuda_module", "detach_hip_module", "disable", "enable", "hip_library", "include", "library",
    "load", "merge", "summary", "version"
]
