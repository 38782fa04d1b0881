#!/usr/bin/env python3
"""`ktrace watch` on a kernel that hangs, from another process, on a GPU.

    KTRACE=.../bin/ktrace KTRACE_WATCHED=.../tests/gpu/watched test_watch.py [OPTION...]

      --only CASE     this case; may be repeated
      --list          the names of the cases
      --save DIR      looks as DIR/CASE.ktrace, and what is said of them as DIR/CASE.txt
      --verbose       what is said of every look
      --quick         accepted and ignored: all cases are quick

watched.cu is the program. Exit status: 0, or 1 when a case failed, or 77 where there is no GPU or one of the two files is missing.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "sim" / "watch"))
from watching import Program, Setup, check, check_hung, is_hung, main  # noqa: E402

# What an age may be off by: the host's and the device's clock are related to within far less, and so are an SM's and the device's.
SLACK_S = 0.2
SAVE = None
VERBOSE = False


def keep(setup, program, name):
    """Saves the look, and what is said of it, which must be what the process was seen to be."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name + ".ktrace")
        done = setup.watch("--once", "-o", path, program.pid)
        check(done.returncode == 0, "a look failed", done.stderr)
        if VERBOSE:
            print(done.stdout)
        again = setup.watch("--once", "--json", path)
        check(again.returncode == 0, "the file of a look", again.stderr)
        if SAVE:
            shutil.copy(path, SAVE)
            pathlib.Path(SAVE, name + ".txt").write_text(done.stdout)
        return json.loads(again.stdout)


def check_age(look, launched_from, launched_to):
    """The last events were when the kernel was launched, which the host knows."""
    taken = look["taken_ns"] / 1e9
    ages = [look["running"][0]["last_event_age_ns"] / 1e9]
    for group in look["running"][0]["groups"]:
        ages += [group["oldest_age_ns"] / 1e9, group["newest_age_ns"] / 1e9]
    for age in ages:
        check(taken - launched_to - SLACK_S <= age <= taken - launched_from + SLACK_S, "an age is wrong", ages, taken,
              launched_from, launched_to)


def hang(setup, how, name, **variables):
    with Program(setup, how, KTRACE_EVENTS_PER_WAVE="32", KTRACE_EVENTS_PER_LANE="4", KTRACE_BUFFER_BYTES="1M",
                 **variables) as program:
        if not variables:
            program.tell("begin")
        launched_from = time.time()
        program.tell("launch")
        look = setup.look_when(program, is_hung)
        launched_to = time.time()
        check_hung(look)
        check_age(look, launched_from, launched_to)
        time.sleep(2)
        look = keep(setup, program, name)
        check_hung(look)
        check_age(look, launched_from, launched_to)
        check(look["last_event_age_ns"] > 1.5e9, "no age of seconds", look)
        two = subprocess.run(["timeout", "-s", "INT", "1.5", *setup.command("--json", "-i", "0.3", program.pid)],
                             capture_output=True, text=True, timeout=20)
        looks = [json.loads(line) for line in two.stdout.splitlines()]
        check(len(looks) >= 2 and all(look["since_previous"]["events"] == 0 for look in looks[1:]), "a hang moves", looks)
        program.tell("go")
        if how == "capture":
            look = setup.look_when(program, lambda look: look["waves_inside"] == 0)
            check(look["running"] == [], "it goes on", look)
            program.tell("end")
        program.finish()


def case_synchronize(setup):
    hang(setup, "capture", "synchronize")


def case_capture_end(setup):
    hang(setup, "end", "capture_end")


def case_process_wide(setup):
    with tempfile.TemporaryDirectory() as folder:
        hang(setup, "process-wide", "process_wide", KTRACE_ENABLE="1", KTRACE_DUMP_DIR=folder)


def case_full(setup):
    """No SM has room for a wave more: a look needs none."""
    with Program(setup, "full", KTRACE_EVENTS_PER_WAVE="16", KTRACE_EVENTS_PER_LANE="4") as program:
        program.tell("begin")
        program.tell("launch")
        time.sleep(1)
        begin = time.monotonic()
        look = setup.look(program)
        seconds = time.monotonic() - begin
        launch = look["running"][0]
        check(launch["waves_launched"] == 200000 and 0 < launch["waves_started"] < 200000, "waves", launch)
        check(launch["waves_inside"] == launch["waves_started"], "waves", launch)
        check({group["open_ranges"][-1]["name"] for group in launch["groups"]} == {"wait_empty", "wait_full"}, "ranges", launch)
        print(f"        {launch['waves_inside']} waves inside, a look at them takes {seconds * 1e3:.0f} ms with the command's start")
        program.process.kill()


def skip(why):
    print(f"test_watch: skipped: {why}")
    sys.exit(77)


def run():
    global SAVE, VERBOSE
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--save")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    SAVE, VERBOSE = arguments.save, arguments.verbose
    cases = {name[5:]: value for name, value in globals().items() if name.startswith("case_")}
    if arguments.list:
        print("\n".join(cases))
        return 0
    for name in ("KTRACE", "KTRACE_WATCHED"):
        if not os.access(os.environ.get(name, ""), os.X_OK):
            skip(f"{name} names no program: {os.environ.get(name)}")
    watched = os.path.realpath(os.environ["KTRACE_WATCHED"])
    tried = subprocess.run([watched, "capture"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if tried.returncode == 77:
        skip(tried.stderr.strip())
    failed = main(cases, Setup(os.environ["KTRACE"], watched), arguments.only)
    print(f"{len(failed)} failed" if failed else f"{len(arguments.only or cases)} cases passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run())
