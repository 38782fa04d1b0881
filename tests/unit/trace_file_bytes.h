/* trace_file_bytes.h - .ktrace files as bytes: saved, changed, repaired, and what is said of them. For the tests of trace_file.h. */
#ifndef TRACE_FILE_BYTES_H
#define TRACE_FILE_BYTES_H

#include "trace_file.h"

#include "../fuzz/repair.h"
#include "build_snapshot.h"
#include "error.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[128];

static inline int make_folder(void **state)
{
    (void)state;
    return make_scratch(folder, sizeof folder);
}

static inline int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails where a test, or a temporary file, left something */
}

static inline const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Memory of exactly the right length, so that a sanitizer sees a read past the end. */
struct bytes {
    uint8_t *data;
    size_t count;
};

static inline struct bytes copy_of(const void *data, size_t count)
{
    struct bytes copy = {malloc(count ? count : 1), count};
    assert_non_null(copy.data);
    if (count)
        memcpy(copy.data, data, count);
    return copy;
}

static inline struct bytes saved(const struct kt_snapshot *snapshot)
{
    const char *path = path_of("saved.ktrace");
    assert_int_equal(kt_snapshot_save(snapshot, path), 0);
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    struct stat status;
    assert_int_equal(fstat(fileno(stream), &status), 0);
    struct bytes file = {malloc((size_t)status.st_size), (size_t)status.st_size};
    assert_int_equal(fread(file.data, 1, file.count, stream), file.count);
    fclose(stream);
    unlink(path);
    return file;
}

static inline void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, bytes, stream), bytes);
    assert_int_equal(fclose(stream), 0);
}

static inline bool same_bytes(const void *a, const void *b, uint64_t bytes)
{
    return bytes == 0 || memcmp(a, b, (size_t)bytes) == 0;
}

static inline bool same_modules(const struct kt_snapshot *a, const struct kt_snapshot *b)
{
    if (a->module_count != b->module_count)
        return false;
    for (uint64_t i = 0; i < a->module_count; i++) {
        const struct kt_module *x = &a->modules[i], *y = &b->modules[i];
        if (x->number != y->number || x->device != y->device || x->site_count != y->site_count)
            return false;
        for (uint32_t k = 0; k < x->site_count; k++) {
            const struct kt_site *s = &x->sites[k], *t = &y->sites[k];
            if (s->id != t->id || s->line != t->line || s->kind != t->kind || s->payload_type != t->payload_type ||
                s->wide != t->wide || strcmp(s->name, t->name) != 0 || strcmp(s->file, t->file) != 0)
                return false;
        }
    }
    return true;
}

static inline bool same_rings(const struct kt_snapshot *a, const struct kt_snapshot *b)
{
    if (a->ring_count != b->ring_count)
        return false;
    for (uint64_t i = 0; i < a->ring_count; i++) {
        const struct kt_ring *x = &a->rings[i], *y = &b->rings[i];
        if (x->wave != y->wave || x->lane != y->lane || x->whole != y->whole || x->slot_count != y->slot_count ||
            !same_bytes(a->slots + x->first_slot, b->slots + y->first_slot, (uint64_t)x->slot_count * sizeof *a->slots))
            return false;
    }
    return true;
}

static inline bool same_devices(const struct kt_snapshot *a, const struct kt_snapshot *b)
{
    if (a->device_count != b->device_count)
        return false;
    for (uint32_t i = 0; i < a->device_count; i++) {
        const struct kt_device *x = &a->devices[i], *y = &b->devices[i];
        if (strcmp(x->name, y->name) != 0 || x->ordinal != y->ordinal || x->process != y->process ||
            memcmp(x->identity.uuid, y->identity.uuid, sizeof x->identity.uuid) != 0 ||
            strcmp(x->identity.pci_bus_id, y->identity.pci_bus_id) != 0 || x->places != y->places ||
            x->clock_khz != y->clock_khz || x->wall_tick_ns != y->wall_tick_ns || x->capability != y->capability ||
            x->regions != y->regions || x->waves_dropped != y->waves_dropped ||
            x->waves_filtered != y->waves_filtered || x->anchor_count != y->anchor_count ||
            !same_bytes(x->anchors, y->anchors, x->anchor_count * sizeof *x->anchors))
            return false;
    }
    return true;
}

static inline bool same_origin(const struct kt_process *x, const struct kt_process *y)
{
    if (x->pid != y->pid || !same_bytes(x->id, y->id, sizeof x->id) || strcmp(x->label, y->label) != 0 ||
        strcmp(x->host, y->host) != 0 || strcmp(x->boot, y->boot) != 0 || strcmp(x->program, y->program) != 0 ||
        strcmp(x->version, y->version) != 0 || x->read_count != y->read_count || x->reading_count != y->reading_count ||
        !same_bytes(x->readings, y->readings, x->reading_count * sizeof *x->readings))
        return false;
    for (uint32_t i = 0; i < x->read_count; i++)
        if (x->reads[i].capture != y->reads[i].capture || x->reads[i].first != y->reads[i].first ||
            x->reads[i].last != y->reads[i].last || strcmp(x->reads[i].filter, y->reads[i].filter) != 0)
            return false;
    return true;
}

static inline bool same_processes(const struct kt_snapshot *a, const struct kt_snapshot *b)
{
    if (a->process_count != b->process_count || a->timeline_count != b->timeline_count ||
        !same_bytes(a->timeline_begins_ns, b->timeline_begins_ns, a->timeline_count * sizeof *a->timeline_begins_ns))
        return false;
    for (uint32_t i = 0; i < a->process_count; i++) {
        const struct kt_process *x = &a->processes[i], *y = &b->processes[i];
        if (!same_origin(x, y) || x->main_ring_slots != y->main_ring_slots ||
            x->lane_ring_slots != y->lane_ring_slots || x->buffer_bytes != y->buffer_bytes ||
            x->first_module != y->first_module || x->timeline != y->timeline || x->host_shift_ns != y->host_shift_ns ||
            x->host_shift_uncertainty_ns != y->host_shift_uncertainty_ns)
            return false;
    }
    return true;
}

static inline bool same_snapshots(const struct kt_snapshot *a, const struct kt_snapshot *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->warning, b->warning) == 0 && a->arch == b->arch &&
           a->flags == b->flags && same_processes(a, b) && a->taken_ns == b->taken_ns && a->regions == b->regions &&
           a->waves_dropped == b->waves_dropped && a->waves_filtered == b->waves_filtered &&
           a->wave_count == b->wave_count && same_bytes(a->waves, b->waves, a->wave_count * sizeof *a->waves) &&
           same_devices(a, b) && same_modules(a, b) && same_rings(a, b);
}

static inline void assert_loads(const struct kt_snapshot *expected, const void *data, size_t bytes)
{
    struct kt_snapshot *loaded;
    if (kt_snapshot_load(&loaded, data, bytes) < 0)
        fail_msg("%s", ktrace_last_error());
    assert_true(same_snapshots(expected, loaded));
    kt_snapshot_destroy(loaded);
}

static inline void assert_refused(int status, const char *part_of_sentence, const void *data, size_t bytes)
{
    struct kt_snapshot *loaded = NULL;
    assert_int_equal(kt_snapshot_load(&loaded, data, bytes), status);
    assert_null(loaded);
    if (!strstr(ktrace_last_error(), part_of_sentence))
        fail_msg("'%s' is not in: %s", part_of_sentence, ktrace_last_error());
}

/* Something of everything, about 10 KiB. */
static inline struct kt_snapshot *small_snapshot(void)
{
    struct kt_snapshot *snapshot = build_example(1, 1, 1);
    struct kt_device *device = &snapshot->devices[0];
    device->waves_dropped = snapshot->waves_dropped = 3;
    device->waves_filtered = snapshot->waves_filtered = 1ull << 40;
    device->anchor_count = 2;
    device->anchors = calloc(2, sizeof *device->anchors);
    device->anchors[0] = (struct kt_host_anchor){1000, 1010, 77};
    device->anchors[1] = (struct kt_host_anchor){UINT64_MAX, 0, 1};
    free(snapshot->warning);
    snapshot->warning = strdup("a \xCE\xBC and a \n");
    return snapshot;
}

static const uint32_t types[] = {KT_FILE_INFO,  KT_FILE_ANCHORS, KT_FILE_MODULES,
                                 KT_FILE_WAVES, KT_FILE_RINGS,   KT_FILE_SLOTS};

/* Offset of the header of the section with this type. */
static inline size_t section_of(const struct bytes *file, uint32_t type)
{
    struct kt_file_index index;
    assert_int_equal(kt_file_index_read(&index, file->data, file->count), 0);
    size_t offset = 0;
    for (uint32_t i = 0; i < index.section_count; i++)
        if (index.sections[i].type == type)
            offset = (size_t)index.sections[i].payload_offset - KT_FILE_SECTION_HEADER_BYTES;
    kt_file_index_free(&index);
    assert_int_not_equal(offset, 0);
    return offset;
}

/* The file with `value` put at `offset`, checksums made right: freed by the caller. */
static inline struct bytes changed(const struct bytes *file, size_t offset, uint64_t value, unsigned bytes)
{
    struct bytes copy = copy_of(file->data, file->count);
    repair_put(copy.data + offset, value, bytes);
    repair(copy.data, copy.count);
    return copy;
}

static inline void assert_change_refused(const struct bytes *file, size_t offset, uint64_t value, unsigned bytes,
                                         int status, const char *part_of_sentence)
{
    struct bytes copy = changed(file, offset, value, bytes);
    assert_refused(status, part_of_sentence, copy.data, copy.count);
    free(copy.data);
}

#endif
