#include "arming.h"

#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "modules.h"

/* What the module was compiled with stays: the host writes behind it. */
#define MODE_OFFSET offsetof(struct ktrace_control, mode)
#define REST_OFFSET (MODE_OFFSET + sizeof(uint32_t))
#define ROOM_OFFSET offsetof(struct ktrace_control, regions_per_partition)

static int write_mode(struct kt_arming *arming, const struct kt_armed_module *armed, uint32_t mode)
{
    return arming->backend->ops->to_device(arming->backend, armed->control + MODE_OFFSET, &mode, sizeof mode);
}

/* The mode and the room, each of which says that the module is dormant: a wave's view of the block may be older in part. The
 * rest stays, as waves that are inside still need it. */
static int make_dormant(struct kt_arming *arming, const struct kt_armed_module *armed)
{
    const uint32_t none = 0;
    const int status = write_mode(arming, armed, KTRACE_MODE_DORMANT);
    const int second =
        arming->backend->ops->to_device(arming->backend, armed->control + ROOM_OFFSET, &none, sizeof none);
    return status < 0 ? status : second;
}

/* Everything else first: a kernel that starts meanwhile sees a module that is dormant, or whole. */
static int arm(struct kt_arming *arming, const struct kt_armed_module *armed)
{
    struct ktrace_control control = arming->control;
    control.module = armed->module.number;
    const int status =
        arming->backend->ops->to_device(arming->backend, armed->control + REST_OFFSET,
                                        (const unsigned char *)&control + REST_OFFSET, sizeof control - REST_OFFSET);
    return status < 0 ? status : write_mode(arming, armed, control.mode);
}

static int find_control(uint64_t *control, struct kt_arming *arming, const struct kt_registry_entry *entry)
{
    return entry->driver_module
               ? arming->backend->ops->module_control(control, arming->backend, entry->driver_module)
               : arming->backend->ops->registered_control(control, arming->backend, entry->registration);
}

/* Its memory can be written. */
static int is_loaded(const struct kt_armed_module *armed)
{
    return armed->entry && !kt_registry_is_gone(armed->entry);
}

static int is_armed(const struct kt_arming *arming, const struct kt_registry_entry *entry)
{
    for (uint32_t i = 0; i < arming->count; i++)
        if (arming->modules[i].entry == entry)
            return 1;
    return 0;
}

/* Units linked with -rdc=true share one control block. */
static int shares_control(const struct kt_arming *arming, uint64_t control)
{
    for (uint32_t i = 0; i < arming->count; i++)
        if (is_loaded(&arming->modules[i]) && arming->modules[i].control == control)
            return 1;
    return 0;
}

int kt_arming_add(struct kt_arming *arming, const struct kt_registry_entry *entry)
{
    const int elsewhere = entry->owner && arming->backend->owner && entry->owner != arming->backend->owner;
    if (entry->arch != arming->arch || elsewhere)
        return KTRACE_OK;
    uint64_t control = 0;
    int status = find_control(&control, arming, entry);
    if (status < 0)
        return status;
    if (shares_control(arming, control))
        return KTRACE_OK;
    struct kt_armed_module *modules = realloc(arming->modules, (arming->count + 1) * sizeof *modules);
    if (modules == NULL)
        return kt_fail_memory((arming->count + 1) * sizeof *modules);
    arming->modules = modules;
    struct kt_armed_module armed = {.control = control, .entry = entry};
    status = kt_module_read(&armed.module, arming->backend, arming->arch, control, *arming->next_number + 1);
    if (status < 0)
        return status;
    status = arm(arming, &armed);
    if (status < 0) {
        kt_module_free(&armed.module);
        return status;
    }
    modules[arming->count++] = armed;
    ++*arming->next_number;
    return KTRACE_OK;
}

int kt_arming_update(struct kt_arming *arming)
{
    arming->problem[0] = 0;
    for (const struct kt_registry_entry *entry = kt_registry_first(); entry; entry = kt_registry_next(entry)) {
        if (kt_registry_is_gone(entry) || is_armed(arming, entry))
            continue;
        const int status = kt_arming_add(arming, entry);
        if (status == KTRACE_ERROR_MEMORY)
            return status;
        if (status < 0)
            snprintf(arming->problem, sizeof arming->problem, "%s", ktrace_last_error());
    }
    return KTRACE_OK;
}

void kt_arming_remove(struct kt_arming *arming, const struct kt_registry_entry *entry)
{
    for (uint32_t i = 0; i < arming->count; i++) {
        struct kt_armed_module *armed = &arming->modules[i];
        if (armed->entry != entry)
            continue;
        make_dormant(arming, armed);
        armed->entry = NULL;
    }
}

int kt_arming_disarm(struct kt_arming *arming)
{
    int first_status = KTRACE_OK;
    for (uint32_t i = 0; i < arming->count; i++) {
        if (!is_loaded(&arming->modules[i]))
            continue;
        const int status = make_dormant(arming, &arming->modules[i]);
        if (first_status == KTRACE_OK)
            first_status = status;
    }
    return first_status;
}

int kt_arming_rearm(struct kt_arming *arming)
{
    int first_status = KTRACE_OK;
    for (uint32_t i = 0; i < arming->count; i++) {
        if (!is_loaded(&arming->modules[i]))
            continue;
        const int status = arm(arming, &arming->modules[i]);
        if (first_status == KTRACE_OK)
            first_status = status;
    }
    return first_status;
}

void kt_arming_free(struct kt_arming *arming)
{
    for (uint32_t i = 0; i < arming->count; i++)
        kt_module_free(&arming->modules[i].module);
    free(arming->modules);
    arming->modules = NULL;
    arming->count = 0;
}
