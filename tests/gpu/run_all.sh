#!/bin/sh
# Run every GPU test program on a machine with a GPU and keep what it recorded.
#
#   tests/gpu/run_all.sh BIN_DIR OUT_DIR [--quick] [--no-sanitizer] [--only PROGRAM ...]
#
# BIN_DIR holds the programs (a build's tests/gpu). OUT_DIR gets <program>.log and <program>/<case>.ktrace of each. Where
# compute-sanitizer is on the PATH, memcheck and racecheck run over small cases afterwards. PyTorch's tests run in the
# environment's PYTHON (python3), with KTRACE_LIBRARY (BIN_DIR/../../libktrace.so.0) and KTRACE_TORCH_CUBIN
# (BIN_DIR/torch_layer.cubin), and the documentation's with KTRACE_DOCS_SITE (BIN_DIR/../docs/site, which `ctest -L docs` makes
# and fills). What fails does not keep the rest from running. --only may be repeated, and leaves the sanitizer out.
#
# Exit status: 0, or 1 when a program failed or found errors, or 77 when every program was skipped.
set -u

if [ $# -lt 2 ]; then
    sed -n '2,14s/^# \{0,1\}//p' "$0"
    exit 2
fi
bin=$1
out=$2
shift 2
here=$(dirname "$0")
quick=
sanitizer=yes
chosen=
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=--quick ;;
    --no-sanitizer) sanitizer=no ;;
    --only)
        if [ $# -lt 2 ]; then
            echo "$0: --only needs the name of a program" >&2
            exit 2
        fi
        shift
        chosen="$chosen $1"
        sanitizer=no
        ;;
    *)
        echo "$0: unknown option $1" >&2
        exit 2
        ;;
    esac
    shift
done
mkdir -p "$out" || exit 2

programs="test_divergence test_divergence_debug test_divergence_rdc test_divergence_shared_runtime test_payloads"
programs="$programs test_payload_forms test_capacity test_reading test_filters test_launches test_concurrent_read test_collection"
programs="$programs test_output test_graph test_graph_construction test_multi_device test_peek test_modules test_modules_rdc"
programs="$programs test_program test_truth test_doctor test_torch_graph test_python_torch test_docs test_watch test_record test_merge"
for name in $chosen; do
    case " $programs " in
    *" $name "*) ;;
    *)
        echo "$0: there is no program $name: $programs" >&2
        exit 2
        ;;
    esac
done
failed=0
ran=0

# limited SECONDS command...: in a time limit, where there is timeout(1).
limited() {
    seconds=$1
    shift
    if command -v timeout >/dev/null 2>&1; then
        timeout "$seconds" "$@"
    else
        "$@"
    fi
}

# report NAME STATUS LOG: one line, then what failed.
report() {
    case $2 in
    0) verdict=ok ran=$((ran + 1)) ;;
    77) verdict=skipped ;;
    *) verdict="FAILED ($2)" ran=$((ran + 1)) failed=$((failed + 1)) ;;
    esac
    printf '%-34s %-13s %s\n' "$1" "$verdict" "$(tail -n 1 "$3")"
    if [ "$2" != 0 ] && [ "$2" != 77 ]; then
        grep -E '^  FAILED |ERROR SUMMARY|Invalid |Error:' "$3" | cut -c1-240 | head -n 25 | sed 's/^/    /'
    fi
}

# of PyTorch, whose tests are scripts
export KTRACE_LIBRARY="${KTRACE_LIBRARY:-$bin/../../libktrace.so.0}"
export KTRACE_TORCH_CUBIN="${KTRACE_TORCH_CUBIN:-$bin/torch_layer.cubin}"
# of scripts that run the command
export KTRACE="${KTRACE:-$bin/../../bin/ktrace}"
export KTRACE_WATCHED="${KTRACE_WATCHED:-$bin/watched}"
export KTRACE_RECORDED="${KTRACE_RECORDED:-$bin/recorded}"
export KTRACE_RANKS="${KTRACE_RANKS:-$bin/ranks}"
# what pages of the documentation have built, by `ctest -L docs`
export KTRACE_DOCS_SITE="${KTRACE_DOCS_SITE:-$bin/../docs/site}"

for program in ${chosen:-$programs}; do
    log=$out/$program.log
    mkdir -p "$out/$program"
    if [ -e "$here/$program.py" ]; then
        limited 280 "${PYTHON:-python3}" "$here/$program.py" --verbose $quick --save "$out/$program" >"$log" 2>&1
    elif [ -x "$bin/$program" ]; then
        limited 280 "$bin/$program" --verbose $quick --save "$out/$program" >"$log" 2>&1
    else
        echo "$program: not built" >"$log"
        report "$program" 127 "$log"
        continue
    fi
    report "$program" $? "$log"
done

if [ "$sanitizer" = yes ] && [ "$ran" -gt 0 ]; then
    if command -v compute-sanitizer >/dev/null 2>&1; then
        # shellcheck disable=SC2034 # read by eval
        {
            only_test_divergence=
            only_test_capacity="ring_just_fits ring_overflows_with_payloads lane_ring everything_overflows read_after_overflow \
                keep_last_ranges every_region_is_used"
            only_test_reading="clear_and_read_twice launches_accumulate"
            only_test_filters="box places combined"
        }
        for tool in memcheck racecheck; do
            for program in test_divergence test_capacity test_filters test_reading; do
                [ -x "$bin/$program" ] || continue
                log=$out/$program.$tool.log
                eval "names=\$only_$program"
                only=
                # shellcheck disable=SC2154
                for name in $names; do
                    only="$only --only $name"
                done
                # shellcheck disable=SC2086
                limited 280 compute-sanitizer --tool "$tool" --error-exitcode 99 \
                    "$bin/$program" --quick --timeout 250 $only >"$log" 2>&1
                report "$program under $tool" $? "$log"
            done
        done
    else
        echo "compute-sanitizer is not on the PATH: not run"
    fi
fi

if [ "$failed" -gt 0 ]; then
    echo "$failed failed"
    exit 1
fi
if [ "$ran" -eq 0 ]; then
    echo "all skipped"
    exit 77
fi
echo "all passed"
