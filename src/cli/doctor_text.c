#include "../summary.h"
#include "../table.h"
#include "../trace_file.h"
#include "doctor.h"
#include "fields.h"
#include "terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct kt_string text;

enum { LABELS = 11 }; /* columns */

/* What the vendor calls what the device understands. */
static void append_version(text *out, const struct doctor_runtime *runtime, const struct doctor_device *device)
{
    const bool hip = strcmp(runtime->backend, "hip") == 0;
    const char *target = hip ? kt_target_name(device->major * 10 + device->minor) : NULL;
    if (target)
        kt_string_append(out, target);
    else
        kt_string_printf(out, "%s %" PRIu32 ".%" PRIu32, hip ? "version" : "compute capability", device->major,
                         device->minor);
}

static void print_devices(text *out, const struct doctor_runtime *runtime)
{
    const char *place = strcmp(runtime->backend, "hip") == 0 ? "CU" : "SM";
    for (int i = 0; i < runtime->listed; i++) {
        const struct doctor_device *device = &runtime->devices[i];
        char label[32];
        snprintf(label, sizeof label, "device %d", i);
        cli_label(out, LABELS, label);
        kt_string_append_visible(out, device->name);
        kt_string_append(out, ", ");
        append_version(out, runtime, device);
        kt_string_printf(out, ", %" PRIu32 " %s%s%s\n", device->places, place, kt_plural(device->places),
                         i == runtime->current ? " (current)" : "");
    }
    if (runtime->listed < runtime->device_count)
        cli_field(out, LABELS, "", "and %d more", runtime->device_count - runtime->listed);
}

static void print_nominal_clock(text *out, const struct kt_device_facts *facts)
{
    cli_label(out, LABELS, "clock");
    kt_string_printf(out, "%.2f MHz%s", facts->clock_khz / 1e3, facts->arch == KTRACE_ARCH_AMDGCN ? "" : " nominal");
    if (facts->wall_tick_ns)
        kt_string_printf(out, ", wall clock in steps of %" PRIu32 " ns", facts->wall_tick_ns);
    kt_string_append(out, facts->simulated ? ", simulated time\n" : "\n");
}

static void print_runtime(text *out, const struct doctor_runtime *runtime)
{
    cli_heading(out, runtime->name);
    if (*runtime->library)
        cli_field_visible(out, LABELS, "library", runtime->library);
    if (*runtime->passed_over)
        cli_field_visible(out, LABELS, "not ROCm's", runtime->passed_over);
    if (*runtime->driver)
        cli_field_visible(out, LABELS, "driver", runtime->driver);
    if (runtime->listed)
        print_devices(out, runtime);
    else
        cli_field(out, LABELS, "devices", "none");
    if (runtime->usable)
        print_nominal_clock(out, &runtime->facts);
    else
        cli_field_styled(out, LABELS, "unusable", KT_STYLE_WARNING, runtime->reason);
    if (runtime->usable)
        cli_field_styled(out, LABELS, strcmp(runtime->backend, "hip") == 0 ? "hipRTC" : "NVRTC",
                         runtime->compiles ? KT_STYLE_GOOD : KT_STYLE_WARNING, runtime->compiler);
}

/* Numbers and ranges, as KTRACE_DEVICES takes them; how many. */
static int append_chosen(text *out, const struct doctor_choice *choice)
{
    const int count = choice->runtime->device_count;
    int chosen = 0;
    for (int first = 0, end; first < count; first = end + 1) {
        for (end = first; end < count && doctor_chosen(choice, end); end++)
            ;
        if (end == first)
            continue;
        kt_string_printf(out, end - first > 1 ? "%s%d-%d" : "%s%d", chosen ? ", " : "", first, end - 1);
        chosen += end - first;
    }
    return chosen;
}

static void print_chosen(text *out, const struct doctor_choice *choice)
{
    const struct doctor_runtime *runtime = choice->runtime;
    text numbers = KT_STRING_INIT;
    const int count = append_chosen(&numbers, choice);
    cli_label(out, LABELS, "records on");
    for (int i = 0; count == 1 && i < runtime->listed; i++)
        if (doctor_chosen(choice, i)) {
            kt_string_append_visible(out, runtime->devices[i].name);
            kt_string_append(out, ", ");
        }
    kt_string_printf(out, "device%s %s of %s\n", kt_plural((uint64_t)count), kt_string_text(&numbers), runtime->name);
    out->failed |= numbers.failed;
    kt_string_destroy(&numbers);
}

static void print_choice(text *out, const struct doctor_choice *choice)
{
    cli_heading(out, "A capture");
    if (!choice->runtime) {
        cli_field_styled(out, LABELS, "is refused", KT_STYLE_BAD, choice->why);
        return;
    }
    print_chosen(out, choice);
    cli_field_visible(out, LABELS, "because", choice->why);
    cli_field_visible(out, LABELS, "devices", doctor_devices_why(choice));
    kt_string_append(out,
                     "\n"
                     "A program whose annotated kernels are all CUDA's or all HIP's is captured with that runtime.\n"
                     "Options of a capture come before the environment.\n");
}

static void print_tools(text *out, const char *heading, const struct doctor_tool *tools, int count)
{
    cli_heading(out, heading);
    for (int i = 0; i < count; i++)
        cli_field_styled(out, LABELS, tools[i].label, tools[i].path ? KT_STYLE_GOOD : KT_STYLE_WARNING,
                         tools[i].path ? tools[i].path : tools[i].missing);
}

/* ---- Clocks ------------------------------------------------------------------------------------------------------ */

static void print_wall_clock(text *out, const struct doctor_clock *clock)
{
    char cell[KT_CELL_BYTES];
    cli_label(out, LABELS, "wall clock");
    kt_string_append(out, clock->arch == KTRACE_ARCH_AMDGCN ? "s_memrealtime, 100 MHz nominal"
                                                            : "%globaltimer, 1 GHz nominal");
    kt_string_printf(out, ": steps of %" PRIu64 " ns", clock->least_ns);
    if (clock->usual_ns != clock->least_ns)
        kt_string_printf(out, " or more, usually %" PRIu64 " ns", clock->usual_ns);
    if (clock->multiple_ns != clock->least_ns)
        kt_string_printf(out, ", all multiples of %" PRIu64 " ns", clock->multiple_ns);
    kt_string_printf(out, " (%s seen)%s\n", kt_grouped(cell, clock->step_count),
                     clock->simulated ? ", simulated time" : "");
    if (clock->backward)
        cli_field_styled(out, LABELS, "", KT_STYLE_WARNING, "it ran backward meanwhile");
}

static void print_event_clock(text *out, const struct doctor_clock *clock)
{
    if (clock->cycle_hz > 0)
        cli_field(out, LABELS, "events",
                  "%%clock of each SM, %.2f MHz nominal: %.2f MHz now, readings %" PRIu32 " cycle%s apart",
                  clock->clock_khz / 1e3, clock->cycle_hz / 1e6, clock->cycles, kt_plural(clock->cycles));
    else
        cli_field(out, LABELS, "events", "have the wall clock");
}

static void print_host_clock(text *out, const struct doctor_clock *clock)
{
    char least[KT_CELL_BYTES], usual[KT_CELL_BYTES];
    if (*clock->unrelated)
        cli_field_visible(out, LABELS, "host clock", clock->unrelated);
    else
        cli_field(out, LABELS, "host clock",
                  "CLOCK_REALTIME: read together with the wall clock to within %s, usually %s",
                  kt_duration(least, (double)clock->host_ns), kt_duration(usual, (double)clock->usual_host_ns));
}

static void print_clocks(text *out, const struct doctor_findings *findings)
{
    const struct doctor_runtime *runtime = findings->choice->runtime;
    if (!runtime)
        return;
    cli_heading(out, "Clocks, as measured");
    for (int i = 0; i < runtime->listed; i++) {
        const struct doctor_clock *clock = &findings->clocks[i];
        char label[32];
        if (!doctor_chosen(findings->choice, i))
            continue;
        snprintf(label, sizeof label, "device %d", i);
        cli_field_visible(out, LABELS, label, runtime->devices[i].name);
        if (*clock->unmeasured) {
            cli_field_styled(out, LABELS, "unmeasured", KT_STYLE_WARNING, clock->unmeasured);
            continue;
        }
        print_wall_clock(out, clock);
        print_event_clock(out, clock);
        print_host_clock(out, clock);
    }
}

int doctor_print_text(const struct doctor_findings *findings)
{
    text out = cli_text();
    kt_string_printf(&out, "ktrace %s: wire format %d, trace file format %u\n", ktrace_version(), KTRACE_WIRE_VERSION,
                     KT_FILE_VERSION);
    for (int i = 0; i < DOCTOR_RUNTIMES; i++)
        print_runtime(&out, &findings->runtimes[i]);
    print_tools(&out, "ktrace demo runs", findings->tools->demo, DOCTOR_DEMO_PARTS);
    print_tools(&out, "Compilers", findings->tools->compilers, DOCTOR_COMPILERS);
    print_choice(&out, findings->choice);
    print_clocks(&out, findings);
    return cli_print_string(&out);
}
