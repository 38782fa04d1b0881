#include "select.h"

#include "../scan.h"
#include "kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int fail(const struct cli_command *command)
{
    cli_error_usage(command, "%s", ktrace_last_error());
    return CLI_USAGE;
}

/* N, N-M, N-, -M or *. */
static int take_range(const struct cli_command *command, uint64_t *first, uint64_t *last, const char *option,
                      const char *argument, const char *what)
{
    struct kt_scan scan = kt_scan_of(option, argument);
    struct kt_range range;
    int status = kt_scan_range(&range, &scan, UINT32_MAX, what);
    if (status == KTRACE_OK && *scan.at)
        status = kt_scan_fail(&scan, scan.at, "%s is a number such as 3, or a range such as 2-5", what);
    if (status < 0)
        return fail(command);
    *first = range.first;
    *last = range.last;
    return CLI_OK;
}

static int take_workgroup(const struct cli_command *command, struct kt_selection *selection, const char *argument)
{
    struct kt_scan scan = kt_scan_of("--workgroup", argument);
    int status = KTRACE_OK;
    for (int i = 0; i < 3 && status == KTRACE_OK; i++) {
        struct kt_range range;
        if (i > 0 && !kt_scan_skip(&scan, ","))
            break;
        status = kt_scan_range(&range, &scan, UINT32_MAX, "a coordinate");
        if (status == KTRACE_OK) {
            selection->workgroup_first[i] = (uint32_t)range.first;
            selection->workgroup_last[i] = (uint32_t)range.last;
        }
    }
    if (status == KTRACE_OK && *scan.at)
        status = kt_scan_fail(&scan, scan.at, "a workgroup is x,y,z, each *, 3, 2-5, 2- or -5");
    return status < 0 ? fail(command) : CLI_OK;
}

static int take_kinds(const struct cli_command *command, struct kt_selection *selection, const char *argument)
{
    for (const char *at = argument;; at++) {
        const size_t length = strcspn(at, ",");
        uint32_t kinds = 0;
        for (uint32_t kind = 0; kind < CLI_KINDS; kind++)
            if (strlen(cli_kind_name(kind)) == length && strncmp(cli_kind_name(kind), at, length) == 0)
                kinds = 1u << kind;
        if (length == 5 && strncmp(at, "range", length) == 0)
            kinds = 1u << KTRACE_KIND_PUSH | 1u << KTRACE_KIND_POP;
        if (length == 5 && strncmp(at, "token", length) == 0)
            kinds = 1u << KTRACE_KIND_START | 1u << KTRACE_KIND_STOP;
        if (!(kinds & (1u << KTRACE_KIND_MARK | 1u << KTRACE_KIND_PUSH | 1u << KTRACE_KIND_POP |
                       1u << KTRACE_KIND_START | 1u << KTRACE_KIND_STOP)))
            return cli_error_usage(
                command,
                "--kind '%.*s': events are of the kinds mark, push, pop, start and stop; range is push "
                "and pop, token is start and stop",
                (int)length, at);
        selection->kinds |= kinds;
        at += length;
        if (!*at)
            return CLI_OK;
    }
}

/* "12.5us", "-3ns", "0". */
static int take_time(const struct cli_command *command, int64_t *time_ps, const char *option, const char *argument)
{
    static const struct {
        const char *name;
        double ps;
    } units[] = {{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}};
    const size_t digits = strspn(argument, "0123456789.-");
    char *end = NULL;
    const double number = digits ? strtod(argument, &end) : 0;
    if (end == argument + digits) {
        if (number == 0 && !*end) {
            *time_ps = 0;
            return CLI_OK;
        }
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (strcmp(end, units[i].name) == 0 && fabs(number * units[i].ps) < 9.2e18) {
                *time_ps = (int64_t)llround(number * units[i].ps);
                return CLI_OK;
            }
    }
    return cli_error_usage(command, "%s '%s': a time is a number with its unit, ps, ns, us, ms or s, such as 12.5us",
                           option, argument);
}

int cli_select(const struct cli_command *command, struct kt_selection *selection, int option, const char *argument)
{
    switch (option) {
    case CLI_SELECT_KERNEL: selection->kernel = argument; return CLI_OK;
    case CLI_SELECT_PHASE:
    case CLI_SELECT_NAME: selection->name = argument; return CLI_OK;
    case CLI_SELECT_LAUNCH: /* '#3' is how launches are shown */
        return take_range(command, &selection->launch_first, &selection->launch_last, "--launch",
                          argument + (*argument == '#'), "a launch");
    case CLI_SELECT_WAVE:
        return take_range(command, &selection->wave_first, &selection->wave_last, "--wave", argument, "a wave");
    case CLI_SELECT_WORKGROUP: return take_workgroup(command, selection, argument);
    case CLI_SELECT_KIND: return take_kinds(command, selection, argument);
    case CLI_SELECT_FROM: return take_time(command, &selection->from_ps, "--from", argument);
    case CLI_SELECT_TO: return take_time(command, &selection->last_ps, "--to", argument);
    default: return -1;
    }
}
