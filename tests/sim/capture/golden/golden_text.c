/* golden_text.c - a trace as text, and a wave's events in short. Times begin with @, so that they can be told from the rest. */
#include "golden.h"

static const char *const kind_names[] = {"?", "kernel", "mark", "push", "pop", "start", "stop", "next"};
static const char *const type_names[] = {"", "bool", "int64", "uint64", "float32", "float64", "int32", "uint32"};

/* Floats as bits, too: a NaN or -0 is what it is. */
static void write_payload(FILE *out, const struct ktrace_event_info *event)
{
    float narrow;
    double wide;
    const uint32_t low = (uint32_t)event->payload;
    memcpy(&narrow, &low, sizeof narrow);
    memcpy(&wide, &event->payload, sizeof wide);
    switch (event->payload_type) {
    case KTRACE_PAYLOAD_NONE: break;
    case KTRACE_PAYLOAD_BOOL: fprintf(out, "%s", event->payload ? "true" : "false"); break;
    case KTRACE_PAYLOAD_INT32:
    case KTRACE_PAYLOAD_INT64: fprintf(out, "%lld", (long long)event->payload); break;
    case KTRACE_PAYLOAD_UINT32:
    case KTRACE_PAYLOAD_UINT64: fprintf(out, "%llu", (unsigned long long)event->payload); break;
    case KTRACE_PAYLOAD_FLOAT32: fprintf(out, "%g/%08llx", (double)narrow, (unsigned long long)event->payload); break;
    default: fprintf(out, "%g/%016llx", wide, (unsigned long long)event->payload); break;
    }
}

char *short_text(struct test *t, uint64_t wave)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    const uint32_t count = wave_info(t, wave).events;
    for (uint32_t i = 0; i < count; i++) {
        const struct ktrace_event_info event = event_info(t, wave, i);
        const int paired = event.partner != KTRACE_NO_INDEX;
        const char *partner = paired ? event_info(t, wave, event.partner).name : "?";
        fputs(i ? " " : "", out);
        switch (event.kind) {
        case KTRACE_KIND_MARK: fputs(event.name, out); break;
        case KTRACE_KIND_PUSH: fprintf(out, "%s{%s", event.name, paired ? "" : "?"); break;
        case KTRACE_KIND_POP: fprintf(out, "}%s", partner); break;
        case KTRACE_KIND_START: fprintf(out, "+%s%s", event.name, paired ? "" : "?"); break;
        default: fprintf(out, "-%s", partner); break;
        }
        if (event.payload_type != KTRACE_PAYLOAD_NONE) {
            fputc('=', out);
            write_payload(out, &event);
        }
    }
    fclose(out);
    return text;
}

/* Times are whole ticks of 10 ns. */
static long long ns(struct test *t, int64_t ps)
{
    CHECK(ps % 10000 == 0, "%lld ps", (long long)ps);
    return ps / 1000;
}

static int queue_number(struct test *t, uint64_t address)
{
    for (int i = 0; i < t->queue_count; i++)
        if (t->queues[i] == address)
            return i + 1;
    CHECK(t->queue_count < 16, "too many queues");
    t->queues[t->queue_count] = address;
    return ++t->queue_count;
}

static void write_losses(FILE *out, const struct ktrace_trace_info *info)
{
    const struct {
        uint64_t count;
        const char *what;
    } losses[] = {{info->waves_dropped, "waves dropped"},       {info->waves_filtered, "waves filtered"},
                  {info->waves_unfinished, "waves unfinished"}, {info->slots_lost, "slots lost"},
                  {info->ranges_unclosed, "ranges unclosed"},   {info->ends_unmatched, "ends unmatched"},
                  {info->slots_corrupt, "slots corrupt"},       {info->clocks_ambiguous, "clocks ambiguous"}};
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        if (losses[i].count)
            fprintf(out, ", %llu %s", (unsigned long long)losses[i].count, losses[i].what);
}

static void write_event(FILE *out, struct test *t, const struct ktrace_event_info *event, uint32_t index)
{
    fprintf(out, "    @%lld %u %s", ns(t, event->time_ps), index, kind_names[event->kind & 7]);
    if (*event->name)
        fprintf(out, " \"%s\"", event->name);
    if (event->payload_type != KTRACE_PAYLOAD_NONE) {
        fprintf(out, " %s ", type_names[event->payload_type & 7]);
        write_payload(out, event);
    }
    if (event->partner != KTRACE_NO_INDEX)
        fprintf(out, " with %u", event->partner);
    fputc('\n', out);
}

void write_trace(FILE *out, struct test *t)
{
    const struct ktrace_trace_info info = info_of(t);
    fprintf(out, "%llu launches, %llu waves, %llu events", (unsigned long long)info.launches,
            (unsigned long long)info.waves, (unsigned long long)info.events);
    write_losses(out, &info);
    fputc('\n', out);
    if (*ktrace_trace_warning(t->trace))
        fprintf(out, "warning: %s\n", ktrace_trace_warning(t->trace));
    uint64_t wave = 0;
    for (uint64_t i = 0; i < info.launches; i++) {
        const struct ktrace_launch_info l = launch_info(t, i);
        fprintf(out,
                "launch %llu: \"%s\" grid(%u, %u, %u) block(%u, %u, %u), dispatch %llu of queue %d, %llu of %llu waves",
                (unsigned long long)i, l.kernel, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2],
                (unsigned long long)l.grid_id, queue_number(t, l.queue), (unsigned long long)l.waves,
                (unsigned long long)l.waves_launched);
        if (l.occurrence)
            fprintf(out, ", occurrence %u", l.occurrence);
        fprintf(out, " @%lld @%lld\n", ns(t, l.begin_ps), ns(t, l.end_ps));
        for (; wave < info.waves; wave++) {
            const struct ktrace_wave_info w = wave_info(t, wave);
            if (w.launch != i)
                break;
            if (t->is_brief)
                continue;
            fprintf(out, "  (%u, %u, %u) wave %u on XCD%u/SE%u/SH%u/CU%u, %u lanes @%lld @%lld%s", w.workgroup[0],
                    w.workgroup[1], w.workgroup[2], w.wave, w.place >> 16, w.place >> 13 & 3, w.place >> 12 & 1,
                    w.place >> 8 & 15, w.lane_count, ns(t, w.begin_ps), ns(t, w.end_ps),
                    w.unfinished ? " unfinished" : "");
            if (w.slots_lost)
                fprintf(out, ", %llu slots lost", (unsigned long long)w.slots_lost);
            fputc('\n', out);
            for (uint32_t k = 0; k < w.events; k++) {
                const struct ktrace_event_info event = event_info(t, wave, k);
                write_event(out, t, &event, k);
            }
        }
    }
    CHECK(wave == info.waves, "waves are not in the order of their launches");
}
