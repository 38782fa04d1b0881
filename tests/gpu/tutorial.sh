#!/bin/sh
# Record what docs/tutorial.md shows, on a machine with the GPU that it speaks of.
#
#   tests/gpu/tutorial.sh EXAMPLES_DIR OUT_DIR
#
# EXAMPLES_DIR holds attention_0 to attention_4 (a build's examples). OUT_DIR gets, of each:
#   attention_N.txt         what it prints: the time of its kernel untraced and recording, and the summary of the whole grid
#   attention_N.ktrace      six launches, nine workgroups, all of their waves
#   attention_N_all.ktrace  one launch, all workgroups, one wave of each
# What the page shows of them is committed in tests/data/h200/tutorial.
#
# Exit status: 0, or 1 when a program failed, or 77 without a GPU.
set -u

if [ $# -ne 2 ]; then
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    exit 2
fi
examples=$1
out=$2
mkdir -p "$out" || exit 2

status=0
for step in 0 1 2 3 4; do
    program=$examples/attention_$step
    log=$out/attention_$step.txt
    KTRACE_BLOCKS=all "$program" >"$log" 2>&1 &&
        KTRACE_BLOCKS='0,0-8' "$program" --launches 6 --save "$out/attention_$step.ktrace" >>"$log" 2>&1 &&
        KTRACE_BLOCKS='waves:0' "$program" --save "$out/attention_${step}_all.ktrace" >>"$log" 2>&1
    result=$?
    cat "$log"
    if [ "$result" -eq 77 ]; then
        exit 77
    elif [ "$result" -ne 0 ]; then
        echo "attention_$step failed ($result)"
        status=1
    fi
done
exit $status
