#!/usr/bin/env python3
"""The commands of the documentation's pages that want an NVIDIA GPU, and what they print compared with what the pages show.

    test_docs.py [--site SITE] [OPTION...]

      --site SITE     what `ctest -L docs` left: an installed ktrace, and pages' folders with what was built in them. By default
                      KTRACE_DOCS_SITE of the environment
      --only PAGE     this page, such as docs_howto_cuda; may be repeated
      --list          the names of the pages
      --verbose       what every command prints
      --save DIR      DIR gets the traces that the pages' commands made
      --quick         accepted and ignored

Nothing is compiled here, but by what pages run themselves: commands that want nvcc or PyTorch are left out, and named, where that is missing.

Exit status: 0, or 1 when something is not as its page shows it, or 77 where there is no GPU or no site.
"""

import argparse
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "docs"))
import session  # noqa: E402

PYTHON_PACKAGES = {"pytorch": "torch", "cupy": "cupy", "cuda-python": "cuda.bindings"}
TIMEOUT = 150


def skip(why):
    print(f"test_docs: skipped: {why}")
    sys.exit(77)


def parse():
    parser = argparse.ArgumentParser(description="The commands of the documentation's pages that want an NVIDIA GPU.")
    parser.add_argument("--site", default=os.environ.get("KTRACE_DOCS_SITE"))
    parser.add_argument("--only", action="append", default=[], metavar="PAGE")
    for flag in ("--list", "--verbose", "--quick"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--save", metavar="DIR")
    return parser.parse_args()


def has_gpu():
    tool = shutil.which("nvidia-smi")
    return bool(glob.glob("/dev/nvidia[0-9]*")) or bool(tool and b"GPU" in subprocess.run([tool, "-L"], capture_output=True).stdout)


def lacking(needs):
    """What of `needs`, as pages name it, is not here; None if all is."""
    for need in sorted(needs):
        if need in PYTHON_PACKAGES:
            code = f"import {PYTHON_PACKAGES[need]}"
            if subprocess.run(["python3", "-c", code], capture_output=True).returncode:
                return need
        elif need != "nvidia gpu" and not shutil.which(need):
            return need
    return None


def nvrtc_folders():
    """Where a program that was linked with NVRTC finds it: CUDA's folder, or that of Python's packages."""
    nvcc = shutil.which("nvcc")
    places = [os.path.join(os.path.dirname(os.path.realpath(nvcc)), "..")] if nvcc else []
    places += ["/usr/local/cuda", *glob.glob(f"{sys.prefix}/lib/python3*/site-packages/nvidia/*")]
    return [path for place in places for path in (f"{place}/lib64", f"{place}/lib") if glob.glob(f"{path}/libnvrtc.so*")]


def environment(site):
    prefix = f"{site}/home/.local"
    library = os.path.dirname(next(iter(glob.glob(f"{prefix}/lib*/libktrace.so.0")), f"{prefix}/lib/"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KTRACE_")}
    paths = [library, os.environ.get("LD_LIBRARY_PATH", ""), *nvrtc_folders()]
    return dict(
        kept, HOME=f"{site}/home", PATH=f"{prefix}/bin:{os.environ['PATH']}", PYTHONPATH=str(ROOT / "bindings" / "python"),
        LD_LIBRARY_PATH=":".join(path for path in paths if path), KTRACE_LIBRARY=f"{library}/libktrace.so.0", NO_COLOR="1",
        TERM="dumb", COLUMNS="130", LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1",
    )


def left_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def is_there(steps):
    """Not what a page left that is gone."""
    return bool(steps) and (ROOT / steps[0]["at"].rpartition(":")[0]).is_file()


def steps_of(name, site):
    """As they were left, each with the folder and the variables that the page had set by then."""
    left = left_of(f"{site}/gpu/{name}.json")
    for kept in left["steps"]:
        set_up = [f'cd "{site}/pages/{name}/{kept["folder"]}"', *(f'{key}="{value}"' for key, value in kept["variables"].items())]
        step = session.Step(kept["at"], kept["commands"], kept["shown"], kept["exits"], loose=True, needs=kept["needs"])
        step.set_up = "".join(line + "\n" for line in set_up).replace(left["site"], site)
        yield step


def run(name, site, options):
    """"ok", "FAILED" or "skipped"."""
    steps = []
    for step in steps_of(name, site):
        what = lacking(step.needs)
        if what:
            print(f"  not run: there is no {what}: {step.at}: {step.commands.splitlines()[0]}")
        else:
            steps.append(step)
    if not steps:
        return "skipped"
    out = f"{site}/out_gpu/{name}"
    shutil.rmtree(out, ignore_errors=True)
    said = session.run(steps, f"{site}/pages/{name}", out, environment(site), TIMEOUT)
    failed = False
    for step in steps:
        if options.verbose:
            print(f"$ {step.commands.strip()}\n{step.printed or ''}", end="")
        problem = session.problem(step)
        if problem:
            failed = True
            print(f"  FAILED {step.at}: {step.commands.strip()}: {problem}; it printed:")
            print("".join(f"    | {line}\n" for line in (step.printed or "").splitlines()[-40:]), end="")
    if said.strip():
        print(f"  the shell says: {said.strip()}")
    if options.save:
        for trace in glob.glob(f"{site}/pages/{name}/**/*.ktrace", recursive=True):
            shutil.copy(trace, os.path.join(options.save, f"{name}_{os.path.basename(trace)}"))
    print(f"  {'FAILED' if failed else 'ok'}", flush=True)
    return "FAILED" if failed else "ok"


def main():
    options = parse()
    if not options.site or not os.path.isdir(f"{options.site}/gpu"):
        skip(f"there is no site: {options.site or 'KTRACE_DOCS_SITE is not set'}")
    site = os.path.abspath(options.site)
    paths = sorted(glob.glob(f"{site}/gpu/*.json"))
    names = [os.path.basename(path).removesuffix(".json") for path in paths if is_there(left_of(path)["steps"])]
    if options.list:
        print("\n".join(names))
        return 0
    unknown = set(options.only) - set(names)
    if unknown:
        print(f"test_docs: there is no page {sorted(unknown)[0]}")
        return 2
    if not has_gpu():
        skip("there is no NVIDIA GPU")
    results = []
    for name in options.only or names:
        print(name, flush=True)
        results.append(run(name, site, options))
    print(", ".join(f"{results.count(word)} {told}" for word, told in (("ok", "passed"), ("FAILED", "failed"), ("skipped", "skipped"))))
    return 1 if "FAILED" in results else 0 if "ok" in results else 77


if __name__ == "__main__":
    sys.exit(main())
