#include "arming.h"

#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "modules.h"

/* What the module was compiled with stays: the host writes behind it. */
#define HOST_PART offsetof(struct ktrace_control, mode)

static int write_control(struct kt_arming *arming, const struct kt_armed_module *armed, uint32_t mode)
{
    struct ktrace_control control = arming->control;
    control.mode = mode;
    control.module = armed->module.number;
    return arming->backend->ops->to_device(arming->backend, armed->control + HOST_PART,
                                           (const unsigned char *)&control + HOST_PART, sizeof control - HOST_PART);
}

static int find_control(uint64_t *control, struct kt_arming *arming, const struct kt_registry_entry *entry)
{
    if (entry->driver_module)
        return arming->backend->ops->module_control(control, arming->backend, entry->driver_module);
    void *address = NULL;
    const int error = entry->registration->symbol_address(&address, entry->registration->symbol);
    if (error != 0)
        return kt_fail(
            KTRACE_ERROR_DEVICE,
            "%s: the CUDA runtime cannot load this object's kernels on the current device (error %d); was it "
            "compiled for this architecture?",
            entry->registration->file, error);
    *control = (uint64_t)(uintptr_t)address;
    return KTRACE_OK;
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
        if (arming->modules[i].entry && arming->modules[i].control == control)
            return 1;
    return 0;
}

int kt_arming_add(struct kt_arming *arming, const struct kt_registry_entry *entry)
{
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
    status = kt_module_read(&armed.module, arming->backend, control, arming->count + 1);
    if (status < 0)
        return status;
    status = write_control(arming, &armed, arming->control.mode);
    if (status < 0) {
        kt_module_free(&armed.module);
        return status;
    }
    modules[arming->count++] = armed;
    return KTRACE_OK;
}

int kt_arming_update(struct kt_arming *arming)
{
    for (const struct kt_registry_entry *entry = kt_registry_first(); entry; entry = entry->next) {
        if (is_armed(arming, entry))
            continue;
        const int status = kt_arming_add(arming, entry);
        if (status == KTRACE_ERROR_MEMORY)
            return status;
        if (status < 0)
            snprintf(arming->problem, sizeof arming->problem, "%s", ktrace_last_error());
    }
    return KTRACE_OK;
}

void kt_arming_remove(struct kt_arming *arming, const struct kt_registry_entry *entry, int unloaded)
{
    for (uint32_t i = 0; i < arming->count; i++) {
        struct kt_armed_module *armed = &arming->modules[i];
        if (armed->entry != entry)
            continue;
        if (!unloaded)
            write_control(arming, armed, KTRACE_MODE_DORMANT);
        armed->entry = NULL;
    }
}

int kt_arming_disarm(struct kt_arming *arming)
{
    int first_status = KTRACE_OK;
    for (uint32_t i = 0; i < arming->count; i++) {
        if (arming->modules[i].entry == NULL)
            continue;
        const int status = write_control(arming, &arming->modules[i], KTRACE_MODE_DORMANT);
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
