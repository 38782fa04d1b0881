#!/bin/sh
# gate.sh BASELINE.ktrace: build, record, compare. Exit status 3: slower than the baseline allows.
set -eu
PREFIX=${PREFIX:-$HOME/.local}
hipcc -std=c++17 -O3 --offload-arch=gfx942 -DKTRACE_ENABLE=1 -I "$PREFIX/include" softmax.hip -o softmax \
    -L "$PREFIX/lib" -lktrace -Wl,-rpath,"$PREFIX/lib"
./softmax >/dev/null
ktrace report softmax.ktrace -o softmax.html
ktrace diff "$1" softmax.ktrace \
    --fail-if 'softmax/max p50 > +3%' --fail-if 'softmax/sum p50 > +3%' --fail-if 'softmax/store p50 > +3%' \
    --fail-if 'softmax/store p99 > 2us'
