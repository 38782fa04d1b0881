/* golden.h - what the cases of simulated captures are written with. golden.c runs them.
 *
 * A case launches kernels in a capture and says what has to be recorded, as short text: names in the order of the events,
 *
 *     mark   name          push   name{          start  +name         unmatched ends   }?  -?
 *            name=payload  pop    }name                 stop   -name         ranges never closed   name{?  +name?
 *
 * where an end has the name of the range that it closes, and " OR " between what the compiler may choose from: which side of a
 * branch runs first. Beside that, all that the trace tells is text in a golden file:
 * launches, places, times, losses. Every case runs in a process of its own, on a machine that has run nothing yet, so that its
 * times do not depend on other cases.
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hip/hip_api.h"
#include "ktrace/ktrace.h"

#define OUT_WORDS (1 << 18)

struct test {
    FILE *text; /* towards the golden file */
    int failures;
    hipModule_t module;
    int *out; /* device memory, OUT_WORDS ints: every kernel's first argument */
    struct ktrace_capture *capture;
    struct ktrace_trace *trace; /* the last one that was read */
    uint64_t queues[16];        /* numbered in order of appearance: addresses differ from run to run */
    int queue_count;
    int is_brief;        /* waves and events are too many for the golden file: launches and losses only */
    const char *kernels; /* path of the code object */
    const char *save;    /* where traces are saved to, or NULL */
    const char *name;
    int saved;
};

struct golden_case {
    const char *name;
    /* What most cases are: one launch of `groups` workgroups (0: one) of `threads`, after which each wave holds `expected`. */
    const char *kernel;
    uint32_t groups, threads;
    int n; /* every kernel's second argument */
    const char *expected;
    uint64_t unmatched, unclosed; /* of the whole trace */
    /* What the others do instead. */
    void (*run)(struct test *t);
    const char *environment; /* "NAME=value", for this case */
};

#define RECORDS(case_name, kernel_name, group_count, thread_count, number, events) \
    RECORDS_OPEN(case_name, kernel_name, group_count, thread_count, number, events, 0, 0)
#define RECORDS_OPEN(case_name, kernel_name, group_count, thread_count, number, events, unmatched_ends, \
                     unclosed_ranges) \
    { \
        .name = (case_name), .kernel = (kernel_name), .groups = (group_count), .threads = (thread_count), \
        .n = (number), .expected = (events), .unmatched = (unmatched_ends), .unclosed = (unclosed_ranges) \
    }
#define RUNS(case_name) \
    { \
        .name = #case_name, .run = (case_name) \
    }
#define NO_MORE \
    { \
        .name = NULL \
    }

/* A group of cases: one golden file, one code object. */
extern const struct golden_case *const golden_cases;
extern const char *const golden_group;

/* ---- Checks: a case goes on after one that fails, and does not after REQUIRE ------------------------------------------ */

__attribute__((format(printf, 5, 6))) void test_fail(struct test *t, const char *file, int line, const char *what,
                                                     const char *format, ...);
#define CHECK(condition, ...) \
    do { \
        if (!(condition)) \
            test_fail(t, __FILE__, __LINE__, #condition, __VA_ARGS__); \
    } while (0)
#define REQUIRE(condition, ...) \
    do { \
        if (!(condition)) { \
            test_fail(t, __FILE__, __LINE__, #condition, __VA_ARGS__); \
            return; \
        } \
    } while (0)
#define OK(call) \
    do { \
        const hipError_t ok_ = (call); \
        if (ok_ != hipSuccess) \
            test_fail(t, __FILE__, __LINE__, #call, "%s: %s", hipGetErrorName(ok_), ktrace_simulator_error()); \
    } while (0)
#define MUST(call) \
    do { \
        const int must_ = (call); \
        if (must_ < 0) \
            test_fail(t, __FILE__, __LINE__, #call, "%s: %s", ktrace_status_name(must_), ktrace_last_error()); \
    } while (0)

/* ---- What a case does -------------------------------------------------------------------------------------------------- */

struct shape {
    uint32_t grid[3], block[3];
};
void launch(struct test *t, const char *kernel, uint32_t groups, uint32_t threads, int n);
void launch_shape(struct test *t, const char *kernel, struct shape shape, int n, hipStream_t stream);
void launch_of(struct test *t, hipModule_t module, const char *kernel, uint32_t groups, uint32_t threads, int n);

struct ktrace_capture_options sized(uint32_t events_per_wave, uint64_t buffer_bytes); /* 0: the default */
void begin(struct test *t, const struct ktrace_capture_options *options);             /* NULL: the defaults */
/* A copy of the capture's control block and its counters, as the device has them. */
void read_control(struct test *t, struct ktrace_control *control, struct ktrace_counters *counters);
/* Read, peek or end; the trace becomes `trace` and text. */
void read_trace(struct test *t);
void peek_trace(struct test *t);
void end(struct test *t);
/* A read that must fail: its sentence becomes text. Returns the number behind "<option> >= " in it, or 0. */
uint64_t overflows(struct test *t, const char *option);

/* Every wave holds these events; one wave does; how many waves; nothing is lost, unmatched or unclosed. */
void expect(struct test *t, const char *events);
void expect_wave(struct test *t, uint64_t wave, const char *events);
void expect_clean(struct test *t, uint64_t unmatched, uint64_t unclosed);

struct ktrace_trace_info info_of(struct test *t);
struct ktrace_launch_info launch_info(struct test *t, uint64_t launch);
struct ktrace_wave_info wave_info(struct test *t, uint64_t wave);
struct ktrace_event_info event_info(struct test *t, uint64_t wave, uint32_t event);
void read_out(struct test *t, int *values, size_t count); /* of `out` */

/* ---- Text (golden_text.c) ---------------------------------------------------------------------------------------------- */

void write_trace(FILE *out, struct test *t);
/* A wave's events as `expected` has them. The string is the caller's. */
char *short_text(struct test *t, uint64_t wave);

#endif
