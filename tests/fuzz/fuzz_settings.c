/* fuzz_settings.c - a setting's text from anywhere. Whatever filter comes of it, its own text makes the same filter. */
#include "error.h"
#include "scan.h"
#include "settings.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_filter(const char *text)
{
    struct kt_filter filter;
    struct ktrace_filter again;
    char *canonical;
    if (kt_filter_parse(&filter, text, "KTRACE_BLOCKS") < 0)
        return;
    const uint32_t arch = filter.place_word == KT_PLACE_XCC ? KTRACE_ARCH_AMDGCN : KTRACE_ARCH_NVIDIA;
    if (ktrace_filter_format(&canonical, &filter.wire, arch) < 0 || ktrace_filter_parse(&again, canonical) < 0 ||
        memcmp(&again, &filter.wire, sizeof again) != 0)
        abort();
    free(canonical);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);
    struct kt_device_choice devices;
    uint64_t number;
    int flag;
    if (!text)
        return 0;
    if (bytes)
        memcpy(text, data, bytes);
    text[bytes] = '\0';
    check_filter(text);
    (void)kt_device_choice_parse(&devices, text, "KTRACE_DEVICES");
    (void)kt_parse_bytes(&number, "KTRACE_BUFFER_BYTES", text);
    (void)kt_parse_count(&number, "KTRACE_EVENTS_PER_WAVE", text, UINT32_MAX);
    (void)kt_parse_flag(&flag, "KTRACE_ENABLE", text);
    free(text);
    return 0;
}
