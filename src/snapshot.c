#include "snapshot.h"

#include "error.h"

#include <stdlib.h>
#include <string.h>

struct kt_snapshot *kt_snapshot_new(void)
{
    struct kt_snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (snapshot) {
        snapshot->name = strdup("");
        snapshot->device = strdup("");
        snapshot->warning = strdup("");
        if (snapshot->name && snapshot->device && snapshot->warning)
            return snapshot;
    }
    kt_fail_memory(sizeof *snapshot);
    kt_snapshot_destroy(snapshot);
    return NULL;
}

void kt_module_free(struct kt_module *module)
{
    for (uint32_t i = 0; module->sites && i < module->site_count; i++) {
        free(module->sites[i].name);
        free(module->sites[i].file);
    }
    free(module->sites);
    *module = (struct kt_module){0};
}

void kt_snapshot_destroy(struct kt_snapshot *snapshot)
{
    if (!snapshot)
        return;
    for (uint64_t i = 0; snapshot->modules && i < snapshot->module_count; i++)
        kt_module_free(&snapshot->modules[i]);
    free(snapshot->modules);
    free(snapshot->anchors);
    free(snapshot->slots);
    free(snapshot->rings);
    free(snapshot->waves);
    free(snapshot->warning);
    free(snapshot->device);
    free(snapshot->name);
    free(snapshot);
}

const struct kt_site *kt_module_site(const struct kt_module *module, uint32_t control_offset, uint64_t id, int wide)
{
    uint64_t wanted = wide ? id : (id - control_offset) & 0xFFFF;
    uint32_t low = 0, high = module->site_count;
    wide = wide != 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct kt_site *site = &module->sites[middle];
        if (site->wide == wide && site->id == wanted)
            return site;
        if (site->wide < wide || (site->wide == wide && site->id < wanted))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct kt_module *kt_snapshot_module(const struct kt_snapshot *snapshot, uint32_t number)
{
    uint64_t low = 0, high = snapshot->module_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct kt_module *module = &snapshot->modules[middle];
        if (module->number == number)
            return module;
        if (module->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
