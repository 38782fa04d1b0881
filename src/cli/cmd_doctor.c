/* cmd_doctor.c - which device a capture would use here, and why; what a first trace needs besides; and what is wrong with a file's
 * annotations. */
#include "child.h"
#include "doctor.h"
#include "lint.h"

enum { DEFAULT_LIMIT_S = 10, DEFAULT_LINT_LIMIT_S = 600 };

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

/* Options of --lint without it. */
static int refuse_alone(const char *option)
{
    return cli_error_usage(&cli_doctor, "'%s' goes with '--lint FILE'", option);
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"timeout", required_argument, NULL, 't'},
                                            {"lint", required_argument, NULL, 'l'},
                                            {"untraced", required_argument, NULL, 'u'},
                                            {"strict", no_argument, NULL, 's'},
                                            CLI_HELP_OPTION,
                                            {0}};
    struct lint_options lint = {0};
    int limit_s = 0;
    for (int option; (option = cli_option(&cli_doctor, argc, argv, ":hjl:st:u:", options)) != -1;) {
        switch (option) {
        case 'j': lint.json = true; break;
        case 'l': lint.path = optarg; break;
        case 's': lint.strict = true; break;
        case 't': limit_s = cli_child_limit(&cli_doctor, optarg); break;
        case 'u': lint.untraced_path = optarg; break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
        if (limit_s < 0)
            return CLI_USAGE;
    }
    if (optind != argc)
        return cli_error_usage(&cli_doctor, "it takes no file, but there is '%s': --lint FILE looks at one",
                               argv[optind]);
    if (!lint.path && lint.strict)
        return refuse_alone("--strict");
    if (!lint.path && lint.untraced_path)
        return refuse_alone("--untraced");
    if (!lint.path)
        return examine(lint.json, limit_s ? limit_s : DEFAULT_LIMIT_S);
    lint.limit_s = limit_s ? limit_s : DEFAULT_LINT_LIMIT_S;
    return cli_lint(&lint);
}

const struct cli_command cli_doctor = {
    .name = "doctor",
    .brief = "say which device a capture would use, or lint annotations in machine code",
    .help = "Usage: ktrace doctor [--json] [--timeout SECONDS]\n"
            "       ktrace doctor --lint FILE [--untraced FILE] [--strict] [--json]\n"
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
            "With --lint it looks at machine code instead: of a cubin, a fatbin, a code object of AMD's, or a\n"
            "program or library that holds some. Each annotation of each kernel is a row:\n"
            "\n"
            "  copies        unrolling, inlining and templates can make several of one annotation\n"
            "  instructions  of an event, in the copy that has the most; bytes: of all copies\n"
            "  inside        instructions of the kernel's own between the clock reads of a range, on any way\n"
            "                from one to the other, jumps not counted; ?: it could not be followed\n"
            "\n"
            "It warns of ranges that have nothing inside, since compilers move arithmetic across clock reads,\n"
            "and of annotations that take registers from the kernel or make it spill. That needs the kernel\n"
            "without them: its other instance (KTRACE_KERNEL_IF), or the build that --untraced names.\n"
            "NVIDIA's code is read by nvdisasm, in other files with cuobjdump; AMD's by llvm-objdump.\n"
            "\n"
            "Exit status: 0 where a capture can record, 1 where it would be refused: no device can be used,\n"
            "or none of what KTRACE_BACKEND asks for, or a variable that captures read is malformed.\n"
            "With --lint: 0, 1 where the file cannot be read or has no annotation, 3 with --strict where\n"
            "there are warnings.\n"
            "\n"
            "Options:\n"
            "  -j, --json             print JSON\n"
            "  -t, --timeout SECONDS  how long CUDA, then HIP, and then the clocks may take: 10; or a\n"
            "                         disassembler: 600\n"
            "  -l, --lint FILE        look at the annotations in a file with machine code\n"
            "  -u, --untraced FILE    compare with the same kernels, compiled without KTRACE_ENABLE=1\n"
            "  -s, --strict           exit with 3 where there are warnings: for tests\n"
            "  -h, --help             print this\n"
            "\n"
            "Examples:\n"
            "  ktrace doctor\n"
            "  ktrace doctor --lint build/gemm\n"
            "  ktrace doctor --lint traced.cubin --untraced untraced.cubin --strict\n"
            "\n"
            "Environment:\n"
            "  KTRACE_BACKEND      cuda or hip: what to capture, whatever there is\n"
            "  KTRACE_DEVICES      active (those in use and the current one), all, or numbers such as 0,2-3\n"
            "  KTRACE_HIP_LIBRARY  the HIP library to use: ROCm's libamdhip64.so or libktrace_sim.so\n"
            "  KTRACE_SIM_CHIP     gfx942 or gfx950: the chip that is simulated\n"
            "  KTRACE_SIM_DEVICES  how many of it are simulated: 1\n",
    .run = run,
};
