"""What ktrace raises: a class for each status of the library, carrying its sentence.

Names that Python has too (MemoryError, OverflowError, IOError) are subclasses of Python's, so that either is caught.
"""

import builtins
import enum


class Status(enum.IntEnum):
    """enum ktrace_status."""

    OK = 0
    ARGUMENT = -1
    MEMORY = -2
    NO_DEVICE = -3
    DEVICE = -4
    STATE = -5
    OVERFLOW = -6
    FORMAT = -7
    VERSION = -8
    IO = -9
    UNSUPPORTED = -10
    NOT_FOUND = -11
    COMPILE = -12


class Error(Exception):
    """`str()` of it is the library's sentence, `status` its enum ktrace_status; None where the library could not say it."""

    status = None

    def __init__(self, sentence):
        super().__init__(sentence)


class ArgumentError(Error, ValueError):
    """A call that can never be right."""

    status = Status.ARGUMENT


class MemoryError(Error, builtins.MemoryError):
    """Host memory ran out."""

    status = Status.MEMORY


class NoDeviceError(Error):
    """No driver, no device, or no context that could be used."""

    status = Status.NO_DEVICE


class DeviceError(Error):
    """The driver refused a call."""

    status = Status.DEVICE


class StateError(Error):
    """Not now: a capture is open already, or a graph is being captured."""

    status = Status.STATE


class OverflowError(Error, builtins.OverflowError):
    """Waves or events did not fit; the sentence names the options that would have held them."""

    status = Status.OVERFLOW


class FormatError(Error, ValueError):
    """A file is not what it should be."""

    status = Status.FORMAT


class VersionError(Error):
    """Written by a newer ktrace, or a module compiled with another one."""

    status = Status.VERSION


class IOError(Error, builtins.OSError):
    """The operating system refused."""

    status = Status.IO


class UnsupportedError(Error):
    """Known, but not available in this build or on this device."""

    status = Status.UNSUPPORTED


class NotFoundError(Error, LookupError):
    """No such exporter, module or index."""

    status = Status.NOT_FOUND


class CompileError(Error):
    """A compiler refused a program."""

    status = Status.COMPILE


class LibraryError(Error, ImportError):
    """libktrace was not found, or is not one that this package can use."""


OF_STATUS = {
    kind.status: kind
    for kind in (ArgumentError, MemoryError, NoDeviceError, DeviceError, StateError, OverflowError, FormatError,
                 VersionError, IOError, UnsupportedError, NotFoundError, CompileError)
}


def of_status(status, sentence):
    """The exception for a call that returned `status`."""
    kind = OF_STATUS.get(status)
    if kind is None:
        error = Error(f"{sentence} (status {status}, which this package does not know)")
        error.status = status
        return error
    return kind(sentence)
