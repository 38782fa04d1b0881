#include "../trace_file.h"
#include "doctor.h"

#include <inttypes.h>

typedef struct kt_string text;

static void member(text *out, const char *indent, const char *name, const char *value)
{
    kt_string_printf(out, "%s\"%s\": ", indent, name);
    kt_string_append_json(out, value);
    kt_string_append(out, ",\n");
}

static const char *bool_name(int value)
{
    return value ? "true" : "false";
}

/* The last members of a runtime's object: its current device. `facts` NULL: there is none that can be used. */
static void print_facts(text *out, const struct kt_device_facts *facts)
{
    if (!facts) {
        kt_string_append(out, "    \"device\": null\n");
        return;
    }
    member(out, "    ", "device", facts->name);
    kt_string_printf(out,
                     "    \"places\": %" PRIu32 ",\n    \"clock_khz\": %" PRIu32 ",\n    \"wall_tick_ns\": %" PRIu32
                     ",\n    \"simulated\": %s\n",
                     facts->places, facts->clock_khz, facts->wall_tick_ns, bool_name(facts->simulated));
}

static void print_devices(text *out, const struct doctor_runtime *runtime)
{
    kt_string_printf(out, "    \"device_count\": %d,\n    \"devices\": [", runtime->device_count);
    for (int i = 0; i < runtime->listed; i++) {
        const struct doctor_device *device = &runtime->devices[i];
        kt_string_append(out, i == 0 ? "\n      {\"name\": " : ",\n      {\"name\": ");
        kt_string_append_json(out, device->name);
        kt_string_printf(out, ", \"version\": \"%" PRIu32 ".%" PRIu32 "\", \"places\": %" PRIu32 ", \"current\": %s}",
                         device->major, device->minor, device->places, bool_name(i == runtime->current));
    }
    kt_string_append(out, runtime->listed ? "\n    ],\n" : "],\n");
}

static void print_runtime(text *out, const struct doctor_runtime *runtime)
{
    kt_string_printf(out, "  \"%s\": {\n", runtime->backend);
    if (*runtime->library)
        member(out, "    ", "library", runtime->library);
    if (*runtime->passed_over)
        member(out, "    ", "passed_over", runtime->passed_over);
    if (*runtime->driver)
        member(out, "    ", "driver", runtime->driver);
    if (!runtime->usable)
        member(out, "    ", "reason", runtime->reason);
    member(out, "    ", "compiler", runtime->compiles ? runtime->compiler : NULL);
    print_devices(out, runtime);
    print_facts(out, runtime->usable ? &runtime->facts : NULL);
    kt_string_append(out, "  },\n");
}

static void print_tools(text *out, const char *name, const struct doctor_tool *tools, int count)
{
    kt_string_printf(out, "  \"%s\": {", name);
    for (int i = 0; i < count; i++) {
        kt_string_printf(out, "%s\n    \"%s\": ", i == 0 ? "" : ",", tools[i].key);
        kt_string_append_json(out, tools[i].path);
    }
    kt_string_append(out, "\n  },\n");
}

/* The last members of the object. */
static void print_choice(text *out, const struct doctor_choice *choice)
{
    bool first = true;
    if (!choice->runtime) {
        member(out, "    ", "reason", choice->why);
        kt_string_append(out, "    \"devices\": []\n");
        return;
    }
    member(out, "    ", "backend", choice->runtime->backend);
    member(out, "    ", "because", choice->why);
    member(out, "    ", "devices_because", doctor_devices_why(choice));
    kt_string_append(out, "    \"devices\": [");
    for (int i = 0; i < choice->runtime->device_count; i++) {
        if (!doctor_chosen(choice, i))
            continue;
        kt_string_printf(out, first ? "%d" : ", %d", i);
        first = false;
    }
    kt_string_printf(out, "],\n    \"simulated\": %s\n", bool_name(choice->runtime->facts.simulated));
}

static void print_number(text *out, const char *name, bool known, double number)
{
    kt_string_printf(out, ", \"%s\": ", name);
    if (known)
        kt_string_append_json_double(out, number);
    else
        kt_string_append(out, "null");
}

/* null: not known, or there is none. */
static void print_clock(text *out, int device, const struct doctor_clock *clock)
{
    const bool measured = !*clock->unmeasured, related = measured && !*clock->unrelated, cycles = clock->cycle_hz > 0;
    kt_string_printf(out, "\n    {\"device\": %d, \"simulated\": %s", device, bool_name(clock->simulated));
    print_number(out, "step_ns", measured, (double)clock->least_ns);
    print_number(out, "usual_step_ns", measured, (double)clock->usual_ns);
    print_number(out, "multiple_ns", measured, (double)clock->multiple_ns);
    print_number(out, "steps_seen", measured, (double)clock->step_count);
    print_number(out, "event_clock_hz", cycles, clock->cycle_hz);
    print_number(out, "event_clock_nominal_hz", cycles, clock->clock_khz * 1e3);
    print_number(out, "event_clock_step_cycles", cycles, clock->cycles);
    print_number(out, "host_within_ns", related, (double)clock->host_ns);
    print_number(out, "host_usually_within_ns", related, (double)clock->usual_host_ns);
    kt_string_append(out, ", \"reason\": ");
    kt_string_append_json(out, !measured ? clock->unmeasured : related ? NULL : clock->unrelated);
    kt_string_append(out, "}");
}

static void print_clocks(text *out, const struct doctor_findings *findings)
{
    const struct doctor_runtime *runtime = findings->choice->runtime;
    bool first = true;
    kt_string_append(out, "  \"clocks\": [");
    for (int i = 0; runtime && i < runtime->listed; i++) {
        if (!doctor_chosen(findings->choice, i))
            continue;
        kt_string_append(out, first ? "" : ",");
        print_clock(out, i, &findings->clocks[i]);
        first = false;
    }
    kt_string_append(out, first ? "],\n" : "\n  ],\n");
}

int doctor_print_json(const struct doctor_findings *findings)
{
    text out = KT_STRING_INIT;
    kt_string_append(&out, "{\n");
    member(&out, "  ", "version", ktrace_version());
    kt_string_printf(&out, "  \"wire_version\": %d,\n  \"file_version\": %u,\n", KTRACE_WIRE_VERSION, KT_FILE_VERSION);
    for (int i = 0; i < DOCTOR_RUNTIMES; i++)
        print_runtime(&out, &findings->runtimes[i]);
    print_tools(&out, "demo", findings->tools->demo, DOCTOR_DEMO_PARTS);
    print_tools(&out, "compilers", findings->tools->compilers, DOCTOR_COMPILERS);
    print_clocks(&out, findings);
    kt_string_append(&out, "  \"capture\": {\n");
    print_choice(&out, findings->choice);
    kt_string_append(&out, "  }\n}\n");
    return cli_print_string(&out);
}
