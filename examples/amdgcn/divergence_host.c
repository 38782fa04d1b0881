/* divergence_host.c - runs the kernel of divergence.cl, checks its numbers and what its waves recorded.
 *
 *     divergence [--save FILE.ktrace] [--export]
 */
#include "../common.h"

#include "hip.h"

enum { GROUPS = 3, THREADS = 128 };

static int steps_of(int value)
{
    int count = 0;
    for (; value != 1; count++)
        value = value % 2 ? 3 * value + 1 : value / 2;
    return count;
}

static int first_value(int thread)
{
    return thread % 64 < 16 ? thread + 3 : thread + 1;
}

static void run(void *kernel)
{
    int result[GROUPS * THREADS];
    void *out = hip_allocate(sizeof result);
    void *arguments[] = {&out};
    HIP(hipModuleLaunchKernel, kernel, GROUPS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL);
    HIP(hipMemcpy, result, out, sizeof result, HIP_DEVICE_TO_HOST);
    HIP(hipFree, out);
    for (int i = 0; i < GROUPS * THREADS; i++)
        if (result[i] != steps_of(first_value(i % THREADS)))
            fail("thread %d took %d steps, not %d", i, result[i], steps_of(first_value(i % THREADS)));
}

#if KTRACE_ENABLE

/* How many events of this kind and name the wave has; a range's end has its name. */
static unsigned count_events(const struct ktrace_trace *trace, uint64_t wave, uint32_t kind, const char *name)
{
    unsigned count = 0;
    struct ktrace_event_info event = {.struct_size = sizeof event};
    for (uint32_t i = 0; ktrace_trace_event(&event, trace, wave, i) == KTRACE_OK; i++)
        count += event.kind == kind && strcmp(event.name, name) == 0;
    return count;
}

static void expect(const struct ktrace_trace *trace, uint64_t wave, uint32_t kind, const char *name, unsigned expected)
{
    const unsigned count = count_events(trace, wave, kind, name);
    if (count != expected)
        fail("wave %llu recorded %u events '%s', not %u", (unsigned long long)wave, count, name, expected);
}

static void check_events(const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    check_ktrace(ktrace_trace_get_info(&info, trace));
    if (info.waves != GROUPS * THREADS / 64)
        fail("%llu waves recorded, not %d", (unsigned long long)info.waves, GROUPS * THREADS / 64);
    for (uint64_t i = 0; i < info.waves; i++) {
        struct ktrace_wave_info wave = {.struct_size = sizeof wave};
        check_ktrace(ktrace_trace_wave(&wave, trace, i));
        int turns = 0, eight_steps = 0;
        for (int lane = 0; lane < 64; lane++) {
            const int steps = steps_of(first_value((int)wave.wave * 64 + lane));
            turns = steps > turns ? steps : turns;
            eight_steps |= steps == 8;
        }
        expect(trace, i, KTRACE_KIND_PUSH, "quarter", 1);
        expect(trace, i, KTRACE_KIND_MARK, "others", 1);
        expect(trace, i, KTRACE_KIND_MARK, "second wave", wave.wave == 1);
        expect(trace, i, KTRACE_KIND_START, "turn", (unsigned)turns); /* the wave turns as often as its slowest lane */
        expect(trace, i, KTRACE_KIND_MARK, "eight steps", (unsigned)eight_steps);
    }
}

#endif

int main(int argc, char **argv)
{
    example_start("divergence", argc, argv);
    hip_open();
    void *module = hip_load("divergence");
    void *kernel = hip_kernel(module, "divergence");
#if KTRACE_ENABLE
    struct ktrace_capture *capture = capture_begin(0, 0);
    run(kernel);
    struct ktrace_trace *trace = capture_end(capture);
    check_events(trace);
    trace_finish(trace);
#else
    run(kernel);
#endif
    hip_unload(module);
    printf("%s: %d threads are right\n", example.name, GROUPS * THREADS);
    return 0;
}
