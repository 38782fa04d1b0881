/* What kernels record on the simulator, event by event with simulated times, against golden files.
 *
 *     test_golden CODE_OBJECT GOLDEN_FILE [--update]
 *
 * Each case runs its kernel dormant and traced, whose results must be equal, and prints the trace. Places and the phase of the
 * 100 MHz clock follow from the launches before: new cases go to the end, or change the times of those behind them. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktrace/ktrace.h"

#define RESULT_BYTES 65536

static const struct golden_case {
    const char *name, *kernel;
    unsigned grid, block;
    int argument;
    uint32_t events_per_wave; /* 0: the default */
    int keep_last;
    struct ktrace_filter filter; /* workgroup_step 0: none */
} cases[] = {
    {.name = "both sides", .kernel = "if_else", .grid = 1, .block = 64, .argument = 16},
    {.name = "one side", .kernel = "if_else", .grid = 1, .block = 64, .argument = 64},
    {.name = "the other side", .kernel = "if_else", .grid = 1, .block = 64, .argument = 0},
    {.name = "two waves, the second partial", .kernel = "if_else", .grid = 2, .block = 100, .argument = 36},
    {.name = "nested", .kernel = "nested", .grid = 1, .block = 64, .argument = 8},
    {.name = "nested, the outermost alone", .kernel = "nested", .grid = 1, .block = 64, .argument = 64},
    {.name = "nested, no odd lane", .kernel = "nested", .grid = 1, .block = 63, .argument = 62},
    {.name = "a way for each remainder", .kernel = "switches", .grid = 1, .block = 64, .argument = 4},
    {.name = "one way", .kernel = "switches", .grid = 1, .block = 64, .argument = 1},
    {.name = "turns", .kernel = "trips", .grid = 1, .block = 64, .argument = 7},
    {.name = "turns in a partial wave", .kernel = "trips", .grid = 1, .block = 33, .argument = 4},
    {.name = "no turn", .kernel = "trips", .grid = 1, .block = 65, .argument = 1},
    {.name = "half returns early", .kernel = "early_return", .grid = 1, .block = 64, .argument = 32},
    {.name = "all return early", .kernel = "early_return", .grid = 1, .block = 64, .argument = 64},
    {.name = "continue, break and goto", .kernel = "jumps", .grid = 1, .block = 64, .argument = 5},
    {.name = "lane 0 alone", .kernel = "one_lane", .grid = 1, .block = 64, .argument = 0},
    {.name = "the last lane alone", .kernel = "one_lane", .grid = 1, .block = 64, .argument = 63},
    {.name = "no lane", .kernel = "one_lane", .grid = 1, .block = 64, .argument = 64},
    {.name = "lanes from 1 on", .kernel = "not_the_first", .grid = 1, .block = 64, .argument = 1},
    {.name = "lanes from 40 on", .kernel = "not_the_first", .grid = 2, .block = 65, .argument = 40},
    {.name = "different tokens", .kernel = "tokens", .grid = 1, .block = 64, .argument = 32},
    {.name = "one token and none", .kernel = "tokens", .grid = 1, .block = 64, .argument = 0},
    {.name = "next", .kernel = "next_token", .grid = 1, .block = 64, .argument = 5},
    {.name = "next that stays inactive", .kernel = "next_token", .grid = 1, .block = 64, .argument = 0},
    {.name = "overlapping", .kernel = "overlapping", .grid = 1, .block = 64, .argument = 3},
    {.name = "payloads", .kernel = "payloads", .grid = 1, .block = 64, .argument = 0},
    {.name = "payloads of lane 5", .kernel = "payloads", .grid = 1, .block = 64, .argument = 5},
    {.name = "ring too small", .kernel = "trips", .grid = 1, .block = 64, .argument = 7, .events_per_wave = 16},
    {.name = "ring too small, flight recorder",
     .kernel = "trips",
     .grid = 1,
     .block = 64,
     .argument = 7,
     .events_per_wave = 16,
     .keep_last = 1},
    {.name = "every third workgroup, second wave",
     .kernel = "one_lane",
     .grid = 8,
     .block = 128,
     .argument = 0,
     .filter =
         {.block_first = {1}, .block_last = {6, 0, 0}, .place_last = 15, .workgroup_step = 3, .wave_mask_low = 2}},
    {.name = "workgroups on XCC 2 and 3",
     .kernel = "one_lane",
     .grid = 16,
     .block = 64,
     .argument = 0,
     .filter =
         {.block_last = {99, 99, 99}, .place_first = 2, .place_last = 3, .workgroup_step = 1, .wave_mask_low = 1}},
    {.name = "a filter that turns all away",
     .kernel = "one_lane",
     .grid = 4,
     .block = 64,
     .argument = 0,
     .filter =
         {.block_first = {9}, .block_last = {9, 0, 0}, .place_last = 15, .workgroup_step = 1, .wave_mask_low = 1}},
};

struct hip {
    int (*module_load)(void **module, const char *path);
    int (*get_function)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared, void *stream, void **arguments, void **extra);
    int (*allocate)(void **memory, size_t bytes);
    int (*set)(void *memory, int value, size_t bytes);
    int (*copy)(void *to, const void *from, size_t bytes, int kind);
};

static struct hip hip;
static void *module, *memory;

static _Noreturn void fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(1);
}

static void must(int status)
{
    if (status < 0)
        fail("%s: %s", ktrace_status_name(status), ktrace_last_error());
}

static void ok(int error, const char *call)
{
    if (error)
        fail("%s: HIP error %d", call, error);
}

static void set_up(const char *code_object)
{
    const struct {
        const char *name;
        void *slot;
    } functions[] = {{"hipModuleLoad", &hip.module_load},
                     {"hipModuleGetFunction", &hip.get_function},
                     {"hipModuleLaunchKernel", &hip.launch},
                     {"hipMalloc", &hip.allocate},
                     {"hipMemset", &hip.set},
                     {"hipMemcpy", &hip.copy}};
    const char *path;
    must(ktrace_hip_library(&path));
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        fail("%s", dlerror());
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        *(void **)functions[i].slot = dlsym(library, functions[i].name);
        if (!*(void **)functions[i].slot)
            fail("%s has no %s", path, functions[i].name);
    }
    ok(hip.module_load(&module, code_object), code_object);
    ok(hip.allocate(&memory, RESULT_BYTES), "hipMalloc");
    must(ktrace_attach_hip_module(module));
}

/* ---- A trace as text --------------------------------------------------------------------------------------------- */

static void print_payload(FILE *out, const struct ktrace_event_info *event)
{
    double number = 0;
    float single = 0;
    const uint32_t low = (uint32_t)event->payload;
    switch (event->payload_type) {
    case KTRACE_PAYLOAD_NONE: break;
    case KTRACE_PAYLOAD_BOOL: fprintf(out, " bool %d", (int)event->payload); break;
    case KTRACE_PAYLOAD_INT32: fprintf(out, " i32 %lld", (long long)event->payload); break;
    case KTRACE_PAYLOAD_INT64: fprintf(out, " i64 %lld", (long long)event->payload); break;
    case KTRACE_PAYLOAD_UINT32: fprintf(out, " u32 %llu", (unsigned long long)event->payload); break;
    case KTRACE_PAYLOAD_UINT64: fprintf(out, " u64 %llu", (unsigned long long)event->payload); break;
    case KTRACE_PAYLOAD_FLOAT32:
        memcpy(&single, &low, sizeof single);
        fprintf(out, " f32 %.9g (%08x)", (double)single, low);
        break;
    case KTRACE_PAYLOAD_FLOAT64:
        memcpy(&number, &event->payload, sizeof number);
        fprintf(out, " f64 %.17g (%016llx)", number, (unsigned long long)event->payload);
        break;
    default: fprintf(out, " type %u", event->payload_type);
    }
}

static void print_wave(FILE *out, const struct ktrace_trace *trace, uint64_t index)
{
    static const char *const kinds[] = {"?", "kernel", "mark", "push", "pop", "start", "stop", "next"};
    struct ktrace_wave_info wave = {.struct_size = sizeof wave};
    must(ktrace_trace_wave(&wave, trace, index));
    fprintf(out, "  launch %u workgroup %u,%u,%u wave %u: XCD %u SE %u CU %u, %u lanes, %lld to %lld ns", wave.launch,
            wave.workgroup[0], wave.workgroup[1], wave.workgroup[2], wave.wave, wave.place >> 16, wave.place >> 13 & 3,
            wave.place >> 8 & 15, wave.lane_count, (long long)wave.begin_ps / 1000, (long long)wave.end_ps / 1000);
    fprintf(out, wave.slots_lost ? ", %llu slots lost\n" : "\n", (unsigned long long)wave.slots_lost);
    for (uint32_t i = 0; i < wave.events; i++) {
        struct ktrace_event_info event = {.struct_size = sizeof event};
        must(ktrace_trace_event(&event, trace, index, i));
        fprintf(out, "    %2u %lld %s '%s'", i, (long long)event.time_ps / 1000, kinds[event.kind & 7], event.name);
        print_payload(out, &event);
        fprintf(out, event.partner == KTRACE_NO_INDEX ? "\n" : " with %u\n", event.partner);
    }
}

static void print_trace(FILE *out, const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    must(ktrace_trace_get_info(&info, trace));
    if (!info.simulated)
        fail("the trace does not say that it was simulated");
    if (info.slots_corrupt || info.clocks_ambiguous || info.waves_unfinished)
        fail("%llu slots corrupt, %llu clocks ambiguous, %llu waves unfinished", (unsigned long long)info.slots_corrupt,
             (unsigned long long)info.clocks_ambiguous, (unsigned long long)info.waves_unfinished);
    fprintf(out,
            "  %llu launches, %llu waves, %llu events; %llu waves dropped, %llu filtered; %llu slots lost, %llu ranges "
            "unclosed, %llu ends unmatched\n",
            (unsigned long long)info.launches, (unsigned long long)info.waves, (unsigned long long)info.events,
            (unsigned long long)info.waves_dropped, (unsigned long long)info.waves_filtered,
            (unsigned long long)info.slots_lost, (unsigned long long)info.ranges_unclosed,
            (unsigned long long)info.ends_unmatched);
    if (*ktrace_trace_warning(trace))
        fprintf(out, "  warning: %s\n", ktrace_trace_warning(trace));
    for (uint64_t i = 0; i < info.waves; i++)
        print_wave(out, trace, i);
}

/* ---- A case ------------------------------------------------------------------------------------------------------ */

static void launch(const struct golden_case *c, void *results)
{
    void *function;
    int argument = c->argument;
    void *arguments[] = {&memory, &argument};
    ok(hip.get_function(&function, module, c->kernel), c->kernel);
    ok(hip.set(memory, 0, RESULT_BYTES), "hipMemset");
    ok(hip.launch(function, c->grid, 1, 1, c->block, 1, 1, 0, NULL, arguments, NULL), c->kernel);
    ok(hip.copy(results, memory, RESULT_BYTES, 2), "hipMemcpy");
}

/* Launches and reads once more with the size that the overflow's sentence names: all is there then. */
static struct ktrace_trace *record(FILE *out, const struct golden_case *c)
{
    static char dormant[RESULT_BYTES], traced[RESULT_BYTES];
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace = NULL;
    int status = KTRACE_ERROR_OVERFLOW;
    options.buffer_bytes = 1 << 20;
    options.events_per_wave = c->events_per_wave;
    options.keep_last = c->keep_last;
    options.filter = c->filter.workgroup_step ? &c->filter : NULL;
    launch(c, dormant);
    for (int attempt = 0; status == KTRACE_ERROR_OVERFLOW && attempt < 2; attempt++) {
        must(ktrace_capture_begin(&capture, &options));
        launch(c, traced);
        status = ktrace_capture_end(&trace, capture);
        if (memcmp(dormant, traced, RESULT_BYTES) != 0)
            fail("%s: traced, the kernel computes something else", c->name);
        if (status == KTRACE_ERROR_OVERFLOW) {
            static const char says[] = "events_per_wave >= ";
            const char *named = strstr(ktrace_last_error(), says);
            fprintf(out, "  refused: %s\n", ktrace_last_error());
            if (!named)
                fail("%s: no size is named: %s", c->name, ktrace_last_error());
            options.events_per_wave = (uint32_t)strtoul(named + strlen(says), NULL, 10);
        }
    }
    must(status);
    return trace;
}

/* ---- Golden files ------------------------------------------------------------------------------------------------ */

static int compare(const char *path, const char *actual)
{
    FILE *file = fopen(path, "r");
    char expected[1024];
    if (!file)
        fail("no golden file %s: --update writes it", path);
    for (unsigned line = 1; *actual || !feof(file); line++) {
        const size_t bytes = strcspn(actual, "\n");
        if (!fgets(expected, sizeof expected, file)) {
            if (!*actual)
                break;
            *expected = 0;
        }
        const size_t wanted = strcspn(expected, "\n");
        if (bytes != wanted || memcmp(actual, expected, bytes) != 0)
            fail("%s, line %u:\n expected: %.*s\n now:      %.*s\n(--update accepts it)", path, line, (int)wanted,
                 expected, (int)bytes, actual);
        actual += bytes + (actual[bytes] == '\n');
    }
    fclose(file);
    return 0;
}

int main(int count, char **arguments)
{
    char *text;
    size_t bytes;
    if (count < 3)
        fail("usage: %s CODE_OBJECT GOLDEN_FILE [--update]", arguments[0]);
    set_up(arguments[1]);
    FILE *out = open_memstream(&text, &bytes);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct golden_case *c = &cases[i];
        fprintf(out, "%s: %s<<<%u, %u>>>(%d)\n", c->name, c->kernel, c->grid, c->block, c->argument);
        struct ktrace_trace *trace = record(out, c);
        print_trace(out, trace);
        ktrace_trace_destroy(trace);
    }
    fclose(out);
    if (count > 3 && strcmp(arguments[3], "--update") == 0) {
        FILE *golden = fopen(arguments[2], "w");
        if (!golden || fwrite(text, 1, bytes, golden) != bytes || fclose(golden))
            fail("%s cannot be written", arguments[2]);
        free(text);
        return 0;
    }
    const int status = compare(arguments[2], text);
    free(text);
    return status;
}
