#include "registry.h"

#include <stdlib.h>

#include "backend/cuda_modules.h"
#include "backend/hip_modules.h"
#include "error.h"
#include "locks.h"
#include "process_wide.h"
#include "record_session.h"

static struct kt_registry_entry *first;        /* grows at its end, under the list lock */
static struct kt_registry_listener *listening; /* under the state lock */

struct kt_registry_entry *kt_registry_first(void)
{
    return __atomic_load_n(&first, __ATOMIC_ACQUIRE);
}

struct kt_registry_entry *kt_registry_next(const struct kt_registry_entry *entry)
{
    return __atomic_load_n(&entry->next, __ATOMIC_ACQUIRE);
}

int kt_registry_is_gone(const struct kt_registry_entry *entry)
{
    return __atomic_load_n(&entry->gone, __ATOMIC_ACQUIRE);
}

static void mark_gone(struct kt_registry_entry *entry)
{
    __atomic_store_n(&entry->gone, 1, __ATOMIC_RELEASE);
}

void kt_registry_listen(struct kt_registry_listener *listener)
{
    listening = listener;
}

void kt_registry_sweep(void)
{
    kt_list_lock();
    struct kt_registry_entry **link = &first;
    while (*link) {
        struct kt_registry_entry *entry = *link;
        if (kt_registry_is_gone(entry)) {
            *link = entry->next;
            free(entry);
        } else {
            link = &entry->next;
        }
    }
    kt_list_unlock();
}

void kt_registry_count(uint32_t *nvidia, uint32_t *amdgcn)
{
    *nvidia = *amdgcn = 0;
    for (const struct kt_registry_entry *entry = kt_registry_first(); entry; entry = kt_registry_next(entry))
        if (!kt_registry_is_gone(entry))
            ++*(entry->arch == KTRACE_ARCH_AMDGCN ? amdgcn : nvidia);
}

/* With the list lock held. */
static struct kt_registry_entry *find(const struct ktrace_registration *registration, const void *driver_module)
{
    struct kt_registry_entry *entry = first;
    while (entry &&
           (kt_registry_is_gone(entry) || entry->registration != registration || entry->driver_module != driver_module))
        entry = entry->next;
    return entry;
}

/* Adds it at the end: modules are numbered in the order in which they came. `*out` is what was there before, or new. */
static int add(struct kt_registry_entry **out, struct ktrace_registration *registration, void *driver_module,
               uint64_t owner, uint32_t arch)
{
    struct kt_registry_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return kt_fail_memory(sizeof *entry);
    entry->registration = registration;
    entry->driver_module = driver_module;
    entry->owner = owner;
    entry->arch = arch;
    kt_list_lock();
    *out = find(registration, driver_module);
    if (*out == NULL) {
        struct kt_registry_entry **link = &first;
        while (*link)
            link = &(*link)->next;
        __atomic_store_n(link, entry, __ATOMIC_RELEASE);
        *out = entry;
    }
    kt_list_unlock();
    if (*out == entry)
        return KTRACE_OK;
    free(entry);
    return kt_fail(KTRACE_ERROR_STATE, "the module %p is attached already: detach it before unloading it",
                   driver_module);
}

/* Objects compiled with a header that knew of CUDA only have no `arch`. */
static uint32_t arch_of(const struct ktrace_registration *registration)
{
    const int has_arch =
        registration->struct_size >= offsetof(struct ktrace_registration, arch) + sizeof registration->arch;
    return has_arch && registration->arch ? registration->arch : (uint32_t)KTRACE_ARCH_NVIDIA;
}

/* From static constructors: the runtime may not know the object yet, so it is armed at the next begin, clear or read. Where
 * process-wide collection is asked for, that begins here, if the runtime does: nothing else may come before a kernel. */
void ktrace_register(struct ktrace_registration *registration)
{
    struct kt_registry_entry *entry;
    if (registration && registration->struct_size >= offsetof(struct ktrace_registration, arch))
        add(&entry, registration, NULL, 0, arch_of(registration));
    kt_process_wide_start();
}

/* From static destructors, which must not wait: an open capture finds the mark. */
void ktrace_unregister(struct ktrace_registration *registration)
{
    kt_list_lock();
    struct kt_registry_entry *entry = find(registration, NULL);
    if (entry)
        mark_gone(entry);
    kt_list_unlock();
}

static int attach(void *module, uint32_t arch, int (*check)(uint64_t *owner, void *module), const char *call)
{
    if (module == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "%s: the module is NULL", call);
    uint64_t owner = 0;
    int status = check(&owner, module);
    if (status < 0) {
        kt_record_say(KT_RECORD_NOTE, ktrace_last_error());
        return status;
    }
    struct kt_registry_entry *entry;
    kt_state_lock();
    status = add(&entry, NULL, module, owner, arch);
    if (status == KTRACE_OK && listening) {
        status = listening->attached(listening, entry);
        if (status < 0)
            mark_gone(entry);
    }
    kt_state_unlock();
    if (status == KTRACE_OK)
        kt_process_wide_start();
    return status;
}

static int detach(void *module, uint32_t arch)
{
    int status = KTRACE_OK;
    kt_state_lock();
    kt_list_lock();
    struct kt_registry_entry *entry = module ? find(NULL, module) : NULL;
    kt_list_unlock();
    if (entry == NULL || entry->arch != arch) {
        status = kt_fail(KTRACE_ERROR_NOT_FOUND, "the module %p is not attached", module);
    } else {
        if (listening)
            listening->detached(listening, entry);
        mark_gone(entry);
        if (listening == NULL)
            kt_registry_sweep();
    }
    kt_state_unlock();
    return status;
}

int ktrace_attach_cuda_module(void *module)
{
    return attach(module, KTRACE_ARCH_NVIDIA, kt_cuda_module_check, "ktrace_attach_cuda_module");
}

int ktrace_detach_cuda_module(void *module)
{
    return detach(module, KTRACE_ARCH_NVIDIA);
}

int ktrace_attach_hip_module(void *module)
{
    return attach(module, KTRACE_ARCH_AMDGCN, kt_hip_module_check, "ktrace_attach_hip_module");
}

int ktrace_detach_hip_module(void *module)
{
    return detach(module, KTRACE_ARCH_AMDGCN);
}
