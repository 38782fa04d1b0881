/* Two snapshots of one capture, or of several processes, become one. First everything that can fail, on the side; then the change itself, which cannot. */
#include "array.h"
#include "snapshot.h"

/* What a matched module or device of `from` becomes in `into`; NULL: it has nothing new. */
struct merged_sites {
    struct kt_site *sites;
    uint32_t count;
};
struct merged_anchors {
    struct kt_host_anchor *anchors;
    uint64_t count;
};

#define NEW UINT64_MAX

struct append {
    struct kt_snapshot *into, *from;
    const uint32_t *processes; /* one a process of `from`: its index in `into` */
    struct kt_process *joined; /* the same: what it becomes there */
    uint32_t *devices; /* one a device of `from`: its index in `into`, for a new one the one that it will have */
    uint64_t *modules; /* one a module of `from`: its index in `into`, or NEW */
    struct merged_sites *sites;     /* one a module of `from` */
    struct merged_anchors *anchors; /* one a device of `from` */
    char *warning;
};

/* ---- Are they of one capture? ----------------------------------------------------------------------------------- */

static int fail_apart(const char *what)
{
    return kt_fail(KTRACE_ERROR_ARGUMENT, "snapshots of two captures cannot become one: their %s differ", what);
}

static int match_devices(struct append *append)
{
    const struct kt_snapshot *into = append->into, *from = append->from;
    uint32_t next = into->device_count;
    for (uint32_t i = 0; i < from->device_count; i++) {
        const struct kt_device *device = &from->devices[i];
        const uint32_t process = append->processes[device->process];
        uint32_t k = 0;
        while (k < into->device_count &&
               (into->devices[k].ordinal != device->ordinal || into->devices[k].process != process))
            k++;
        if (k < into->device_count && strcmp(into->devices[k].name, device->name) != 0)
            return kt_fail(KTRACE_ERROR_ARGUMENT,
                           "snapshots of two captures cannot become one: device %u is \"%s\" in one and \"%s\" in the "
                           "other",
                           device->ordinal, into->devices[k].name, device->name);
        append->devices[i] = k < into->device_count ? k : next++;
    }
    return 0;
}

static int match_modules(struct append *append)
{
    const struct kt_snapshot *into = append->into, *from = append->from;
    for (uint64_t i = 0; i < from->module_count; i++) {
        const struct kt_module *module = &from->modules[i], *known = kt_snapshot_module(into, module->number);
        if (module->device >= from->device_count)
            return kt_fail(KTRACE_ERROR_ARGUMENT, "module %u is of a device that is not in its snapshot",
                           module->number);
        if (known && known->device != append->devices[module->device])
            return kt_fail(KTRACE_ERROR_ARGUMENT, "module %u cannot be of two devices", module->number);
        append->modules[i] = known ? (uint64_t)(known - into->modules) : NEW;
    }
    return 0;
}

static int match_processes(const struct append *append)
{
    const struct kt_snapshot *into = append->into, *from = append->from;
    uint32_t next = into->process_count;
    for (uint32_t i = 0; i < from->process_count; i++) {
        const struct kt_process *process = &from->processes[i];
        if (append->processes[i] >= into->process_count) {
            if (append->processes[i] != next++)
                return kt_fail(KTRACE_ERROR_ARGUMENT, "new processes are not counted on");
            continue;
        }
        const struct kt_process *known = &into->processes[append->processes[i]];
        if (known->main_ring_slots != process->main_ring_slots || known->lane_ring_slots != process->lane_ring_slots)
            return fail_apart("ring sizes");
    }
    return 0;
}

static int match(struct append *append)
{
    const struct kt_snapshot *into = append->into, *from = append->from;
    if (into->arch != from->arch)
        return fail_apart("architectures");
    int status = match_processes(append);
    if (status < 0)
        return status;
    if (into->wave_count + from->wave_count >= UINT32_MAX)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "a trace of 2^32 waves or more cannot be made");
    status = match_devices(append);
    return status < 0 ? status : match_modules(append);
}

/* ---- What is made on the side ----------------------------------------------------------------------------------- */

static int compare_sites(const struct kt_site *a, const struct kt_site *b)
{
    if (a->wide != b->wide)
        return a->wide < b->wide ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* Sites of `known` and what `more` has beyond, in order. The strings stay where they are. */
static int merge_sites(struct merged_sites *out, const struct kt_module *known, const struct kt_module *more)
{
    uint32_t k = 0, m = 0, count = 0;
    struct kt_site *sites = kt_array_new((size_t)known->site_count + more->site_count, sizeof *sites);
    if (!sites)
        return KTRACE_ERROR_MEMORY;
    while (k < known->site_count || m < more->site_count) {
        int order = m == more->site_count    ? -1
                    : k == known->site_count ? 1
                                             : compare_sites(&known->sites[k], &more->sites[m]);
        sites[count++] = order <= 0 ? known->sites[k] : more->sites[m];
        k += order <= 0;
        m += order >= 0;
    }
    *out = (struct merged_sites){sites, count};
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct kt_host_anchor *a = left, *b = right;
    if (a->host_before_ns != b->host_before_ns)
        return a->host_before_ns < b->host_before_ns ? -1 : 1;
    if (a->host_after_ns != b->host_after_ns)
        return a->host_after_ns < b->host_after_ns ? -1 : 1;
    return (a->device_ns > b->device_ns) - (a->device_ns < b->device_ns);
}

static int merge_anchors(struct merged_anchors *out, const struct kt_device *known, const struct kt_device *more)
{
    uint64_t all = known->anchor_count + more->anchor_count, count = 0;
    struct kt_host_anchor *anchors = kt_array_new((size_t)all, sizeof *anchors);
    if (!anchors)
        return KTRACE_ERROR_MEMORY;
    if (known->anchor_count)
        memcpy(anchors, known->anchors, known->anchor_count * sizeof *anchors);
    if (more->anchor_count)
        memcpy(anchors + known->anchor_count, more->anchors, more->anchor_count * sizeof *anchors);
    qsort(anchors, (size_t)all, sizeof *anchors, by_time);
    for (uint64_t i = 0; i < all; i++)
        if (count == 0 || by_time(&anchors[count - 1], &anchors[i]) != 0)
            anchors[count++] = anchors[i];
    *out = (struct merged_anchors){anchors, count};
    return 0;
}

static int merge_warnings(char **out, const char *known, const char *more)
{
    const int both = *known && *more && !strstr(known, more);
    size_t bytes = strlen(known) + strlen(more) + 3;
    *out = kt_array_new(bytes, 1);
    if (!*out)
        return KTRACE_ERROR_MEMORY;
    strcpy(*out, *known ? known : more);
    if (both) {
        strcat(*out, "; ");
        strcat(*out, more);
    }
    return 0;
}

/* Room for `more` items behind the `count` that `items`, the address of a pointer, has: what is there stays, and no more is
 * taken, as the largest of these hold most of a capture. */
static int make_room(void *items, uint64_t count, uint64_t more, size_t item_bytes)
{
    void *old, *grown = NULL;
    size_t bytes;
    if (more == 0)
        return 0;
    memcpy(&old, items, sizeof old);
    if (__builtin_add_overflow(count, more, &count) || __builtin_mul_overflow(count, item_bytes, &bytes))
        bytes = SIZE_MAX;
    else
        grown = realloc(old, bytes);
    if (!grown)
        return kt_fail_memory(bytes);
    memcpy(items, &grown, sizeof grown);
    return 0;
}

static int prepare_processes(struct append *append)
{
    const struct kt_snapshot *into = append->into, *from = append->from;
    int status = 0;
    for (uint32_t i = 0; i < from->process_count && status == 0; i++) {
        const uint32_t index = append->processes[i];
        if (index >= into->process_count) {
            status = kt_process_copy(&append->joined[i], &from->processes[i]);
            continue;
        }
        status = kt_process_copy(&append->joined[i], &into->processes[index]);
        if (status == 0)
            status = kt_process_join(&append->joined[i], &from->processes[i]);
    }
    return status;
}

static int prepare(struct append *append)
{
    struct kt_snapshot *into = append->into;
    const struct kt_snapshot *from = append->from;
    /* Why one of them is empty is no word of the whole that is not. */
    const int keep_first = into->wave_count || !from->wave_count, keep_second = from->wave_count || !into->wave_count;
    int status = merge_warnings(&append->warning, keep_first ? into->warning : "", keep_second ? from->warning : "");
    for (uint64_t i = 0; i < from->module_count && status == 0; i++)
        if (append->modules[i] != NEW)
            status = merge_sites(&append->sites[i], &into->modules[append->modules[i]], &from->modules[i]);
    for (uint32_t i = 0; i < from->device_count && status == 0; i++)
        if (append->devices[i] < into->device_count)
            status = merge_anchors(&append->anchors[i], &into->devices[append->devices[i]], &from->devices[i]);
    if (status == 0)
        status = prepare_processes(append);
    if (status == 0)
        status = make_room(&into->processes, into->process_count, from->process_count, sizeof *into->processes);
    if (status == 0)
        status = make_room(&into->devices, into->device_count, from->device_count, sizeof *into->devices);
    if (status == 0)
        status = make_room(&into->modules, into->module_count, from->module_count, sizeof *into->modules);
    if (status == 0)
        status = make_room(&into->waves, into->wave_count, from->wave_count, sizeof *into->waves);
    if (status == 0)
        status = make_room(&into->rings, into->ring_count, from->ring_count, sizeof *into->rings);
    if (status == 0)
        status = make_room(&into->slots, into->slot_count, from->slot_count, sizeof *into->slots);
    return status;
}

/* ---- The change ------------------------------------------------------------------------------------------------- */

static void set_process(struct append *append, uint32_t index)
{
    struct kt_snapshot *into = append->into;
    struct kt_process *process = &into->processes[append->processes[index]];
    if (append->processes[index] == into->process_count)
        into->process_count++;
    else
        kt_process_free(process);
    *process = append->joined[index];
    append->joined[index] = (struct kt_process){.pid = 0};
}

static void add_device(struct append *append, uint32_t index)
{
    struct kt_snapshot *into = append->into;
    struct kt_device *device = &append->from->devices[index];
    into->waves_dropped += device->waves_dropped;
    into->waves_filtered += device->waves_filtered;
    if (append->devices[index] == into->device_count) {
        into->regions += device->regions;
        into->devices[into->device_count] = *device;
        into->devices[into->device_count++].process = append->processes[device->process];
        device->name = NULL;
        device->anchors = NULL;
        return;
    }
    struct kt_device *known = &into->devices[append->devices[index]];
    known->waves_dropped += device->waves_dropped;
    known->waves_filtered += device->waves_filtered;
    free(known->anchors);
    known->anchors = append->anchors[index].anchors;
    known->anchor_count = append->anchors[index].count;
    append->anchors[index].anchors = NULL;
}

/* `from` keeps the sites that both had. */
static void add_module(struct append *append, uint64_t index)
{
    struct kt_snapshot *into = append->into;
    struct kt_module *module = &append->from->modules[index];
    if (append->modules[index] == NEW) {
        into->modules[into->module_count] = *module;
        into->modules[into->module_count++].device = append->devices[module->device];
        *module = (struct kt_module){0};
        return;
    }
    struct kt_module *known = &into->modules[append->modules[index]];
    uint32_t kept = 0;
    for (uint32_t m = 0, k = 0; m < module->site_count; m++) {
        while (k < known->site_count && compare_sites(&known->sites[k], &module->sites[m]) < 0)
            k++;
        if (k < known->site_count && compare_sites(&known->sites[k], &module->sites[m]) == 0)
            module->sites[kept++] = module->sites[m];
    }
    module->site_count = kept;
    free(known->sites);
    known->sites = append->sites[index].sites;
    known->site_count = append->sites[index].count;
    append->sites[index].sites = NULL;
}

static int by_number(const void *left, const void *right)
{
    const struct kt_module *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static void change(struct append *append)
{
    struct kt_snapshot *into = append->into, *from = append->from;
    for (uint32_t i = 0; i < from->process_count; i++)
        set_process(append, i);
    for (uint32_t i = 0; i < from->device_count; i++)
        add_device(append, i);
    for (uint64_t i = 0; i < from->module_count; i++)
        add_module(append, i);
    if (into->module_count)
        qsort(into->modules, (size_t)into->module_count, sizeof *into->modules, by_number);
    for (uint64_t i = 0; i < from->ring_count; i++) {
        struct kt_ring *ring = &into->rings[into->ring_count++];
        *ring = from->rings[i];
        ring->wave += (uint32_t)into->wave_count;
        ring->first_slot += into->slot_count;
    }
    if (from->wave_count)
        memcpy(into->waves + into->wave_count, from->waves, from->wave_count * sizeof *into->waves);
    if (from->slot_count)
        memcpy(into->slots + into->slot_count, from->slots, from->slot_count * sizeof *into->slots);
    into->flags |= from->flags;
    into->taken_ns = into->taken_ns > from->taken_ns ? into->taken_ns : from->taken_ns;
    into->wave_count += from->wave_count;
    into->slot_count += from->slot_count;
    free(into->warning);
    into->warning = append->warning;
    append->warning = NULL;
}

int kt_snapshot_append_processes(struct kt_snapshot *into, struct kt_snapshot *from, const uint32_t *processes)
{
    struct append append = {.into = into, .from = from, .processes = processes};
    append.joined = kt_array_new_zeroed(from->process_count, sizeof *append.joined);
    append.devices = kt_array_new(from->device_count, sizeof *append.devices);
    append.modules = kt_array_new((size_t)from->module_count, sizeof *append.modules);
    append.sites = kt_array_new_zeroed((size_t)from->module_count, sizeof *append.sites);
    append.anchors = kt_array_new_zeroed(from->device_count, sizeof *append.anchors);
    int status = KTRACE_ERROR_MEMORY;
    if (append.joined && append.devices && append.modules && append.sites && append.anchors)
        status = match(&append);
    if (status == 0)
        status = prepare(&append);
    if (status == 0)
        change(&append);
    for (uint64_t i = 0; append.sites && i < from->module_count; i++)
        free(append.sites[i].sites);
    for (uint32_t i = 0; append.anchors && i < from->device_count; i++)
        free(append.anchors[i].anchors);
    for (uint32_t i = 0; append.joined && i < from->process_count; i++)
        kt_process_free(&append.joined[i]);
    free(append.joined);
    free(append.warning);
    free(append.anchors);
    free(append.sites);
    free(append.modules);
    free(append.devices);
    if (status == 0)
        kt_snapshot_destroy(from);
    return status;
}

int kt_snapshot_append(struct kt_snapshot *into, struct kt_snapshot *from)
{
    static const uint32_t only[1] = {0};
    if (into->process_count != 1 || from->process_count != 1)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "snapshots of several processes are merged, not appended");
    return kt_snapshot_append_processes(into, from, only);
}
