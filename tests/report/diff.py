#!/usr/bin/env python3
"""`ktrace diff` on synthetic traces: exit statuses, order, JSON beside that of `ktrace summary`.

    diff.py --ktrace build/release/bin/ktrace --make-trace build/release/tests/report/make_trace
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def run(*command: object) -> tuple[int, str, str]:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def check(ktrace: pathlib.Path, make_trace: pathlib.Path, folder: pathlib.Path) -> None:
    before, after, again = folder / "before.ktrace", folder / "after.ktrace", folder / "again.ktrace"
    for path, percent, seed in ((before, 0, 1), (after, 10, 2), (again, 0, 3)):
        assert run(make_trace, path, 400, 2, percent, seed)[0] == 0

    # Identical files: no change, exit status 0, whatever is asked.
    status, out, _ = run(ktrace, "diff", before, before, "--min-effect", 0, "--fail-if", "mainloop p50 > +0%")
    assert status == 0 and "\nno change\n" in out, (status, out)
    status, out, _ = run(ktrace, "diff", before, again)
    assert status == 0 and "\nno change\n" in out, (status, out)

    # A change is found, is first, and does not fail by itself. Twice the same bytes.
    status, out, err = run(ktrace, "diff", before, after)
    assert status == 0 and err == "", (status, err)
    assert (status, out, err) == run(ktrace, "diff", before, after)
    rows = [line for line in out.splitlines() if line.startswith("  gemm/")]
    assert rows[0].startswith("  gemm/mainloop") and "slower" in rows[0], rows
    assert "2 of 5 phases changed" in out, out

    # Conditions.
    status, out, _ = run(ktrace, "diff", before, after, "--fail-if", "mainloop p50 > +3%")
    assert status == 3 and "FAILED  mainloop p50 > +3%: gemm/mainloop +9." in out, (status, out)
    status, out, _ = run(
        ktrace, "diff", before, after, "-f", "mainloop p50 > +20%", "--fail-if", "'k tile' mean > +1ns"
    )
    assert status == 3 and "passed  mainloop" in out and "FAILED  'k tile'" in out, (status, out)
    status, out, err = run(ktrace, "diff", before, after, "--fail-if", "mainlop p50 > +3%")
    assert status == 1 and out == "" and "'mainlop'" in err, (status, out, err)

    # The numbers of the summary.
    status, out, _ = run(ktrace, "diff", "--json", "--fail-if", "gemm/mainloop p50 > +3%", before, after)
    found = json.loads(out)
    assert status == 3 and [condition["holds"] for condition in found["conditions"]] == [True]
    for side, path in (("a", before), ("b", after)):
        summary = json.loads(run(ktrace, "summary", "--json", path)[1])
        for phase in summary["phases"]:
            row = next(r for r in found["phases"] if (r["name"], r["kind"]) == (phase["name"], phase["kind"]))
            for key in ("count", "p50_ns", "p90_ns", "p99_ns"):
                assert row[side][key] == phase[key], (side, key, row, phase)
            if phase["mean_ns"] is not None:
                assert abs(row[side]["mean_ns"] - phase["mean_ns"]) < 1e-9 * phase["mean_ns"]
        assert len(found["phases"]) == len(summary["phases"])

    # Simulated time beside a device's.
    data = pathlib.Path(__file__).resolve().parent.parent / "data"
    simulated, real = data / "sim" / "example_divergence.ktrace", data / "h200" / "example_divergence.ktrace"
    for pair in ((simulated, real), (real, simulated)):
        status, out, err = run(ktrace, "diff", *pair)
        assert status == 1 and out == "" and "simulated time" in err, (status, out, err)
    status, out, _ = run(ktrace, "diff", simulated, simulated)
    assert status == 0 and out.count("simulated time") == 2, (status, out)

    # Many waves.
    for path, percent in ((before, 0), (after, 2)):
        assert run(make_trace, path, 20000, 1, percent, 7)[0] == 0
    status, out, _ = run(ktrace, "diff", "--json", before, after)
    verdicts = {row["name"]: row["verdict"] for row in json.loads(out)["phases"]}
    assert verdicts["mainloop"] == "slower" and verdicts["prologue"] == "same", verdicts
    status, out, _ = run(ktrace, "diff", "--min-effect", 5, before, after)
    assert status == 0 and "\nno change\n" in out, out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", type=pathlib.Path, required=True)
    parser.add_argument("--make-trace", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ktrace-diff-") as folder:
        check(arguments.ktrace.resolve(), arguments.make_trace.resolve(), pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
