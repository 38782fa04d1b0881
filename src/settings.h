/* settings.h - what a capture was asked for: the caller's options over the environment over the defaults.
 *
 * A capture reads its settings once, when it begins:
 *
 *     struct kt_settings settings;
 *     int status = kt_settings_make(&settings, options);          // options may be NULL, and of an older struct_size
 *     if (status == KTRACE_OK)
 *         status = kt_backend_choose(&backend, settings.backend); // which looks at KTRACE_BACKEND where that is NULL
 *     ... for each device, once its facts are known:
 *         status = kt_filter_check(&settings.filter, facts.arch); // filter_text.h: "sm:" on AMD, empty ranges
 *     ... once the number of devices is known:
 *         status = kt_device_choice_check(&settings.devices, device_count);
 *     kt_settings_release(&settings);                             // in any case; take strings out by setting them NULL
 *
 * Process-wide collection asks kt_settings_make(&settings, NULL) for settings.enable. A variable that is empty is as good as
 * not set. One that is malformed is an error even where an option overrides it.
 */
#ifndef KT_SETTINGS_H
#define KT_SETTINGS_H

#include "filter_text.h"

enum { KT_MAX_DEVICES = 256 };

enum kt_device_choice_kind { KT_DEVICES_ACTIVE, KT_DEVICES_ALL, KT_DEVICES_LIST };
struct kt_device_choice {
    enum kt_device_choice_kind kind;
    uint64_t list[KT_MAX_DEVICES / 64]; /* bit i: device i; of a KT_DEVICES_LIST */
    uint32_t largest;                   /* device that the list names; an open end names none */
    const char *who;                    /* whose text it was, a literal */
};

struct kt_settings {
    int enable;                                /* KTRACE_ENABLE */
    int watch;                                 /* KTRACE_WATCH */
    char *name;                                /* never NULL */
    uint64_t buffer_bytes;                     /* 0: the default */
    uint32_t events_per_wave, events_per_lane; /* 0: the default */
    int keep_last, stay_armed;
    struct kt_filter filter;
    char *directory; /* exists and can be written to; NULL: the current one */
    struct kt_device_choice devices;
    char *backend; /* NULL: not by an option */
};

/* KTRACE_ERROR_ARGUMENT, KTRACE_ERROR_VERSION, KTRACE_ERROR_IO (the directory) or KTRACE_ERROR_MEMORY; then there is nothing to
 * release. */
int kt_settings_make(struct kt_settings *out, const struct ktrace_capture_options *options);
void kt_settings_release(struct kt_settings *settings);

/* "active", "all", or a list. `who` begins the sentence of a failure, and is kept. */
int kt_device_choice_parse(struct kt_device_choice *out, const char *text, const char *who);
/* Whether the list names a device that is not among `device_count`. */
int kt_device_choice_check(const struct kt_device_choice *choice, uint32_t device_count);
/* Whether device `index` is recorded; `in_use`: it has a context, or is the current one. */
static inline int kt_device_chosen(const struct kt_device_choice *choice, uint32_t index, int in_use)
{
    if (choice->kind != KT_DEVICES_LIST)
        return choice->kind == KT_DEVICES_ALL || in_use;
    return index < KT_MAX_DEVICES && (choice->list[index / 64] >> index % 64 & 1) != 0;
}

#endif
