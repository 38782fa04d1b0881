#!/bin/sh
# run_host.sh - the host's share of tracing beside what a plain Python script takes, as bench/results/DATE-host-decode.md.
#
# Usage: bench/run_host.sh [--smoke] [PROGRAM [PYTHON]]
#   PROGRAM   host_decode; without it, the bench preset is built
#   --smoke   a small capture, and the report goes to the terminal: does everything still run?
set -eu
smoke=
if [ "${1-}" = --smoke ]; then
    smoke=--smoke
    shift
fi
program=${1-}
python=${2-python3}
bench=$(cd "$(dirname "$0")" && pwd)

if [ -z "$program" ]; then
    cd "$bench/.."
    cmake --preset bench >/dev/null
    cmake --build --preset bench --target bench_host_decode >/dev/null
    program=build/bench/bench/host_decode
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

if [ -n "$smoke" ]; then
    set -- --part 1 --rounds 1
else
    set -- --part 16
fi
"$program" $smoke >"$work/host"
"$program" $smoke --dump "$work/records"
for encoder in dump dumps; do
    "$python" "$bench/python_baseline.py" "$@" --encoder $encoder "$work/records" >"$work/$encoder"
done

# total_ns FILE: nanoseconds an event in its row "total"
total_ns()
{
    awk -F'|' '$2 ~ /^ total / { print $4 }' "$1"
}

# multiple FILE: how many times faster the library is
multiple()
{
    echo "$(total_ns "$1") $(total_ns "$work/host")" | awk '{ if ($2 > 0) printf "%.0f", $1 / $2; else exit 1 }'
}

report()
{
    over_dump=$(multiple "$work/dump")
    over_dumps=$(multiple "$work/dumps")
    cat <<TEXT
# Host side of a full default capture

$(date +%F), $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1). Made by \`bench/run_host.sh\`; the tops of \`bench/host_decode.c\`
and \`bench/python_baseline.py\` tell what is measured. Times are CPU time (user and system) of one process on one core, because
the machine may have other work.

## libktrace

$(cat "$work/host")

## A plain Python script

$(cat "$work/dump")

The same with the fastest encoder:

$(cat "$work/dumps")

## Beside each other

From the records to a gzip'd file that a viewer opens, an event takes libktrace $(total_ns "$work/host" | tr -d ' ') ns. The script takes
**$over_dump times** as long, and with the fastest encoder **$over_dumps times**. The
script was given a part of the waves only, as said above, because its memory grows with the events; nothing is scaled. With
more waves it takes longer an event, not less.
TEXT
}

report >"$work/report"
if [ -n "$smoke" ]; then
    cat "$work/report"
    exit 0
fi
mkdir -p "$bench/results"
out="$bench/results/$(date +%F)-host-decode"
[ ! -e "$out.md" ] || {
    n=2
    while [ -e "$out-$n.md" ]; do n=$((n + 1)); done
    out="$out-$n"
}
cp "$work/report" "$out.md"
cat "$out.md"
