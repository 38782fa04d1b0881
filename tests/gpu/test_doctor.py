#!/usr/bin/env python3
"""What `ktrace doctor` measures of the clocks of every NVIDIA GPU here, against what is known of them.

    KTRACE=build/release/bin/ktrace tests/gpu/test_doctor.py [--verbose] [--save FOLDER]

Exit status 77: there is no NVIDIA GPU that a capture could record.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

# H200: %globaltimer changes every 32 ns, and reading it takes 26 cycles, so that every change is seen; %clock can be read every
# two cycles. Of any other: what DESIGN.md's range of GPUs is known to have (V100 and T4 step by about a microsecond).
H200_STEP_NS = 32
ANY_STEP_NS = (1, 2000)


def faults_of(device, name):
    faults = []

    def expect(condition, what):
        if not condition:
            faults.append(f"device {device['device']} ({name}): {what}: {json.dumps(device)}")

    expect(device["reason"] is None, "something could not be measured")
    if faults:
        return faults
    expect(not device["simulated"], "it is said to be simulated")
    expect(ANY_STEP_NS[0] <= device["step_ns"] <= ANY_STEP_NS[1], "steps of its wall clock are not plausible")
    expect(device["step_ns"] <= device["usual_step_ns"], "the smallest step is larger than the usual one")
    expect(device["step_ns"] % device["multiple_ns"] == 0, "the smallest step is no multiple of what all are multiples of")
    expect(device["steps_seen"] >= 16, "too few changes of the wall clock were seen")
    if "H200" in name:
        expect(device["step_ns"] == H200_STEP_NS, f"the step is not {H200_STEP_NS} ns")
        expect(device["usual_step_ns"] == H200_STEP_NS, f"the usual step is not {H200_STEP_NS} ns")
        expect(device["event_clock_step_cycles"] == 2, "readings of %clock are not 2 cycles apart")
        expect(device["host_within_ns"] <= 100000, "the host's clock is not known to within 100 us")  # 2 us are usual
    nominal = device["event_clock_nominal_hz"]
    # An idle GPU runs slower than nominal, and none runs faster: half a percent is what the two ends of a millisecond leave open.
    expect(0.1 * nominal <= device["event_clock_hz"] <= 1.005 * nominal, "the SMs' clock is not plausible")
    expect(1 <= device["event_clock_step_cycles"] <= 40, "readings of %clock are not plausibly far apart")
    expect(0 < device["host_within_ns"] <= device["host_usually_within_ns"], "how well the host's clock is known is not plausible")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--quick", action="store_true", help="no difference here")
    parser.add_argument("--save", type=pathlib.Path)
    arguments = parser.parse_args()
    ktrace = os.environ.get("KTRACE", "ktrace")
    environment = os.environ | {"KTRACE_BACKEND": "cuda", "KTRACE_DEVICES": "all"}
    done = subprocess.run([ktrace, "doctor", "--json", "--timeout", "60"], env=environment, capture_output=True, text=True,
                          timeout=200)
    found = json.loads(done.stdout)
    if arguments.save:
        (arguments.save / "doctor.json").write_text(done.stdout)
    if not found["capture"]["devices"]:
        print(f"skipped: {found['capture']['reason']}: {found['cuda'].get('reason')}")
        return 77
    if arguments.verbose:
        print(subprocess.run([ktrace, "doctor"], env=environment, capture_output=True, text=True, timeout=200).stdout)
    names = [device["name"] for device in found["cuda"]["devices"]]
    faults = [] if done.returncode == 0 else [f"exit status {done.returncode}: {done.stderr}"]
    if [device["device"] for device in found["clocks"]] != found["capture"]["devices"]:
        faults.append("not every device of the capture was measured")
    if "CUDA" not in found["cuda"].get("driver", ""):
        faults.append("the driver's version is missing")
    for device in found["clocks"]:
        faults += faults_of(device, names[device["device"]])
        print(f"device {device['device']}, {names[device['device']]}: steps of {device['step_ns']} ns (usually "
              f"{device['usual_step_ns']}, {device['steps_seen']} seen), {(device['event_clock_hz'] or 0) / 1e6:.2f} MHz, readings "
              f"{device['event_clock_step_cycles']} cycles apart, host within {device['host_within_ns']} ns (usually "
              f"{device['host_usually_within_ns']})")
    for fault in faults:
        print(f"  FAILED {fault}")
    print(f"{len(found['clocks'])} devices, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
