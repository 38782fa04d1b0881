/* What was read in pieces is what would have been read at once; and traces that several hold. */
#include "build_snapshot.h"
#include "failing_memory.h"
#include "trace.h"
#include "trace_file_bytes.h"

#include <pthread.h>

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

static struct kt_snapshot *copy_of_snapshot(const struct kt_snapshot *snapshot)
{
    struct kt_snapshot *copy;
    assert_int_equal(kt_snapshot_copy(&copy, snapshot), 0);
    return copy;
}

/* Waves from `first` to `end` with their rings and slots; modules, devices and anchors stay. */
static void keep_waves(struct kt_snapshot *snapshot, uint64_t first, uint64_t end)
{
    uint64_t rings = 0, slots = 0;
    struct ktrace_slot *kept = malloc((size_t)(snapshot->slot_count + 1) * sizeof *kept);
    assert_non_null(kept);
    for (uint64_t i = 0; i < snapshot->ring_count; i++) {
        struct kt_ring ring = snapshot->rings[i];
        const uint64_t stored = kt_ring_stored_slots(snapshot, &ring);
        if (ring.wave < first || ring.wave >= end)
            continue;
        memcpy(kept + slots, snapshot->slots + ring.first_slot, (size_t)stored * sizeof *kept);
        ring.wave -= (uint32_t)first;
        ring.first_slot = slots;
        slots += stored;
        snapshot->rings[rings++] = ring;
    }
    free(snapshot->slots);
    snapshot->slots = kept;
    snapshot->slot_count = slots;
    snapshot->ring_count = rings;
    if (end > first)
        memmove(snapshot->waves, snapshot->waves + first, (size_t)(end - first) * sizeof *snapshot->waves);
    snapshot->wave_count = end - first;
}

static void keep_anchors(struct kt_device *device, uint64_t first, uint64_t end)
{
    if (end > device->anchor_count)
        end = device->anchor_count;
    if (first >= end)
        first = end;
    memmove(device->anchors, device->anchors + first, (end - first) * sizeof *device->anchors);
    device->anchor_count = end - first;
}

static void forget_counts(struct kt_snapshot *snapshot)
{
    snapshot->waves_dropped = snapshot->waves_filtered = 0;
    for (uint32_t i = 0; i < snapshot->device_count; i++)
        snapshot->devices[i].waves_dropped = snapshot->devices[i].waves_filtered = 0;
}

/* Sites of NVIDIA modules that `keep` names by a bit each, over and over. */
static void keep_sites(struct kt_snapshot *snapshot, uint64_t keep)
{
    for (uint64_t m = 0; m < snapshot->module_count && snapshot->arch == KTRACE_ARCH_NVIDIA; m++) {
        struct kt_module *module = &snapshot->modules[m];
        uint32_t kept = 0;
        for (uint32_t s = 0; s < module->site_count; s++) {
            struct kt_site site = module->sites[s];
            if (keep >> s % 64 & 1) {
                module->sites[kept++] = site;
            } else {
                free(site.name);
                free(site.file);
            }
        }
        module->site_count = kept;
    }
}

static void keep_warning(struct kt_snapshot *snapshot, const char *warning)
{
    free(snapshot->warning);
    snapshot->warning = strdup(warning);
}

/* What was read up to wave `cut`, and what was read then: each with some of the anchors and of the sites. */
static void cut_at(struct kt_snapshot *parts[2], const struct kt_snapshot *whole, uint64_t cut)
{
    const uint64_t sites = cut * UINT64_C(0x9E3779B97F4A7C15) | 1;
    for (int i = 0; i < 2; i++)
        parts[i] = copy_of_snapshot(whole);
    keep_waves(parts[0], 0, cut);
    keep_waves(parts[1], cut, whole->wave_count);
    keep_sites(parts[0], sites);
    keep_sites(parts[1], ~sites | sites >> 7);
    for (uint32_t i = 0; i < whole->device_count; i++) {
        keep_anchors(&parts[0]->devices[i], 0, 2);
        keep_anchors(&parts[1]->devices[i], 1, UINT64_MAX);
    }
    forget_counts(parts[cut & 1]);
    keep_warning(parts[cut & 1], "");
}

/* The device `index` alone. */
static struct kt_snapshot *only_device(const struct kt_snapshot *whole, uint32_t index)
{
    struct kt_snapshot *part = copy_of_snapshot(whole);
    uint64_t first = 0, end;
    while (first < whole->wave_count && kt_snapshot_device_of(whole, &whole->waves[first]) != index)
        first++;
    for (end = first; end < whole->wave_count && kt_snapshot_device_of(whole, &whole->waves[end]) == index;)
        end++;
    keep_waves(part, first, end);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < part->module_count; i++) {
        if (part->modules[i].device == index) {
            part->modules[kept] = part->modules[i];
            part->modules[kept++].device = 0;
        } else {
            kt_module_free(&part->modules[i]);
        }
    }
    part->module_count = kept;
    struct kt_device device = part->devices[index];
    for (uint32_t i = 0; i < part->device_count; i++)
        if (i != index) {
            free(part->devices[i].name);
            free(part->devices[i].anchors);
        }
    part->devices[0] = device;
    part->device_count = 1;
    part->regions = device.regions;
    part->waves_dropped = device.waves_dropped;
    part->waves_filtered = device.waves_filtered;
    return part;
}

/* ---- Equality ---------------------------------------------------------------------------------------------------- */

/* As a file, and as everything that is made of it: times, launches, phases, tracks, payloads. */
static void assert_equal(const struct kt_snapshot *a, const struct kt_snapshot *b)
{
    struct bytes file_a = saved(a), file_b = saved(b);
    assert_int_equal(file_a.count, file_b.count);
    assert_memory_equal(file_a.data, file_b.data, file_a.count);
    struct ktrace_trace *traces[2];
    char *json[2];
    void *exported[2];
    size_t bytes[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kt_trace_from_snapshot(&traces[i], copy_of_snapshot(i ? b : a)), 0);
        assert_int_equal(ktrace_trace_summary_json(&json[i], traces[i]), 0);
        assert_int_equal(ktrace_trace_export_memory(&exported[i], &bytes[i], traces[i], "perfetto"), 0);
    }
    assert_string_equal(json[0], json[1]);
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(exported[0], exported[1], bytes[0]);
    for (int i = 0; i < 2; i++) {
        ktrace_trace_destroy(traces[i]);
        free(json[i]);
        free(exported[i]);
    }
    free(file_a.data);
    free(file_b.data);
}

static struct kt_snapshot *load(const char *name)
{
    char path[512];
    void *data;
    size_t bytes;
    struct kt_snapshot *snapshot = NULL;
    snprintf(path, sizeof path, "%s/%s", KT_TEST_DATA, name);
    if (kt_file_read(&data, &bytes, path) < 0 || kt_snapshot_load(&snapshot, data, bytes) < 0)
        fail_msg("%s", ktrace_last_error());
    free(data);
    return snapshot;
}

static struct kt_snapshot *append(struct kt_snapshot *into, struct kt_snapshot *from)
{
    if (kt_snapshot_append(into, from) < 0)
        fail_msg("%s", ktrace_last_error());
    return into;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void pieces_are_the_whole(void **state)
{
    (void)state;
    struct kt_snapshot *wholes[] = {build_example(2, 2, 3),
                                    build_two_devices(),
                                    load("format/v1.ktrace"),
                                    load("format/v1_amdgcn.ktrace"),
                                    load("h200/example_divergence.ktrace"),
                                    load("h200/modules/two_units.ktrace"),
                                    load("sim/keep_last_ranges.ktrace")};
    for (size_t w = 0; w < sizeof wholes / sizeof *wholes; w++) {
        const uint64_t waves = wholes[w]->wave_count, step = waves < 40 ? 1 : waves / 20;
        for (uint64_t cut = 0; cut <= waves; cut += step) {
            struct kt_snapshot *parts[2];
            cut_at(parts, wholes[w], cut);
            append(parts[0], parts[1]);
            assert_equal(wholes[w], parts[0]);
            kt_snapshot_destroy(parts[0]);
        }
        kt_snapshot_destroy(wholes[w]);
    }
}

/* Many small reads, as of graph replays. */
static void wave_by_wave(void **state)
{
    (void)state;
    struct kt_snapshot *whole = build_example(3, 2, 4), *sum = copy_of_snapshot(whole);
    keep_waves(sum, 0, 0);
    for (uint64_t i = 0; i < whole->wave_count; i++) {
        struct kt_snapshot *part = copy_of_snapshot(whole);
        keep_waves(part, i, i + 1);
        forget_counts(part);
        append(sum, part);
    }
    assert_equal(whole, sum);
    kt_snapshot_destroy(sum);
    kt_snapshot_destroy(whole);
}

static void device_by_device(void **state)
{
    (void)state;
    struct kt_snapshot *whole = build_two_devices();
    struct kt_snapshot *sum = append(only_device(whole, 0), only_device(whole, 1));
    assert_int_equal(sum->device_count, 2);
    assert_equal(whole, sum);
    kt_snapshot_destroy(sum);

    /* then both again, cut between */
    struct kt_snapshot *parts[2];
    cut_at(parts, whole, 5);
    sum = append(append(only_device(parts[0], 0), only_device(parts[0], 1)), parts[1]);
    assert_equal(whole, sum);
    kt_snapshot_destroy(parts[0]);
    kt_snapshot_destroy(sum);
    kt_snapshot_destroy(whole);
}

static void both_warnings_are_kept(void **state)
{
    (void)state;
    static const char *const warnings[][3] = {{"", "", ""},
                                              {"one", "", "one"},
                                              {"", "two", "two"},
                                              {"one", "two", "one; two"},
                                              {"one; two", "two", "one; two"}};
    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++) {
        struct kt_snapshot *into = build_two_devices(), *from = build_two_devices();
        keep_warning(into, warnings[i][0]);
        keep_warning(from, warnings[i][1]);
        from->flags |= KT_SNAPSHOT_PEEK;
        append(into, from);
        assert_string_equal(into->warning, warnings[i][2]);
        assert_true(into->flags & KT_SNAPSHOT_PEEK);
        assert_int_equal(into->waves_dropped, 4);
        assert_int_equal(into->devices[0].waves_filtered, 80);
        assert_int_equal(into->devices[1].anchor_count, 3);
        assert_int_equal(into->regions, 2 * 8192);
        kt_snapshot_destroy(into);
    }
}

static void assert_apart(struct kt_snapshot *into, struct kt_snapshot *from, const char *words)
{
    struct kt_snapshot *into_before = copy_of_snapshot(into), *from_before = copy_of_snapshot(from);
    assert_int_equal(kt_snapshot_append(into, from), KTRACE_ERROR_ARGUMENT);
    if (!strstr(ktrace_last_error(), words))
        fail_msg("\"%s\" does not say \"%s\"", ktrace_last_error(), words);
    assert_true(same_snapshots(into, into_before) && same_snapshots(from, from_before));
    kt_snapshot_destroy(into_before);
    kt_snapshot_destroy(from_before);
    kt_snapshot_destroy(into);
    kt_snapshot_destroy(from);
}

static void other_captures_are_refused(void **state)
{
    (void)state;
    struct kt_snapshot *from = build_two_devices();
    from->processes[0].main_ring_slots *= 2;
    assert_apart(build_two_devices(), from, "their ring sizes differ");
    assert_apart(build_two_devices(), load("format/v1_amdgcn.ktrace"), "their architectures differ");
    from = build_two_devices();
    from->devices[1].name[0] = 'X';
    assert_apart(build_two_devices(), from,
                 "device 3 is \"Synthetic device\" in one and \"Xynthetic device\" in the other");
    from = build_two_devices();
    from->modules[1].device = 0;
    assert_apart(build_two_devices(), from, "module 1 cannot be of two devices");
    from = build_two_devices();
    from->modules[1].device = 2;
    assert_apart(build_two_devices(), from, "module 1 is of a device that is not in its snapshot");
}

/* Whichever allocation fails, both are as they were. */
static void without_memory_nothing_changes(void **state)
{
    (void)state;
    struct kt_snapshot *whole = build_two_devices(), *parts[2];
    int failures = 0;
    for (int done = 0; !done; failures++) {
        cut_at(parts, whole, 5);
        struct kt_snapshot *into = only_device(parts[0], 0), *from = parts[1];
        struct kt_snapshot *into_before = copy_of_snapshot(into), *from_before = copy_of_snapshot(from);
        allocations_left = failures;
        const int status = kt_snapshot_append(into, from);
        allocations_left = -1;
        done = status == 0;
        if (!done) {
            assert_int_equal(status, KTRACE_ERROR_MEMORY);
            assert_true(same_snapshots(into, into_before) && same_snapshots(from, from_before));
            kt_snapshot_destroy(from);
        }
        kt_snapshot_destroy(into);
        kt_snapshot_destroy(into_before);
        kt_snapshot_destroy(from_before);
        kt_snapshot_destroy(parts[0]);
    }
    assert_true(failures > 10);
    kt_snapshot_destroy(whole);
}

/* ---- References -------------------------------------------------------------------------------------------------- */

enum { HOLDERS = 4, ROUNDS = 2000 };

/* Each has a reference of its own to begin with, and gives it up in the end. */
static void *hold(void *context)
{
    struct ktrace_trace *trace = context;
    for (int i = 0; i < ROUNDS; i++) {
        struct ktrace_trace *mine = kt_trace_retain(trace);
        struct ktrace_event_info event = {.struct_size = sizeof event};
        if (mine != trace || ktrace_trace_event(&event, mine, (uint64_t)i % trace->wave_count, 0) < 0)
            abort();
        ktrace_trace_destroy(mine);
    }
    ktrace_trace_destroy(trace);
    return NULL;
}

static void the_last_reference_frees(void **state)
{
    (void)state;
    struct ktrace_trace *trace;
    pthread_t threads[HOLDERS];
    assert_int_equal(kt_trace_from_snapshot(&trace, build_two_devices()), 0);
    for (int i = 0; i < HOLDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold, kt_trace_retain(trace)), 0);
    ktrace_trace_destroy(trace);
    for (int i = 0; i < HOLDERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* It is there until its last holder gives it up. */
static void a_trace_is_there_until_then(void **state)
{
    (void)state;
    struct ktrace_trace *trace;
    assert_int_equal(kt_trace_from_snapshot(&trace, build_two_devices()), 0);
    assert_ptr_equal(kt_trace_retain(trace), trace);
    assert_int_equal(trace->more_references, 1);
    ktrace_trace_destroy(trace);
    assert_int_equal(trace->more_references, 0);
    char *text;
    assert_int_equal(ktrace_trace_summary_text(&text, trace), 0);
    free(text);
    ktrace_trace_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_the_whole),       cmocka_unit_test(wave_by_wave),
        cmocka_unit_test(device_by_device),           cmocka_unit_test(both_warnings_are_kept),
        cmocka_unit_test(other_captures_are_refused), cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(the_last_reference_frees),   cmocka_unit_test(a_trace_is_there_until_then),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
