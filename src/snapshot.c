#include "snapshot.h"

#include "array.h"

struct kt_snapshot *kt_snapshot_new(void)
{
    struct kt_snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (snapshot) {
        snapshot->name = strdup("");
        snapshot->warning = strdup("");
        snapshot->processes = calloc(1, sizeof *snapshot->processes);
        snapshot->process_count = snapshot->processes != NULL;
        snapshot->timeline_begins_ns = calloc(1, sizeof *snapshot->timeline_begins_ns);
        snapshot->timeline_count = 1;
        if (snapshot->name && snapshot->warning && snapshot->processes && snapshot->timeline_begins_ns &&
            kt_process_init(snapshot->processes) == 0)
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
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        free(snapshot->devices[i].anchors);
        free(snapshot->devices[i].name);
    }
    for (uint32_t i = 0; i < snapshot->process_count; i++)
        kt_process_free(&snapshot->processes[i]);
    free(snapshot->timeline_begins_ns);
    free(snapshot->processes);
    free(snapshot->modules);
    free(snapshot->devices);
    free(snapshot->slots);
    free(snapshot->rings);
    free(snapshot->waves);
    free(snapshot->warning);
    free(snapshot->name);
    free(snapshot);
}

struct kt_device *kt_snapshot_add_device(struct kt_snapshot *snapshot, const char *name)
{
    const size_t bytes = ((size_t)snapshot->device_count + 1) * sizeof *snapshot->devices;
    char *copy = strdup(name);
    struct kt_device *devices = copy ? realloc(snapshot->devices, bytes) : NULL;
    if (!devices) {
        free(copy);
        kt_fail_memory(copy ? bytes : strlen(name) + 1);
        return NULL;
    }
    snapshot->devices = devices;
    devices += snapshot->device_count++;
    *devices = (struct kt_device){.name = copy};
    return devices;
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
