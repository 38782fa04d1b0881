#!/usr/bin/env python3
"""check_terminal.py --ktrace COMMAND --traces FOLDER

On terminals of its own: colours where they may be and nowhere else, whatever command prints; the same words and columns with and
without them; nothing from a file that could drive the terminal; progress on what takes over a second, and only there.
FOLDER is tests/data.
"""

import argparse
import concurrent.futures
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import zlib

ESCAPE = b"\x1b"
STYLES = re.compile(rb"\x1b\[(?:0|1|3[1-6]|1;31)m")  # style.c
PATIENCE_S = 60
SLOW_S = 1.7  # of what must be said to take over a second


def environment(folder, more):
    fixed = {"PATH": f"{folder}:/usr/bin:/bin", "LC_ALL": "C", "HOME": str(folder), "TERM": "xterm"}
    fixed |= {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
    return {name: value for name, value in (fixed | more).items() if value is not None}


class Runner:
    def __init__(self, ktrace, folder):
        self.ktrace, self.folder = ktrace, folder

    def on_terminal(self, arguments, columns=200, streams="both", patience_s=PATIENCE_S, **more):
        """What comes out of a terminal where standard output, standard error or both are; \\r\\n of the terminal is \\n."""
        main, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        elsewhere = open(os.devnull, "wb")
        process = subprocess.Popen(
            [self.ktrace, *arguments], cwd=self.folder, env=environment(self.folder, more), stdin=subprocess.DEVNULL,
            stdout=elsewhere if streams == "stderr" else terminal, stderr=elsewhere if streams == "stdout" else terminal)
        os.close(terminal)
        elsewhere.close()
        out, end = b"", time.monotonic() + patience_s
        while time.monotonic() < end:
            if not select.select([main], [], [], 0.2)[0]:
                continue
            try:
                piece = os.read(main, 65536)
            except OSError:  # nobody has the terminal open any more
                break
            if not piece:
                break
            out += piece
        else:
            process.kill()
        process.wait()
        os.close(main)
        return out.replace(b"\r\n", b"\n")

    def in_pipe(self, arguments, **more):
        done = subprocess.run([self.ktrace, *arguments], cwd=self.folder, env=environment(self.folder, more),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S)
        return done.stdout


# ---- Colours --------------------------------------------------------------------------------------------------------

# Whether it has something that stands out; the arguments. Files: v1 (several kernels, losses), big, hostile.
COMMANDS = [
    (True, ["summary", "v1.ktrace"]),
    (True, ["summary", "--launches", "v1.ktrace"]),
    (True, ["summary", "--by", "wave", "v1.ktrace"]),
    (True, ["summary", "--by", "sm", "v1.ktrace"]),
    (True, ["summary", "two_devices.ktrace"]),
    (True, ["launches", "v1.ktrace"]),
    (True, ["info", "v1.ktrace"]),
    (True, ["info", "--waves", "v1.ktrace"]),
    (True, ["sites", "v1.ktrace"]),
    (True, ["events", "v1.ktrace"]),
    (True, ["diff", "v1.ktrace", "v1.ktrace"]),
    (True, ["diff", "--fail-if", "gemm/k_tile p50 > +3%", "v1.ktrace", "v1.ktrace"]),
    (True, ["merge", "-o", "merged.ktrace", "v1.ktrace", "two_devices.ktrace"]),
    (True, ["record", "--", "true"]),
    (True, ["watch", "--once", "v1.ktrace"]),
    (True, ["watch", "--once", "--json", "missing.ktrace"]),  # the error
    (True, ["doctor", "--lint", "v1.ktrace"]),
    (True, ["doctor"]),
    (True, ["demo", "--replay"]),
    (True, ["summary", "missing.ktrace"]),  # errors stand out
    (True, ["summary"]),
    (True, ["nonsense"]),
    (False, ["export", "-f", "csv", "-o", "out.csv", "v1.ktrace"]),
    (False, ["export", "-f", "json", "-o", "-", "v1.ktrace"]),
    (False, ["export", "-f", "chrome", "-o", "-", "v1.ktrace"]),
    (False, ["report", "-o", "out.html", "v1.ktrace"]),
    (False, ["completion", "bash"]),
    (False, ["watch", "--once", "--json", "v1.ktrace"]),
    (False, ["info", "--json", "v1.ktrace"]),
    (False, ["summary", "--json", "v1.ktrace"]),
    (False, ["summary", "--by", "wave", "--json", "v1.ktrace"]),
    (False, ["launches", "--json", "v1.ktrace"]),
    (False, ["sites", "--json", "v1.ktrace"]),
    (False, ["sites", "--csv", "v1.ktrace"]),
    (False, ["events", "--csv", "v1.ktrace"]),
    (False, ["events", "--jsonl", "v1.ktrace"]),
    (False, ["diff", "--json", "v1.ktrace", "v1.ktrace"]),
    (False, ["doctor", "--json"]),
    (False, ["--help"]),
    (False, ["help", "summary"]),
]
FORBIDDEN = {"NO_COLOR": {"NO_COLOR": "1"}, "TERM=dumb": {"TERM": "dumb"}, "TERM=": {"TERM": ""}, "no TERM": {"TERM": None}}


def stable(output):
    """Without what differs from run to run: times that doctor measures, the numbers of demos."""
    output = re.sub(rb"demo(_\d+)?((_ktrace_?\d*\.pftrace\.gz)|\.ktrace)", rb"demo", output)
    return re.sub(rb"A demo was there already.*\n", b"", output)


def check_command(run, stands_out, arguments):
    faults, prefix = [], " ".join(arguments)

    def expect(condition, what):
        if not condition:
            faults.append(f"{prefix}: {what}")

    plain = stable(run.in_pipe(arguments))
    expect(plain, "it prints nothing")
    expect(ESCAPE not in plain, "an escape sequence in a pipe")
    expect(ESCAPE not in run.in_pipe(arguments, TERM="xterm", FORCE_COLOR="1", CLICOLOR_FORCE="1"), "colours in a pipe")
    shown = stable(run.on_terminal(arguments))
    expect((ESCAPE in shown) == stands_out, "no colours on a terminal" if stands_out else "colours where there should be none")
    for name, variables in FORBIDDEN.items():
        quiet = stable(run.on_terminal(arguments, **variables))
        expect(ESCAPE not in quiet, f"colours with {name}")
        expect(quiet == STYLES.sub(b"", shown), f"with {name}, other words or widths")
    expect(ESCAPE not in run.on_terminal(["--color=never", *arguments]), "colours with --color=never")
    expect(stable(run.on_terminal(arguments, NO_COLOR="")) == shown, "an empty NO_COLOR is none")
    always = stable(run.in_pipe(["--color=always", *arguments], NO_COLOR="1", TERM="dumb"))
    expect((ESCAPE in always) == stands_out, "--color=always is not always")
    expect(STYLES.sub(b"", always) == plain, "with --color=always, other words or widths")
    if arguments[0] in ("summary", "info", "events") and len(arguments) > 1:  # behind the command, too
        expect(stable(run.in_pipe([*arguments, "--color=always"])) == always, "--color behind the command differs")
    for line in always.split(b"\n"):
        expect(not STYLES.search(line) or line.rstrip(b"\r").count(b"\x1b[0m") * 2 == len(STYLES.findall(line)),
               f"a style that does not end on its line: {line!r}")
    return faults


def check_streams(run):
    """Of two streams only the terminal has colours."""
    faults = []
    with_error = ["diff", "--fail-if", "nothing p50 > +3%", "v1.ktrace", "v1.ktrace"]
    if ESCAPE not in run.on_terminal(with_error, streams="stderr"):
        faults.append("no colours on standard error, where standard output is a file")
    if ESCAPE not in run.on_terminal(["summary", "v1.ktrace"], streams="stdout"):
        faults.append("no colours on standard output, where standard error is a file")
    done = subprocess.run([run.ktrace, *with_error], cwd=run.folder, env=environment(run.folder, {}), capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
    if ESCAPE in done.stderr:
        faults.append("colours on standard error, which is a pipe")
    return faults


def check_narrow(run):
    """Lines fill the terminal to its width, colours or not."""
    faults = []
    for columns in (115, 120, 140):
        shown = STYLES.sub(b"", run.on_terminal(["summary", "gemm.ktrace"], columns=columns))
        widest = max(len(line) for line in shown.split(b"\n") if b"##" in line)
        if widest > columns:
            faults.append(f"{widest} columns on a terminal of {columns}")
    return faults


def check_screen(run):
    """watch draws a screen only where it can be drawn; without one its looks follow each other."""
    faults = []
    for term, drawn in (("xterm", True), ("dumb", False)):
        shown = run.on_terminal(["watch", "--interval", "1", "v1.ktrace"], patience_s=2.5, TERM=term, NO_COLOR="1")
        if (ESCAPE in shown) != drawn or b"look 1" not in shown:
            faults.append(f"watch with TERM={term}: {shown[:100]!r}")
    return faults


# ---- Names from files -----------------------------------------------------------------------------------------------


def with_name(data, old, new):
    """The trace file with another name, and right checksums: docs/format.md, 1.2."""
    assert len(old) == len(new) and data.count(old) >= 1
    data = bytearray(data.replace(old, new))
    at = struct.unpack_from("<I", data, 32)[0]
    while at + 24 <= len(data):
        size = struct.unpack_from("<Q", data, at + 8)[0]
        if at + 24 + size > len(data):
            break
        struct.pack_into("<I", data, at + 16, zlib.crc32(data[at + 24 : at + 24 + size]))
        struct.pack_into("<I", data, at + 20, zlib.crc32(data[at : at + 20]))
        at += 24 + size + -size % 8
    return bytes(data)


def check_hostile(run):
    faults = []
    for _, arguments in COMMANDS:
        arguments = [word.replace("v1", "hostile") for word in arguments]
        if "hostile.ktrace" not in arguments or "-" in arguments:
            continue
        for output in (run.on_terminal(arguments), run.in_pipe(["--color=always", *arguments])):
            rest = STYLES.sub(b"", output)
            if ESCAPE in rest and not {"--csv"} & set(arguments):  # CSV is for programs, and exact
                faults.append(f"{' '.join(arguments)}: a name drives the terminal: {rest[rest.index(ESCAPE) - 20:][:60]!r}")
    shown = run.on_terminal(["summary", "hostile.ktrace"])
    if b"\\x1B[5m" not in shown:
        faults.append("summary: a name with an escape sequence is not made visible")
    return faults


# ---- Progress -------------------------------------------------------------------------------------------------------

SLOW_TO_READ = [
    ["summary", "slow.ktrace"], ["summary", "--by", "wave", "slow.ktrace"], ["launches", "slow.ktrace"], ["info", "slow.ktrace"],
    ["sites", "slow.ktrace"], ["events", "slow.ktrace"], ["diff", "slow.ktrace", "v1.ktrace"],
    ["diff", "v1.ktrace", "slow.ktrace"], ["export", "-o", "slow.gz", "slow.ktrace"],
    ["export", "-l", "-f", "csv", "slow.ktrace"], ["report", "-o", "slow.html", "slow.ktrace"],
    ["merge", "-o", "merged.ktrace", "slow.ktrace", "two_devices.ktrace"],
]
SLOW_TO_WRITE = [["export", "-f", "csv", "-o", "out.fifo"], ["report", "-o", "out.fifo"], ["events", "--csv"]]


def feed(path, data):
    def write():
        with open(path, "wb") as file:  # waits for the reader
            time.sleep(SLOW_S)
            file.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def check_slow_reading(whole, arguments, data):
    faults, prefix = [], " ".join(arguments)
    for streams, expected in (("stderr", True), ("stdout", False)):
        with tempfile.TemporaryDirectory(dir=whole.folder) as folder:
            run, path = Runner(whole.ktrace, folder), os.path.join(folder, "slow.ktrace")
            os.mkfifo(path)
            for name in ("v1.ktrace", "two_devices.ktrace"):
                shutil.copy(os.path.join(whole.folder, name), folder)
            thread = feed(path, data)
            shown = run.on_terminal(arguments, streams=streams)
            thread.join()
        said = re.search(rb"^reading slow\.ktrace, 1 s *\r", shown, re.MULTILINE) is not None
        if said != expected:
            faults.append(f"{prefix}: {'no ' if expected else ''}progress on {streams}: {shown[:100]!r}")
        if expected and not re.search(rb"\r {20,}\r", shown):
            faults.append(f"{prefix}: its line is not wiped: {shown[-60:]!r}")
    return faults


def check_slow_writing(whole, arguments):
    """A reader that takes its time: of more than a pipe holds."""
    with tempfile.TemporaryDirectory(dir=whole.folder) as folder:
        path = os.path.join(folder, "out.fifo")
        os.mkfifo(path)
        command = [whole.ktrace, *arguments, os.path.join(whole.folder, "gemm.ktrace")]
        main, terminal = pty.openpty()
        stdout = os.open(path if arguments[0] == "events" else os.devnull, os.O_RDWR)
        process = subprocess.Popen(command, cwd=folder, env=environment(folder, {}), stdin=subprocess.DEVNULL,
                                   stdout=stdout, stderr=terminal)
        os.close(terminal)
        with open(path, "rb") as reader:  # waits for the writer
            os.close(stdout)
            time.sleep(SLOW_S)
            taken = len(reader.read())
        process.wait(PATIENCE_S)
        shown = os.read(main, 65536) if select.select([main], [], [], 0)[0] else b""
        os.close(main)
    verb = b"listing events" if arguments[0] == "events" else rb"writing out\.fifo"
    if re.search(verb + rb"(: \d+ %)?, 1 s", shown) and taken > 65536:
        return []
    return [f"{' '.join(arguments)}: no progress ({taken} bytes): {shown[:100]!r}"]


def check_slow_child(run):
    """A library that hangs as doctor asks it."""
    broken = run.ktrace.parent.parent / "tests/cli/broken/libbroken_hip.so"
    more = {"BROKEN": "hang", "KTRACE_BACKEND": "hip", "KTRACE_HIP_LIBRARY": str(broken)}
    shown = run.on_terminal(["doctor", "--timeout", "2"], streams="stderr", **more)
    return [] if b"asking HIP, 1 s" in shown else [f"doctor: no progress: {shown[:100]!r}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", type=pathlib.Path, required=True)
    parser.add_argument("--traces", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    faults = []
    with tempfile.TemporaryDirectory(prefix="ktrace-terminal-") as folder:
        run = Runner(arguments.ktrace.resolve(strict=True), folder)
        for trace in ("format/v1.ktrace", "format/two_devices.ktrace", "h200/gemm.ktrace"):
            shutil.copy(arguments.traces / trace, folder)
        v1 = pathlib.Path(folder, "v1.ktrace").read_bytes()
        pathlib.Path(folder, "hostile.ktrace").write_bytes(with_name(v1, b"prologue", b"pro\x1b[5mx"))
        for stands_out, command in COMMANDS:
            faults += check_command(run, stands_out, command)
        faults += check_streams(run) + check_narrow(run) + check_screen(run) + check_hostile(run)
        with concurrent.futures.ThreadPoolExecutor(2 * len(SLOW_TO_READ)) as pool: # they sleep
            waits = [pool.submit(check_slow_reading, run, command, v1) for command in SLOW_TO_READ]
            waits += [pool.submit(check_slow_writing, run, command) for command in SLOW_TO_WRITE]
            waits += [pool.submit(check_slow_child, run)]
            for one in waits:
                faults += one.result()
    print("\n".join(faults) or "correct")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
