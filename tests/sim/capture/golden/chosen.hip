/* A program as hipcc builds it, for both chips in one binary, with two instances of its kernel: one that records and one that
 * has nothing of it. The host chooses by whether a capture is open. */
#include "../linked.h"

#include <ktrace/device.h>
#include <ktrace/ktrace.h>

extern "C" {
hipError_t hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int printf(const char *, ...);
int strcmp(const char *, const char *);
}

template <bool Traced>
__device__ __attribute__((always_inline)) inline int step(int x KTRACE_PARAM_IF(Traced))
{
    KTRACE_RANGE("step", x);
    x = x * 3 + 1;
    KTRACE_PIN(x);
    return x;
}

template <bool Traced>
__global__ void both(int *out)
{
    KTRACE_KERNEL_IF(Traced, "both");
    const int thread = (int)__builtin_amdgcn_workitem_id_x();
    int x = thread;
    ktrace_token token = KTRACE_INACTIVE_TOKEN("turn");
    for (int i = 0; i < 2; i++) {
        token = KTRACE_RANGE_NEXT(token, "turn", i);
        x = step<Traced>(x KTRACE_ARG);
    }
    KTRACE_RANGE_STOP(token);
    if (thread >= 70)
        KTRACE_MARK("upper", (_Float16)0.5f);
    out[thread] = x;
}

#define MUST(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d: %s: %s\n", __LINE__, #condition, ktrace_last_error()); \
            return 1; \
        } \
    } while (0)

static int check_results(const int *device)
{
    int values[128];
    MUST(hipMemcpy(values, device, sizeof values, 2) == hipSuccess);
    for (int i = 0; i < 128; i++)
        MUST(values[i] == 9 * i + 4);
    return 0;
}

static int check_wave(const struct ktrace_trace *trace, uint64_t index, unsigned lanes_begin)
{
    static const struct {
        unsigned kind, partner;
        const char *name;
    } wanted[] = {{KTRACE_KIND_START, 3, "turn"}, {KTRACE_KIND_PUSH, 2, "step"},  {KTRACE_KIND_POP, 1, ""},
                  {KTRACE_KIND_STOP, 0, "turn"},  {KTRACE_KIND_START, 7, "turn"}, {KTRACE_KIND_PUSH, 6, "step"},
                  {KTRACE_KIND_POP, 5, ""},       {KTRACE_KIND_STOP, 4, "turn"}};
    struct ktrace_wave_info wave = {};
    struct ktrace_event_info event = {};
    wave.struct_size = sizeof wave;
    event.struct_size = sizeof event;
    MUST(ktrace_trace_wave(&wave, trace, index) == 0);
    MUST(wave.events == (lanes_begin ? 9 : 8));
    for (unsigned i = 0; i < 8; i++) {
        MUST(ktrace_trace_event(&event, trace, index, i) == 0);
        MUST(event.kind == wanted[i].kind && event.partner == wanted[i].partner && !strcmp(event.name, wanted[i].name));
    }
    MUST(ktrace_trace_event(&event, trace, index, 5) == 0);
    MUST(event.payload == 3 * lanes_begin + 1);
    if (lanes_begin) {
        MUST(ktrace_trace_event(&event, trace, index, 8) == 0);
        MUST(!strcmp(event.name, "upper") && event.payload == 0x3F000000);
    }
    return 0;
}

static void launch(int *out)
{
    if (ktrace_active())
        both<true><<<1, 128>>>(out);
    else
        both<false><<<1, 128>>>(out);
}

int main()
{
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    struct ktrace_trace_info info = {};
    int *out;
    MUST(hipMalloc((void **)&out, 4096) == hipSuccess);
    launch(out);
    MUST(check_results(out) == 0);
    both<true><<<1, 128>>>(out); /* dormant */
    MUST(check_results(out) == 0);
    MUST(ktrace_capture_begin(&capture, nullptr) == 0);
    launch(out);
    MUST(check_results(out) == 0);
    both<false><<<1, 128>>>(out); /* records nothing, though there is a capture */
    MUST(check_results(out) == 0);
    MUST(ktrace_capture_end(&trace, capture) == 0);
    info.struct_size = sizeof info;
    MUST(ktrace_trace_get_info(&info, trace) == 0);
    MUST(*ktrace_trace_warning(trace) == 0);
    MUST(info.simulated == 1 && info.launches == 1 && info.waves == 2 && info.events == 17);
    MUST(check_wave(trace, 0, 0) == 0);
    MUST(check_wave(trace, 1, 64) == 0);
    ktrace_trace_destroy(trace);
    return 0;
}
