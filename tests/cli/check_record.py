#!/usr/bin/env python3
"""check_record.py --ktrace COMMAND --program PROGRAM [--library LIBKTRACE --package FOLDER] [--hanging PROGRAM KERNELS] [--sanitized] [TEST...]

`ktrace record` around PROGRAM (record_program.c), which runs kernels on the simulator: what it writes and says, exit statuses,
signals. With the library and the Python package, around Python, too.
"""

import argparse
import glob
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PATIENCE_S = 60
arguments = None


class Done:
    def __init__(self, process):
        self.status, self.out, self.error = process.returncode, process.stdout, process.stderr


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ktrace-record-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("KTRACE_") or name.startswith(("KTRACE_SIM", "KTRACE_HIP"))}
        self.environment |= {"PROGRAM": str(arguments.program), "PATH": f"{arguments.ktrace.parent}:{os.environ['PATH']}"}

    def tearDown(self):
        hidden = [name for name in os.listdir(self.folder) if name.startswith(".")]
        self.assertEqual(hidden, [], "something stays in the folder")

    # ---- Running

    def run_command(self, *command, **more):
        return Done(subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True,
                                   timeout=PATIENCE_S, **more))

    def record(self, *words, options=(), **more):
        """PROGRAM with these words."""
        return self.run_command(arguments.ktrace, "record", *options, "--", arguments.program, *words, **more)

    def start(self, *command):
        """In a session of its own."""
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)

    def start_recording(self, *words, options=()):
        """Up to where the program has said something."""
        process = self.start(arguments.ktrace, "record", *options, "--", arguments.program, *words)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.read(5), "ready")
        return process

    def finish(self, process):
        out, error = process.communicate(timeout=PATIENCE_S)
        return Done(argparse.Namespace(returncode=process.returncode, stdout=out, stderr=error))

    # ---- Looking

    def files(self, pattern="*"):
        return sorted(os.path.relpath(path, self.folder) for path in glob.glob(f"{self.folder}/{pattern}"))

    def launches(self, name):
        done = self.run_command(arguments.ktrace, "launches", "--json", name)
        self.assertEqual(done.status, 0, done.error)
        return len(json.loads(done.out)["launches"])

    def info(self, name):
        return json.loads(self.run_command(arguments.ktrace, "summary", "--json", name).out)["info"]

    def assert_recorded(self, done, launches, status=0):
        """Files with these numbers of launches, in their order."""
        self.assertEqual(done.status, status, done.error)
        found = self.files("*.ktrace")
        self.assertEqual([self.launches(name) for name in found], launches, f"{found}: {done.error}")
        for name in found:
            self.assertIn(f"wrote {name}: ", done.error)

    def assert_nothing(self, done, reason, status=1):
        self.assertEqual(done.status, status, done.error)
        self.assertEqual(self.files("*.ktrace"), [])
        self.assertRegex(done.error, reason)
        self.assertIn("nothing was recorded of ", done.error)


class Processes(Case):
    def test_one(self):
        done = self.record("load", "launch=3", "say=hello")
        self.assert_recorded(done, [3])
        self.assertEqual(self.files(), ["record_program.ktrace"])
        self.assertEqual(done.out, "hello")
        self.assertEqual(done.error, "ktrace: wrote record_program.ktrace: 3 launches, 6 waves, 12 events\n"
                                     "ktrace: look at it: ktrace summary record_program.ktrace\n")
        self.assertEqual(self.info("record_program.ktrace")["name"], "record_program")

    def test_one_launch(self):
        self.assertIn(": 1 launch, 2 waves, 4 events\n", self.record("load", "launch").error)

    def test_streams_are_the_programs(self):
        done = self.run_command(arguments.ktrace, "record", "sh", "-c", 'cat; echo error >&2; "$PROGRAM" load launch',
                                input="some\ninput")
        self.assertEqual(done.out, "some\ninput")
        self.assertEqual(done.error.splitlines()[0], "error")
        self.assert_recorded(done, [1])

    def test_closed_streams_and_ignored_signals(self):
        look = "grep SigIgn /proc/self/status; ls /proc/self/fd"
        plain = self.run_command("sh", "-c", f"exec <&-; {look}")
        done = self.run_command("sh", "-c", f"exec <&-; ktrace record -q -- sh -c '{look}'")
        self.assertEqual(done.out, plain.out)

    def test_several(self):
        done = self.run_command(arguments.ktrace, "record", "-o", "run.ktrace", "--", "sh", "-c",
                                '"$PROGRAM" load launch; "$PROGRAM" load launch=2; "$PROGRAM" load; true')
        self.assert_recorded(done, [1, 2])
        self.assertEqual(self.files(), ["run.1.record_program.ktrace", "run.2.record_program.ktrace"])
        self.assertRegex(done.error, r'of "record_program" in record_program \(process \d+\)')

    def test_ranks(self):
        script = "for rank in 2 10 0 1; do RANK=$rank \"$PROGRAM\" load launch=$((rank + 1)); done"
        done = self.run_command(arguments.ktrace, "record", "-o", "run", "--", "sh", "-c", script)
        self.assertEqual(done.status, 0, done.error)
        self.assertEqual([self.launches(f"run.{i}.record_program.ktrace") for i in (1, 2, 3, 4)], [1, 2, 3, 11])
        self.assertIn(", rank 10)", done.error)

    def test_another_version(self):
        """Of the library in one of the processes."""
        script = 'echo "process 2 $$ 1" > "$KTRACE_RECORD/$$-0.process"; "$PROGRAM" load launch'
        done = self.run_command(arguments.ktrace, "record", "-o", "run.ktrace", "--", "sh", "-c", script)
        self.assert_recorded(done, [1], 1)
        self.assertRegex(done.error, r"\(process \d+\): its libktrace and this 'ktrace record' are of versions")

    def test_fork(self):
        """A child begins anew; what was attached before is its parent's."""
        self.assert_recorded(self.record("fork", "load", "launch"), [1])

    def test_fork_after_launches(self):
        self.environment["ASAN_OPTIONS"] = "detect_leaks=0"  # what captures of its parent hold a child does not free
        self.assert_recorded(self.record("load", "launch", "fork", "exit=0"), [1])

    def test_left_behind(self):
        """It is waited for."""
        self.assert_recorded(self.record("leave", "load", "apart", "launch=20"), [20])

    def test_become(self):
        done = self.record("load", "become", "load", "launch")
        self.assertIn("became another program by exec", done.error)
        self.assert_recorded(done, [1])

    def test_within_another(self):
        done = self.run_command(arguments.ktrace, "record", "-o", "outer.ktrace", "--", arguments.ktrace, "record",
                                "-o", "inner.ktrace", "--", arguments.program, "load", "launch")
        self.assertEqual(done.status, 1)
        self.assertEqual(self.files(), ["inner.ktrace"])
        self.assertIn("a 'ktrace record' within it has 1 trace of ", done.error)

    def test_commands_of_our_own_are_no_processes(self):
        done = self.run_command(arguments.ktrace, "record", "--", arguments.ktrace, "--version")
        self.assert_nothing(done, "none of its processes has libktrace")


class Captures(Case):
    """Every trace that a capture hands over once."""

    def check(self, launches, *words):
        self.assert_recorded(self.record("load", *words, options=("-o", "run.ktrace")), launches)

    def test_end(self):
        self.check([2], "begin=a", "launch=2", "end")

    def test_stop_and_end(self):
        self.check([2], "begin=a", "launch=2", "stop", "end")

    def test_read(self):
        self.check([1, 2, 3], "begin=a", "launch", "read", "launch=2", "read", "launch=3", "end")

    def test_nothing_since(self):
        self.check([1], "begin=a", "launch", "read", "snapshot", "stop", "snapshot", "end")

    def test_snapshots_grow(self):
        self.check([3], "begin=a", "launch", "snapshot", "launch", "snapshot", "launch", "end")

    def test_clear(self):
        self.check([2], "begin=a", "launch", "clear", "launch=2", "end")

    def test_clear_after_a_look(self):
        self.check([1, 2], "begin=a", "launch", "snapshot", "clear", "launch=2", "end")

    def test_destroyed_after_a_look(self):
        self.check([1], "begin=a", "launch", "snapshot", "launch", "destroy")

    def test_open_at_exit(self):
        self.check([2], "begin=a", "launch", "snapshot", "launch")

    def test_stopped_at_exit(self):
        self.check([1], "begin=a", "launch", "stop")

    def test_open_at_a_signal(self):
        done = self.record("load", "launch", "begin=a", "launch=2", "snapshot", "launch", "raise=15",
                           options=("-o", "run.ktrace"))
        self.assertEqual(done.status, 128 + 15)
        self.assertEqual(sorted(self.launches(name) for name in self.files()), [1, 3])

    def test_what_nobody_wants(self):
        self.assert_nothing(self.record("load", "begin=a", "launch", "drop", "begin=b", "launch", "destroy"), "no kernel with")

    def test_outside_of_captures(self):
        done = self.record("load", "launch", "begin=a", "launch=4", "end", "launch=2", options=("-o", "run.ktrace"))
        self.assertEqual(self.files(), ["run.1.a.ktrace", "run.2.record_program.ktrace"])
        self.assert_recorded(done, [4, 3])

    def test_collect(self):
        self.check([1, 2], "launch", "collect", "collect", "launch=2")

    def test_enable(self):
        """A program that knows process-wide collection is not disturbed by that of the command."""
        self.check([1, 2], "launch", "enable", "launch=2")

    def test_disable(self):
        self.check([2], "launch", "disable", "enable", "launch=2")

    def test_empty_capture(self):
        self.check([1], "launch", "begin=a", "end")

    def test_many(self):
        """Not all are named."""
        done = self.record("load", "begin=a", *["launch", "read"] * 30, options=("-o", "run.ktrace"))
        self.assertEqual(len(self.files()), 30)
        self.assertEqual(done.error.count("ktrace: wrote run."), 21)
        self.assertIn("ktrace: wrote 30 traces in all\n", done.error)


class Merged(Case):
    def test_of_one_process(self):
        done = self.record("load", "launch", "begin=a", "launch=2", "read", "launch=3", "end",
                           options=("-o", "run.ktrace", "--merge"))
        self.assert_recorded(done, [6])
        self.assertEqual(done.error.count("wrote"), 1)
        self.assertIn("wrote run.ktrace: 6 launches, 12 waves, 24 events\n", done.error)
        self.assertEqual(self.info("run.ktrace")["name"], "run")

    def test_of_one_trace(self):
        self.assert_recorded(self.record("load", "launch", options=("-o", "run.ktrace", "--merge")), [1])

    def test_of_what_nothing_relates(self):
        """Each simulated process has a time of its own: the traces stay."""
        done = self.run_command(arguments.ktrace, "record", "--merge", "-o", "run.ktrace", "--", "sh", "-c",
                                '"$PROGRAM" load launch; "$PROGRAM" load launch=2')
        self.assert_recorded(done, [1, 2], status=1)
        self.assertIn("the traces stay apart: nothing relates the times of trace 2 ", done.error)
        done = self.run_command(arguments.ktrace, "merge", "--align", "start", *self.files())
        self.assertEqual(done.status, 0, done.error)
        self.assertEqual(self.launches("merged.ktrace"), 3)


class Nothing(Case):
    def test_no_libktrace(self):
        done = self.run_command(arguments.ktrace, "record", "true")
        self.assert_nothing(done, "none of its processes has libktrace")

    def test_no_module(self):
        self.assert_nothing(self.record(), "it has libktrace, but no annotated kernel became known")

    def test_compiled_without(self):
        self.assert_nothing(self.record("load_untraced", "launch"), "compiled without KTRACE_ENABLE|KTRACE_ENABLE=1")

    def test_no_launch(self):
        self.assert_nothing(self.record("load"), "no kernel with KTRACE_KERNEL ran")

    def test_filtered(self):
        self.assert_nothing(self.record("load", "launch=3", options=("--blocks", "9,0,0")),
                            r"the filter turned away all 6 waves \(9,0,0\)")

    def test_filter_of_another_vendor(self):
        self.assert_nothing(self.record("load", "launch", options=("--blocks", "sm:3")), "sm:")

    def test_disabled(self):
        self.assert_nothing(self.record("load", "launch", "disable"), "the program called ktrace_disable")

    def test_no_room_for_a_wave(self):
        self.assert_nothing(self.record("load", "launch", options=("--buffer-bytes", "1K")), "cannot hold one wave")

    def test_empty_capture(self):
        self.assert_nothing(self.record("load", "disable", "begin=a", "end"), "no kernel with KTRACE_KERNEL ran")

    def test_program_that_fails(self):
        self.assert_nothing(self.record("exit=7"), "no annotated kernel", status=7)

    def test_other_backend(self):
        done = self.record("load", "launch", options=("--backend", "cuda"))
        self.assert_nothing(done, "process-wide collection .* does not begin|cannot see 1 annotated HIP module")


class Overflow(Case):
    def again(self, error):
        found = re.search(r"record again with ((?:--[a-z-]+ \d+ ?)+)", error)
        self.assertTrue(found, error)
        return found[1].split()

    def test_events(self):
        done = self.record("load", "many=40", options=("--events-per-wave", "8", "-o", "a.ktrace"))
        self.assertEqual(done.status, 1)
        self.assertIn("a wave recorded 80 slots in a ring of 8", done.error)
        self.assertNotIn("nothing of this read is kept", done.error)
        self.assertIn("slots overwritten", done.error)
        self.assertGreater(self.info("a.ktrace")["slots_lost"], 0)
        done = self.record("load", "many=40", options=(*self.again(done.error), "-o", "b.ktrace"))
        self.assertEqual(done.status, 0, done.error)
        self.assertEqual(self.info("b.ktrace")["events"], 80)

    def test_waves(self):
        words, few = ("load", "launch=200"), ("--buffer-bytes", "64KiB", "--events-per-wave", "64")
        done = self.record(*words, options=(*few, "-o", "a.ktrace"))
        self.assertEqual(done.status, 1)
        self.assertRegex(done.error, r"of 400 waves found no room")
        self.assertGreater(self.info("a.ktrace")["waves_dropped"], 0)
        done = self.record(*words, options=(*few, *self.again(done.error), "-o", "b.ktrace"))
        self.assertEqual(done.status, 0, done.error)
        self.assertEqual(self.info("b.ktrace")["waves"], 400)

    def test_keep_last(self):
        done = self.record("load", "many=40", options=("--events-per-wave", "8", "--keep-last"))
        self.assertEqual(done.status, 0, done.error)
        self.assertNotIn("overflowed", done.error)

    def test_of_a_capture(self):
        done = self.record("load", "begin=a", "many=40", "end", options=("--events-per-wave", "8"))
        self.assertEqual(done.status, 1)
        self.assertIn("overflowed", done.error)

    def test_of_a_program_that_fails(self):
        done = self.record("load", "many=40", "exit=4", options=("--events-per-wave", "8"))
        self.assertEqual(done.status, 4)


class Statuses(Case):
    def test_files_that_may_not_grow(self):
        """The signal of that is kept from the program."""
        done = self.run_command(arguments.ktrace, "record", "-o", "a.ktrace", "--", "sh", "-c",
                                'ulimit -f 4; exec "$PROGRAM" load launch=100 say=hello')
        self.assertEqual((done.status, done.out), (1, "hello"), done.error)
        self.assertIn("could not be written: File too large", done.error)

    def test_exit(self):
        self.assert_recorded(self.record("load", "launch", "exit=3"), [1], status=3)

    def test_quick_exit(self):
        self.assert_recorded(self.record("load", "launch", "quick_exit=6"), [1], status=6)

    def test_underscore_exit(self):
        done = self.record("load", "launch", "_exit=0")
        self.assert_nothing(done, r"record_program \(process \d+\) ended by _exit, .* what it had not handed over is lost")

    def test_underscore_exit_after_a_read(self):
        done = self.record("load", "begin=a", "launch", "read", "launch", "_exit=0")
        self.assertEqual(done.status, 0)
        self.assertEqual([self.launches(name) for name in self.files()], [1])
        self.assertIn("what it had not handed over is lost", done.error)

    def test_not_there(self):
        for name in ("./no such program", "no-such-program"):
            done = self.run_command(arguments.ktrace, "record", "--", name)
            self.assertEqual(done.status, 127)
            self.assertIn(f"{name}: this program cannot be run: No such file", done.error)
        self.assertIn("in the folders of PATH", done.error)

    def test_not_executable(self):
        pathlib.Path(self.folder, "text").write_text("words")
        done = self.run_command(arguments.ktrace, "record", "./text")
        self.assertEqual(done.status, 126)
        self.assertEqual(done.error, "ktrace: ./text: this program cannot be run: Permission denied\n")
        self.assertEqual(self.run_command(arguments.ktrace, "record", ".").status, 126)


class Signals(Case):
    def test_that_end_the_program(self):
        own = [] if arguments.sanitized else [("abort", 6), ("crash", 11)]  # which sanitizers take
        for word, number in [("raise=15", 15), ("raise=2", 2), ("raise=1", 1), ("raise=13", 13), *own]:
            with self.subTest(word):
                done = self.record("load", "launch=2", word, options=("-o", f"{number}.ktrace"))
                self.assertEqual(done.status, 128 + number, done.error)
                self.assertEqual(self.launches(f"{number}.ktrace"), 2)
                self.assertRegex(done.error, rf"ended by signal {number} \(.*\): what it had recorded by then is saved")

    def test_killed(self):
        done = self.record("load", "launch", "raise=9")
        self.assert_nothing(done, r"was killed by signal 9 \(Killed\) before it could hand over its trace", status=137)

    def test_killed_after_a_read(self):
        self.assert_recorded(self.record("load", "begin=a", "launch", "read", "raise=9"), [1], status=137)

    def test_before_anything(self):
        done = self.record("load", "raise=15")
        self.assertEqual(done.status, 143)
        self.assertIn("it had recorded nothing by then", done.error)

    def test_in_a_forked_child(self):
        """Its handler is its parent's, and has nobody there to ask."""
        self.environment["ASAN_OPTIONS"] = "detect_leaks=0"
        done = self.record("load", "launch", "fork", "raise=15")
        self.assert_recorded(done, [1], status=1)

    def test_passed_on(self):
        process = self.start_recording("load", "launch", "say=ready", "pause")
        process.send_signal(signal.SIGTERM)
        self.assert_recorded(self.finish(process), [1], status=143)

    def test_sent_to_all(self):
        """As timeout(1) does: the program gets it twice."""
        process = self.start_recording("load", "launch", "say=ready", "pause")
        os.killpg(process.pid, signal.SIGTERM)
        self.assert_recorded(self.finish(process), [1], status=143)

    def test_handled_by_the_program(self):
        process = self.start_recording("handle", "load", "launch", "say=ready", "pause")
        process.send_signal(signal.SIGTERM)
        self.assert_recorded(self.finish(process), [1], status=5)

    def test_ignored_by_the_program(self):
        process = self.start_recording("load", "launch", "ignore", "say=ready", "pause")
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        self.assert_recorded(self.finish(process), [1], status=130)

    def test_terminal(self):
        """Ctrl-C, which reaches all."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(arguments.ktrace, ["ktrace", "record", "--", str(arguments.program), "load", "launch", "say=ready", "pause"],
                      self.environment)
        said = b""
        while b"ready" not in said:
            said += os.read(terminal, 4096)
        os.write(terminal, b"\x03")
        try:
            while chunk := os.read(terminal, 4096):
                said += chunk
        except OSError:  # the other side is closed
            pass
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 130, said)
        self.assertEqual([self.launches(name) for name in self.files()], [1])

    def test_rest_is_ended(self):
        """What the program left behind, by a signal."""
        process = self.start_recording("leave", "load", "launch", "say=ready", "apart", "pause")
        self.assertIn("still records: waiting for it", process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        self.assert_recorded(self.finish(process), [1])

    def test_watched(self):
        """Meanwhile."""
        process = self.start_recording("load", "launch", "say=ready", "pause")
        done = self.run_command(arguments.ktrace, "watch", "--json")
        self.assertIn("record_program", done.out, done.error)
        process.send_signal(signal.SIGTERM)
        self.assert_recorded(self.finish(process), [1], status=143)

    @unittest.skipUnless("--hanging" in sys.argv, "there is no program that hangs")
    def test_hang(self):
        """A kernel that does not end, and a host that waits for it: what waves did is there."""
        program, kernels = arguments.hanging
        process = subprocess.Popen([arguments.ktrace, "record", "--", program, kernels, "process-wide"], cwd=self.folder,
                                   env=self.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        process.stdin.write("launch\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "launched\n")
        child = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().strip()
        while True:  # until its waves are inside
            done = self.run_command(arguments.ktrace, "watch", "--once", "--json", child)
            if done.status == 0 and json.loads(done.out)["waves_inside"] == 8:
                break
        process.send_signal(signal.SIGTERM)
        self.assert_recorded(self.finish(process), [1], status=143)
        self.assertEqual(self.info("watched.ktrace")["waves_unfinished"], 8)

    def test_duration(self):
        begin = time.monotonic()
        done = self.record("load", "launch=3", "pause", options=("--duration", "1.5"))
        self.assertGreaterEqual(time.monotonic() - begin, 1.5)
        self.assert_recorded(done, [3])

    def test_duration_of_a_script(self):
        done = self.run_command(arguments.ktrace, "record", "-d", "2", "-o", "run.ktrace", "--", "sh", "-c",
                                '"$PROGRAM" load launch pause; true')
        self.assert_recorded(done, [1])

    def test_duration_that_is_long_enough(self):
        self.assert_recorded(self.record("load", "launch", "exit=3", options=("--duration", "50")), [1], status=3)


class Files(Case):
    def test_default_is_never_overwritten(self):
        for name in ("record_program.ktrace", "record_program_1.ktrace", "record_program_2.ktrace"):
            self.assertIn(f"wrote {name}: ", self.record("load", "launch").error)
        self.assertEqual(len(self.files()), 3)

    def test_several_are_never_overwritten(self):
        words = ("load", "begin=a", "launch", "read", "launch", "end")
        for _ in range(2):
            done = self.record(*words)
            self.assertEqual(done.status, 0, done.error)
        self.assertEqual(self.files(), ["record_program.1.a.ktrace", "record_program.2.a.ktrace",
                                        "record_program_1.1.a.ktrace", "record_program_1.2.a.ktrace"])

    def test_output_that_exists(self):
        path = pathlib.Path(self.folder, "a.ktrace")
        path.write_text("mine")
        done = self.record("load", "launch", "say=started", options=("-o", "a.ktrace"))
        self.assertEqual((done.status, done.out), (1, ""))
        self.assertEqual(done.error, "ktrace: a.ktrace: exists already: name another output with '-o', or replace it with "
                                     "'--force'\n")
        self.assertEqual(path.read_text(), "mine")
        self.assert_recorded(self.record("load", "launch", options=("-o", "a.ktrace", "--force")), [1])

    def test_force_replaces_files_alone(self):
        target = os.path.join(self.folder, "target")
        pathlib.Path(target).write_text("mine")
        os.mkfifo(os.path.join(self.folder, "pipe"))
        os.symlink("target", os.path.join(self.folder, "link"))
        os.symlink("nowhere", os.path.join(self.folder, "dangling"))
        before = self.files()
        for name, kind in (("pipe", "device, a pipe or a socket"), ("link", "symbolic link"), ("dangling", "symbolic link")):
            done = self.record("load", "launch", options=("-o", name, "--force"))
            self.assertEqual((done.status, done.out), (1, ""))
            self.assertEqual(done.error, f"ktrace: {name}: '--force' replaces files, and this is a {kind}: name a file "
                                         "with '-o'\n")
        self.assertEqual(self.files(), before)
        self.assertEqual(pathlib.Path(target).read_text(), "mine")

    def test_force_of_several_replaces_files_alone(self):
        """Here the names are known at the end: others are taken."""
        pathlib.Path(self.folder, "run.1.record_program.ktrace").write_text("old")
        os.mkfifo(os.path.join(self.folder, "run.2.record_program.ktrace"))
        done = self.run_command(arguments.ktrace, "record", "-o", "run.ktrace", "--force", "--", "sh", "-c",
                                '"$PROGRAM" load launch; "$PROGRAM" load launch=2')
        self.assertEqual(done.status, 0, done.error)
        self.assertEqual([self.launches(f"run_1.{i}.record_program.ktrace") for i in (1, 2)], [1, 2])
        self.assertEqual(pathlib.Path(self.folder, "run.1.record_program.ktrace").read_text(), "old")

    def test_folder(self):
        os.mkdir(f"{self.folder}/my traces")
        for output, name in (("my traces", "record_program"), ("my traces/", "record_program_1"), ("my traces/x y.ktrace", "x y")):
            done = self.record("load", "launch", options=("-o", output))
            self.assertEqual(done.status, 0, done.error)
            self.assertIn(f"wrote my traces/{name}.ktrace: ", done.error)
            self.assertIn(f"ktrace summary 'my traces/{name}.ktrace'\n", done.error)
            self.assertEqual(self.launches(f"my traces/{name}.ktrace"), 1)
        self.assertEqual([name for name in os.listdir(f"{self.folder}/my traces") if name[0] == "."], [])

    def test_program_with_blanks(self):
        os.symlink(arguments.program, f"{self.folder}/my program")
        for name in glob.glob(f"{arguments.program.parent}/*.co"):
            os.symlink(name, f"{self.folder}/{os.path.basename(name)}")
        done = self.run_command(arguments.ktrace, "record", "./my program", "load", "launch")
        self.assertEqual(done.status, 0, done.error)
        self.assertEqual(self.files("*.ktrace"), ["my_program.ktrace"])

    def test_folders_that_take_no_files(self):
        pathlib.Path(self.folder, "file").touch()
        outputs = {"/proc/a.ktrace": "/proc/: no file can be created", "missing/a.ktrace": "missing/: .*make it first",
                   "file/a.ktrace": "file/: this folder cannot be used: Not a directory"}
        if os.geteuid() != 0:
            os.mkdir(f"{self.folder}/closed", 0o555)
            outputs["closed/a.ktrace"] = "closed/: no file can be created"
        for output, sentence in outputs.items():
            done = self.record("say=started", options=("-o", output))
            self.assertEqual((done.status, done.out), (1, ""))
            self.assertRegex(done.error, sentence)

    def test_program_changes_its_folder(self):
        done = self.run_command(arguments.ktrace, "record", "-o", "a.ktrace", "sh", "-c", 'cd / && "$PROGRAM" load launch')
        self.assert_recorded(done, [1])

    def test_export_and_summary(self):
        done = self.record("load", "launch", options=("-o", "a b.ktrace", "--export", "chrome", "--export", "perfetto", "-s"))
        self.assertEqual(done.status, 0, done.error)
        self.assertEqual(self.files(), ["a b.ktrace", "a_b_ktrace.json", "a_b_ktrace.pftrace.gz"])
        self.assertIn("\nktrace: wrote a_b_ktrace.json\n", done.error)
        self.assertIn("\nlayer: 1 launch, 2 of 2 waves, 4 events\n", done.error)
        self.assertEqual(done.out, "")

    def test_quiet(self):
        done = self.record("load", "launch", options=("-q", "--export", "csv"))
        self.assertEqual((done.status, done.error), (0, ""))
        self.assertIn("overflowed", self.record("load", "many=40", options=("-q", "--events-per-wave", "8")).error)

    def test_export_of_several(self):
        done = self.record("load", "begin=a", "launch", "read", "launch", "end", options=("--export", "csv"))
        self.assertEqual(done.status, 0, done.error)
        self.assertEqual(self.files("*.csv"), ["record_program.1.a_ktrace.csv", "record_program.2.a_ktrace.csv"])

    def test_folder_that_is_gone(self):
        """What outlives the recording exports as without it, and says so."""
        self.environment |= {"KTRACE_ENABLE": "1", "KTRACE_RECORD": "/nowhere at all"}
        done = self.run_command(arguments.program, "load", "launch")
        self.assertEqual(done.status, 0)
        self.assertIn('KTRACE_RECORD is "/nowhere at all", where no file can be made (No such file or directory)', done.error)
        self.assertEqual(self.files(), ["record_program_ktrace.pftrace.gz"])


class Options(Case):
    def refused(self, options, sentence, status=2):
        done = self.record("say=started", options=options)
        self.assertEqual((done.status, done.out), (status, ""), done.error)
        self.assertRegex(done.error, sentence)

    def test_settings(self):
        self.refused(("--blocks", "0,x"), '--blocks is "0,x", at character 3')
        self.refused(("--buffer-bytes", "many"), '--buffer-bytes is "many"')
        self.refused(("--events-per-wave", "0"), '--events-per-wave is "0"')
        self.refused(("--events-per-lane", "-1"), '--events-per-lane is "-1"')
        self.refused(("--devices", "first"), '--devices is "first"')
        self.refused(("--backend", "metal"), '--backend is "metal".*cuda or hip')
        self.refused(("--blocks", ""), "option '--blocks' needs a value that is not empty")

    def test_others(self):
        self.refused(("--export", "svg"), "svg")
        self.refused(("--duration", "soon"), "'--duration' takes seconds from .*, not 'soon'")
        self.refused(("--duration", "0"), "'--duration'")
        self.refused(("--nonsense",), "unknown option '--nonsense'")
        self.refused(("-o", ""), "needs a name that is not empty")

    def test_no_program(self):
        for words in ((), ("--",), ("-q",), ("",)):
            done = self.run_command(arguments.ktrace, "record", *words)
            self.assertEqual(done.status, 2)
            self.assertIn("name a program to run: see 'ktrace record --help'", done.error)

    def test_environment(self):
        """Of variables that somebody else set, as of options."""
        self.environment["KTRACE_BLOCKS"] = "0,x"
        self.refused((), 'KTRACE_BLOCKS is "0,x", at character 3', status=1)
        self.environment["KTRACE_BLOCKS"] = "1,0,0"
        done = self.record("load", "launch", options=("-o", "a.ktrace"))
        self.assertEqual(done.status, 0, done.error)
        self.assertEqual(self.info("a.ktrace")["waves"], 1)
        done = self.record("load", "launch", options=("-o", "b.ktrace", "--blocks", "*"))
        self.assertEqual(self.info("b.ktrace")["waves"], 2)

    def test_of_the_program(self):
        done = self.run_command(arguments.ktrace, "record", "echo", "-o", "x", "--help")
        self.assertEqual(done.out, "-o x --help\n")


@unittest.skipUnless("--package" in sys.argv, "there is no package")
class Python(Case):
    SCRIPT = """
import ctypes, os, signal, sys, time
import ktrace, support
kernels = support.Kernels()
kernels.launch("layer", 1)
with ktrace.capture("inside") as trace:
    kernels.launch("layer", 2)
    kernels.launch("layer", 3)
kernels.launch("layer", 4)
"""

    def setUp(self):
        super().setUp()
        self.environment |= {
            "PYTHONPATH": f"{arguments.package}{os.pathsep}{pathlib.Path(__file__).resolve().parent.parent / 'python'}",
            "PYTHONDONTWRITEBYTECODE": "1", "KTRACE_LIBRARY": str(arguments.library),
            "KTRACE_TEST_KERNELS": str(arguments.program.parent / "record_kernels-gfx942.co")}

    def record_script(self, end="", *options):
        pathlib.Path(self.folder, "train model.py").write_text(self.SCRIPT + end)
        return self.run_command(arguments.ktrace, "record", *options, "--", sys.executable, "-u", "train model.py")

    def assert_all(self, done, status):
        self.assert_recorded(done, [2, 2], status=status)
        self.assertEqual(self.files("*.ktrace"), ["train_model.1.inside.ktrace", "train_model.2.ktrace"])

    def test_script(self):
        self.assert_all(self.record_script(), 0)

    def test_exception(self):
        self.assert_all(self.record_script("raise KeyError('mine')"), 1)

    def test_interrupt(self):
        """Python finalizes, and kills itself."""
        self.assert_all(self.record_script("raise KeyboardInterrupt"), 130)

    def test_terminated(self):
        self.assert_all(self.record_script("os.kill(os.getpid(), signal.SIGTERM); time.sleep(50)"), 143)

    def test_subprocesses(self):
        script = "import subprocess, sys\nfor _ in range(2): subprocess.run([sys.executable, 'worker.py'], check=True)\n"
        pathlib.Path(self.folder, "worker.py").write_text(self.SCRIPT)
        pathlib.Path(self.folder, "main.py").write_text(script)
        done = self.run_command(arguments.ktrace, "record", "--", sys.executable, "main.py")
        self.assert_recorded(done, [2, 2, 2, 2])


def main():
    global arguments
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--program", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--library", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--package", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--hanging", nargs=2, metavar=("PROGRAM", "KERNELS"), help="tests/sim/watch/program.c, and its kernels")
    parser.add_argument("--sanitized", action="store_true", help="the program was compiled with a sanitizer")
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    unittest.main(argv=[sys.argv[0], *arguments.tests])


if __name__ == "__main__":
    main()
