/* traced.c - launches that are remembered, and captures of them. */
#include "traced.h"

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

/* The device is the current one. */
static void load_on(struct traced *t, int device)
{
    assert_in_range(device, 0, MAX_DEVICES - 1);
    if (t->modules[device])
        return;
    t->modules[device] = load_kernels();
    must(ktrace_attach_hip_module(t->modules[device]));
}

int traced_set_up(void **state)
{
    struct traced *t = calloc(1, sizeof *t);
    assert_non_null(t);
    ok(hipSetDevice(0));
    load_on(t, 0);
    *state = t;
    return 0;
}

int traced_tear_down(void **state)
{
    struct traced *t = *state;
    ktrace_capture_destroy(t->capture); /* of a test that failed */
    forget_launches(t);
    for (int i = 0; i < MAX_DEVICES; i++) {
        if (!t->modules[i])
            continue;
        ok(hipSetDevice(i));
        must(ktrace_detach_hip_module(t->modules[i]));
        ok(hipModuleUnload(t->modules[i]));
    }
    ok(hipSetDevice(0));
    free(t);
    return 0;
}

static uint32_t product(struct dim3 d)
{
    return d.x * d.y * d.z;
}

uint32_t waves_a_workgroup(const struct launched *l)
{
    return (product(l->block) + 63) / 64;
}

struct launched *prepare(struct traced *t, const char *kernel, struct dim3 grid, struct dim3 block, int n)
{
    assert_true(t->count < MAX_LAUNCHES);
    struct launched *l = &t->launched[t->count++];
    *l = (struct launched){.kernel = kernel, .grid = grid, .block = block, .n = n};
    l->waves = product(grid) * waves_a_workgroup(l);
    ok(hipGetDevice(&l->device));
    load_on(t, l->device);
    l->log = device_zeros(l->waves * sizeof *l->log);
    l->arrived = device_zeros(sizeof *l->arrived);
    l->noted = calloc(l->waves, sizeof *l->noted);
    assert_non_null(l->noted);
    ok(hipDeviceSynchronize()); /* for streams that do not wait for the null stream */
    return l;
}

hipError_t launch_prepared(const struct traced *t, struct launched *l, hipStream_t stream)
{
    hipFunction_t function;
    hipError_t status = hipSetDevice(l->device);
    if (status == hipSuccess)
        status = hipModuleGetFunction(&function, t->modules[l->device], l->kernel);
    if (status)
        return status;
    return hipModuleLaunchKernel(function, l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y, l->block.z, 0,
                                 stream, (void *[]){&l->log, &l->n, &l->arrived}, NULL);
}

struct launched *launch_kernel(struct traced *t, const char *kernel, uint32_t groups, uint32_t threads, int n,
                               hipStream_t stream)
{
    struct launched *l = prepare(t, kernel, (struct dim3){groups, 1, 1}, (struct dim3){threads, 1, 1}, n);
    ok(launch_prepared(t, l, stream));
    return l;
}

void forget_launches(struct traced *t)
{
    for (size_t i = 0; i < t->count; i++) {
        ok(hipFree(t->launched[i].log));
        ok(hipFree(t->launched[i].arrived));
        free(t->launched[i].noted);
    }
    t->count = 0;
}

struct launched *remember_replay(struct traced *t, const struct launched *node, hipStream_t stream)
{
    assert_true(t->count < MAX_LAUNCHES);
    struct launched *l = &t->launched[t->count++];
    *l = *node;
    l->arrived = NULL;
    l->noted = calloc(l->waves, sizeof *l->noted);
    assert_non_null(l->noted);
    ok(hipMalloc((void **)&l->log, l->waves * sizeof *l->log));
    ok(hipMemcpyDtoDAsync(l->log, node->log, l->waves * sizeof *l->log, stream));
    return l;
}

/* ---- Captures ---------------------------------------------------------------------------------------------------- */

void begin(struct traced *t, const struct ktrace_capture_options *options)
{
    must(ktrace_capture_begin(&t->capture, options));
}

struct ktrace_trace *read_trace(struct traced *t)
{
    struct ktrace_trace *trace = NULL;
    must(ktrace_capture_read(&trace, t->capture));
    return trace;
}

struct ktrace_trace *snapshot(struct traced *t)
{
    struct ktrace_trace *trace = NULL;
    must(ktrace_capture_snapshot(&trace, t->capture));
    return trace;
}

struct ktrace_trace *end(struct traced *t)
{
    struct ktrace_trace *trace = NULL;
    struct ktrace_capture *capture = t->capture;
    t->capture = NULL;
    must(ktrace_capture_end(&trace, capture));
    return trace;
}

/* ---- Traces ------------------------------------------------------------------------------------------------------ */

struct ktrace_trace_info info_of(const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    must(ktrace_trace_get_info(&info, trace));
    return info;
}

struct ktrace_device_info device_of(const struct ktrace_trace *trace, uint64_t device)
{
    struct ktrace_device_info info = {.struct_size = sizeof info};
    must(ktrace_trace_device(&info, trace, device));
    return info;
}

struct ktrace_launch_info launch_of(const struct ktrace_trace *trace, uint64_t launch)
{
    struct ktrace_launch_info info = {.struct_size = sizeof info};
    must(ktrace_trace_launch(&info, trace, launch));
    return info;
}

struct ktrace_wave_info wave_of(const struct ktrace_trace *trace, uint64_t wave)
{
    struct ktrace_wave_info info = {.struct_size = sizeof info};
    must(ktrace_trace_wave(&info, trace, wave));
    return info;
}

struct ktrace_event_info event_of(const struct ktrace_trace *trace, uint64_t wave, uint32_t event)
{
    struct ktrace_event_info info = {.struct_size = sizeof info};
    must(ktrace_trace_event(&info, trace, wave, event));
    return info;
}
