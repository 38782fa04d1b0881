/* arming.h - the modules of one capture: found, read, armed, disarmed. All with the state lock held. */
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
    uint32_t arch;                 /* modules of another are left alone */
    struct ktrace_control control; /* what every module gets, but for its number */
    uint32_t *next_number;         /* of modules, of all captures of the process: the latest that was given */
    struct kt_armed_module *modules;
    uint32_t count;
    char problem[512]; /* of the last update: why the last module that could not be armed was left out; "" */
};

/* Arms every known module that is not armed yet. One that cannot be is left out and named in `problem`; only memory that
 * runs out is returned. */
int kt_arming_update(struct kt_arming *arming);
/* Arms again what kt_arming_disarm disarmed. The first failure is returned, the rest is still done. */
int kt_arming_rearm(struct kt_arming *arming);
/* Arms one attached module. One of another device is left alone. */
int kt_arming_add(struct kt_arming *arming, const struct kt_registry_entry *entry);
/* Makes one module dormant, before it is unloaded. */
void kt_arming_remove(struct kt_arming *arming, const struct kt_registry_entry *entry);
/* Makes every module dormant. The first failure is returned, the rest is still done. */
int kt_arming_disarm(struct kt_arming *arming);
void kt_arming_free(struct kt_arming *arming);

#endif
