/* registry.h - the modules that this process knows of, and the lock that guards captures and modules together. */
#ifndef KT_REGISTRY_H
#define KT_REGISTRY_H

#include "ktrace/ktrace.h"

/* A module is a registered translation unit or a driver module; the other pointer is NULL. */
struct kt_registry_entry {
    struct kt_registry_entry *next;
    struct ktrace_registration *registration;
    void *driver_module;
};

/* One lock for the registry and the open capture: recording sides never take it. */
void kt_registry_lock(void);
void kt_registry_unlock(void);

/* With the lock held. */
struct kt_registry_entry *kt_registry_first(void);

/* Set by the open capture, so that it hears of modules that come and go; NULL when there is none. Both are called with the
 * lock held. `added` may fail: then the module is not added. */
struct kt_registry_listener {
    int (*added)(struct kt_registry_listener *listener, struct kt_registry_entry *entry);
    /* `unloaded`: its device memory can no longer be written. */
    void (*removed)(struct kt_registry_listener *listener, struct kt_registry_entry *entry, int unloaded);
};
void kt_registry_listen(struct kt_registry_listener *listener);

#endif
