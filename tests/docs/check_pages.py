#!/usr/bin/env python3
"""check_pages.py --site SITE PAGE...

Makes pages true: their commands run, in order, in a folder of the page, with the ktrace that lies in SITE/home/.local; what they
show is what is printed; and code is that of a file which the tests compile or run. How a page says so is in README.md beside this.

  --site SITE     SITE/home/.local is an installed ktrace, SITE/pages/PAGE becomes the page's folder, SITE/gpu/PAGE.json what is left
                  for a machine with an NVIDIA GPU, which tests/gpu/docs.sh runs there
  --verbose       every command with what it printed

Exit status: 0, 1 where something is not true, 77 where a page's tool (nvcc, clang-22) is missing.
"""

import argparse
import glob
import os
import re
import shutil
import sys

import session
from page import Mistake, Page

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = (".c", ".h", ".cu", ".cuh", ".hip", ".cl", ".cc", ".cpp", ".py", ".cmake", ".txt", ".sh", ".inc", ".yml")
TOOLS = {"nvcc", "clang-22", "hipcc"}
GPU = "nvidia gpu"
TIMEOUT = 240


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Pool:
    """Sources of examples and tests, in which a page's code is looked for."""

    def __init__(self):
        self.texts = {}
        for folder in ("examples", "tests"):
            for path in glob.glob(f"{ROOT}/{folder}/**/*", recursive=True):
                if path.endswith(SOURCES) and os.path.isfile(path) and not path.startswith(f"{ROOT}/tests/docs/"):
                    self.texts[os.path.relpath(path, ROOT)] = "\n" + read(path)

    def file_of(self, text):
        return next((path for path, source in self.texts.items() if holds(text, source)), None)


def holds(text, source):
    """`text` as whole lines of the source, at whatever indentation that has them; a line `...` stands for any that are left out."""
    at = 0
    for piece in re.split(r"^\s*\.\.\.\n", text, flags=re.MULTILINE):
        lines = piece.strip("\n").splitlines()
        at = end_of(lines, source, at)
        if at is None:
            return False
    return True


def end_of(lines, source, start):
    if not lines:
        return start
    for match in re.compile(rf"\n([ \t]*){re.escape(lines[0])}(?=\n)").finditer(source, start):
        shifted = "\n".join(match.group(1) + line if line else "" for line in lines) + "\n"
        if source.startswith(shifted, match.start() + 1):
            return match.start() + len(shifted)
    return None


class Checked:
    """One page: what is wrong with it, and what is not run and why."""

    def __init__(self, path, site, pool, name):
        self.page, self.site, self.pool = Page(ROOT, path), site, pool
        self.problems, self.excuses, self.steps, self.code = [], [], [], 0
        self.folder, self.out, self.left = (f"{site}/{kind}/{name}" for kind in ("pages", "out", "gpu"))

    def wrong(self, block, text):
        self.problems.append(f"{block.at()}: {text}")

    def prepare(self):
        for folder in (self.folder, self.out):
            shutil.rmtree(folder, ignore_errors=True)
        if "folder" in self.page.comments:
            shutil.copytree(os.path.join(ROOT, self.page.comments["folder"]), os.path.join(self.folder, self.page.comments["folder"]))
        os.makedirs(self.folder, exist_ok=True)
        for name, source in self.page.files:
            self.put(name, read_bytes(os.path.join(ROOT, source)))

    def put(self, name, data):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def take_code(self, block):
        self.code += 1
        name, _, source = (part.strip() for part in block.comments.get("file", "").partition("="))
        if "sketch" in block.comments:
            self.excuses.append(f"{block.at()}: a sketch: {block.comments['sketch']}")
        elif source:
            if not holds(block.text, "\n" + read(os.path.join(ROOT, source))):
                self.wrong(block, f"this is not in {source}")
            self.put(name, read_bytes(os.path.join(ROOT, source)))
        elif name:
            self.put(name, block.text.encode())
        elif block.language.split()[0] == "python" and "run by" in self.page.comments:
            if not os.path.exists(os.path.join(ROOT, self.page.comments["run by"])):
                self.wrong(block, f"run by {self.page.comments['run by']}, which is not there")
            return
        elif not self.pool.file_of(block.text):
            self.wrong(block, f"no file of examples/ or tests/ has these lines, which begin with {block.text.splitlines()[0]!r}")
            return
        if name and "sketch" not in block.comments and not self.is_used(name, block):
            self.wrong(block, f"no command of the page uses {name}")

    def is_used(self, name, me):
        names = {name, os.path.basename(name)}
        if os.path.basename(name) == "CMakeLists.txt":
            names = {"cmake"}
        if os.path.basename(name) == "Makefile":
            names = {"make"}
        text = "".join(block.text for block in self.page.blocks if block is not me and (block.kind == "commands" or "file" in block.comments))
        return any(re.search(rf"(?<![\w.]){re.escape(each)}\b", text) for each in names)

    def take_commands(self, block):
        if "not run" in block.comments:
            self.excuses.append(f"{block.at()}: not run: {block.comments['not run']}")
            return
        needs = [need.strip() for need in block.comments.get("needs", "").split(",") if need.strip()]
        gpu = GPU in needs
        exits = int(block.comments.get("exits", "0"))
        commands = block.commands()
        if "instead" in block.comments:
            self.excuses.append(f"{block.at()}: {block.comments['instead']}, in place of: {block.text.splitlines()[0]}")
            commands = [(block.comments["instead"] + "\n", [])]
        for i, (text, shown) in enumerate(commands):
            last = i == len(commands) - 1
            self.steps.append(session.Step(block.at(), text, list(shown), exits if last else 0, gpu, gpu or "output" in block.comments, needs))

    def take(self):
        for block in self.page.blocks:
            if block.kind == "code":
                self.take_code(block)
            elif block.kind == "commands":
                self.take_commands(block)
                last = block
            elif block.kind == "output":
                if not self.steps:
                    self.wrong(block, "output of no command: say ```text where it is none")
                elif "not run" not in last.comments:
                    self.steps[-1].shown += block.text.splitlines()

    def missing_tool(self):
        words = set(re.findall(r"^(?:\w+=\S+ )*([\w.+-]+)", "".join(step.commands for step in self.steps), re.MULTILINE))
        wanted = {"clang-22" if word == "hipcc" else word for word in TOOLS & words}  # what the stand-in runs
        return next((tool for tool in sorted(wanted) if not shutil.which(tool, path=search_path(self.site))), None)

    def run(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("KTRACE_", "FLYDSL_"))}
        home = f"{self.site}/home"
        environment.update(
            HOME=home, PATH=search_path(self.site), PYTHONPATH=f"{ROOT}/bindings/python", PYTHONDONTWRITEBYTECODE="1",
            LC_ALL="C.UTF-8", TERM="dumb", NO_COLOR="1", COLUMNS="130",
        )
        # Where there is a GPU pages show the same as where there is none.
        simulator = glob.glob(f"{home}/.local/lib*/libktrace_sim.so")
        if simulator:
            environment.update(KTRACE_HIP_LIBRARY=simulator[0])
        shell_said = session.run(self.steps, self.folder, self.out, environment, TIMEOUT)
        for step in self.steps:
            if step.gpu:
                self.excuses.append(f"{step.at}: on a machine with an NVIDIA GPU: {step.commands.splitlines()[0]}")
                continue
            text = session.problem(step)
            if text:
                self.problems.append(f"{step.at}: {step.commands.strip()}\n    {text}; it printed:\n" + indented(step.printed))
        if shell_said.strip():
            self.problems.append(f"{self.page.path}: the shell says:\n" + indented(shell_said))
        os.makedirs(os.path.dirname(self.left), exist_ok=True)
        session.save([step for step in self.steps if step.gpu], self.site, f"{self.left}.json")


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def indented(text):
    return "".join(f"    | {line}\n" for line in (text or "").splitlines()[-30:])


def search_path(site):
    """An installed ktrace, stand-ins, this Python and its packages, then what the machine has; nvcc also where it lies by default."""
    return os.pathsep.join([f"{ROOT}/tests/docs/stand_in/bin", f"{site}/home/.local/bin", os.path.dirname(sys.executable), os.environ.get("PATH", ""), "/usr/local/cuda/bin",
                            f"{ROOT}/.tools/cuda/bin"])


def check(path, site, pool, verbose, name):
    """0, 1 or 77, having said why."""
    checked = Checked(path, site, pool, name)
    checked.prepare()
    checked.take()
    tool = checked.missing_tool()
    if checked.steps and not tool:
        checked.run()
    for line in checked.problems:
        print(line.rstrip("\n"))
    for line in checked.excuses:
        print(f"  {line}")
    if verbose:
        for step in checked.steps:
            print(f"$ {step.commands}{step.printed or ''}", end="")
    ran = sum(1 for step in checked.steps if not step.gpu and not tool)
    print(f"{path}: {checked.code} blocks of code, {ran} steps run, {len(checked.excuses)} not here, {len(checked.problems)} wrong")
    if tool:
        print(f"{tool} is missing, so that the page's commands were not run")
    return 1 if checked.problems else 77 if tool else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", required=True)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("pages", nargs="+", metavar="PAGE")
    arguments = parser.parse_args()
    site = os.path.abspath(arguments.site)
    if not os.path.exists(f"{site}/home/.local/bin/ktrace"):
        print(f"no ktrace is installed in {site}/home/.local")
        return 1
    pool, results = Pool(), []
    for path in arguments.pages:
        try:
            path = os.path.relpath(os.path.abspath(path), ROOT)
            results.append(check(path, site, pool, arguments.verbose, path.removesuffix(".md").replace("/", "_")))
        except Mistake as error:
            print(error)
            results.append(1)
    return 1 if 1 in results else 77 if 77 in results else 0


if __name__ == "__main__":
    sys.exit(main())
