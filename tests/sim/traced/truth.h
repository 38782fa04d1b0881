/* truth.h - what each wave of kernels_truth.c notes of itself, recorded or not, to compare a trace with. */
#ifndef TRUTH_H
#define TRUTH_H

struct truth {
    /* s_memrealtime before the handle, right behind its begin, right before its end, behind it */
    unsigned long long before, begun, ending, after;
    unsigned long long dispatch, queue;
    unsigned workgroup[3], wave;
    unsigned hw_id, xcc_id, lanes;
    unsigned is_there; /* 1: the wave ran */
};

#endif
