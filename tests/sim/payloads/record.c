/* record.c - records the payloads of kernels.c, saves the trace, and writes what it is after loading: FOLDER/payloads.ktrace, and
 * of the loaded one FOLDER/payloads.pftrace.gz, FOLDER/summary.json, and each event as a line of JSON on stdout.
 *
 *     record CODE_OBJECT FOLDER
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hip/hip_api.h"
#include "ktrace/ktrace.h"
#include "values.inc"

#define BITS(name, type, bits) bits,
static const uint64_t values[] = {VALUES_OF_ALL_LANGUAGES(BITS) VALUES_BUT_FOR_OPENCL(BITS)};

#define DONE(call) \
    do { \
        if (call) { \
            fprintf(stderr, "%s: %s%s\n", #call, ktrace_last_error(), ktrace_simulator_error()); \
            exit(1); \
        } \
    } while (0)

static struct ktrace_trace *record(const char *code_object)
{
    static const char *const kernels[] = {"marks", "pushes", "tokens", "nexts"};
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_capture *capture;
    struct ktrace_trace *trace;
    hipModule_t module;
    void *memory;
    DONE(hipModuleLoad(&module, code_object));
    DONE(ktrace_attach_hip_module(module));
    DONE(hipMalloc(&memory, sizeof values));
    DONE(hipMemcpy(memory, values, sizeof values, hipMemcpyHostToDevice));
    options.name = "payloads";
    options.events_per_wave = 4096;
    DONE(ktrace_capture_begin(&capture, &options));
    for (int i = 0; i < 4; i++) {
        hipFunction_t function;
        DONE(hipModuleGetFunction(&function, module, kernels[i]));
        DONE(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, (void *[]){&memory}, NULL));
    }
    DONE(ktrace_capture_end(&trace, capture));
    return trace;
}

static struct ktrace_event_info event_of(const struct ktrace_trace *trace, uint64_t wave, uint32_t index)
{
    struct ktrace_event_info event = {.struct_size = sizeof event};
    DONE(ktrace_trace_event(&event, trace, wave, index));
    return event;
}

/* What comes from the device and what comes from the file. */
static void same(const struct ktrace_event_info *a, const struct ktrace_event_info *b)
{
    if (strcmp(a->name, b->name) || strcmp(a->file, b->file) || a->line != b->line || a->kind != b->kind ||
        a->payload_type != b->payload_type || a->payload != b->payload || a->time_ps != b->time_ps ||
        a->partner != b->partner) {
        fprintf(stderr, "'%s', line %u: it is another event after loading: '%s', line %u, payload %" PRIx64 "\n",
                a->name, a->line, b->name, b->line, b->payload);
        exit(1);
    }
}

/* One stream, one queue: what the waves wrote of their launches. */
static void check_launches(const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    struct ktrace_launch_info first = {.struct_size = sizeof first}, launch = {.struct_size = sizeof launch};
    DONE(ktrace_trace_get_info(&info, trace));
    DONE(ktrace_trace_launch(&first, trace, 0));
    for (uint32_t i = 0; i < info.launches; i++) {
        DONE(ktrace_trace_launch(&launch, trace, i));
        if (launch.queue == 0 || launch.queue != first.queue || launch.grid_id != first.grid_id + i) {
            fprintf(stderr,
                    "launch %u: grid id %" PRIu64 " of queue %#" PRIx64 ", behind %" PRIu64 " of %#" PRIx64 "\n", i,
                    launch.grid_id, launch.queue, first.grid_id, first.queue);
            exit(1);
        }
    }
}

static void write_events(const struct ktrace_trace *recorded, const struct ktrace_trace *loaded)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    DONE(ktrace_trace_get_info(&info, loaded));
    for (uint64_t i = 0; i < info.waves; i++) {
        struct ktrace_wave_info wave = {.struct_size = sizeof wave};
        DONE(ktrace_trace_wave(&wave, loaded, i));
        for (uint32_t k = 0; k < wave.events; k++) {
            const struct ktrace_event_info before = event_of(recorded, i, k), event = event_of(loaded, i, k);
            same(&before, &event);
            printf("{\"name\": \"%s\", \"kind\": %u, \"type\": %u, \"bits\": \"%" PRIx64 "\"}\n", event.name,
                   event.kind, event.payload_type, event.payload);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s CODE_OBJECT FOLDER\n", argv[0]);
        return 2;
    }
    char path[4096], *summary;
    struct ktrace_trace *recorded = record(argv[1]), *loaded;
    snprintf(path, sizeof path, "%s/payloads.ktrace", argv[2]);
    DONE(ktrace_trace_save(recorded, path));
    DONE(ktrace_trace_load(&loaded, path));
    check_launches(loaded);
    write_events(recorded, loaded);
    snprintf(path, sizeof path, "%s/payloads.pftrace.gz", argv[2]);
    DONE(ktrace_trace_export(loaded, "perfetto", path));
    DONE(ktrace_trace_summary_json(&summary, loaded));
    snprintf(path, sizeof path, "%s/summary.json", argv[2]);
    FILE *file = fopen(path, "w");
    DONE(!file || fputs(summary, file) < 0 || fclose(file));
    free(summary);
    ktrace_trace_destroy(recorded);
    ktrace_trace_destroy(loaded);
    return 0;
}
