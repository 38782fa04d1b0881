#include "rtc_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../error.h"

/* Versions do not tell builds apart: two of CUDA 13.0 are both 13.0. A file of another size or date is another one. */
static void identify(struct kt_rtc_api *api, void *library)
{
    int major = 0, minor = 0;
    char path[PATH_MAX] = "";
    struct stat file = {0};
    const struct link_map *map = NULL;
    const char *(*simulator_compiler)(void);
    api->version(&major, &minor);
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] && realpath(map->l_name, path))
        stat(path, &file);
    *(void **)(void *)&simulator_compiler = dlsym(library, "ktrace_simulator_compiler");
    snprintf(api->where, sizeof api->where, "%d.%d%s%s", major, minor, *path ? ", " : "", path);
    snprintf(api->identity, sizeof api->identity, "%s %d.%d %s %lld %lld.%09ld %.256s", api->label, major, minor, path,
             (long long)file.st_size, (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec,
             simulator_compiler ? simulator_compiler() : "");
}

int kt_rtc_resolve(struct kt_rtc_api *out, void *library, enum kt_rtc_vendor vendor, const char *name)
{
    struct kt_rtc_api api = {.label = vendor == KT_RTC_AMD ? "hipRTC" : "NVRTC"};
    struct {
        const char *names[2];
        void **slot;
    } const functions[] = {
#define KT_RTC_ENTRY(field, nvidia, amd, parameters) {{#nvidia, #amd}, (void **)(void *)&api.field},
        KT_RTC_FUNCTIONS(KT_RTC_ENTRY) KT_RTC_TEXT_FUNCTIONS(KT_RTC_ENTRY)
#undef KT_RTC_ENTRY
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        const char *function = functions[i].names[vendor];
        *functions[i].slot = dlsym(library, function);
        if (*functions[i].slot == NULL)
            return kt_fail(KTRACE_ERROR_UNSUPPORTED, "%s has no %s: %s is needed", name, function,
                           vendor == KT_RTC_AMD ? "hipRTC of HIP 5 or newer" : "NVRTC of CUDA 11.2 or newer");
    }
    identify(&api, library);
    *out = api;
    return KTRACE_OK;
}
