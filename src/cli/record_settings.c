#include "record.h"

#include "../scan.h"
#include "../settings.h"

#include <stdlib.h>
#include <string.h>

static int check_bytes(const char *who, const char *text)
{
    uint64_t bytes;
    return kt_parse_bytes(&bytes, who, text);
}

static int check_count(const char *who, const char *text)
{
    uint64_t count;
    return kt_parse_count(&count, who, text, UINT32_MAX);
}

static int check_blocks(const char *who, const char *text)
{
    struct kt_filter filter;
    return kt_filter_parse(&filter, text, who);
}

static int check_devices(const char *who, const char *text)
{
    struct kt_device_choice choice;
    return kt_device_choice_parse(&choice, text, who);
}

static int check_backend(const char *who, const char *text)
{
    const struct kt_scan scan = kt_scan_of(who, text);
    if (strcmp(text, "cuda") == 0 || strcmp(text, "hip") == 0)
        return KTRACE_OK;
    return kt_scan_fail(&scan, text, "a backend is cuda or hip");
}

int record_set(int option, const char *argument)
{
    static const struct {
        int option;
        const char *name, *variable;
        int (*check)(const char *who, const char *text);
    } settings[] = {{RECORD_BLOCKS, "--blocks", "KTRACE_BLOCKS", check_blocks},
                    {RECORD_BUFFER_BYTES, "--buffer-bytes", "KTRACE_BUFFER_BYTES", check_bytes},
                    {RECORD_EVENTS_PER_WAVE, "--events-per-wave", "KTRACE_EVENTS_PER_WAVE", check_count},
                    {RECORD_EVENTS_PER_LANE, "--events-per-lane", "KTRACE_EVENTS_PER_LANE", check_count},
                    {RECORD_DEVICES, "--devices", "KTRACE_DEVICES", check_devices},
                    {RECORD_BACKEND, "--backend", "KTRACE_BACKEND", check_backend},
                    {RECORD_KEEP_LAST, "--keep-last", "KTRACE_KEEP_LAST", NULL}};
    size_t i = 0;
    while (settings[i].option != option)
        i++;
    if (settings[i].check && *argument == 0)
        return cli_error_usage(&cli_record, "option '%s' needs a value that is not empty", settings[i].name);
    if (settings[i].check && settings[i].check(settings[i].name, argument) < 0)
        return cli_error_usage(&cli_record, "%s", ktrace_last_error());
    if (setenv(settings[i].variable, argument ? argument : "1", 1) != 0)
        return cli_error("out of memory");
    return CLI_OK;
}

int record_check_settings(void)
{
    struct kt_settings settings;
    if (kt_settings_make(&settings, NULL) < 0)
        return cli_error("%s", ktrace_last_error());
    kt_settings_release(&settings);
    return CLI_OK;
}
