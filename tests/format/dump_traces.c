/* dump_traces.c - what libktrace makes of .ktrace files, in full, for compare.py.
 *
 * Standard input: files one after the other, each behind its length, 4 bytes little-endian. Standard output: a line of JSON for each,
 * {"status": NAME, "sentence": TEXT} or {"waves": ...}, with waves in the order of the file, clocks in ticks, payloads as
 * bits, and names as hexadecimal digits, so that nothing is lost on the way. */
#include "error.h"
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_text(const char *name, const char *text)
{
    printf("\"%s\":\"", name);
    for (; *text; text++)
        printf("%02x", (unsigned char)*text);
    printf("\"");
}

static void put_event(const struct ktrace_trace *trace, const struct kt_wave *wave, uint32_t number)
{
    struct ktrace_event_info event = {.struct_size = sizeof event};
    const uint8_t flags = trace->events[wave->first_event + number].flags;
    if (ktrace_trace_event(&event, trace, (uint64_t)(wave - trace->waves), number) < 0)
        abort();
    printf("%s{\"clock\":%" PRIu64 ",\"lane\":%u,\"kind\":%u,\"line\":%u,\"payload_type\":%u,\"payload\":%" PRIu64 ",",
           number ? "," : "", event.clock_ticks, event.lane, event.kind, event.line, event.payload_type, event.payload);
    if (event.partner != KTRACE_NO_INDEX)
        printf("\"partner\":%u,", event.partner);
    printf("\"state\":\"%s\",", flags & KT_EVENT_UNCLOSED     ? "unclosed"
                                : flags & KT_EVENT_UNMATCHED  ? "unmatched"
                                : flags & KT_EVENT_SUPERSEDED ? "superseded"
                                                              : "");
    if (event.kind != KTRACE_KIND_POP && event.kind != KTRACE_KIND_STOP) { /* the partner has an end's name */
        put_text("name", event.name);
        printf(",");
    }
    put_text("file", event.file);
    printf("}");
}

static void put_wave(const struct ktrace_trace *trace, const struct kt_wave *wave)
{
    const struct kt_launch *launch = &trace->launches[wave->launch];
    printf("{\"number\":%" PRIu64 ",\"device\":%u,\"unfinished\":%s,\"slots_lost\":%" PRIu64 ",\"start\":%" PRIu64 ",",
           wave->snapshot_wave, launch->device, wave->unfinished ? "true" : "false", wave->slots_lost,
           wave->start_clock_ticks);
    put_text("kernel", trace->kernels[launch->kernel].name);
    printf(",\"events\":[");
    for (uint32_t i = 0; i < wave->event_count; i++)
        put_event(trace, wave, i);
    printf("]}");
}

static void put_trace(const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    const struct kt_wave **of_file = calloc(trace->wave_count + 1, sizeof *of_file);
    if (!of_file || ktrace_trace_get_info(&info, trace) < 0)
        abort();
    printf("{\"counters\":{\"waves\":%" PRIu64 ",\"events\":%" PRIu64 ",\"waves_dropped\":%" PRIu64
           ",\"waves_filtered\":%" PRIu64 ",\"waves_unfinished\":%" PRIu64 ",\"slots_lost\":%" PRIu64
           ",\"ranges_unclosed\":%" PRIu64 ",\"ends_unmatched\":%" PRIu64 ",\"slots_corrupt\":%" PRIu64
           ",\"clocks_ambiguous\":%" PRIu64 "},\"waves\":[",
           info.waves, info.events, info.waves_dropped, info.waves_filtered, info.waves_unfinished, info.slots_lost,
           info.ranges_unclosed, info.ends_unmatched, info.slots_corrupt, info.clocks_ambiguous);
    for (uint64_t w = 0; w < trace->wave_count; w++)
        of_file[trace->waves[w].snapshot_wave] = &trace->waves[w];
    for (uint64_t w = 0; w < trace->wave_count; w++) {
        if (w)
            printf(",");
        put_wave(trace, of_file[w]);
    }
    printf("]}\n");
    free(of_file);
}

static int dump(const void *data, size_t bytes)
{
    struct ktrace_trace *trace;
    int status = ktrace_trace_load_memory(&trace, data, bytes);
    if (status < 0) {
        printf("{\"status\":\"%s\",", ktrace_status_name(status));
        put_text("sentence", ktrace_last_error());
        printf("}\n");
        return status != KTRACE_ERROR_MEMORY;
    }
    put_trace(trace);
    ktrace_trace_destroy(trace);
    return 1;
}

int main(void)
{
    uint8_t length[4];
    while (fread(length, 1, sizeof length, stdin) == sizeof length) {
        const size_t bytes = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
        uint8_t *data = malloc(bytes ? bytes : 1); /* of exactly this length, so that a sanitizer sees the end */
        if (!data || fread(data, 1, bytes, stdin) != bytes || !dump(data, bytes))
            return 1;
        free(data);
        fflush(stdout);
    }
    return 0;
}
