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
    if (!runtime->usable)
        member(out, "    ", "reason", runtime->reason);
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

int doctor_print_json(const struct doctor_runtime runtimes[DOCTOR_RUNTIMES], const struct doctor_choice *choice,
                      const struct doctor_tools *tools)
{
    text out = KT_STRING_INIT;
    kt_string_append(&out, "{\n");
    member(&out, "  ", "version", ktrace_version());
    kt_string_printf(&out, "  \"wire_version\": %d,\n  \"file_version\": %u,\n", KTRACE_WIRE_VERSION, KT_FILE_VERSION);
    for (int i = 0; i < DOCTOR_RUNTIMES; i++)
        print_runtime(&out, &runtimes[i]);
    print_tools(&out, "demo", tools->demo, DOCTOR_DEMO_PARTS);
    print_tools(&out, "compilers", tools->compilers, DOCTOR_COMPILERS);
    kt_string_append(&out, "  \"capture\": {\n");
    print_choice(&out, choice);
    kt_string_append(&out, "  }\n}\n");
    return cli_print_string(&out);
}
