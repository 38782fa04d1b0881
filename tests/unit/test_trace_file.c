#include "trace_file_bytes.h"

#include "trace.h"

/* ---- Round trips ------------------------------------------------------------------------------------------------- */

static void assert_in_memory(const struct kt_snapshot *snapshot, struct bytes expected)
{
    void *data;
    size_t bytes;
    assert_int_equal(kt_snapshot_save_memory(&data, &bytes, snapshot), 0);
    assert_int_equal(bytes, expected.count);
    assert_memory_equal(data, expected.data, bytes);
    free(data);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct kt_snapshot *snapshots[] = {small_snapshot(), build_example(6, 3, 40), build_nothing(), build_two_devices()};
    snapshots[1]->taken_ns = snapshots[3]->taken_ns = 1700000000123456789;
    for (size_t i = 0; i < sizeof snapshots / sizeof *snapshots; i++) {
        struct bytes first = saved(snapshots[i]);
        assert_in_memory(snapshots[i], first);
        assert_loads(snapshots[i], first.data, first.count);
        struct kt_snapshot *loaded;
        assert_int_equal(kt_snapshot_load(&loaded, first.data, first.count), 0);
        struct bytes second = saved(loaded);
        assert_int_equal(first.count, second.count);
        assert_memory_equal(first.data, second.data, first.count);
        kt_snapshot_destroy(loaded);
        kt_snapshot_destroy(snapshots[i]);
        free(first.data);
        free(second.data);
    }
}

/* Rings may lie anywhere in a snapshot's slots; in a file they lie in order. */
static void test_scattered_rings(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    struct bytes expected = saved(snapshot);
    assert_true(snapshot->ring_count > 1);
    uint64_t room = snapshot->slot_count + snapshot->ring_count;
    struct ktrace_slot *slots = calloc(room, sizeof *slots);
    uint64_t end = room;
    for (uint64_t i = 0; i < snapshot->ring_count; i++) { /* backwards, with a gap after each */
        struct kt_ring *ring = &snapshot->rings[i];
        end -= ring->slot_count + 1;
        memcpy(slots + end, snapshot->slots + ring->first_slot, ring->slot_count * sizeof *slots);
        ring->first_slot = end;
    }
    free(snapshot->slots);
    snapshot->slots = slots;
    snapshot->slot_count = room;
    struct bytes file = saved(snapshot);
    assert_int_equal(file.count, expected.count);
    assert_memory_equal(file.data, expected.data, file.count);
    free(file.data);
    free(expected.data);
    kt_snapshot_destroy(snapshot);
}

static void test_trace_round_trip(void **state)
{
    (void)state;
    struct ktrace_trace *trace, *loaded;
    char path[256];
    snprintf(path, sizeof path, "%s", path_of("trace.ktrace"));
    assert_int_equal(kt_trace_from_snapshot(&trace, build_example(2, 2, 3)), 0);
    assert_int_equal(ktrace_trace_save(trace, path), 0);
    assert_int_equal(ktrace_trace_load(&loaded, path), 0);
    assert_true(same_snapshots(trace->snapshot, loaded->snapshot));
    assert_int_equal(trace->event_count, loaded->event_count);
    ktrace_trace_destroy(trace);
    ktrace_trace_destroy(loaded);
    unlink(path);
}

/* Files stay readable for ever: this one was written by the first version. */
static void test_file_of_version_1(void **state)
{
    (void)state;
    void *data;
    size_t bytes;
    struct kt_snapshot *snapshot;
    assert_int_equal(kt_file_read(&data, &bytes, KT_TEST_DATA "/format/v1.ktrace"), 0);
    assert_int_equal(kt_snapshot_load(&snapshot, data, bytes), 0);
    assert_string_equal(snapshot->name, "example");
    assert_string_equal(snapshot->devices[0].name, "Synthetic device");
    assert_int_equal(snapshot->wave_count, 8);
    assert_int_equal(snapshot->waves[7].workgroup[0], 0);
    assert_int_equal(snapshot->waves[7].wave, 3);
    assert_int_equal(snapshot->ring_count, 12);
    assert_int_equal(snapshot->waves_filtered, 12);
    assert_int_equal(snapshot->devices[0].anchors[1].host_after_ns, 1700000000000901200);
    assert_int_equal(snapshot->modules[0].site_count, 14);
    assert_string_equal(snapshot->modules[0].sites[1].name, "prologue");
    assert_int_equal(snapshot->modules[0].sites[1].line, 20);
    struct bytes again = saved(snapshot); /* while version 1 is what is written */
    assert_int_equal(again.count, bytes);
    assert_memory_equal(again.data, data, bytes);
    free(again.data);
    free(data);
    kt_snapshot_destroy(snapshot);
}

/* The first with several devices. */
static void test_file_of_two_devices(void **state)
{
    (void)state;
    void *data;
    size_t bytes;
    struct kt_snapshot *expected = build_two_devices();
    assert_int_equal(kt_file_read(&data, &bytes, KT_TEST_DATA "/format/two_devices.ktrace"), 0);
    assert_loads(expected, data, bytes);
    struct bytes again = saved(expected); /* while this is how it is written */
    assert_int_equal(again.count, bytes);
    assert_memory_equal(again.data, data, bytes);
    free(again.data);
    free(data);
    kt_snapshot_destroy(expected);
}

/* ---- Damage ------------------------------------------------------------------------------------------------------ */

static void every_truncation(struct kt_snapshot *snapshot)
{
    struct bytes file = saved(snapshot);
    for (size_t count = 0; count < file.count; count++) {
        struct bytes cut = copy_of(file.data, count);
        struct kt_snapshot *loaded;
        assert_int_equal(kt_snapshot_load(&loaded, cut.data, cut.count), KTRACE_ERROR_FORMAT);
        repair(cut.data, cut.count); /* as if it had been written so */
        assert_true(kt_snapshot_load(&loaded, cut.data, cut.count) < 0);
        free(cut.data);
    }
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

static void test_every_truncation(void **state)
{
    (void)state;
    every_truncation(small_snapshot());
    every_truncation(build_two_devices());
}

static void every_byte_changed(struct kt_snapshot *snapshot)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xFF};
    struct bytes file = saved(snapshot);
    for (size_t i = 0; i < file.count; i++) {
        for (size_t k = 0; k < sizeof changes; k++) {
            file.data[i] ^= changes[k];
            struct kt_snapshot *loaded;
            int result = kt_snapshot_load(&loaded, file.data, file.count);
            assert_true(result == KTRACE_ERROR_FORMAT || result == KTRACE_ERROR_VERSION);
            file.data[i] ^= changes[k];
        }
    }
    assert_loads(snapshot, file.data, file.count);
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

static void test_every_byte_changed(void **state)
{
    (void)state;
    every_byte_changed(small_snapshot());
    every_byte_changed(build_two_devices());
}

/* The same behind checksums that are right: an error or some snapshot, in bounded time and memory. */
static void every_byte_changed_and_repaired(struct kt_snapshot *snapshot)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xFF};
    struct bytes file = saved(snapshot);
    size_t loaded_count = 0;
    for (size_t i = 0; i < file.count; i++) {
        for (size_t k = 0; k < sizeof changes; k++) {
            struct bytes copy = changed(&file, i, file.data[i] ^ changes[k], 1);
            struct ktrace_trace *trace;
            if (ktrace_trace_load_memory(&trace, copy.data, copy.count) == 0) {
                loaded_count++;
                ktrace_trace_destroy(trace);
            }
            free(copy.data);
        }
    }
    assert_true(loaded_count > 0);
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

static void test_every_byte_changed_and_repaired(void **state)
{
    (void)state;
    every_byte_changed_and_repaired(small_snapshot());
    every_byte_changed_and_repaired(build_two_devices());
}

static void test_appended_byte(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    struct bytes file = saved(snapshot);
    struct bytes longer = {calloc(1, file.count + 1), file.count + 1};
    memcpy(longer.data, file.data, file.count);
    assert_refused(KTRACE_ERROR_FORMAT, "1 bytes after its end", longer.data, longer.count);
    repair(longer.data, longer.count);
    assert_refused(KTRACE_ERROR_FORMAT, "1 bytes before the file does", longer.data, longer.count);
    free(longer.data);
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

static void test_impossible_counts(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    struct bytes file = saved(snapshot);
    size_t payload[6];
    for (int i = 0; i < 6; i++)
        payload[i] = section_of(&file, types[i]) + KT_FILE_SECTION_HEADER_BYTES;
    size_t info = payload[0], modules = payload[2], rings = payload[4], slots = payload[5];
    const int format = KTRACE_ERROR_FORMAT;
    assert_change_refused(&file, 12, 0xFFFFFFFF, 4, format, "claims 4294967295 sections");
    assert_change_refused(&file, 12, 7, 4, format, "section 6 (offset");
    assert_change_refused(&file, 32, 16, 4, format, "header says it has 16 bytes");
    assert_change_refused(&file, slots - 16, UINT64_MAX, 8, format, "section SLOT");
    assert_change_refused(&file, slots - 16, 1ull << 62, 8, format, "are left");
    assert_change_refused(&file, info + 72, 0xFFFFFFFF, 4, format, "a string is longer");
    assert_change_refused(&file, modules, 0xFFFFFFFF, 4, format, "claims more modules");
    assert_change_refused(&file, modules, 0, 4, format, "bytes after its last record");
    assert_change_refused(&file, modules + 8, 0xFFFFFFFF, 4, format, "claims more sites");
    assert_change_refused(&file, rings, 0xFFFFFFFF, 4, format, "ring 0");
    assert_change_refused(&file, rings, 0xFFFFFFFF, 4, format, "checksums are right, so it was written like this");
    assert_change_refused(&file, rings + 8, 0xFFFFFFFF, 4, format, "more slots than there are");
    assert_change_refused(&file, rings + 8, 0, 4, format, "do not cover all slots");
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

static void test_zero_byte_in_string(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    struct bytes file = saved(snapshot);
    size_t name = section_of(&file, KT_FILE_INFO) + KT_FILE_SECTION_HEADER_BYTES + 76;
    assert_change_refused(&file, name, 0, 1, KTRACE_ERROR_FORMAT, "zero byte");
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

static void test_other_files(void **state)
{
    (void)state;
    static const char text[] = "#!/bin/sh\necho hello; this is not a trace at all\n";
    static const char mangled[] = "\x89KTR\n\x1a\n and more, as after a transfer as text";
    static const uint8_t gzip[] = {0x1F, 0x8B, 8, 0, 0, 0};
    assert_refused(KTRACE_ERROR_FORMAT, "the file is empty", "", 0);
    assert_refused(KTRACE_ERROR_FORMAT, "the file is empty", NULL, 0);
    assert_refused(KTRACE_ERROR_FORMAT, "not a .ktrace file", text, sizeof text);
    assert_refused(KTRACE_ERROR_FORMAT, "in binary mode", mangled, sizeof mangled);
    assert_refused(KTRACE_ERROR_FORMAT, "ui.perfetto.dev", gzip, sizeof gzip);
    assert_refused(KTRACE_ERROR_FORMAT, "inside its header", KT_FILE_MAGIC, KT_FILE_MAGIC_BYTES);
    struct kt_snapshot *loaded;
    assert_int_equal(kt_snapshot_load(&loaded, NULL, 1), KTRACE_ERROR_ARGUMENT);
}

/* ---- Other versions ---------------------------------------------------------------------------------------------- */

static void test_future_versions(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    struct bytes file = saved(snapshot);
    const int version = KTRACE_ERROR_VERSION;
    assert_change_refused(&file, 10, KT_FILE_VERSION + 1, 2, version, "needs a reader of version 2");
    assert_change_refused(&file, 16, 1, 8, KTRACE_ERROR_FORMAT, "do not fit its architecture 1");
    assert_change_refused(&file, 16, 2, 8, KTRACE_ERROR_FORMAT, "and its number of devices, 1");
    assert_change_refused(&file, 16, 4, 8, KTRACE_ERROR_FORMAT, "and processes, 1");
    assert_change_refused(&file, 16, 8, 8, version, "features 0x8");
    assert_change_refused(&file, 16, 1ull << 63, 8, version, "features 0x8000000000000000");
    size_t info = section_of(&file, KT_FILE_INFO) + KT_FILE_SECTION_HEADER_BYTES;
    assert_change_refused(&file, info, KTRACE_WIRE_VERSION + 1, 4, version, "wire format");

    struct bytes newer = changed(&file, 8, KT_FILE_VERSION + 1, 2); /* which old readers understand */
    assert_loads(snapshot, newer.data, newer.count);
    free(newer.data);
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

/* The file with one section more, of 3 bytes, before all others. */
static struct bytes with_section(const struct bytes *file, uint32_t type, uint32_t flags)
{
    struct bytes longer = {malloc(file->count + 32), file->count + 32};
    memcpy(longer.data, file->data, KT_FILE_HEADER_BYTES);
    uint8_t *section = longer.data + KT_FILE_HEADER_BYTES;
    repair_put(section, type, 4);
    repair_put(section + 4, flags, 4);
    repair_put(section + 8, 3, 8);
    memcpy(section + 24, "new\0\0\0\0\0", 8);
    memcpy(section + 32, file->data + KT_FILE_HEADER_BYTES, file->count - KT_FILE_HEADER_BYTES);
    repair_put(longer.data + 12, 7, 4);
    repair(longer.data, longer.count);
    return longer;
}

static void test_future_sections(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    struct bytes file = saved(snapshot);
    struct bytes longer = with_section(&file, KT_FILE_SECTION_TYPE('N', 'E', 'W', 1), 0);
    assert_loads(snapshot, longer.data, longer.count);
    free(longer.data);
    longer = with_section(&file, KT_FILE_SECTION_TYPE('N', 'E', 'W', 1), KT_FILE_REQUIRED);
    assert_refused(KTRACE_ERROR_VERSION, "section NEW? (offset 40) is required", longer.data, longer.count);
    free(longer.data);
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

static void test_missing_and_repeated_sections(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    struct bytes file = saved(snapshot);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        /* an optional type that nobody knows takes its place */
        struct bytes copy = copy_of(file.data, file.count);
        size_t section = section_of(&file, types[i]);
        repair_put(copy.data + section, KT_FILE_SECTION_TYPE('X', 'X', 'X', 'X'), 4);
        repair_put(copy.data + section + 4, 0, 4);
        repair(copy.data, copy.count);
        assert_refused(KTRACE_ERROR_FORMAT, "there is no section", copy.data, copy.count);
        free(copy.data);

        struct bytes twice = with_section(&file, types[i], KT_FILE_REQUIRED);
        assert_refused(KTRACE_ERROR_FORMAT, "two sections", twice.data, twice.count);
        free(twice.data);
    }
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

/* One device's file has six sections, whatever its number; old readers go past the one more that tells it. */
static void test_number_of_one_device(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    struct bytes zero = saved(snapshot);
    snapshot->devices[0].ordinal = 5;
    struct bytes five = saved(snapshot);
    assert_loads(snapshot, five.data, five.count);
    assert_int_equal(zero.data[12], 6);
    assert_int_equal(five.data[12], 7);
    assert_int_equal(five.data[16], 0); /* features */
    size_t ordinal = section_of(&five, KT_FILE_ORDINAL);
    assert_int_equal(repair_get(five.data + ordinal + 4, 4), 0); /* flags */
    assert_memory_equal(zero.data + KT_FILE_HEADER_BYTES, five.data + KT_FILE_HEADER_BYTES,
                        ordinal - KT_FILE_HEADER_BYTES);
    free(zero.data);
    free(five.data);
    kt_snapshot_destroy(snapshot);
}

/* One section more than the same snapshot whose time is not known, and nothing else: readers of before skip it. */
static void test_time_of_a_peek(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = build_example(1, 1, 1);
    struct bytes without = saved(snapshot);
    snapshot->taken_ns = 1700000000123456789;
    struct bytes with = saved(snapshot);
    const size_t section = section_of(&with, KT_FILE_TAKEN);
    assert_int_equal(section, without.count);
    assert_int_equal(with.count, section + KT_FILE_SECTION_HEADER_BYTES + 8);
    assert_int_equal(repair_get(with.data + section + 4, 4), 0); /* flags */
    assert_memory_equal(with.data + KT_FILE_HEADER_BYTES, without.data + KT_FILE_HEADER_BYTES,
                        section - KT_FILE_HEADER_BYTES);
    assert_change_refused(&with, section + 8, 7, 8, KTRACE_ERROR_FORMAT, "section TAKN");
    free(without.data);
    free(with.data);
    kt_snapshot_destroy(snapshot);
}

/* Readers of before refuse the file for its feature, and would for the section. */
static void test_several_devices(void **state)
{
    (void)state;
    const int format = KTRACE_ERROR_FORMAT;
    struct kt_snapshot *snapshot = build_two_devices();
    struct bytes file = saved(snapshot);
    assert_int_equal(repair_get(file.data + 16, 8), KT_FILE_SEVERAL);
    size_t section = section_of(&file, KT_FILE_DEVICES), info = section_of(&file, KT_FILE_INFO);
    assert_int_equal(repair_get(file.data + section + 4, 4), KT_FILE_REQUIRED);
    size_t devices = section + KT_FILE_SECTION_HEADER_BYTES;
    size_t last_module = devices + (size_t)repair_get(file.data + section + 8, 8) - 4;
    assert_change_refused(&file, 16, 0, 8, format, "and its number of devices, 2");
    assert_change_refused(&file, section, KT_FILE_ORDINAL, 4, format, "section ORDN");
    assert_change_refused(&file, devices, 1, 4, format, "does not have several devices");
    assert_change_refused(&file, devices, 0xFFFFFFFF, 4, format, "does not have several devices");
    assert_change_refused(&file, devices + 24, 0xFFFFFFFF, 4, format, "ends inside a device");
    assert_change_refused(&file, devices + 4, 3, 4, format, "two devices with the number 3");
    assert_change_refused(&file, devices + 28, 1, 8, format, "does not add up");
    assert_change_refused(&file, last_module, 2, 4, format, "module 1: its device 2 is not there");
    assert_change_refused(&file, info + KT_FILE_SECTION_HEADER_BYTES + 12, 132, 4, format, "tell of one device");
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

static void test_sections_in_any_order(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    struct bytes file = saved(snapshot);
    struct bytes reversed = copy_of(file.data, file.count);
    size_t at = file.count;
    for (int i = 0; i < 6; i++) {
        size_t begin = section_of(&file, types[i]);
        size_t end = i < 5 ? section_of(&file, types[i + 1]) : file.count;
        at -= end - begin;
        memcpy(reversed.data + at, file.data + begin, end - begin);
    }
    assert_int_equal(at, KT_FILE_HEADER_BYTES);
    assert_loads(snapshot, reversed.data, reversed.count);
    free(reversed.data);
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static void assert_path_refused(int status, const char *part_of_sentence, const char *path)
{
    struct ktrace_trace *trace = NULL;
    assert_int_equal(ktrace_trace_load(&trace, path), status);
    assert_null(trace);
    if (!strstr(ktrace_last_error(), part_of_sentence) || strncmp(ktrace_last_error(), path, strlen(path)) != 0)
        fail_msg("'%s: ... %s' is not: %s", path, part_of_sentence, ktrace_last_error());
}

static void test_load_refuses_paths(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    struct bytes file = saved(snapshot);
    char path[256];
    snprintf(path, sizeof path, "%s", path_of("other"));
    assert_path_refused(KTRACE_ERROR_IO, "No such file", path);
    assert_path_refused(KTRACE_ERROR_IO, "directory", folder);
    assert_path_refused(KTRACE_ERROR_FORMAT, "not a .ktrace file", "/dev/zero");
    write_file(path, "", 0);
    assert_path_refused(KTRACE_ERROR_FORMAT, "is empty", path);
    write_file(path, file.data, file.count - 1);
    assert_path_refused(KTRACE_ERROR_FORMAT, "cut off", path);

    /* A length that no memory holds is believed no further than the file goes. */
    repair_put(file.data + 24, UINT64_MAX, 8);
    repair_put(file.data + 36, libdeflate_crc32(0, file.data, 36), 4);
    write_file(path, file.data, file.count);
    assert_path_refused(KTRACE_ERROR_FORMAT, "cut off", path);
    repair_put(file.data + 24, file.count - 8, 8);
    repair_put(file.data + 36, libdeflate_crc32(0, file.data, 36), 4);
    write_file(path, file.data, file.count);
    assert_path_refused(KTRACE_ERROR_FORMAT, "after its end", path);
    unlink(path);
    struct ktrace_trace *trace;
    assert_int_equal(ktrace_trace_load(&trace, ""), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_load(&trace, NULL), KTRACE_ERROR_ARGUMENT);
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

static void test_read_from_pipe(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    struct bytes file = saved(snapshot);
    assert_true(file.count < 65536); /* what a pipe takes at once */
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], file.data, file.count), file.count);
    close(ends[1]);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    void *data;
    size_t bytes;
    assert_int_equal(kt_file_read(&data, &bytes, path), 0);
    close(ends[0]);
    assert_loads(snapshot, data, bytes);
    free(data);
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

/* Longer than the first piece that is read. */
static void test_read_large(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", path_of("large.ktrace"));
    struct kt_snapshot *snapshot = build_example(1, 12, 150);
    assert_int_equal(kt_snapshot_save(snapshot, path), 0);
    void *data;
    size_t bytes;
    assert_int_equal(kt_file_read(&data, &bytes, path), 0);
    assert_true(bytes > 3 * 65536);
    assert_loads(snapshot, data, bytes);
    free(data);
    unlink(path);
    kt_snapshot_destroy(snapshot);
}

static void test_save_replaces(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    struct bytes file = saved(snapshot);
    char path[256], link[256];
    snprintf(path, sizeof path, "%s", path_of("there.ktrace"));
    snprintf(link, sizeof link, "%s", path_of("link.ktrace"));
    write_file(path, "old", 3);
    assert_int_equal(symlink("there.ktrace", link), 0);
    assert_int_equal(kt_snapshot_save(snapshot, link), 0);
    void *data;
    size_t bytes;
    assert_int_equal(kt_file_read(&data, &bytes, path), 0);
    assert_loads(snapshot, data, bytes);
    struct stat status;
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    unlink(link);
    unlink(path);
    free(data);
    free(file.data);
    kt_snapshot_destroy(snapshot);
}

static void test_save_refused(void **state)
{
    (void)state;
    struct kt_snapshot *snapshot = small_snapshot();
    assert_int_equal(kt_snapshot_save(snapshot, "/dev/full"), KTRACE_ERROR_IO);
    assert_non_null(strstr(ktrace_last_error(), "No space left on device"));
    assert_int_equal(kt_snapshot_save(snapshot, path_of("no/such/folder")), KTRACE_ERROR_IO);
    assert_non_null(strstr(ktrace_last_error(), "No such file or directory"));
    assert_int_equal(kt_snapshot_save(snapshot, folder), KTRACE_ERROR_IO);
    assert_int_equal(kt_snapshot_save(snapshot, ""), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_save(NULL, "x"), KTRACE_ERROR_ARGUMENT);
    snapshot->rings[0].lane = KTRACE_MAX_LANES; /* could not be loaded again */
    assert_int_equal(kt_snapshot_save(snapshot, path_of("wrong")), KTRACE_ERROR_FORMAT);
    kt_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_scattered_rings),
        cmocka_unit_test(test_trace_round_trip),
        cmocka_unit_test(test_file_of_version_1),
        cmocka_unit_test(test_file_of_two_devices),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_byte_changed),
        cmocka_unit_test(test_every_byte_changed_and_repaired),
        cmocka_unit_test(test_appended_byte),
        cmocka_unit_test(test_impossible_counts),
        cmocka_unit_test(test_zero_byte_in_string),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_future_versions),
        cmocka_unit_test(test_future_sections),
        cmocka_unit_test(test_missing_and_repeated_sections),
        cmocka_unit_test(test_number_of_one_device),
        cmocka_unit_test(test_time_of_a_peek),
        cmocka_unit_test(test_several_devices),
        cmocka_unit_test(test_sections_in_any_order),
        cmocka_unit_test(test_load_refuses_paths),
        cmocka_unit_test(test_read_from_pipe),
        cmocka_unit_test(test_read_large),
        cmocka_unit_test(test_save_replaces),
        cmocka_unit_test(test_save_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
