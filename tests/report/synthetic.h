/* synthetic.h - traces of a GEMM that never ran, of any size and with chosen durations. Deterministic. */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H

#include "snapshot.h"

struct synthetic {
    const char *kernel;       /* its name */
    uint32_t waves, launches; /* of all launches together; the waves of a launch are a multiple of 4 but for the last */
    double percent;           /* that the mainloop takes longer */
    uint32_t seed;            /* of what is random in durations */
    int quiet;                /* not 0: without a mark, and without an epilogue */
};

/* Waves in workgroups of four, eight k_tiles in each mainloop, on 132 SMs, four workgroups on each at a time. */
struct kt_snapshot *synthetic_snapshot(const struct synthetic *what);

#endif
