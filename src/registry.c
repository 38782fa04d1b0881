#include "registry.h"

#include <pthread.h>
#include <stdlib.h>

#include "backend/cuda_modules.h"
#include "error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kt_registry_entry *first;
static struct kt_registry_listener *listening;

void kt_registry_lock(void)
{
    pthread_mutex_lock(&lock);
}

void kt_registry_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

struct kt_registry_entry *kt_registry_first(void)
{
    return first;
}

void kt_registry_listen(struct kt_registry_listener *listener)
{
    listening = listener;
}

static int add(struct ktrace_registration *registration, void *driver_module)
{
    struct kt_registry_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return kt_fail_memory(sizeof *entry);
    entry->registration = registration;
    entry->driver_module = driver_module;
    /* At the end: modules are numbered in the order in which they came. */
    struct kt_registry_entry **link = &first;
    while (*link)
        link = &(*link)->next;
    *link = entry;
    return KTRACE_OK;
}

static struct kt_registry_entry **find(const struct ktrace_registration *registration, const void *driver_module)
{
    struct kt_registry_entry **link = &first;
    while (*link && ((*link)->registration != registration || (*link)->driver_module != driver_module))
        link = &(*link)->next;
    return link;
}

static void unlink_entry(struct kt_registry_entry **link, int unloaded)
{
    struct kt_registry_entry *entry = *link;
    if (listening)
        listening->removed(listening, entry, unloaded);
    *link = entry->next;
    free(entry);
}

/* From static constructors: the runtime may not know the object yet, so it is armed at the next begin, clear or read. */
void ktrace_register(struct ktrace_registration *registration)
{
    kt_registry_lock();
    if (registration && registration->struct_size >= sizeof *registration && *find(registration, NULL) == NULL)
        add(registration, NULL);
    kt_registry_unlock();
}

void ktrace_unregister(struct ktrace_registration *registration)
{
    kt_registry_lock();
    struct kt_registry_entry **link = find(registration, NULL);
    if (*link)
        unlink_entry(link, 1);
    kt_registry_unlock();
}

int ktrace_attach_cuda_module(void *module)
{
    if (module == NULL)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_attach_cuda_module: the module is NULL");
    int status = kt_cuda_module_check(module);
    if (status < 0)
        return status;
    kt_registry_lock();
    struct kt_registry_entry **link = find(NULL, module);
    if (*link) {
        status =
            kt_fail(KTRACE_ERROR_STATE, "the module %p is attached already: detach it before unloading it", module);
    } else {
        status = add(NULL, module);
        link = find(NULL, module);
        if (status == KTRACE_OK && listening) {
            status = listening->added(listening, *link);
            if (status < 0)
                unlink_entry(link, 0);
        }
    }
    kt_registry_unlock();
    return status;
}

int ktrace_detach_cuda_module(void *module)
{
    int status = KTRACE_OK;
    kt_registry_lock();
    struct kt_registry_entry **link = find(NULL, module);
    if (module == NULL || *link == NULL)
        status = kt_fail(KTRACE_ERROR_NOT_FOUND, "the module %p is not attached", module);
    else
        unlink_entry(link, 0);
    kt_registry_unlock();
    return status;
}
