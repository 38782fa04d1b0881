#include "../trace_file.h"
#include "doctor.h"
#include "fields.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct kt_string text;

enum { LABELS = 11 }; /* columns */

static const char *places_name(const struct doctor_runtime *runtime)
{
    return runtime->name[0] == 'H' ? "CUs" : "SMs";
}

static void print_devices(text *out, const struct doctor_runtime *runtime)
{
    for (int i = 0; i < runtime->listed; i++) {
        const struct doctor_device *device = &runtime->devices[i];
        const bool current = i == runtime->current;
        char label[32];
        snprintf(label, sizeof label, "device %d", i);
        cli_label(out, LABELS, label);
        kt_string_append_visible(out, current && runtime->usable ? runtime->facts.name : device->name);
        kt_string_printf(out, ", version %" PRIu32 ".%" PRIu32 ", %" PRIu32 " %s%s\n", device->major, device->minor,
                         device->places, places_name(runtime), current ? " (current)" : "");
    }
    if (runtime->listed < runtime->device_count)
        cli_field(out, LABELS, "", "and %d more", runtime->device_count - runtime->listed);
}

static void print_runtime(text *out, const struct doctor_runtime *runtime)
{
    kt_string_printf(out, "\n%s\n", runtime->name);
    if (*runtime->library)
        cli_field_visible(out, LABELS, "library", runtime->library);
    if (*runtime->passed_over)
        cli_field_visible(out, LABELS, "not ROCm's", runtime->passed_over);
    if (runtime->listed)
        print_devices(out, runtime);
    else
        cli_field(out, LABELS, "devices", "none");
    if (runtime->usable)
        cli_field(out, LABELS, "clock", "%.2f MHz%s, wall clock in steps of %" PRIu32 " ns%s",
                  runtime->facts.clock_khz / 1e3, runtime->facts.arch == KTRACE_ARCH_AMDGCN ? "" : " nominal",
                  runtime->facts.wall_tick_ns, runtime->facts.simulated ? ", simulated time" : "");
    else
        cli_field_visible(out, LABELS, "unusable", runtime->reason);
}

static void print_choice(text *out, const struct doctor_choice *choice)
{
    kt_string_append(out, "\nA capture\n");
    if (!choice->runtime) {
        cli_field_visible(out, LABELS, "is refused", choice->why);
        return;
    }
    cli_label(out, LABELS, "records on");
    kt_string_append_visible(out, choice->runtime->facts.name);
    kt_string_printf(out, ", device %d of %s\n", choice->runtime->current, choice->runtime->name);
    cli_field_visible(out, LABELS, "because", choice->why);
    kt_string_append(out, "\n"
                          "It is of the device that is current where it begins. A program whose annotated kernels are\n"
                          "all CUDA's or all HIP's is captured with that runtime.\n");
}

static void print_tools(text *out, const char *heading, const struct doctor_tool *tools, int count)
{
    kt_string_printf(out, "\n%s\n", heading);
    for (int i = 0; i < count; i++)
        cli_field_visible(out, LABELS, tools[i].label, tools[i].path ? tools[i].path : tools[i].missing);
}

int doctor_print_text(const struct doctor_runtime runtimes[DOCTOR_RUNTIMES], const struct doctor_choice *choice,
                      const struct doctor_tools *tools)
{
    text out = KT_STRING_INIT;
    kt_string_printf(&out, "ktrace %s: wire format %d, trace file format %u\n", ktrace_version(), KTRACE_WIRE_VERSION,
                     KT_FILE_VERSION);
    for (int i = 0; i < DOCTOR_RUNTIMES; i++)
        print_runtime(&out, &runtimes[i]);
    print_tools(&out, "ktrace demo runs", tools->demo, DOCTOR_DEMO_PARTS);
    print_tools(&out, "Compilers", tools->compilers, DOCTOR_COMPILERS);
    print_choice(&out, choice);
    return cli_print_string(&out);
}
