/* host_decode - what the host does with a full default capture, step by step, on one core.
 *
 * The capture is made in memory as a device would leave it: 64 MiB cut as src/layout.c cuts it, every region taken by a
 * wave, every main ring full. Waves are those of two kernels: a GEMM (like examples/gemm_kernel.cuh: a token range with a
 * payload for each K tile) and a softmax (short pushed ranges, a mark with a payload now and then, a branch that another
 * lane leads in every eighth wave). 132 SMs have clocks of their own offset and rate.
 *
 * A round loads the .ktrace file from memory, makes the trace, its summary, and its Perfetto file, and frees everything.
 * Figures are medians over rounds of CPU time (user and system), so that other processes count little; peak memory is that
 * of a fresh process that does the job once, from the file on.
 *
 * Usage: host_decode [--rounds N] [--smoke] [--dump FILE]. Prints Markdown. --smoke: a small capture, one round, and checks
 * of the results only. --dump writes the events for python_baseline.py instead of measuring.
 */
#include "layout.h"
#include "trace.h"
#include "trace_file.h"

#include "build_snapshot.h"

#include <inttypes.h>
#include <libdeflate.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__clang__)
#define COMPILER __VERSION__ /* begins with its name */
#else
#define COMPILER "gcc " __VERSION__
#endif

enum {
    PLACES = 132,
    LAUNCHES = 7, /* gemm, softmax, gemm, ... */
    WAVES_PER_WORKGROUP = 4,
    WORKGROUPS_AT_ONCE = 2 * PLACES,
    GEMM_TILE_SLOTS = 3, /* a start with a payload, and a stop */
    GEMM_OTHER_SLOTS = 12,
    JOBS = 9, /* fresh processes */
    SMOKE_BYTES = 1 << 20
};

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("host_decode: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void check(int status, const char *what)
{
    if (status < 0)
        fail("%s: %s", what, ktrace_last_error());
}

/* ---- The capture ------------------------------------------------------------------------------------------------ */

struct device {
    struct build *build;
    uint64_t random;
    double ghz[PLACES];
    uint64_t offset_ticks[PLACES];
    uint64_t events;
};

struct sites {
    uint32_t gemm, tile, prologue, mainloop, k_tile, stop, acc, epilogue, stored;
    uint32_t softmax, rows, load, reduce, step, rescale;
    uint32_t pop;
};

/* A wave while it runs. */
struct wave {
    struct device *device;
    uint32_t number, place;
    double ns; /* true time */
};

static uint64_t next_random(struct device *device)
{
    device->random = device->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return device->random >> 33;
}

/* 0 <= result < 1 */
static double uniform(struct device *device)
{
    return (double)next_random(device) / 2147483648.0;
}

static uint64_t clock_at(const struct device *device, uint32_t place, double ns)
{
    return device->offset_ticks[place] + (uint64_t)(ns * device->ghz[place]);
}

static uint64_t wall_at(double ns)
{
    return (UINT64_C(1764464000123456789) + (uint64_t)ns) / 32 * 32;
}

/* `about_ns` pass, a quarter more or less. */
static uint64_t wait_ns(struct wave *wave, double about_ns)
{
    wave->ns += about_ns * (0.75 + 0.5 * uniform(wave->device));
    return clock_at(wave->device, wave->place, wave->ns);
}

static void record(struct wave *wave, double after_ns, uint32_t site)
{
    build_event(wave->device->build, wave->number, 0, wait_ns(wave, after_ns), site);
    wave->device->events++;
}

static uint32_t record_payload(struct wave *wave, double after_ns, uint32_t site, uint64_t payload)
{
    wave->device->events++;
    return build_payload(wave->device->build, wave->number, 0, wait_ns(wave, after_ns), site, payload);
}

static void run_gemm(struct wave *wave, const struct sites *sites, uint32_t slots, uint64_t workgroup)
{
    uint32_t tiles = (slots - GEMM_OTHER_SLOTS) / GEMM_TILE_SLOTS;
    float acc = (float)uniform(wave->device);
    uint32_t acc_bits;
    memcpy(&acc_bits, &acc, sizeof acc_bits);
    record_payload(wave, 15, sites->tile, workgroup);
    record(wave, 10, sites->prologue);
    record(wave, 900, sites->pop);
    record_payload(wave, 10, sites->mainloop, tiles);
    for (uint32_t tile = 0; tile < tiles; tile++) {
        uint32_t token = record_payload(wave, 8, sites->k_tile, tile);
        build_stop(wave->device->build, wave->number, 0, wait_ns(wave, 620), sites->stop, token);
        wave->device->events++;
    }
    record(wave, 10, sites->pop);
    record_payload(wave, 10, sites->acc, acc_bits);
    record(wave, 10, sites->epilogue);
    record(wave, 1500, sites->pop);
    record(wave, 10, sites->stored);
}

static void run_softmax(struct wave *wave, const struct sites *sites, uint32_t slots, int divergent)
{
    record(wave, 15, sites->rows);
    for (uint32_t i = 0; i < (slots - 2) / 34 * 8; i++) {
        record(wave, 10, sites->load);
        record(wave, 450, sites->pop);
        record(wave, 8, sites->reduce);
        record(wave, 120, sites->pop);
        if (i % 8 == 7)
            record_payload(wave, 10, sites->step, i);
        if (divergent && i % 16 == 3) {
            build_event(wave->device->build, wave->number, 5, wait_ns(wave, 12), sites->rescale);
            wave->device->events++;
        }
    }
    record(wave, 10, sites->pop);
}

static void add_wave(double *end_ns, struct device *device, const struct sites *sites, uint32_t slots, uint32_t launch,
                     uint32_t workgroup, uint32_t workgroups, uint32_t number, double begin_ns)
{
    int gemm = launch % 2 == 0;
    uint32_t place = (workgroup * 7 + launch) % PLACES;
    struct wave wave = {.device = device, .place = place, .ns = begin_ns + 400 * uniform(device)};
    wave.number = build_wave(device->build, &(struct build_wave){.kernel = gemm ? sites->gemm : sites->softmax,
                                                                 .grid_id = launch + 1,
                                                                 .grid = {workgroups, 1, 1},
                                                                 .block = {32 * WAVES_PER_WORKGROUP, 1, 1},
                                                                 .workgroup = {workgroup, 0, 0},
                                                                 .wave = (uint16_t)number,
                                                                 .place = place,
                                                                 .start_clock = clock_at(device, place, wave.ns),
                                                                 .start_wall_ns = wall_at(wave.ns)});
    if (gemm)
        run_gemm(&wave, sites, slots, workgroup);
    else
        run_softmax(&wave, sites, slots, (workgroup * WAVES_PER_WORKGROUP + number) % 8 == 0);
    build_end(device->build, wave.number, wait_ns(&wave, 20));
    build_header(device->build, wave.number)->end_wall_ns = wall_at(wave.ns);
    *end_ns = wave.ns > *end_ns ? wave.ns : *end_ns;
}

/* The kernels' module, and one whose kernels were not launched. */
static struct sites make_sites(struct build *build)
{
    uint32_t module = build_module(build, 0x1C0), other = build_module(build, 0x80);
    build_site(build, other, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "attention");
    for (int i = 0; i < 60; i++)
        build_site(build, other, i % 2 ? KTRACE_KIND_POP : KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, i % 2 ? "" : "block");
    return (struct sites){
        .gemm = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "gemm"),
        .tile = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_INT64, "tile"),
        .prologue = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "prologue"),
        .mainloop = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_INT64, "mainloop"),
        .k_tile = build_site(build, module, KTRACE_KIND_START, KTRACE_PAYLOAD_INT64, "k_tile"),
        .stop = build_site(build, module, KTRACE_KIND_STOP, KTRACE_PAYLOAD_NONE, ""),
        .acc = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_FLOAT32, "acc"),
        .epilogue = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "epilogue"),
        .stored = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "stored"),
        .softmax = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "softmax"),
        .rows = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "rows"),
        .load = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "load"),
        .reduce = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "reduce"),
        .step = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_UINT64, "step"),
        .rescale = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "rescale"),
        .pop = build_site(build, module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, ""),
    };
}

static void set_text(char **text, const char *value)
{
    free(*text);
    *text = strdup(value);
    if (!*text)
        fail("no memory");
}

/* What the capture is made of, for the headline and the checks. */
struct facts {
    uint64_t buffer_bytes, waves, slots, events;
    double main_rings_full; /* 0 to 1 */
    size_t file_bytes;
};

static struct kt_snapshot *make_capture(struct facts *facts, uint64_t buffer_bytes)
{
    struct kt_layout layout;
    check(kt_layout_make(&layout, KTRACE_ARCH_NVIDIA, buffer_bytes, 0, 0), "layout");
    struct device device = {.build = build_begin(layout.main_ring_slots, layout.lane_ring_slots), .random = 1};
    struct sites sites = make_sites(device.build);
    for (uint32_t place = 0; place < PLACES; place++) {
        device.ghz[place] = 1.967 + 0.0065 * (double)(place / 16 % 3); /* as clusters of an H200 differ */
        device.offset_ticks[place] = next_random(&device) << 8;
    }

    uint32_t all = (uint32_t)(layout.regions / WAVES_PER_WORKGROUP);
    double begin_ns = 1000, end_ns = 0;
    for (uint32_t launch = 0; launch < LAUNCHES; launch++) {
        uint32_t first = all * launch / LAUNCHES, workgroups = all * (launch + 1) / LAUNCHES - first;
        for (uint32_t workgroup = 0; workgroup < workgroups; workgroup++) {
            if (workgroup % WORKGROUPS_AT_ONCE == 0 && workgroup)
                begin_ns = end_ns;
            for (uint32_t number = 0; number < WAVES_PER_WORKGROUP; number++)
                add_wave(&end_ns, &device, &sites, layout.main_ring_slots, launch, workgroup, workgroups, number,
                         begin_ns);
        }
        begin_ns = end_ns + 3000;
    }

    struct kt_snapshot *snapshot = build_finish(device.build);
    set_text(&snapshot->name, "host_decode");
    set_text(&snapshot->devices[0].name, "Synthetic H200");
    snapshot->flags = 0;
    snapshot->devices[0].places = PLACES;
    snapshot->devices[0].clock_khz = 1980000;
    snapshot->processes[0].buffer_bytes = layout.buffer_bytes;
    snapshot->devices[0].regions = snapshot->regions = layout.regions;
    for (uint64_t i = 0; i < snapshot->wave_count; i++)
        snapshot->waves[i].place_count = PLACES;
    *facts = (struct facts){.buffer_bytes = layout.buffer_bytes,
                            .waves = snapshot->wave_count,
                            .slots = snapshot->slot_count,
                            .events = device.events};
    uint64_t main_slots = 0;
    for (uint64_t i = 0; i < snapshot->ring_count; i++)
        main_slots += snapshot->rings[i].lane ? 0 : snapshot->rings[i].slot_count;
    facts->main_rings_full = (double)main_slots / (double)(snapshot->wave_count * layout.main_ring_slots);
    return snapshot;
}

/* A name that is ours until it is removed. */
static void save_temporary(char path[4096], const struct kt_snapshot *snapshot)
{
    const char *directory = getenv("TMPDIR");
    snprintf(path, 4096, "%s/host_decode.XXXXXX", directory && *directory ? directory : "/tmp");
    int descriptor = mkstemp(path);
    if (descriptor < 0)
        fail("%s could not be made", path);
    close(descriptor);
    check(kt_snapshot_save(snapshot, path), "save");
}

/* ---- The dump for python_baseline.py ------------------------------------------------------------------------------- */

/* One line a thing, then 16 bytes an event {u32 clock, u16 site, u16 token, u64 payload}, wave after wave:
 *     host_decode 1 SITES WAVES
 *     KIND HAS_PAYLOAD NAME                     sites, numbered from 0
 *     PLACE WORKGROUP WAVE EVENTS START_TICKS START_WALL_NS END_TICKS END_WALL_NS
 * `token`: of a start or stop, what names the range. Events of all lanes are merged: kinder to the script than rings are. */
static void dump_events(FILE *file, const struct ktrace_trace *trace, uint64_t w)
{
    const struct kt_wave *wave = &trace->waves[w];
    const struct kt_event *events = trace->events + wave->first_event;
    for (uint32_t i = 0; i < wave->event_count; i++) {
        uint32_t begin = events[i].site->kind == KTRACE_KIND_STOP ? events[i].partner : i;
        struct ktrace_event_info info = {.struct_size = sizeof info}, begin_info = info;
        check(ktrace_trace_event(&info, trace, w, i), "event");
        check(ktrace_trace_event(&begin_info, trace, w, begin), "event");
        struct {
            uint32_t clock;
            uint16_t site, token;
            uint64_t payload;
        } record = {(uint32_t)info.clock_ticks, (uint16_t)(events[i].site - trace->snapshot->modules[0].sites),
                    (uint16_t)(begin_info.clock_ticks | 1), info.payload};
        fwrite(&record, sizeof record, 1, file);
    }
}

static void dump(struct kt_snapshot *snapshot, const char *path)
{
    struct ktrace_trace *trace;
    FILE *file = fopen(path, "wb");
    if (!file)
        fail("%s could not be opened", path);
    check(kt_trace_from_snapshot(&trace, snapshot), "decode");
    const struct kt_module *module = &snapshot->modules[0];
    fprintf(file, "host_decode 1 %" PRIu32 " %" PRIu64 "\n", module->site_count, trace->wave_count);
    for (uint32_t i = 0; i < module->site_count; i++)
        fprintf(file, "%u %d %s\n", module->sites[i].kind, module->sites[i].payload_type != KTRACE_PAYLOAD_NONE,
                module->sites[i].name);
    for (uint64_t w = 0; w < trace->wave_count; w++) {
        const struct kt_wave *wave = &trace->waves[w];
        const struct ktrace_wave_header *header = &snapshot->waves[wave->snapshot_wave];
        fprintf(file, "%" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32, wave->place, wave->workgroup[0], wave->wave,
                wave->event_count);
        fprintf(file, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", header->start_clock_ticks,
                header->start_wall_ns, header->end_clock_ticks, header->end_wall_ns);
    }
    for (uint64_t w = 0; w < trace->wave_count; w++)
        dump_events(file, trace, w);
    ktrace_trace_destroy(trace);
    int failed = ferror(file);
    if (fclose(file) != 0 || failed)
        fail("%s could not be written", path);
}

/* ---- Steps -------------------------------------------------------------------------------------------------------- */

enum step { LOAD, TRACE, SUMMARY, EXPORT, RELEASE, STEP_COUNT };
static const char *const step_names[STEP_COUNT + 1] = {
    "load the .ktrace file",
    "decode, pair, launches, statistics",
    "summary as text",
    "Perfetto file with gzip",
    "free",
    "total",
};

struct round {
    double ns[STEP_COUNT + 1];
    size_t bytes[STEP_COUNT + 1]; /* that a step makes for the user; 0: none */
};

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void check_trace(const struct ktrace_trace *trace, const struct facts *facts)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    check(ktrace_trace_get_info(&info, trace), "info");
    if (info.events != facts->events || info.waves != facts->waves || info.launches != LAUNCHES)
        fail("%" PRIu64 " events, %" PRIu64 " waves, %" PRIu64 " launches instead of %" PRIu64 ", %" PRIu64 ", %d",
             info.events, info.waves, info.launches, facts->events, facts->waves, LAUNCHES);
    if (*ktrace_trace_warning(trace))
        fail("the trace is not whole: %s", ktrace_trace_warning(trace));
}

static void run_round(struct round *out, const void *file, const struct facts *facts)
{
    struct kt_snapshot *snapshot;
    struct ktrace_trace *trace;
    char *text;
    void *data;
    double at[STEP_COUNT + 1];
    at[LOAD] = cpu_ns();
    check(kt_snapshot_load(&snapshot, file, facts->file_bytes), "load");
    at[TRACE] = cpu_ns();
    check(kt_trace_from_snapshot(&trace, snapshot), "decode");
    at[SUMMARY] = cpu_ns();
    check(ktrace_trace_summary_text(&text, trace), "summary");
    at[EXPORT] = cpu_ns();
    check(ktrace_trace_export_memory(&data, &out->bytes[EXPORT], trace, "perfetto"), "export");
    at[RELEASE] = cpu_ns();
    check_trace(trace, facts);
    out->bytes[SUMMARY] = strlen(text);
    free(data);
    free(text);
    ktrace_trace_destroy(trace);
    at[STEP_COUNT] = cpu_ns();
    for (int step = 0; step < STEP_COUNT; step++)
        out->ns[step] = at[step + 1] - at[step];
    out->ns[STEP_COUNT] = at[STEP_COUNT] - at[0];
}

static uint64_t peak_bytes(void)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %llu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib * 1024;
}

/* The whole job as the command does it; the answer goes to descriptor 1. */
static int do_job(const char *path)
{
    struct ktrace_trace *trace;
    char *text;
    void *data;
    size_t bytes;
    check(ktrace_trace_load(&trace, path), "load");
    check(ktrace_trace_summary_text(&text, trace), "summary");
    check(ktrace_trace_export_memory(&data, &bytes, trace, "perfetto"), "export");
    printf("%" PRIu64 " %.0f\n", peak_bytes(), cpu_ns());
    free(data);
    free(text);
    ktrace_trace_destroy(trace);
    return 0;
}

struct job {
    uint64_t peak_bytes;
    double cpu_ns;
};

/* In a process of its own: here, the peak is that of making the capture, and nothing is cold. */
static struct job run_job(const char *path)
{
    int ends[2], status;
    if (pipe(ends) < 0)
        fail("no pipe");
    pid_t child = fork();
    if (child < 0)
        fail("no process");
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "host_decode", "--job", path, (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    FILE *answer = fdopen(ends[0], "r");
    struct job result = {0};
    int answered = answer && fscanf(answer, "%" SCNu64 " %lf", &result.peak_bytes, &result.cpu_ns) == 2;
    if (answer)
        fclose(answer);
    if (waitpid(child, &status, 0) != child || status != 0 || !answered)
        fail("the process that does the job once failed");
    return result;
}

/* ---- The table ---------------------------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Median time and largest peak of several. */
static struct job run_jobs(const char *path, int count)
{
    double ns[JOBS];
    struct job result = {0};
    for (int i = 0; i < count; i++) {
        struct job job = run_job(path);
        ns[i] = job.cpu_ns;
        result.peak_bytes = job.peak_bytes > result.peak_bytes ? job.peak_bytes : result.peak_bytes;
    }
    qsort(ns, (size_t)count, sizeof *ns, compare_doubles);
    result.cpu_ns = ns[count / 2];
    return result;
}

static void print_step(struct round *rounds, int count, int step, const struct facts *facts, double *values)
{
    for (int i = 0; i < count; i++)
        values[i] = rounds[i].ns[step] / (double)facts->events;
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    double median = (values[count / 2] + values[(count - 1) / 2]) / 2;
    printf("| %s | %.1f | %.1f | %.1f .. %.1f | %.2f |", step_names[step], median * (double)facts->events / 1e6, median,
           values[count / 4], values[count * 3 / 4], 1e3 / median);
    if (rounds[0].bytes[step])
        printf(" %zu |\n", rounds[0].bytes[step]);
    else
        printf(" |\n");
}

static void print_table(struct round *rounds, int count, const struct facts *facts, const struct job *job)
{
    double events = (double)facts->events, *values = malloc((size_t)count * sizeof *values);
    if (!values)
        fail("no memory");
    printf("A buffer of %.0f MiB, main rings %.1f %% full: %" PRIu64 " waves, %" PRIu64 " slots, %" PRIu64
           " events; the .ktrace file has %zu bytes. One core, CPU time (user and system), median of %d rounds. "
           "Compiled by %s, libdeflate %s.\n\n",
           (double)facts->buffer_bytes / (1 << 20), facts->main_rings_full * 100, facts->waves, facts->slots,
           facts->events, facts->file_bytes, count, COMPILER, LIBDEFLATE_VERSION_STRING);
    printf("| step | CPU ms | ns an event | quartiles | million events/s | bytes out |\n|---|---|---|---|---|---|\n");
    for (int step = 0; step <= STEP_COUNT; step++)
        print_step(rounds, count, step, facts, values);
    printf("\nPerfetto file: %.2f bytes an event. The whole job once, in a fresh process that reads the file: %.0f ms "
           "of CPU "
           "time (%.2f million events/s), peak memory %.0f MiB (%.0f bytes an event).\n",
           (double)rounds[0].bytes[EXPORT] / events, job->cpu_ns / 1e6, 1e3 * events / job->cpu_ns,
           (double)job->peak_bytes / (1 << 20), (double)job->peak_bytes / events);
    free(values);
}

/* ---- main --------------------------------------------------------------------------------------------------------- */

/* To the core it is on, so that the caches stay. */
static void stay_on_one_core(void)
{
    cpu_set_t set;
    int core = sched_getcpu();
    CPU_ZERO(&set);
    CPU_SET((size_t)(core < 0 ? 0 : core), &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void measure(int count, uint64_t buffer_bytes)
{
    char path[4096];
    void *file;
    struct facts facts;
    struct kt_snapshot *snapshot = make_capture(&facts, buffer_bytes);
    save_temporary(path, snapshot);
    kt_snapshot_destroy(snapshot);
    struct job job = run_jobs(path, count < JOBS ? count : JOBS);
    check(kt_file_read(&file, &facts.file_bytes, path), "read");
    unlink(path);

    struct round *rounds = calloc((size_t)count + 1, sizeof *rounds);
    if (!rounds)
        fail("no memory");
    for (int i = 0; i <= count; i++)
        run_round(&rounds[i], file, &facts);
    print_table(rounds + 1, count, &facts, &job); /* the first one warms up */
    free(rounds);
    free(file);
}

int main(int argc, char **argv)
{
    int rounds = 31;
    uint64_t buffer_bytes = 0;
    const char *dump_path = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--smoke") == 0) {
            buffer_bytes = SMOKE_BYTES;
            rounds = 1;
        } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0) {
            rounds = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--dump") == 0 && i + 1 < argc) {
            dump_path = argv[++i];
        } else if (strcmp(argv[i], "--job") == 0 && i + 1 < argc) { /* from run_job */
            return do_job(argv[i + 1]);
        } else {
            fail("usage: host_decode [--rounds N] [--smoke] [--dump FILE]");
        }
    }
    stay_on_one_core();
    if (dump_path) {
        struct facts facts;
        dump(make_capture(&facts, buffer_bytes), dump_path);
    } else {
        measure(rounds, buffer_bytes);
    }
    return 0;
}
