#include "error.h"
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "modules.h"

/* NULL when memory ran out. */
static void *copy_of(const void *data, uint64_t count, size_t bytes)
{
    void *copy = malloc(count ? count * bytes : 1);
    if (copy && count)
        memcpy(copy, data, count * bytes);
    return copy;
}

static int copy_texts(struct kt_snapshot *out, const struct kt_snapshot *snapshot)
{
    free(out->name);
    free(out->warning);
    out->name = strdup(snapshot->name);
    out->warning = strdup(snapshot->warning);
    return out->name && out->warning ? KTRACE_OK : KTRACE_ERROR_MEMORY;
}

static int copy_processes(struct kt_snapshot *out, const struct kt_snapshot *snapshot)
{
    kt_process_free(out->processes);
    free(out->processes);
    free(out->timeline_begins_ns);
    out->process_count = 0;
    out->processes = calloc(snapshot->process_count, sizeof *out->processes);
    out->timeline_begins_ns =
        copy_of(snapshot->timeline_begins_ns, snapshot->timeline_count, sizeof *out->timeline_begins_ns);
    out->timeline_count = snapshot->timeline_count;
    if (out->processes == NULL || out->timeline_begins_ns == NULL)
        return KTRACE_ERROR_MEMORY;
    while (out->process_count < snapshot->process_count) {
        const uint32_t i = out->process_count++;
        if (kt_process_copy(&out->processes[i], &snapshot->processes[i]) < 0)
            return KTRACE_ERROR_MEMORY;
    }
    return KTRACE_OK;
}

static int copy_devices(struct kt_snapshot *out, const struct kt_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        const struct kt_device *from = &snapshot->devices[i];
        struct kt_device *device = kt_snapshot_add_device(out, from->name);
        if (device == NULL)
            return KTRACE_ERROR_MEMORY;
        char *name = device->name;
        *device = *from;
        device->name = name;
        device->anchors = copy_of(from->anchors, from->anchor_count, sizeof *from->anchors);
        if (device->anchors == NULL)
            return KTRACE_ERROR_MEMORY;
    }
    return KTRACE_OK;
}

static int copy_modules(struct kt_snapshot *out, const struct kt_snapshot *snapshot)
{
    out->modules = calloc(snapshot->module_count ? snapshot->module_count : 1, sizeof *out->modules);
    if (out->modules == NULL)
        return KTRACE_ERROR_MEMORY;
    for (; out->module_count < snapshot->module_count; out->module_count++)
        if (kt_module_copy(&out->modules[out->module_count], &snapshot->modules[out->module_count]) < 0)
            return KTRACE_ERROR_MEMORY;
    return KTRACE_OK;
}

static int copy_records(struct kt_snapshot *out, const struct kt_snapshot *snapshot)
{
    out->waves = copy_of(snapshot->waves, snapshot->wave_count, sizeof *out->waves);
    out->rings = copy_of(snapshot->rings, snapshot->ring_count, sizeof *out->rings);
    out->slots = copy_of(snapshot->slots, snapshot->slot_count, sizeof *out->slots);
    out->wave_count = snapshot->wave_count;
    out->ring_count = snapshot->ring_count;
    out->slot_count = snapshot->slot_count;
    return out->waves && out->rings && out->slots ? KTRACE_OK : KTRACE_ERROR_MEMORY;
}

int kt_snapshot_copy(struct kt_snapshot **out, const struct kt_snapshot *snapshot)
{
    struct kt_snapshot *copy = kt_snapshot_new();
    if (copy == NULL)
        return KTRACE_ERROR_MEMORY;
    copy->arch = snapshot->arch;
    copy->flags = snapshot->flags;
    copy->taken_ns = snapshot->taken_ns;
    copy->regions = snapshot->regions;
    copy->waves_dropped = snapshot->waves_dropped;
    copy->waves_filtered = snapshot->waves_filtered;
    if (copy_texts(copy, snapshot) < 0 || copy_processes(copy, snapshot) < 0 || copy_devices(copy, snapshot) < 0 ||
        copy_modules(copy, snapshot) < 0 || copy_records(copy, snapshot) < 0) {
        kt_snapshot_destroy(copy);
        return kt_fail_memory(snapshot->slot_count * sizeof *snapshot->slots);
    }
    *out = copy;
    return KTRACE_OK;
}
