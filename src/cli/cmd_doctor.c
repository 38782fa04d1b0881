/* cmd_doctor.c - which device a capture would use here, and why; and what a first trace needs besides. */
#include "child.h"
#include "doctor.h"

enum { DEFAULT_LIMIT_S = 10 };

static int examine(bool json, int limit_s)
{
    static struct doctor_runtime runtimes[DOCTOR_RUNTIMES];
    if (doctor_probe(&runtimes[DOCTOR_CUDA], "CUDA", "cuda", limit_s) != CLI_OK ||
        doctor_probe(&runtimes[DOCTOR_HIP], "HIP", "hip", limit_s) != CLI_OK)
        return CLI_FAILURE;
    static struct doctor_clock clocks[DOCTOR_DEVICES];
    struct doctor_choice choice;
    struct doctor_tools tools;
    doctor_choose(&choice, runtimes);
    if (doctor_measure(clocks, &choice, limit_s) != CLI_OK)
        return CLI_FAILURE;
    doctor_find_tools(&tools);
    const struct doctor_findings findings = {runtimes, &choice, clocks, &tools};
    const int status = json ? doctor_print_json(&findings) : doctor_print_text(&findings);
    doctor_free_tools(&tools);
    return status == CLI_OK && !choice.runtime ? CLI_FAILURE : status;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"timeout", required_argument, NULL, 't'}, CLI_HELP_OPTION, {0}};
    bool json = false;
    int limit_s = DEFAULT_LIMIT_S;
    for (int option; (option = cli_option(&cli_doctor, argc, argv, ":hjt:", options)) != -1;) {
        switch (option) {
        case 'j': json = true; break;
        case 't': limit_s = cli_child_limit(&cli_doctor, optarg); break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
        if (limit_s < 0)
            return CLI_USAGE;
    }
    if (optind != argc)
        return cli_error_usage(&cli_doctor, "it takes no file, but there is '%s'", argv[optind]);
    return examine(json, limit_s);
}

const struct cli_command cli_doctor = {
    .name = "doctor",
    .brief = "say which device a capture would use here, and why",
    .help = "Usage: ktrace doctor [--json] [--timeout SECONDS]\n"
            "\n"
            "Asks CUDA's driver and HIP's library for their versions and devices, and says which of them a\n"
            "capture would record on and why, or what is missing; whether 'ktrace demo' and the compilers\n"
            "are there; and how fine the clocks of the devices that would be recorded are, which a kernel\n"
            "of ours measures in some milliseconds:\n"
            "\n"
            "  wall clock  of the device: its smallest step, and the usual one where that differs\n"
            "  events      the clock that events are stamped with, and its rate at this moment\n"
            "  host clock  how well the wall clock is known on the host's, through which the times of\n"
            "              several devices are compared\n"
            "\n"
            "Where no AMD GPU is, HIP's library is the simulator of gfx942 and gfx950, and its time is\n"
            "simulated. Libraries are loaded in processes of their own: one that crashes or hangs is named.\n"
            "\n"
            "Exit status: 0 where a capture can record, 1 where it would be refused: no device can be used,\n"
            "or none of what KTRACE_BACKEND asks for, or a variable that captures read is malformed.\n"
            "\n"
            "Options:\n"
            "  -j, --json             print JSON\n"
            "  -t, --timeout SECONDS  how long CUDA, then HIP, and then the clocks may take: 10\n"
            "  -h, --help             print this\n"
            "\n"
            "Environment:\n"
            "  KTRACE_BACKEND      cuda or hip: what to capture, whatever there is\n"
            "  KTRACE_DEVICES      active (those in use and the current one), all, or numbers such as 0,2-3\n"
            "  KTRACE_HIP_LIBRARY  the HIP library to use: ROCm's libamdhip64.so or libktrace_sim.so\n"
            "  KTRACE_SIM_CHIP     gfx942 or gfx950: the chip that is simulated\n"
            "  KTRACE_SIM_DEVICES  how many of it are simulated: 1\n",
    .run = run,
};
