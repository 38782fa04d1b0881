"""What the tests of `ktrace watch` share: the program that hangs, looks at it, and what they must show.

Programs read commands from standard input and answer each on standard output: tests/sim/watch/program.c on the simulator,
tests/gpu/watched.cu on a GPU. Both run the same kernel: 6 workgroups of two waves, of which the first four wait for the host.
"""

import json
import os
import subprocess
import time

LIMIT_S = 50


class Failed(Exception):
    pass


def check(good, what, *values):
    if not good:
        raise Failed(what + "".join(f"\n    {value}" for value in values))


class Program:
    """What is watched: hanging, or not."""

    def __init__(self, setup, how, **variables):
        environment = dict(os.environ) | {"KTRACE_WATCH": "1"} | variables
        self.process = subprocess.Popen(
            [*setup.program, how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        check(answer, f"no answer to {command}", self.process.poll())
        return answer

    def hang(self):
        self.tell("begin")
        return self.tell("launch")

    def finish(self):
        self.process.stdin.close()
        if self.process.wait(timeout=LIMIT_S) != 0:
            raise Failed(f"the program failed: {self.process.stderr.read()}")


class Setup:
    def __init__(self, ktrace, *program):
        self.ktrace = os.path.realpath(ktrace)
        self.program = program

    def command(self, *arguments):
        return [self.ktrace, "watch", *(str(argument) for argument in arguments)]

    def watch(self, *arguments, **more):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=LIMIT_S, **more)

    def look(self, program):
        done = self.watch("--once", "--json", program.pid)
        check(done.returncode == 0, "a look failed", done.stderr)
        return json.loads(done.stdout)

    def look_when(self, program, wanted):
        """Simulated time goes on while the program waits: looks until what is wanted is there."""
        end = time.monotonic() + LIMIT_S
        while True:
            look = self.look(program)
            if wanted(look):
                return look
            check(time.monotonic() < end, "what was wanted did not come", look)
            time.sleep(0.02)

    def refused(self, program_or_pid, *words, options=("--once",)):
        pid = getattr(program_or_pid, "pid", program_or_pid)
        done = self.watch(*options, pid)
        check(done.returncode == 1 and done.stdout == "", "it was not refused", done)
        for word in words:
            check(word in done.stderr, f"'{word}' is not in", done.stderr)


def is_hung(look):
    return look["waves_inside"] == 8 and look["info"]["events"] == 40


def summary(group):
    return (
        group["waves"],
        " > ".join(one["name"] for one in group["open_ranges"]),
        [group["open_ranges"][-1].get("payload_first"), group["open_ranges"][-1].get("payload_last")],
        group["last_event"],
        group["workgroups"],
        group["wave_numbers"],
    )


HUNG = [
    (4, "body > wait_empty", [3, 3], {"name": "wait_empty", "kind": "push"}, [[0, 3]], [[0, 0]]),
    (4, "body > tile > wait_full", [0, 3], {"name": "wait_full", "kind": "push"}, [[0, 3]], [[1, 1]]),
]


def check_hung(look):
    check(len(look["running"]) == 1, "not one launch runs", look)
    launch = look["running"][0]
    counts = [launch[f"waves_{what}"] for what in ("launched", "started", "finished", "inside")]
    check(launch["kernel"] == "pipeline" and counts == [12, 12, 4, 8], "waves", launch)
    check(sorted(map(summary, launch["groups"])) == sorted(HUNG), "groups", launch["groups"])
    oldest = [group["oldest_ps"] for group in launch["groups"]]  # which is the older, the hardware chooses
    check(oldest == sorted(oldest), "the oldest is not first", launch["groups"])


def main(cases, setup, names):
    """The names of cases that failed."""
    failed = []
    for name in names or cases:
        begin = time.monotonic()
        try:
            cases[name](setup)
        except (Failed, subprocess.TimeoutExpired, ValueError, OSError) as error:
            failed.append(name)
            print(f"FAILED  {name}: {error}")
            continue
        print(f"ok      {name}  {time.monotonic() - begin:.1f} s")
    return failed
