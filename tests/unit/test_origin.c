/* What traces say of who recorded: labels, reads, the host's clocks; and that reads of a capture fit together again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_fixture.h"
#include "origin.h"
#include "trace.h"

/* ---- Labels ------------------------------------------------------------------------------------------------------- */

static const char *environment[16]; /* "NAME=value", then NULL */

static const char *variable(const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; environment[i]; i++)
        if (strncmp(environment[i], name, length) == 0 && environment[i][length] == '=')
            return environment[i] + length + 1;
    return NULL;
}

static void assert_label(const char *expected)
{
    char *label = NULL;
    assert_int_equal(kt_origin_label(&label, variable), 0);
    assert_string_equal(label, expected);
    free(label);
}

static void labels(void **state)
{
    (void)state;
    static const struct {
        const char *variables[5], *label;
    } cases[] = {
        {{NULL}, ""},
        {{"RANK=3"}, "rank 3"},
        {{"RANK=003"}, "rank 3"},
        {{"RANK=0", "LOCAL_RANK=1"}, "rank 0"},
        {{"LOCAL_RANK=1"}, "local rank 1"},
        {{"OMPI_COMM_WORLD_RANK=17", "SLURM_PROCID=0"}, "rank 17"},
        {{"PMI_RANK=2"}, "rank 2"},
        {{"SLURM_PROCID=5", "LOCAL_RANK=1"}, "rank 5"},
        {{"KTRACE_LABEL=decode", "RANK=3"}, "decode"},
        {{"KTRACE_LABEL=", "RANK=3"}, "rank 3"},
        {{"RANK=", "SLURM_PROCID=5"}, "rank 5"},
        {{"RANK=first", "PMI_RANK=-1"}, ""}, /* not a launcher's */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(environment, cases[i].variables, sizeof cases[i].variables);
        assert_label(cases[i].label);
    }
}

/* ---- Captures ----------------------------------------------------------------------------------------------------- */

static void run_waves(struct fixture *f, uint32_t first, uint32_t end, uint32_t grid, uint64_t grid_id)
{
    for (uint32_t i = first; i < end; i++) {
        struct fake_wave wave;
        fake_wave_begin(&wave, &f->module, f->kernel, i, grid, grid_id, grid_id * 1000 + i);
        fake_event(&wave, 0, f->mark, grid_id * 1000 + i + 10);
        fake_wave_end(&wave, grid_id * 1000 + i + 20);
    }
}

static struct ktrace_capture *begin(struct fixture *f)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    options.blocks = "every:1 waves:0-3";
    if (fake_begin(&capture, &f->device, &options) < 0)
        fail_msg("begin: %s", ktrace_last_error());
    return capture;
}

typedef int look(struct ktrace_trace **out, struct ktrace_capture *capture);

static struct ktrace_trace *taken(look *call, struct ktrace_capture *capture)
{
    struct ktrace_trace *trace;
    if (call(&trace, capture) < 0)
        fail_msg("%s", ktrace_last_error());
    return trace;
}

static const struct kt_process *process_of(const struct ktrace_trace *trace)
{
    assert_int_equal(trace->snapshot->process_count, 1);
    return &trace->snapshot->processes[0];
}

static void assert_reads(const struct ktrace_trace *trace, uint64_t first, uint64_t last)
{
    const struct kt_process *process = process_of(trace);
    assert_int_equal(process->read_count, 1);
    assert_int_equal(process->reads[0].first, first);
    assert_int_equal(process->reads[0].last, last);
}

static void who_recorded(void **state)
{
    struct fixture *f = *state;
    char host[256] = "", self[4096] = "";
    gethostname(host, sizeof host - 1);
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    setenv("KTRACE_LABEL", "decode", 1);
    struct ktrace_capture *capture = begin(f);
    unsetenv("KTRACE_LABEL"); /* what counts is what was there when it began */
    run_waves(f, 0, 4, 4, 1);
    struct ktrace_trace *trace = taken(ktrace_capture_end, capture);
    const struct kt_process *process = process_of(trace);
    assert_string_equal(process->label, "decode");
    assert_true(kt_id_is_known(process->id));
    assert_int_equal(process->pid, getpid());
    assert_string_equal(process->host, host);
    assert_string_equal(process->program, self);
    assert_string_equal(process->version, KTRACE_VERSION_STRING);
    assert_int_equal(strlen(process->boot), 36);
    assert_string_equal(process->reads[0].filter, "waves:0-3");
    assert_int_equal(trace->snapshot->devices[0].identity.uuid[0], 0xFA);
    assert_string_equal(trace->devices[0].uuid, "fa000000-0000-0000-0000-000000000000");

    /* The clocks were read at begin and end, one soon after the other. */
    struct kt_clock_distance distance;
    assert_int_equal(process->reading_count, 2);
    assert_true(process->readings[0].monotonic_ns <= process->readings[1].monotonic_ns);
    assert_int_equal(kt_process_clock_distance(&distance, process), 1);
    struct timespec real, monotonic;
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    const int64_t seconds = real.tv_sec - monotonic.tv_sec;
    assert_in_range(distance.low_ns / 1000000000 - seconds + 2, 0, 4);
    ktrace_trace_destroy(trace);
}

/* Each wave's read is counted once, whoever looked. */
static void reads_are_counted(void **state)
{
    struct fixture *f = *state;
    struct ktrace_capture *capture = begin(f);
    run_waves(f, 0, 2, 8, 1);
    struct ktrace_trace *peek = taken(ktrace_capture_peek, capture);
    struct ktrace_trace *first = taken(ktrace_capture_snapshot, capture);
    run_waves(f, 2, 4, 8, 1);
    struct ktrace_trace *second = taken(ktrace_capture_snapshot, capture), *read = taken(ktrace_capture_read, capture);
    run_waves(f, 4, 6, 8, 1);
    assert_int_equal(ktrace_capture_clear(capture), 0);
    run_waves(f, 6, 8, 8, 1);
    struct ktrace_trace *last = taken(ktrace_capture_end, capture);
    assert_reads(peek, 1, 1);
    assert_reads(first, 1, 1);
    assert_reads(second, 1, 2);
    assert_true(process_of(read)->reads[0].first == 1 && process_of(read)->reads[0].last >= 2);
    assert_true(process_of(last)->reads[0].first >
                process_of(read)->reads[0].last + 1); /* what was cleared is in none */
    assert_int_equal(process_of(last)->reads[0].capture, process_of(peek)->reads[0].capture);

    struct ktrace_trace *whole = NULL;
    const struct ktrace_trace *const twice[] = {peek, read}, *const both[] = {read, last};
    assert_int_equal(ktrace_trace_merge(&whole, twice, 2, NULL), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_merge(&whole, both, 2, NULL), 0);
    assert_int_equal(info_of(whole).waves, 6);
    assert_int_equal(info_of(whole).launches, 1); /* its waves were shared out */
    assert_int_equal(info_of(whole).devices, 1);
    struct ktrace_trace *traces[] = {whole, last, read, second, first, peek};
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
        ktrace_trace_destroy(traces[i]);
}

/* Two captures of one process have one device, and modules that are told apart by their numbers. */
static void captures_are_counted(void **state)
{
    struct fixture *f = *state;
    struct ktrace_trace *traces[2];
    for (uint64_t i = 0; i < 2; i++) {
        struct ktrace_capture *capture = begin(f);
        run_waves(f, 0, 2, 2, 1 + i);
        traces[i] = taken(ktrace_capture_end, capture);
    }
    const struct kt_process *a = process_of(traces[0]), *b = process_of(traces[1]);
    assert_true(kt_process_is_same(a, b));
    assert_int_equal(b->reads[0].capture, a->reads[0].capture + 1);
    assert_int_not_equal(traces[0]->snapshot->modules[0].number, traces[1]->snapshot->modules[0].number);
    struct ktrace_trace *whole;
    assert_int_equal(ktrace_trace_merge(&whole, (const struct ktrace_trace *const *)traces, 2, NULL), 0);
    assert_int_equal(info_of(whole).processes, 1);
    assert_int_equal(info_of(whole).devices, 1);
    assert_int_equal(info_of(whole).launches, 2);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(traces[0]);
    ktrace_trace_destroy(traces[1]);
}

/* A child that records is another process. */
static void a_child(void **state)
{
    struct fixture *f = *state;
    uint8_t id[KT_ID_BYTES];
    int ends[2];
    struct ktrace_trace *trace = taken(ktrace_capture_end, begin(f));
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct ktrace_capture *capture;
        struct ktrace_trace *other = NULL;
        if (fake_begin(&capture, &f->device, NULL) == 0 && ktrace_capture_end(&other, capture) == 0 &&
            other->snapshot->processes[0].reads[0].capture == 1)
            (void)!write(ends[1], other->snapshot->processes[0].id, KT_ID_BYTES);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], id, sizeof id), sizeof id);
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(kt_id_is_known(id));
    assert_memory_not_equal(id, process_of(trace)->id, sizeof id);
    ktrace_trace_destroy(trace);
}

/* ---- Reads in common ---------------------------------------------------------------------------------------------- */

static struct kt_process with_reads(struct kt_reads *reads, uint32_t count)
{
    return (struct kt_process){.reads = reads, .read_count = count};
}

/* All pairs of few intervals, in any order, against what overlapping means. */
static void reads_in_common(void **state)
{
    (void)state;
    uint32_t random = 1, overlapping = 0;
    for (int round = 0; round < 20000; round++) {
        struct kt_reads reads[2][4];
        uint32_t counts[2];
        for (int side = 0; side < 2; side++) {
            random = random * 1664525 + 1013904223;
            counts[side] = random >> 30;
            for (uint32_t i = 0; i < counts[side]; i++) {
                random = random * 1664525 + 1013904223;
                const uint64_t first = 1 + (random >> 20) % 12;
                reads[side][i] = (struct kt_reads){
                    .capture = 1 + (random >> 28) % 3, .first = first, .last = first + (random >> 16) % 3};
            }
        }
        int expected = 0;
        for (uint32_t i = 0; i < counts[0]; i++)
            for (uint32_t k = 0; k < counts[1]; k++)
                expected |= reads[0][i].capture == reads[1][k].capture && reads[0][i].first <= reads[1][k].last &&
                            reads[1][k].first <= reads[0][i].last;
        const struct kt_process a = with_reads(reads[0], counts[0]), b = with_reads(reads[1], counts[1]);
        assert_int_equal(kt_process_reads_overlap(&a, &b), expected);
        overlapping += (uint32_t)expected;
    }
    assert_in_range(overlapping, 2000, 18000);
}

/* ---- Readings ----------------------------------------------------------------------------------------------------- */

static void readings_are_bounded(void **state)
{
    (void)state;
    struct kt_recording_origin origin = {.number = 0};
    assert_int_equal(kt_origin_begin(&origin), 0);
    const struct kt_clock_reading first = origin.readings[0];
    for (int i = 0; i < 3 * KT_MAX_CLOCK_READINGS; i++)
        kt_origin_read_clocks(&origin);
    assert_int_equal(origin.reading_count, KT_MAX_CLOCK_READINGS);
    assert_memory_equal(&origin.readings[0], &first, sizeof first);
    for (uint32_t i = 1; i < origin.reading_count; i++)
        assert_true(origin.readings[i - 1].monotonic_ns <= origin.readings[i].monotonic_ns);
    kt_origin_end(&origin);
}

static void a_clock_that_is_set(void **state)
{
    (void)state;
    struct kt_clock_reading readings[] = {{1000, 10, 1040}, {1110, 100, 1120}, {9000, 200, 9010}};
    struct kt_process process = {.readings = readings};
    struct kt_clock_distance distance;
    assert_int_equal(kt_process_clock_distance(&distance, &process), 0);
    process.reading_count = 2;
    assert_int_equal(kt_process_clock_distance(&distance, &process), 1);
    assert_int_equal(distance.low_ns, 1010);
    assert_int_equal(distance.high_ns, 1020);
    assert_int_equal(distance.was_set, 0);
    process.reading_count = 3;
    assert_int_equal(kt_process_clock_distance(&distance, &process), 1);
    assert_int_equal(distance.low_ns, 990); /* the first one's */
    assert_int_equal(distance.was_set, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels),
        cmocka_unit_test_setup_teardown(who_recorded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(captures_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_child, set_up, tear_down),
        cmocka_unit_test(reads_in_common),
        cmocka_unit_test(readings_are_bounded),
        cmocka_unit_test(a_clock_that_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
