/* timeline.c - prints when things happened: run twice, the output must be the same. See check_deterministic.cmake. */
#include "fixture.h"

#define STREAMS 3
#define STEPS 6

int main(void)
{
    hipModule_t module = load_kernels();
    hipFunction_t spin = kernel_named(module, "spin"), reduce = kernel_named(module, "reduce");
    hipStream_t streams[STREAMS];
    hipEvent_t begin, events[STREAMS][STEPS];
    uint64_t *times[STREAMS], ticks[STREAMS];
    void *sums = device_zeros(1 << 16);
    ok(hipEventCreate(&begin));
    for (int i = 0; i < STREAMS; i++) {
        ok(hipStreamCreate(&streams[i]));
        times[i] = device_zeros(16);
        ticks[i] = (uint64_t)(100 + 77 * i);
    }
    ok(hipEventRecord(begin, NULL));
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < STREAMS; i++) {
            ok(launch(spin, 4, 128, streams[i], &times[i], &ticks[i]));
            ok(launch(reduce, 40, 256, streams[i], &sums));
            ok(hipEventCreate(&events[i][step]));
            ok(hipEventRecord(events[i][step], streams[i]));
            ok(hipStreamWaitEvent(streams[(i + 1) % STREAMS], events[i][step], 0));
        }
    ok(hipDeviceSynchronize());
    for (int i = 0; i < STREAMS; i++) {
        uint64_t seen[2];
        ok(hipMemcpy(seen, times[i], 16, hipMemcpyDeviceToHost));
        printf("stream %d: %llu to %llu;", i, (unsigned long long)seen[0], (unsigned long long)seen[1]);
        for (int step = 0; step < STEPS; step++)
            printf(" %.6f", (double)milliseconds_between(begin, events[i][step]));
        putchar('\n');
    }
    return 0;
}
