/* A program of two translation units with kernels in them, as hipcc links it: no module is loaded or attached by hand. */
#include "linked.h"

#include <ktrace/device.h>
#include <ktrace/ktrace.h>

__global__ void first(int *out)
{
    KTRACE_KERNEL("first");
    KTRACE_RANGE("body");
    KTRACE_MARK("number", (int)__builtin_amdgcn_workgroup_id_x());
    out[__builtin_amdgcn_workgroup_id_x()] = 1;
}

extern "C" int printf(const char *, ...);
extern "C" int strcmp(const char *, const char *);

#define MUST(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d: %s: %s\n", __LINE__, #condition, ktrace_last_error()); \
            return 1; \
        } \
    } while (0)

int main()
{
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    struct ktrace_trace_info info = {};
    int *out;
    MUST(hipMalloc((void **)&out, 4096) == hipSuccess);
    first<<<3, 64>>>(out); /* dormant */
    launch_second(out);
    MUST(ktrace_capture_begin(&capture, nullptr) == 0);
    first<<<3, 64>>>(out);
    launch_second(out);
    MUST(ktrace_capture_end(&trace, capture) == 0);
    info.struct_size = sizeof info;
    MUST(ktrace_trace_get_info(&info, trace) == 0);
    MUST(*ktrace_trace_warning(trace) == 0);
    MUST(info.simulated == 1);
    MUST(info.launches == 2);
    MUST(info.waves == 3 + 2);
    MUST(info.events == 3 * 3 + 2);
    for (int i = 0; i < 2; i++) {
        struct ktrace_launch_info launch = {};
        launch.struct_size = sizeof launch;
        MUST(ktrace_trace_launch(&launch, trace, i) == 0);
        MUST(strcmp(launch.kernel, i ? "second" : "first") == 0);
    }
    struct ktrace_event_info event = {};
    event.struct_size = sizeof event;
    MUST(ktrace_trace_event(&event, trace, 0, 1) == 0);
    MUST(strcmp(event.name, "number") == 0);
    MUST(ktrace_trace_event(&event, trace, 3, 0) == 0);
    MUST(strcmp(event.name, "in the second unit") == 0);
    ktrace_trace_destroy(trace);
    return 0;
}
