#include "info.h"

#include "fields.h"

#include <inttypes.h>

enum { LABELS = INFO_LABELS };

void info_heading(struct kt_string *out, const char *what, const char *which)
{
    struct kt_string title = KT_STRING_INIT;
    kt_string_append(&title, what);
    kt_string_append(&title, " ");
    kt_string_append_visible(&title, which);
    cli_heading(out, kt_string_text(&title));
    out->failed |= title.failed;
    kt_string_destroy(&title);
}

void info_identity(struct kt_string *out, const struct kt_device *device)
{
    char uuid[KT_ID_TEXT_BYTES];
    kt_id_text(uuid, device->identity.uuid);
    if (*uuid)
        cli_field(out, LABELS, "UUID", "%s", uuid);
    if (*device->identity.pci_bus_id)
        cli_field_visible(out, LABELS, "PCI bus id", device->identity.pci_bus_id);
}

void info_rings(struct kt_string *out, const struct kt_snapshot *snapshot, uint32_t process)
{
    const struct kt_process *of = &snapshot->processes[process];
    if (snapshot->arch == KTRACE_ARCH_AMDGCN)
        cli_field(out, LABELS, "rings", "%u slots for each wave", of->main_ring_slots);
    else
        cli_field(out, LABELS, "rings", "%u slots for lane 0, %u for every other lane", of->main_ring_slots,
                  of->lane_ring_slots);
}

static void append_clock(struct kt_string *out, const struct kt_process *process)
{
    struct kt_clock_distance distance;
    if (!kt_process_clock_distance(&distance, process))
        return;
    const int64_t middle_ns = distance.low_ns + (distance.high_ns - distance.low_ns) / 2;
    cli_field(out, LABELS, "host's clock", "CLOCK_REALTIME is CLOCK_MONOTONIC + %" PRId64 " ns, +-%" PRId64 " ns%s",
              middle_ns, (distance.high_ns - distance.low_ns + 1) / 2,
              distance.was_set ? ", until somebody set it while this was recorded" : "");
}

static void append_reads(struct kt_string *out, const struct kt_process *process)
{
    for (uint32_t i = 0; i < process->read_count; i++) {
        const struct kt_reads *reads = &process->reads[i];
        struct kt_string value = KT_STRING_INIT;
        kt_string_printf(&value, "%" PRIu32 ", read %" PRIu64, reads->capture, reads->first);
        if (reads->last != reads->first)
            kt_string_printf(&value, " to %" PRIu64, reads->last);
        kt_string_printf(&value, ", filter: %s", reads->filter);
        cli_field_visible(out, LABELS, "capture", kt_string_text(&value));
        out->failed |= value.failed;
        kt_string_destroy(&value);
    }
}

static void append_text(struct kt_string *out, const char *label, const char *value)
{
    if (*value)
        cli_field_visible(out, LABELS, label, value);
}

static void append_origin(struct kt_string *out, const struct kt_process *process)
{
    append_text(out, "label", process->label);
    append_text(out, "host", process->host);
    append_text(out, "boot", process->boot);
    append_text(out, "program", process->program);
    if (process->pid)
        cli_field(out, LABELS, "pid", "%" PRIu32, process->pid);
    append_text(out, "libktrace", process->version);
    append_reads(out, process);
    append_clock(out, process);
}

/* How its times are on the timeline. */
static void append_relation(struct kt_string *out, const struct ktrace_trace *trace, uint32_t index)
{
    static const char *const words[] = {
        "the timeline's",      "by the clock of a device that both recorded",
        "by the host's clock", "by CLOCK_REALTIME of two hosts, or of hosts that are not known",
        "placed as asked",     "cannot be compared, or there are none",
    };
    const struct kt_process *process = &trace->snapshot->processes[index];
    cli_field(out, LABELS, "times", "%s", words[trace->processes[index].relation]);
    if (process->timeline)
        cli_field(out, LABELS, "begins", "%" PRId64 " ns behind timeline 0",
                  trace->snapshot->timeline_begins_ns[process->timeline]);
    if (process->host_shift_ns)
        cli_field(out, LABELS, "host's clock moved", "by %" PRId64 " ns, +-%" PRIu32 " ns", process->host_shift_ns,
                  process->host_shift_uncertainty_ns);
}

void info_processes(struct kt_string *out, const struct ktrace_trace *trace)
{
    const struct kt_snapshot *snapshot = trace->snapshot;
    if (snapshot->process_count == 1) {
        if (snapshot->processes[0].read_count || *snapshot->processes[0].version) {
            cli_heading(out, "Recorded by");
            append_origin(out, &snapshot->processes[0]);
        }
        return;
    }
    for (uint32_t i = 0; i < snapshot->process_count; i++) {
        info_heading(out, "Process", trace->processes[i].label);
        append_origin(out, &snapshot->processes[i]);
        cli_field(out, LABELS, "buffer", "%" PRIu64 " bytes on each device", snapshot->processes[i].buffer_bytes);
        info_rings(out, snapshot, i);
        append_relation(out, trace, i);
    }
}
