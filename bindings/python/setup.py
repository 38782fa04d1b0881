"""What pyproject.toml cannot say: the version, which is that of the library, and what the wheel carries besides: the headers
for kernels, and libraries.

KTRACE_WHEEL_LIBRARY names the libktrace.so.0 to carry; "" carries none, and the wheel is for any platform. Without the
variable it is that of the build tree, build/install or build/release, if there is one. A simulator beside it comes along.
"""

import os
import pathlib
import re
import shutil
import sysconfig

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER = ROOT / "include" / "ktrace" / "ktrace.h"
SONAME, SIMULATOR = "libktrace.so.0", "libktrace_sim.so"


def version():
    if not HEADER.is_file():
        raise SystemExit(f"ktrace: {HEADER} is not there: build the wheel in a checkout of ktrace, as in "
                         f"`pip wheel bindings/python`")
    return re.search(r'^#define KTRACE_VERSION_STRING "(.*)"', HEADER.read_text(), re.MULTILINE).group(1)


def carried():
    """The libraries that the wheel carries: [] or [libktrace] or [libktrace, the simulator]."""
    wanted = os.environ.get("KTRACE_WHEEL_LIBRARY")
    if wanted is None:
        places = [ROOT / "build" / preset / SONAME for preset in ("install", "release")]
        library = next((place for place in places if place.is_file()), None)
    elif wanted == "":
        library = None
    else:
        library = pathlib.Path(wanted)
        if not library.is_file():
            raise SystemExit(f"ktrace: KTRACE_WHEEL_LIBRARY is {wanted!r}: there is no such file")
    if library is None:
        return []
    simulator = library.parent / SIMULATOR
    return [(library, SONAME)] + ([(simulator, SIMULATOR)] if simulator.is_file() else [])


class Carry(build_py):
    def run(self):
        super().run()
        package = pathlib.Path(self.build_lib) / "ktrace"
        folder, include = package / "lib", package / "include"
        for old in (folder, include):  # of a build before
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(HEADER.parent, include / "ktrace")
        for library, name in carried():
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(library, folder / name)


class Carrying(Distribution):
    """With libraries it is one for a platform."""

    def has_ext_modules(self):
        return bool(carried())


class Tagged(bdist_wheel):
    """For every Python, as nothing is compiled against it."""

    def get_tag(self):
        platform = re.sub("[-.]", "_", sysconfig.get_platform()) if carried() else "any"
        return "py3", "none", platform


setup(version=version(), distclass=Carrying, cmdclass={"build_py": Carry, "bdist_wheel": Tagged})
