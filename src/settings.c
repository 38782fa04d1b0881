#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend_choice.h"
#include "error.h"
#include "options.h"
#include "scan.h"

/* ---- Devices ---------------------------------------------------------------------------------------------------- */

#define KINDS_OF_DEVICES "devices are active, all, or numbers and ranges such as 0,2-3"

int kt_device_choice_parse(struct kt_device_choice *out, const char *text, const char *who)
{
    struct kt_device_choice choice = {.kind = KT_DEVICES_LIST, .who = who};
    struct kt_scan scan = kt_scan_of(who, text);
    if (strcmp(text, "active") == 0 || strcmp(text, "all") == 0) {
        choice.kind = text[1] == 'c' ? KT_DEVICES_ACTIVE : KT_DEVICES_ALL;
        *out = choice;
        return KTRACE_OK;
    }
    if (strchr("0123456789-*", *scan.at) == NULL)
        return kt_scan_fail(&scan, scan.at, KINDS_OF_DEVICES);
    do {
        struct kt_range range;
        int status = kt_scan_range(&range, &scan, KT_MAX_DEVICES - 1, "a device");
        if (status < 0)
            return status;
        for (uint64_t i = range.first; i <= range.last; i++)
            choice.list[i / 64] |= 1ull << i % 64;
        const uint64_t named = range.last < KT_MAX_DEVICES - 1 ? range.last : range.first;
        if (named > choice.largest)
            choice.largest = (uint32_t)named;
    } while (kt_scan_skip(&scan, ","));
    if (*scan.at)
        return kt_scan_fail(&scan, scan.at, KINDS_OF_DEVICES);
    *out = choice;
    return KTRACE_OK;
}

int kt_device_choice_check(const struct kt_device_choice *choice, uint32_t device_count)
{
    if (choice->kind != KT_DEVICES_LIST || choice->largest < device_count)
        return KTRACE_OK;
    if (device_count == 1)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "%s names device %u, but there is only device 0", choice->who,
                       choice->largest);
    return kt_fail(KTRACE_ERROR_ARGUMENT, "%s names device %u, but there are only devices 0 to %u", choice->who,
                   choice->largest, device_count - 1);
}

/* ---- Strings and directories ------------------------------------------------------------------------------------ */

static int is_given(const char *text)
{
    return text && *text;
}

/* Replaces `*to` by a copy. */
static int keep(char **to, const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL)
        return kt_fail_memory(strlen(text) + 1);
    free(*to);
    *to = copy;
    return KTRACE_OK;
}

/* Said when the capture begins, not when there is something to lose. */
static int check_directory(const char *path, const char *who)
{
    struct stat status;
    const struct kt_scan scan = kt_scan_of(who, path);
    const char *problem = stat(path, &status) != 0                                  ? strerror(errno)
                          : !S_ISDIR(status.st_mode)                                ? strerror(ENOTDIR)
                          : faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0 ? strerror(errno)
                                                                                    : NULL;
    if (problem == NULL)
        return KTRACE_OK;
    kt_scan_fail(&scan, path, "exports cannot go there (%s): make it, or name another directory", problem);
    return KTRACE_ERROR_IO;
}

/* ---- The environment -------------------------------------------------------------------------------------------- */

/* NULL where it is empty or not set. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return is_given(value) ? value : NULL;
}

static int read_count(uint32_t *out, const char *name)
{
    const char *value = variable(name);
    uint64_t count = 0;
    const int status = value ? kt_parse_count(&count, name, value, UINT32_MAX) : KTRACE_OK;
    if (value && status == KTRACE_OK)
        *out = (uint32_t)count;
    return status;
}

static int read_flag(int *out, const char *name)
{
    const char *value = variable(name);
    return value ? kt_parse_flag(out, name, value) : KTRACE_OK;
}

static int read_environment(struct kt_settings *settings)
{
    const char *bytes = variable("KTRACE_BUFFER_BYTES"), *blocks = variable("KTRACE_BLOCKS");
    const char *devices = variable("KTRACE_DEVICES"), *directory = variable("KTRACE_DUMP_DIR");
    int status = read_flag(&settings->enable, "KTRACE_ENABLE");
    if (status == KTRACE_OK)
        status = read_flag(&settings->watch, "KTRACE_WATCH");
    if (status == KTRACE_OK)
        status = read_flag(&settings->keep_last, "KTRACE_KEEP_LAST");
    if (status == KTRACE_OK && bytes)
        status = kt_parse_bytes(&settings->buffer_bytes, "KTRACE_BUFFER_BYTES", bytes);
    if (status == KTRACE_OK)
        status = read_count(&settings->events_per_wave, "KTRACE_EVENTS_PER_WAVE");
    if (status == KTRACE_OK)
        status = read_count(&settings->events_per_lane, "KTRACE_EVENTS_PER_LANE");
    if (status == KTRACE_OK && blocks)
        status = kt_filter_parse(&settings->filter, blocks, "KTRACE_BLOCKS");
    if (status == KTRACE_OK && devices)
        status = kt_device_choice_parse(&settings->devices, devices, "KTRACE_DEVICES");
    if (status == KTRACE_OK && directory)
        status = keep(&settings->directory, directory);
    if (status == KTRACE_OK && variable("KTRACE_BACKEND")) /* only whether it is one */
        status = kt_backend_candidates(&(struct kt_backend_candidates){{0}, 0}, NULL);
    return status;
}

/* ---- Options ---------------------------------------------------------------------------------------------------- */

static int read_options(struct ktrace_capture_options *out, const struct ktrace_capture_options *given)
{
    const struct ktrace_capture_options defaults = KTRACE_CAPTURE_OPTIONS_INIT;
    *out = defaults;
    return kt_options_read(out, sizeof *out, given, "ktrace_capture_options");
}

static int apply_options(struct kt_settings *settings, const struct ktrace_capture_options *options)
{
    int status = KTRACE_OK;
    if (is_given(options->name))
        status = keep(&settings->name, options->name);
    if (options->buffer_bytes)
        settings->buffer_bytes = options->buffer_bytes;
    if (options->events_per_wave)
        settings->events_per_wave = options->events_per_wave;
    if (options->events_per_lane)
        settings->events_per_lane = options->events_per_lane;
    if (options->keep_last)
        settings->keep_last = options->keep_last > 0;
    settings->stay_armed = options->stay_armed != 0;
    if (options->filter)
        settings->filter = (struct kt_filter){.wire = *options->filter};
    else if (status == KTRACE_OK && is_given(options->blocks))
        status = kt_filter_parse(&settings->filter, options->blocks, "ktrace_capture_options.blocks");
    if (status == KTRACE_OK && is_given(options->devices))
        status = kt_device_choice_parse(&settings->devices, options->devices, "ktrace_capture_options.devices");
    if (status == KTRACE_OK && is_given(options->backend))
        status = keep(&settings->backend, options->backend);
    if (status == KTRACE_OK && is_given(options->directory))
        status = keep(&settings->directory, options->directory);
    return status;
}

/* ---- All of it -------------------------------------------------------------------------------------------------- */

int kt_settings_make(struct kt_settings *out, const struct ktrace_capture_options *given)
{
    struct ktrace_capture_options options;
    struct kt_settings settings = {.filter = {.wire = KTRACE_FILTER_INIT}};
    int status = read_options(&options, given);
    if (status == KTRACE_OK)
        status = keep(&settings.name, "ktrace");
    if (status == KTRACE_OK)
        status = read_environment(&settings);
    if (status == KTRACE_OK)
        status = apply_options(&settings, &options);
    if (status == KTRACE_OK && settings.directory)
        status = check_directory(settings.directory,
                                 is_given(options.directory) ? "ktrace_capture_options.directory" : "KTRACE_DUMP_DIR");
    if (status < 0) {
        kt_settings_release(&settings);
        return status;
    }
    *out = settings;
    return KTRACE_OK;
}

void kt_settings_release(struct kt_settings *settings)
{
    free(settings->name);
    free(settings->directory);
    free(settings->backend);
    *settings = (struct kt_settings){0};
}
