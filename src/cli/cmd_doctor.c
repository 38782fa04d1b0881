/* cmd_doctor.c - which device a capture would use here, and why. */
#include "cli.h"

#include "../backend/backend.h"
#include "../backend/hip_api.h"
#include "../backend_choice.h"
#include "../trace_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kt_string text;

/* What one runtime answered. */
struct runtime {
    const char *name, *backend; /* "CUDA", "cuda" */
    int (*open)(struct kt_backend **out);
    int usable;
    struct kt_device_facts facts;
    char library[1024]; /* HIP's; "" for the driver */
    char reason[1024];  /* why it is not usable; HIP: why ROCm was passed over, or "" */
};

/* What a capture would choose in a program that has told libktrace of no kernels. */
struct choice {
    int usable;
    const char *why;
    struct kt_device_facts facts;
    char reason[1024]; /* why there is none */
};

static void keep(char *to, size_t bytes, const char *from)
{
    snprintf(to, bytes, "%s", from);
}

/* The facts of a backend that was opened, or why it could not be. */
static int ask(struct kt_device_facts *facts, char *reason, size_t bytes, int status, struct kt_backend *backend)
{
    if (status == KTRACE_OK) {
        status = backend->ops->facts(facts, backend);
        if (status < 0)
            keep(reason, bytes, ktrace_last_error());
        backend->ops->close(backend);
    } else {
        keep(reason, bytes, ktrace_last_error());
    }
    return status == KTRACE_OK;
}

static void examine(struct runtime *runtime)
{
    struct kt_backend *backend = NULL;
    const int status = runtime->open(&backend);
    runtime->usable = ask(&runtime->facts, runtime->reason, sizeof runtime->reason, status, backend);
    const char *path;
    if (runtime->open == kt_backend_open_hip && runtime->usable && ktrace_hip_library(&path) == KTRACE_OK) {
        keep(runtime->library, sizeof runtime->library, path);
        keep(runtime->reason, sizeof runtime->reason, kt_hip_api_passed_over());
    }
}

static void choose(struct choice *choice)
{
    const char *environment = getenv("KTRACE_BACKEND");
    struct kt_backend *backend = NULL;
    const int status = kt_backend_choose(&backend, NULL);
    choice->usable = ask(&choice->facts, choice->reason, sizeof choice->reason, status, backend);
    if (environment && *environment)
        choice->why = "KTRACE_BACKEND says so";
    else if (choice->facts.arch == KTRACE_ARCH_AMDGCN)
        choice->why = "there is no NVIDIA GPU that can be used";
    else
        choice->why = "an NVIDIA GPU comes first";
}

/* ---- As text ----------------------------------------------------------------------------------------------------- */

static void label(text *out, const char *name)
{
    kt_string_printf(out, "  %-10s ", name);
}

static void line(text *out, const char *name, const char *value)
{
    label(out, name);
    kt_string_append_visible(out, value);
    kt_string_append_char(out, '\n');
}

static void print_device(text *out, const struct kt_device_facts *facts)
{
    const int amd = facts->arch == KTRACE_ARCH_AMDGCN;
    label(out, "device");
    kt_string_append_visible(out, facts->name);
    if (facts->places)
        kt_string_printf(out, ", %" PRIu32 " %s", facts->places, amd ? "CUs" : "SMs");
    kt_string_append_char(out, '\n');
    label(out, "clock");
    kt_string_printf(out, "%.2f MHz%s, wall clock in steps of %" PRIu32 " ns%s\n", facts->clock_khz / 1e3,
                     amd ? "" : " nominal", facts->wall_tick_ns, facts->simulated ? ", simulated time" : "");
}

static void print_runtime(text *out, const struct runtime *runtime)
{
    kt_string_printf(out, "\n%s\n", runtime->name);
    if (!runtime->usable) {
        line(out, "device", "none");
        line(out, "why", runtime->reason);
        return;
    }
    if (*runtime->library)
        line(out, "library", runtime->library);
    print_device(out, &runtime->facts);
    if (*runtime->reason)
        line(out, "not ROCm's", runtime->reason);
}

static int print_text(const struct runtime *runtimes, size_t count, const struct choice *choice)
{
    text out = KT_STRING_INIT;
    kt_string_printf(&out, "ktrace %s: wire format %d, trace file format %u\n", ktrace_version(), KTRACE_WIRE_VERSION,
                     KT_FILE_VERSION);
    for (size_t i = 0; i < count; i++)
        print_runtime(&out, &runtimes[i]);
    kt_string_append(&out, "\nA capture\n");
    if (choice->usable) {
        line(&out, "records on", choice->facts.name);
        line(&out, "because", choice->why);
        kt_string_append(
            &out, "\nA program whose annotated kernels are all CUDA's or all HIP's is captured with that runtime.\n");
    } else {
        line(&out, "is refused", choice->reason);
    }
    return cli_print_string(&out);
}

/* ---- As JSON ----------------------------------------------------------------------------------------------------- */

static void member(text *out, const char *indent, const char *name, const char *value)
{
    kt_string_printf(out, "%s\"%s\": ", indent, name);
    kt_string_append_json(out, value);
    kt_string_append(out, ",\n");
}

static void print_facts_json(text *out, const char *indent, const struct kt_device_facts *facts)
{
    member(out, indent, "device", facts->name);
    kt_string_printf(out,
                     "%s\"places\": %" PRIu32 ",\n%s\"clock_khz\": %" PRIu32 ",\n%s\"wall_tick_ns\": %" PRIu32
                     ",\n%s\"simulated\": %s\n",
                     indent, facts->places, indent, facts->clock_khz, indent, facts->wall_tick_ns, indent,
                     facts->simulated ? "true" : "false");
}

static int print_json(const struct runtime *runtimes, size_t count, const struct choice *choice)
{
    text out = KT_STRING_INIT;
    kt_string_append(&out, "{\n");
    member(&out, "  ", "version", ktrace_version());
    kt_string_printf(&out, "  \"wire_version\": %d,\n  \"file_version\": %u,\n", KTRACE_WIRE_VERSION, KT_FILE_VERSION);
    for (size_t i = 0; i < count; i++) {
        const struct runtime *runtime = &runtimes[i];
        kt_string_printf(&out, "  \"%s\": {\n", runtime->backend);
        if (*runtime->library)
            member(&out, "    ", "library", runtime->library);
        if (*runtime->reason)
            member(&out, "    ", runtime->usable ? "passed_over" : "reason", runtime->reason);
        if (runtime->usable)
            print_facts_json(&out, "    ", &runtime->facts);
        else
            kt_string_append(&out, "    \"device\": null\n");
        kt_string_append(&out, "  },\n");
    }
    kt_string_append(&out, "  \"capture\": {\n");
    if (choice->usable) {
        member(&out, "    ", "backend", choice->facts.arch == KTRACE_ARCH_AMDGCN ? "hip" : "cuda");
        member(&out, "    ", "because", choice->why);
        print_facts_json(&out, "    ", &choice->facts);
    } else {
        member(&out, "    ", "reason", choice->reason);
        kt_string_append(&out, "    \"device\": null\n");
    }
    kt_string_append(&out, "  }\n}\n");
    return cli_print_string(&out);
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'}, CLI_HELP_OPTION, {0}};
    bool json = false;
    for (int option; (option = cli_option(&cli_doctor, argc, argv, ":hj", options)) != -1;) {
        switch (option) {
        case 'j': json = true; break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
    }
    if (optind != argc)
        return cli_error_usage(&cli_doctor, "it takes no file, but there is '%s'", argv[optind]);
    struct runtime runtimes[] = {{.name = "CUDA", .backend = "cuda", .open = kt_backend_open_cuda},
                                 {.name = "HIP", .backend = "hip", .open = kt_backend_open_hip}};
    struct choice choice = {0};
    const size_t count = sizeof runtimes / sizeof *runtimes;
    for (size_t i = 0; i < count; i++)
        examine(&runtimes[i]);
    choose(&choice);
    const int status = json ? print_json(runtimes, count, &choice) : print_text(runtimes, count, &choice);
    return status == CLI_OK && !choice.usable ? CLI_FAILURE : status;
}

const struct cli_command cli_doctor = {
    .name = "doctor",
    .brief = "say which device a capture would use here, and why",
    .help = "Usage: ktrace doctor [--json]\n"
            "\n"
            "Asks CUDA's driver and HIP's library for their devices, and says which a capture would record\n"
            "on and why, or what is missing. Where no AMD GPU is there, HIP's library is the simulator of\n"
            "gfx942 and gfx950, and its time is simulated. Exit status 1: there is no device at all.\n"
            "\n"
            "Options:\n"
            "  -j, --json     print JSON\n"
            "  -h, --help     print this\n"
            "\n"
            "Environment:\n"
            "  KTRACE_BACKEND      cuda or hip: what to capture, whatever there is\n"
            "  KTRACE_HIP_LIBRARY  the HIP library to use: ROCm's libamdhip64.so or libktrace_sim.so\n"
            "  KTRACE_SIM_CHIP     gfx942 or gfx950: the chip that is simulated\n",
    .run = run,
};
