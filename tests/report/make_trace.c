/* make_trace OUT.ktrace WAVES [LAUNCHES [PERCENT [SEED [KERNEL [quiet]]]]]: a synthetic trace; see synthetic.h. */
#include "synthetic.h"

#include "trace_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: make_trace OUT.ktrace WAVES [LAUNCHES [PERCENT [SEED [KERNEL [quiet]]]]]\n");
        return 2;
    }
    const struct synthetic what = {
        .waves = (uint32_t)strtoul(argv[2], NULL, 10),
        .launches = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1,
        .percent = argc > 4 ? strtod(argv[4], NULL) : 0,
        .seed = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 1,
        .kernel = argc > 6 ? argv[6] : "gemm",
        .quiet = argc > 7,
    };
    struct kt_snapshot *snapshot = synthetic_snapshot(&what);
    const int status = kt_snapshot_save(snapshot, argv[1]);
    if (status < 0)
        fprintf(stderr, "%s\n", ktrace_last_error());
    kt_snapshot_destroy(snapshot);
    return status < 0;
}
