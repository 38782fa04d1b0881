/* arming.h - the modules of one capture: found, read, armed, disarmed. All with the registry's lock held. */
#ifndef KT_ARMING_H
#define KT_ARMING_H

#include "backend/backend.h"
#include "registry.h"

struct kt_armed_module {
    uint64_t control;                      /* device address */
    const struct kt_registry_entry *entry; /* NULL once it was removed: its sites stay, its memory is not touched */
    struct kt_module module;
};

struct kt_arming {
    struct kt_backend *backend;
    struct ktrace_control control; /* what every module gets, but for its number */
    struct kt_armed_module *modules;
    uint32_t count;
    char problem[256]; /* why the last module that could not be armed was left out; "" */
};

/* Arms every known module that is not armed yet. A registered unit that the device cannot load is left out and named in
 * `problem`; other failures are returned. */
int kt_arming_update(struct kt_arming *arming);
/* Arms one attached module. */
int kt_arming_add(struct kt_arming *arming, const struct kt_registry_entry *entry);
void kt_arming_remove(struct kt_arming *arming, const struct kt_registry_entry *entry, int unloaded);
/* Makes every module dormant. The first failure is returned, the rest is still done. */
int kt_arming_disarm(struct kt_arming *arming);
void kt_arming_free(struct kt_arming *arming);

#endif
