/* registry.h - the modules that this process knows of. locks.h says who takes which lock. */
#ifndef KT_REGISTRY_H
#define KT_REGISTRY_H

#include "ktrace/ktrace.h"

/* A module is a registered translation unit or a driver module; the other pointer is NULL. */
struct kt_registry_entry {
    struct kt_registry_entry *next;
    struct ktrace_registration *registration;
    void *driver_module;
    uint64_t owner; /* of driver_module: see struct kt_backend; else 0 */
    uint32_t arch;  /* KTRACE_ARCH_NVIDIA: CUDA's, KTRACE_ARCH_AMDGCN: HIP's */
    int gone;       /* atomic; not 0: unloaded, its device memory is not touched again */
};

/* With the state lock held, under which an entry once seen stays valid: unloading only marks it. */
struct kt_registry_entry *kt_registry_first(void);
struct kt_registry_entry *kt_registry_next(const struct kt_registry_entry *entry);
int kt_registry_is_gone(const struct kt_registry_entry *entry);
/* Frees the entries that are gone. With the state lock held and no capture open. */
void kt_registry_sweep(void);

/* How many modules are there of each. With the state lock held. */
void kt_registry_count(uint32_t *nvidia, uint32_t *amdgcn);

/* Set by the open capture, so that it hears of modules that are attached and detached; NULL when there is none. All with the
 * state lock held. `attached` may fail: then the module is not attached. */
struct kt_registry_listener {
    int (*attached)(struct kt_registry_listener *listener, struct kt_registry_entry *entry);
    void (*detached)(struct kt_registry_listener *listener, struct kt_registry_entry *entry);
};
void kt_registry_listen(struct kt_registry_listener *listener);

#endif
