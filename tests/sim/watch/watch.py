#!/usr/bin/env python3
"""Watches program.c, whose kernel hangs on the simulator.

    watch.py --ktrace build/release/bin/ktrace --program watched --kernels watch_gfx942.co [CASE...]

What a person with a hung kernel asks, whichever call of the program waits for it; and everything that can be in the way: a process
that is not there, not ours, not watched, not yet, between captures, gone; a client that is silent or talks nonsense; a fork.
"""

import argparse
import json
import os
import pathlib
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from watching import LIMIT_S, Program, Setup, check, check_hung, is_hung, main

REQUEST_MAGIC, ANSWER_MAGIC = 0x5157544B, 0x4157544B
ERROR_FORMAT, ERROR_VERSION = -7, -8


def check_simulated(look):
    check_hung(look)
    check(look["running"][0]["last_event_age_ns"] is None, "simulated time has an age", look)
    check(look["info"]["simulated"] == 1, "it is not said to be simulated", look)


def hung_in(setup, how, **variables):
    with Program(setup, how, **variables) as program:
        program.hang()
        look = setup.look_when(program, is_hung)
        check_simulated(look)
        check(look["program"].startswith(setup.program[0]) and not look["process_wide"], "the program", look)
        program.tell("go")
        if how != "end":
            look = setup.look_when(program, lambda look: look["waves_inside"] == 0)
            check(look["running"] == [] and look["kernels"][0]["launches"] == 1, "it goes on", look)
            program.tell("end")
        program.finish()


def case_device_synchronize(setup):
    hung_in(setup, "capture")


def case_capture_end(setup):
    hung_in(setup, "end")


def case_process_wide(setup):
    with tempfile.TemporaryDirectory() as folder:
        with Program(setup, "process-wide", KTRACE_ENABLE="1", KTRACE_DUMP_DIR=folder) as program:
            program.tell("launch")
            look = setup.look_when(program, is_hung)
            check_hung(look)
            check(look["process_wide"], "it is said to be a capture", look)
            program.tell("go")
            program.finish()


def case_text(setup):
    with Program(setup, "capture") as program:
        program.hang()
        setup.look_when(program, is_hung)
        done = setup.watch("--once", program.pid)
        lines = done.stdout.split("\n")
        check(lines[0] == f'watched ({program.pid}): capture "watched" on AMD Instinct MI300X (simulated) (gfx942), look 1',
              "first line", done.stdout)
        check("pipeline, launch #0: of 12 waves 12 started, 4 finished, 8 inside" in lines, "launch", done.stdout)
        rows = [line.split() for line in lines]
        check(["4", "body", ">", "wait_empty", "3", "push", "wait_empty"] in [row[:7] for row in rows], "row", done.stdout)
        check(["4", "body", ">", "tile", ">", "wait_full", "0", "to", "3"] in [row[:9] for row in rows], "row", done.stdout)
        program.tell("go")


def case_saved_look(setup):
    with tempfile.TemporaryDirectory() as folder, Program(setup, "capture") as program:
        program.hang()
        setup.look_when(program, is_hung)
        path = os.path.join(folder, "hang.ktrace")
        done = setup.watch("--once", "--json", "-o", path, program.pid)
        check(done.returncode == 0, "saving", done.stderr)
        again = setup.watch("--once", "--json", path)
        check(again.returncode == 0, "the file", again.stderr)
        for key in ("info", "running", "kernels", "phases"):
            check(json.loads(done.stdout)[key] == json.loads(again.stdout)[key], f"the file has other {key}", again.stdout)
        done = setup.watch("--once", "-o", os.path.join(folder, "none", "x.ktrace"), program.pid)
        check(done.returncode == 1 and "none/x.ktrace" in done.stderr, "a folder that is not there", done)


def lines_of(process, count):
    """The next lines that it writes."""
    lines = []
    while len(lines) < count:
        ready, _, _ = select.select([process.stdout], [], [], LIMIT_S)
        check(ready, "nothing is written")
        lines.append(json.loads(process.stdout.readline()))
    return lines


def case_again_and_again(setup):
    """What stands still and what moves; that it ends with the process."""
    with Program(setup, "capture") as program:
        program.hang()
        setup.look_when(program, is_hung)
        watching = subprocess.Popen(
            setup.command("--json", "-i", "0.05", program.pid), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        first, second, third = lines_of(watching, 3)
        check(first["since_previous"] is None and first["running"][0]["unchanged_ns"] is None, "the first look", first)
        check(second["since_previous"]["events"] == 0, "events in a hang", second)
        check(second["kernels"][0]["events_since"] == 0, "events in a hang", second)
        check(0 < second["running"][0]["unchanged_ns"] < third["running"][0]["unchanged_ns"], "silence grows", third)
        program.tell("go")
        events = finished = 0
        while True:
            (look,) = lines_of(watching, 1)
            events += look["since_previous"]["events"]
            finished += look["since_previous"]["launches_finished"]
            if look["waves_inside"] == 0:
                break
        check((events, finished) == (28, 1), "events since", events, finished)
        program.tell("end")
        time.sleep(0.2)
        check(watching.poll() is None, "it ends between captures", watching.poll())
        program.tell("begin")
        (look,) = lines_of(watching, 1)
        while look["info"]["waves"]:  # of before the end
            (look,) = lines_of(watching, 1)
        check(look["since_previous"]["began_anew"], "another capture", look)
        program.process.stdin.close()
        _, said = watching.communicate(timeout=LIMIT_S)
        check(watching.returncode == 0, "it fails when the process ends", watching.returncode, said)
        check(b"waiting: " in said and b"no capture is open" in said, "between captures", said)
        check(said.endswith(b"has ended\n"), "the process's end", said)


def case_interrupt(setup):
    with Program(setup, "capture") as program:
        program.tell("begin")
        for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM)):
            watching = subprocess.Popen(setup.command("--json", program.pid), stdout=subprocess.PIPE)
            lines_of(watching, 1)
            watching.send_signal(number)
            check(watching.wait(timeout=LIMIT_S) == status, f"signal {number}", watching.returncode)
            watching.stdout.close()


def case_terminal(setup):
    """The view stays in its place, and what was last seen stays behind."""
    with Program(setup, "capture") as program:
        program.hang()
        setup.look_when(program, is_hung)
        leader, follower = pty.openpty()
        watching = subprocess.Popen(
            setup.command("-i", "0.05", program.pid), stdin=follower, stdout=follower, stderr=follower,
            env=dict(os.environ, TERM="xterm", NO_COLOR="1"),
        )
        os.close(follower)
        seen = b""
        while seen.count(b"\033[H") < 3:
            ready, _, _ = select.select([leader], [], [], LIMIT_S)
            check(ready, "nothing is shown", seen)
            seen += os.read(leader, 65536)
        watching.send_signal(signal.SIGINT)
        try:
            while data := os.read(leader, 65536):
                seen += data
        except OSError:  # the other side is closed
            pass
        os.close(leader)
        check(watching.wait(timeout=LIMIT_S) == 0, "it fails", watching.returncode)
        check(seen.startswith(b"\033[?1049h"), "the second screen", seen[:80])
        behind = seen.split(b"\033[?1049l")[1]
        check(b"body > wait_empty" in behind and b"\033" not in behind, "what stays", behind)


def case_list(setup):
    with Program(setup, "capture") as program:
        pids = [json.loads(line)["pid"] for line in setup.watch("--json").stdout.splitlines()]
        check(program.pid not in pids, "it is listed before its first capture", pids)
        program.tell("begin")
        looks = [json.loads(line) for line in setup.watch("--json").stdout.splitlines()]
        check(program.pid in [look["pid"] for look in looks], "it is not listed", looks)
        check(f"{program.pid}  {setup.program[0]} " in setup.watch().stdout, "the table")
    pids = [json.loads(line)["pid"] for line in setup.watch("--json").stdout.splitlines()]
    check(program.pid not in pids, "it is listed after it was killed", pids)


def case_started_by_another(setup):
    """A script's process is not the one that runs kernels."""
    with Program(setup, "capture") as program:
        program.tell("begin")
        setup.refused(os.getpid(), "cannot be watched, but these can, which it has started: ", f"{program.pid} (watched)")


def case_refused(setup):
    setup.refused(4194304 + 7, "there is no process 4194311")
    setup.refused(os.getpid(), f"process {os.getpid()} (", "cannot be watched: start it with KTRACE_WATCH=1")
    with Program(setup, "capture") as program:
        setup.refused(program, "once it begins a capture", "--wait")
        program.tell("begin")
        program.tell("end")
        setup.refused(program, "no capture is open in this process now")
    with Program(setup, "capture") as program:
        program.tell("begin")
        if os.geteuid() == 0:  # another user's process: we can be another user
            # /tmp may be closed to that user, so the command is one that was opened before
            command = os.open(setup.ktrace, os.O_RDONLY)
            done, listed = (
                subprocess.run(
                    [f"/proc/self/fd/{command}", "watch", *arguments],
                    capture_output=True, text=True, pass_fds=[command], user=65534, group=65534, extra_groups=[],
                    timeout=LIMIT_S,
                )
                for arguments in (["--once", str(program.pid)], ["--json"])
            )
            check(done.returncode == 1 and "belongs to user 0: that user can watch it, and root" in done.stderr, "another user",
                  done)
            check(listed.returncode == 0 and f'"pid": {program.pid},' not in listed.stdout, "another user's list", listed)
            os.close(command)


def threads_of(program):
    """Names, and masks of the signals that are blocked; that of the first thread under None."""
    blocked = {}
    for task in pathlib.Path(f"/proc/{program.pid}/task").iterdir():
        status = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        blocked[None if task.name == str(program.pid) else status["Name"]] = int(status["SigBlk"], 16)
    return blocked


OURS = {"ktrace watch", "ktrace look"}


def case_off(setup):
    """Without the variable nobody listens, and there is no thread more."""
    for value in ("", "0"):
        with Program(setup, "capture", KTRACE_WATCH=value) as program:
            program.tell("begin")
            setup.refused(program, "cannot be watched: start it with KTRACE_WATCH=1")
            time.sleep(0.1)  # threads name themselves
            check(not OURS & set(threads_of(program)), "threads", threads_of(program))


def case_malformed(setup):
    with Program(setup, "capture", KTRACE_WATCH="perhaps") as program:
        program.process.stdin.write("begin\n")
        program.process.stdin.close()
        check(program.process.wait(timeout=LIMIT_S) == 1, "a malformed variable is taken")
        check('KTRACE_WATCH is "perhaps"' in program.process.stderr.read(), "it is not quoted")


def case_wait(setup):
    with Program(setup, "capture") as program:
        waiting = subprocess.Popen(
            setup.command("--wait", "--once", "--json", "-i", "0.02", program.pid), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        time.sleep(0.2)
        check(waiting.poll() is None, "it does not wait", waiting.poll())
        program.tell("begin")
        out, said = waiting.communicate(timeout=LIMIT_S)
        check(waiting.returncode == 0 and json.loads(out)["info"]["name"] == "watched", "the look", out, said)
        check(said.count(b"\n") == 1 and b"once it begins a capture" in said, "it is said once", said)


def case_signals(setup):
    """The program's signals are its own: our threads take none."""
    with Program(setup, "capture") as program:
        program.tell("begin")
        end = time.monotonic() + LIMIT_S
        while not OURS <= set(blocked := threads_of(program)):  # they name themselves
            check(time.monotonic() < end, "threads", blocked)
        for name in OURS:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGALRM, signal.SIGUSR1):
                check(blocked[name] >> (number - 1) & 1, f"{name} takes signal {number}")
        check(blocked[None] == 0, "the program's own thread", blocked)


def connect(program):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    namespace = os.stat(f"/proc/{program.pid}/ns/pid").st_ino
    connection.connect(f"\0ktrace-watch/{namespace}/{program.pid}")  # waits where many do
    connection.settimeout(LIMIT_S)
    return connection


def receive(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        check(piece, "the connection ends", data)
        data += piece
    return data


def answer_to(program, request):
    with connect(program) as connection:
        connection.sendall(request)
        header = receive(connection, 48)
        magic, version, flags, status, capture, gathered, now, trace_bytes, sentence_bytes, zero = struct.unpack(
            "<IHHiIQQQII", header
        )
        check((magic, version, zero) == (ANSWER_MAGIC, 1, 0), "header", header)
        sentence = receive(connection, sentence_bytes).decode()
        trace = receive(connection, trace_bytes)
        check(connection.recv(1) == b"", "there is more")
        return status, sentence, trace


def case_protocol(setup):
    with Program(setup, "capture") as program:
        program.hang()
        setup.look_when(program, is_hung)
        good = struct.pack("<IHHII", REQUEST_MAGIC, 1, 1, 5000, 0)
        status, sentence, trace = answer_to(program, good)
        check(status == 0 and not sentence and trace.startswith(b"\x89KTR"), "a good request", status, sentence)
        bad = {
            struct.pack("<IHHII", 1, 1, 1, 5000, 0): (ERROR_FORMAT, "no request"),
            struct.pack("<IHHII", REQUEST_MAGIC, 9, 1, 5000, 0): (ERROR_VERSION, "version 9"),
            struct.pack("<IHHII", REQUEST_MAGIC, 1, 7, 5000, 0): (ERROR_FORMAT, "kind 7"),
            struct.pack("<IHHII", REQUEST_MAGIC, 1, 1, 5000, 1): (ERROR_FORMAT, "kind 1"),
            struct.pack("<IHHII", REQUEST_MAGIC, 1, 1, 0xFFFFFFFF, 0): (ERROR_FORMAT, "600000 ms"),
        }
        for request, (wanted, words) in bad.items():
            status, sentence, trace = answer_to(program, request)
            check(status == wanted and words in sentence and not trace, "a bad request", request, status, sentence)
        for count in range(len(good)):  # cut off: no answer, and no harm
            with connect(program) as connection:
                connection.sendall(good[:count])
                connection.shutdown(socket.SHUT_WR)
                check(connection.recv(1) == b"", "an answer to a part")
        for _ in range(20):  # a client that does not listen
            with connect(program) as connection:
                connection.sendall(good)
        check_hung(setup.look(program))
        program.tell("go")
        program.tell("end")
        program.finish()


def case_silent_client(setup):
    """It keeps the others waiting for a moment only."""
    with Program(setup, "capture") as program:
        program.tell("begin")
        with connect(program), connect(program) as other:
            other.sendall(b"K")
            check(setup.look(program)["info"]["name"] == "watched", "the look")
        program.tell("end")
        program.finish()


def case_fork(setup):
    """The parent's socket is not the child's."""
    with Program(setup, "fork") as program:
        child = int(program.hang())
        try:
            setup.look_when(program, is_hung)
            setup.refused(child, "once it begins a capture")
            pids = [json.loads(line)["pid"] for line in setup.watch("--json").stdout.splitlines()]
            check(program.pid in pids and child not in pids, "who is listed", pids)
            program.tell("go")
            program.tell("end")
            program.finish()
            setup.refused(child, "once it begins a capture")
            setup.refused(program, "there is no process")
        finally:
            os.kill(child, signal.SIGKILL)


def case_killed(setup):
    """Nothing stays behind, and the same number can be watched again."""
    with Program(setup, "capture") as program:
        program.hang()
    setup.refused(program, "there is no process")
    check(str(program.pid) not in pathlib.Path("/proc/net/unix").read_text().replace("\n", " ").split("/"), "the socket")


def case_exit_while_asked(setup):
    """The end of the program does not wait for who watches it."""
    with Program(setup, "capture") as program:
        program.tell("begin")
        with connect(program) as silent:
            silent.sendall(b"KT")
            begin = time.monotonic()
            program.finish()
            check(time.monotonic() - begin < LIMIT_S / 2, "the program's end waits")


def case_file(setup):
    """A file that is rewritten, torn, gone and back."""
    with tempfile.TemporaryDirectory() as folder, Program(setup, "capture") as program:
        program.hang()
        setup.look_when(program, is_hung)
        first, shown = os.path.join(folder, "first.ktrace"), os.path.join(folder, "shown.ktrace")
        setup.watch("--once", "-o", first, program.pid)
        program.tell("go")
        setup.look_when(program, lambda look: look["waves_inside"] == 0)
        data = pathlib.Path(first).read_bytes()
        watching = subprocess.Popen(
            setup.command("--json", "--wait", "-i", "0.02", shown), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        time.sleep(0.1)
        pathlib.Path(shown).write_bytes(data[: len(data) // 2])
        time.sleep(0.1)
        pathlib.Path(shown).write_bytes(data)
        (look,) = lines_of(watching, 1)
        check_hung(look)
        check(look["file"] == shown and "pid" not in look, "the file", look)
        os.unlink(shown)
        time.sleep(0.1)
        setup.watch("--once", "-o", shown, program.pid)
        (look,) = lines_of(watching, 1)
        check(look["waves_inside"] == 0 and look["look"] == 2, "the second look", look)
        watching.send_signal(signal.SIGINT)
        _, said = watching.communicate(timeout=LIMIT_S)
        check(watching.returncode == 0, "Ctrl-C", watching.returncode)
        said = said.decode().splitlines()
        check("No such file" in said[0] and any("is cut off" in line or "ends" in line or "bytes" in line for line in said),
              "what it waits for", said)
        done = setup.watch("--once", os.path.join(folder, "none.ktrace"))
        check(done.returncode == 1 and "none.ktrace: No such file" in done.stderr, "a file that is not there", done)


def run():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", type=pathlib.Path, required=True)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--kernels", type=pathlib.Path, required=True)
    parser.add_argument("case", nargs="*", help="all if none is given")
    arguments = parser.parse_args()
    os.environ["KTRACE_SIM_MAX_INSTRUCTIONS"] = "0"
    setup = Setup(arguments.ktrace, str(arguments.program.resolve()), str(arguments.kernels.resolve()))
    cases = {name[5:]: value for name, value in globals().items() if name.startswith("case_")}
    failed = main(cases, setup, arguments.case)
    print(f"{len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run())
