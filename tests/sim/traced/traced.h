/* traced.h - what tests of captures on the simulator begin with: kernels_truth.c loaded and attached, launches that are remembered,
 * and a comparison of the trace with what every wave noted of itself. KERNELS is the path of the code object. */
#ifndef TRACED_H
#define TRACED_H

#include "../hip/fixture.h"

#include "ktrace/ktrace.h"
#include "truth.h"

#define MAX_LAUNCHES 512
#define MAX_DEVICES 4

#define must(call) \
    do { \
        const int must_status = (call); \
        if (must_status < 0) \
            fail_msg("%s: %s: %s", #call, ktrace_status_name(must_status), ktrace_last_error()); \
    } while (0)
/* A call of ktrace that must fail so, and whose sentence holds `words`. */
#define refuses(call, status, words) \
    do { \
        const int refuses_status = (call); \
        if (refuses_status != (status) || !strstr(ktrace_last_error(), words)) \
            fail_msg("%s: %s: %s", #call, ktrace_status_name(refuses_status), ktrace_last_error()); \
    } while (0)

/* One launch, as the host asked for it. */
struct launched {
    const char *kernel; /* one of kernels_truth.c; ktrace has the same name for it */
    struct dim3 grid, block;
    int n;
    int device; /* that was current when it was prepared */
    uint32_t waves;
    struct truth *log; /* device memory */
    uint32_t *arrived;
    struct truth *noted; /* what came back, for check_launches */
};

struct traced {
    hipModule_t modules[MAX_DEVICES]; /* loaded on each device when first needed; device 0's at once */
    struct launched launched[MAX_LAUNCHES];
    size_t count;
    struct ktrace_capture *capture; /* while one is open */
};

int traced_set_up(void **state);
int traced_tear_down(void **state);
#define TRACED_TEST(function) cmocka_unit_test_setup_teardown(function, traced_set_up, traced_tear_down)

/* Memory for a launch on the current device, remembered but not launched: its arguments are addresses of log, n and arrived. Not
 * thread-safe. */
struct launched *prepare(struct traced *t, const char *kernel, struct dim3 grid, struct dim3 block, int n);
/* Makes its device current. */
hipError_t launch_prepared(const struct traced *t, struct launched *launched, hipStream_t stream);
uint32_t waves_a_workgroup(const struct launched *launched);
/* Both, for workgroups and workitems in a row. */
struct launched *launch_kernel(struct traced *t, const char *kernel, uint32_t groups, uint32_t threads, int n,
                               hipStream_t stream);
/* Forget all launches so far. */
void forget_launches(struct traced *t);
/* What a node of a graph that was just launched on the stream notes, as a launch of its own: the next replay overwrites it. Waits
 * for nothing. */
struct launched *remember_replay(struct traced *t, const struct launched *node, hipStream_t stream);

void begin(struct traced *t, const struct ktrace_capture_options *options);
struct ktrace_trace *read_trace(struct traced *t);
struct ktrace_trace *snapshot(struct traced *t);
struct ktrace_trace *end(struct traced *t);

struct ktrace_trace_info info_of(const struct ktrace_trace *trace);
struct ktrace_device_info device_of(const struct ktrace_trace *trace, uint64_t device);
struct ktrace_launch_info launch_of(const struct ktrace_trace *trace, uint64_t launch);
struct ktrace_wave_info wave_of(const struct ktrace_trace *trace, uint64_t wave);
struct ktrace_event_info event_of(const struct ktrace_trace *trace, uint64_t wave, uint32_t event);

/* The trace holds these launches of `t`, [first, first + count), whole and no others; every fact of devices, launches, waves and
 * events is what the host asked for and the waves noted, and phases are what the events say. Waits for the device. */
void check_launches(struct traced *t, size_t first, size_t count, const struct ktrace_trace *trace);
/* The same, but for the waves that are in the trace only; `pass` says which must be. */
typedef int wave_test(const struct launched *launched, const struct truth *wave, const void *closure);
void check_passing(struct traced *t, size_t first, size_t count, const struct ktrace_trace *trace, wave_test *pass,
                   const void *closure);

/* The launches [first, first + count) are in these traces together: each wave in exactly one of them, with all its events. A launch
 * may be in several. Waits for the device. */
void check_parts(struct traced *t, size_t first, size_t count, struct ktrace_trace *const *traces, size_t trace_count);

#endif
