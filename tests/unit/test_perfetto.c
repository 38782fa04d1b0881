/* The exporter's bytes as a protobuf reader sees them, and where exports go. What the bytes mean to the viewer is checked
 * with the official schema in tests/perfetto/check_pftrace.py. */
#include "../perfetto/synthetic.h"
#include "export/gzip_sink.h"
#include "export/perfetto_fields.h"
#include "export/sink.h"
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- A reader -------------------------------------------------------------------------------------------------- */

struct field {
    uint32_t number;
    uint32_t wire;
    uint64_t value;      /* of a varint or fixed64 */
    const uint8_t *data; /* of a message, string or bytes */
    size_t bytes;
};

struct cursor {
    const uint8_t *at, *end;
};

static uint64_t read_varint(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        assert_true(cursor->at < cursor->end);
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    fail_msg("a varint without an end");
    return 0;
}

static int next_field(struct cursor *cursor, struct field *field)
{
    if (cursor->at == cursor->end)
        return 0;
    uint64_t tag = read_varint(cursor);
    *field = (struct field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
    if (field->wire == KT_PB_VARINT) {
        field->value = read_varint(cursor);
    } else if (field->wire == KT_PB_FIXED64) {
        assert_true(cursor->end - cursor->at >= 8);
        for (unsigned i = 0; i < 8; i++)
            field->value |= (uint64_t)cursor->at[i] << 8 * i;
        cursor->at += 8;
    } else {
        assert_int_equal(field->wire, KT_PB_LENGTH);
        field->bytes = (size_t)read_varint(cursor);
        assert_true(field->bytes <= (size_t)(cursor->end - cursor->at));
        field->data = cursor->at;
        cursor->at += field->bytes;
    }
    return 1;
}

static struct cursor inside(const struct field *field)
{
    return (struct cursor){field->data, field->data ? field->data + field->bytes : NULL};
}

/* The first field of that number in a message; number 0 where there is none. */
static struct field find(struct cursor message, uint32_t number)
{
    struct field field;
    while (next_field(&message, &field))
        if (field.number == number)
            return field;
    return (struct field){0};
}

/* ---- Exporting to memory --------------------------------------------------------------------------------------- */

struct exported {
    uint8_t *compressed, *content;
    size_t compressed_bytes, bytes, members;
};

static void inflate_members(struct exported *out)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    assert_non_null(decompressor);
    size_t at = 0;
    while (at < out->compressed_bytes) {
        const uint8_t *header = out->compressed + at;
        assert_true(out->compressed_bytes - at >= 10);
        assert_memory_equal(header, "\x1F\x8B\x08\x00\x00\x00\x00\x00", 8); /* no name, no time */
        out->content = realloc(out->content, out->bytes + KT_GZIP_MEMBER_BYTES);
        assert_non_null(out->content);
        size_t used, given;
        assert_int_equal(libdeflate_gzip_decompress_ex(decompressor, header, out->compressed_bytes - at,
                                                       out->content + out->bytes, KT_GZIP_MEMBER_BYTES, &used, &given),
                         LIBDEFLATE_SUCCESS);
        at += used;
        if (at < out->compressed_bytes)
            assert_int_equal(given, KT_GZIP_MEMBER_BYTES);
        out->bytes += given;
        out->members++;
    }
    libdeflate_free_decompressor(decompressor);
}

static struct exported export_trace(const struct synthetic *s)
{
    struct exported out = {0};
    void *data = NULL;
    if (ktrace_trace_export_memory(&data, &out.compressed_bytes, &s->trace, "perfetto") != KTRACE_OK)
        fail_msg("%s", ktrace_last_error());
    out.compressed = data;
    inflate_members(&out);
    return out;
}

static void free_exported(struct exported *out)
{
    free(out->compressed);
    free(out->content);
}

static struct cursor content(const struct exported *out)
{
    return (struct cursor){out->content, out->content + out->bytes};
}

/* ---- The format ------------------------------------------------------------------------------------------------ */

static void test_equal_traces_give_equal_bytes(void **state)
{
    (void)state;
    struct synthetic *first = synthetic_everything(KTRACE_ARCH_NVIDIA);
    struct exported a = export_trace(first);
    struct synthetic *second = synthetic_everything(KTRACE_ARCH_NVIDIA);
    struct exported b = export_trace(second), c = export_trace(first);
    assert_int_equal(a.compressed_bytes, b.compressed_bytes);
    assert_memory_equal(a.compressed, b.compressed, a.compressed_bytes);
    assert_int_equal(a.compressed_bytes, c.compressed_bytes);
    assert_memory_equal(a.compressed, c.compressed, a.compressed_bytes);
    free_exported(&a);
    free_exported(&b);
    free_exported(&c);
    synthetic_destroy(first);
    synthetic_destroy(second);
}

static void test_every_sequence_begins_cleared(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_everything(KTRACE_ARCH_NVIDIA);
    struct exported out = export_trace(s);
    uint8_t begun[16] = {0};
    uint64_t sequences = 0;
    struct cursor trace = content(&out);
    struct field packet;
    while (next_field(&trace, &packet)) {
        assert_int_equal(packet.number, KT_PF_Trace_packet);
        uint64_t sequence = find(inside(&packet), KT_PF_TracePacket_trusted_packet_sequence_id).value;
        uint64_t flags = find(inside(&packet), KT_PF_TracePacket_sequence_flags).value;
        assert_in_range(sequence, 1, s->trace.wave_count + 1);
        if (flags == KT_PF_SEQ_INCREMENTAL_STATE_CLEARED) {
            assert_false(begun[sequence]);
            begun[sequence] = 1;
            sequences++;
            assert_int_equal(find(inside(&packet), KT_PF_TracePacket_clock_snapshot).number,
                             KT_PF_TracePacket_clock_snapshot);
        }
        assert_true(begun[sequence]);
        if (find(inside(&packet), KT_PF_TracePacket_track_event).number)
            assert_int_equal(flags, KT_PF_SEQ_NEEDS_INCREMENTAL_STATE);
    }
    assert_int_equal(sequences, s->trace.wave_count + 1);
    free_exported(&out);
    synthetic_destroy(s);
}

/* Absolute times of a sequence's events, from its clock snapshot on. */
static size_t event_times(const struct exported *out, uint64_t sequence, uint64_t *times, size_t capacity)
{
    struct cursor trace = content(out);
    struct field packet;
    uint64_t time_ns = 0;
    size_t count = 0;
    while (next_field(&trace, &packet)) {
        if (find(inside(&packet), KT_PF_TracePacket_trusted_packet_sequence_id).value != sequence)
            continue;
        struct field snapshot = find(inside(&packet), KT_PF_TracePacket_clock_snapshot);
        if (snapshot.number) {
            struct field clock = find(inside(&snapshot), KT_PF_ClockSnapshot_clocks);
            assert_int_equal(find(inside(&clock), KT_PF_Clock_clock_id).value, KT_PF_BUILTIN_CLOCK_BOOTTIME);
            time_ns = find(inside(&clock), KT_PF_Clock_timestamp).value;
        }
        if (!find(inside(&packet), KT_PF_TracePacket_track_event).number)
            continue;
        time_ns += find(inside(&packet), KT_PF_TracePacket_timestamp).value;
        assert_true(count < capacity);
        times[count++] = time_ns;
    }
    return count;
}

static void check_times(uint64_t origin_ns, const int64_t *times_ps, const uint64_t *expected_ns, size_t count)
{
    struct synthetic *s = synthetic_new("times", KTRACE_ARCH_NVIDIA);
    s->trace.origin_ns = origin_ns;
    const struct kt_site *mark = synthetic_site(s, 0, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "mark");
    synthetic_launch(s, synthetic_kernel(s, "k"), 1, 32, 0, 0);
    synthetic_wave(s, 0, 0, 0, 0, 0);
    for (size_t i = 0; i < count; i++)
        synthetic_event(s, times_ps[i], mark);
    struct exported out = export_trace(s);
    uint64_t times_ns[32];
    assert_int_equal(event_times(&out, 2, times_ns, 32), count + 2);
    assert_int_equal(times_ns[0], expected_ns[0]); /* the span */
    for (size_t i = 0; i < count; i++)
        assert_int_equal(times_ns[i + 1], expected_ns[i]);
    assert_int_equal(times_ns[count + 1], expected_ns[count - 1]);
    free_exported(&out);
    synthetic_destroy(s);
}

static void test_times_are_rounded_to_the_nearest(void **state)
{
    (void)state;
    const int64_t times_ps[] = {0, 499, 500, 1499, 1500, 1501, 1234567890123};
    const uint64_t expected_ns[] = {7000, 7000, 7001, 7001, 7002, 7002, 1234574890};
    check_times(7000, times_ps, expected_ns, 7);
}

static void test_times_before_the_origin(void **state)
{
    (void)state;
    const int64_t times_ps[] = {-2501, -2500, -1, 0, 1000};
    const uint64_t expected_ns[] = {6997, 6998, 7000, 7000, 7001};
    check_times(7000, times_ps, expected_ns, 5);
}

static void test_times_before_the_clock_began(void **state)
{
    (void)state;
    const int64_t times_ps[] = {INT64_MIN, -9000, -3000, -1000, 0, 5000};
    const uint64_t expected_ns[] = {0, 0, 0, 2, 3, 8};
    check_times(3, times_ps, expected_ns, 6);
}

static void test_times_at_the_ends_of_the_range(void **state)
{
    (void)state;
    const int64_t times_ps[] = {0, INT64_MAX};
    const uint64_t expected_ns[] = {1, 9223372036854776u + 1};
    check_times(1, times_ps, expected_ns, 2);
}

static void test_times_that_run_back_stand_still(void **state)
{
    (void)state;
    const int64_t times_ps[] = {1000, 9000, 4000, 10000};
    const uint64_t expected_ns[] = {8, 16, 16, 17};
    check_times(7, times_ps, expected_ns, 4);
}

static void test_an_empty_trace(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_new("", KTRACE_ARCH_HOST);
    s->snapshot.module_count = 0;
    struct exported out = export_trace(s);
    assert_int_equal(out.members, 1);
    assert_true(out.bytes > 0); /* it still says that nothing was lost */
    free_exported(&out);
    synthetic_destroy(s);
}

static void test_many_members(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_large(200000, 100, 1);
    struct exported out = export_trace(s);
    assert_true(out.members > 3);
    assert_int_equal(out.members, (out.bytes + KT_GZIP_MEMBER_BYTES - 1) / KT_GZIP_MEMBER_BYTES);
    struct cursor trace = content(&out);
    struct field packet;
    uint64_t events = 0;
    while (next_field(&trace, &packet))
        events += find(inside(&packet), KT_PF_TracePacket_track_event).number != 0;
    /* every event, two for each wave's span and the launch's slice, three about the trace */
    assert_int_equal(events, s->trace.event_count + 2 * s->trace.wave_count + 2 + 3);
    free_exported(&out);
    synthetic_destroy(s);
}

/* More names than one byte numbers, longer than one byte counts, the same ones in every wave. */
static void test_many_and_long_names(void **state)
{
    (void)state;
    static char names[SYNTHETIC_SITES][400];
    struct synthetic *s = synthetic_new("names", KTRACE_ARCH_NVIDIA);
    const struct kt_site *sites[2 * SYNTHETIC_SITES];
    for (int i = 0; i < SYNTHETIC_SITES; i++) {
        memset(names[i], 'x', sizeof names[i] - 1);
        snprintf(names[i], sizeof names[i], "%d", i);
        names[i][strlen(names[i])] = '-';
        sites[i] = synthetic_site(s, 0, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, names[i]);
        sites[SYNTHETIC_SITES + i] = synthetic_site(s, 1, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, names[i]);
    }
    synthetic_launch(s, synthetic_kernel(s, "k"), 1, 64, 0, 0);
    for (uint32_t w = 0; w < 2; w++) {
        synthetic_wave(s, 0, 0, w, 0, 0);
        for (int i = 0; i < 4 * SYNTHETIC_SITES; i++)
            synthetic_event(s, i * 1000, sites[i % (2 * SYNTHETIC_SITES)]);
    }
    struct exported out = export_trace(s);
    struct cursor trace = content(&out);
    struct field packet, entry;
    uint64_t interned[4] = {0}, largest = 0;
    while (next_field(&trace, &packet)) {
        struct field data = find(inside(&packet), KT_PF_TracePacket_interned_data);
        struct cursor entries = inside(&data);
        if (!data.number)
            continue;
        while (next_field(&entries, &entry)) {
            if (entry.number != KT_PF_InternedData_event_names)
                continue;
            interned[find(inside(&packet), KT_PF_TracePacket_trusted_packet_sequence_id).value]++;
            uint64_t iid = find(inside(&entry), KT_PF_EventName_iid).value;
            largest = iid > largest ? iid : largest;
        }
    }
    /* Each name once as it is, and once "(unclosed)", in either wave. */
    assert_int_equal(interned[2], 2 * SYNTHETIC_SITES);
    assert_int_equal(interned[3], 2 * SYNTHETIC_SITES);
    assert_int_equal(largest, 2 * SYNTHETIC_SITES);
    free_exported(&out);
    synthetic_destroy(s);
}

/* ---- What must fail -------------------------------------------------------------------------------------------- */

static void export_must_fail(const struct synthetic *s, int status, const char *words)
{
    void *data = NULL;
    size_t bytes = 4711;
    assert_int_equal(ktrace_trace_export_memory(&data, &bytes, &s->trace, "perfetto"), status);
    assert_null(data);
    assert_int_equal(bytes, 4711);
    if (!strstr(ktrace_last_error(), words))
        fail_msg("\"%s\" does not say \"%s\"", ktrace_last_error(), words);
}

static void test_events_that_cannot_be(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_everything(KTRACE_ARCH_NVIDIA);
    struct kt_event *event = &s->trace.events[1];
    struct kt_event whole = *event;
    event->track = 1; /* the first wave has no such track */
    export_must_fail(s, KTRACE_ERROR_FORMAT, "event 1 of wave 0");
    *event = whole;
    struct kt_site stray = {.kind = KTRACE_KIND_MARK};
    event->site = &stray;
    export_must_fail(s, KTRACE_ERROR_FORMAT, "event 1 of wave 0");
    event->site = synthetic_site(s, 0, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "kernel");
    export_must_fail(s, KTRACE_ERROR_FORMAT, "event 1 of wave 0");
    *event = whole;
    struct exported out = export_trace(s);
    free_exported(&out);
    synthetic_destroy(s);
}

struct failing_sink {
    struct kt_sink sink;
    size_t left_bytes;
};

static int failing_write(struct kt_sink *sink, const void *data, size_t bytes)
{
    (void)data;
    struct failing_sink *failing = (struct failing_sink *)sink;
    if (bytes > failing->left_bytes)
        return KTRACE_ERROR_IO;
    failing->left_bytes -= bytes;
    return KTRACE_OK;
}

static void test_a_sink_that_fails(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_large(400000, 100, 1);
    const size_t limits_bytes[] = {0, 1000, 300000, 800000};
    for (size_t i = 0; i < sizeof limits_bytes / sizeof limits_bytes[0]; i++) {
        struct failing_sink sink = {{failing_write}, limits_bytes[i]};
        assert_int_equal(kt_exporter_perfetto.write(&sink.sink, &s->trace, KT_EVERY_LAUNCH), KTRACE_ERROR_IO);
    }
    synthetic_destroy(s);
}

/* Those that are of whole traces write no launch alone, and no file of one. */
static void test_whole_traces_only(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_new("whole", KTRACE_ARCH_NVIDIA);
    const struct kt_exporter *const whole[] = {&kt_exporter_json, &kt_exporter_html};
    for (size_t i = 0; i < 2; i++) {
        char **paths;
        uint64_t count;
        assert_int_equal(kt_export_launches(&paths, &count, &s->trace, whole[i], "/nonexistent", NULL, 0),
                         KTRACE_ERROR_ARGUMENT);
        assert_non_null(strstr(ktrace_last_error(), "writes whole traces only"));
    }
    synthetic_destroy(s);
}

static void test_calls_that_are_wrong(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_new("wrong", KTRACE_ARCH_NVIDIA);
    void *data;
    size_t bytes;
    char *path;
    assert_int_equal(ktrace_trace_export_memory(&data, &bytes, &s->trace, "vcd"), KTRACE_ERROR_NOT_FOUND);
    assert_string_equal(ktrace_last_error(), "no exporter \"vcd\"; there are: perfetto, chrome, csv, json, html");
    assert_int_equal(ktrace_trace_export(&s->trace, "vcd", "/dev/null"), KTRACE_ERROR_NOT_FOUND);
    assert_int_equal(ktrace_trace_export_memory(NULL, &bytes, &s->trace, "perfetto"), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_export_memory(&data, &bytes, NULL, "perfetto"), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", NULL), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", ""), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_export_new(NULL, &s->trace, NULL), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_export_new(&path, NULL, NULL), KTRACE_ERROR_ARGUMENT);
    synthetic_destroy(s);
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

static char directory[128];

static int make_directory(void **state)
{
    (void)state;
    return make_scratch(directory, sizeof directory);
}

/* How many files the directory has; removes them. */
static int empty_directory(void)
{
    DIR *listing = opendir(directory);
    assert_non_null(listing);
    int files = 0;
    for (struct dirent *entry; (entry = readdir(listing));) {
        if (entry->d_name[0] == '.' && (!entry->d_name[1] || entry->d_name[1] == '.'))
            continue;
        assert_int_equal(unlinkat(dirfd(listing), entry->d_name, 0), 0);
        files++;
    }
    closedir(listing);
    return files;
}

static int remove_directory(void **state)
{
    (void)state;
    empty_directory();
    return rmdir(directory);
}

static void export_new(const struct synthetic *s, const char *expected)
{
    char *path = NULL, full[512];
    snprintf(full, sizeof full, "%s/%s", directory, expected);
    if (ktrace_trace_export_new(&path, &s->trace, directory) != KTRACE_OK)
        fail_msg("%s", ktrace_last_error());
    assert_string_equal(path, full);
    assert_int_equal(access(full, R_OK), 0);
    free(path);
}

static void test_new_files_never_overwrite(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_everything(KTRACE_ARCH_NVIDIA);
    free(s->snapshot.name);
    s->snapshot.name = strdup("gemm");
    export_new(s, "gemm_ktrace.pftrace.gz");
    export_new(s, "gemm_ktrace_1.pftrace.gz");
    export_new(s, "gemm_ktrace_2.pftrace.gz");
    assert_int_equal(empty_directory(), 3);
    synthetic_destroy(s);
}

static void test_names_are_made_safe(void **state)
{
    (void)state;
    const struct {
        const char *name, *file;
    } cases[] = {
        {"../../etc/passwd", "_._.._etc_passwd_ktrace.pftrace.gz"},
        {"a/b\\c", "a_b_c_ktrace.pftrace.gz"},
        {"", "ktrace_ktrace.pftrace.gz"},
        {".hidden", "_hidden_ktrace.pftrace.gz"},
        {"-rf", "_rf_ktrace.pftrace.gz"},
        {"two words\n$(x)", "two_words___x__ktrace.pftrace.gz"},
        {"v1.2-rc+3", "v1.2-rc+3_ktrace.pftrace.gz"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct synthetic *s = synthetic_new(cases[i].name, KTRACE_ARCH_NVIDIA);
        export_new(s, cases[i].file);
        synthetic_destroy(s);
        assert_int_equal(empty_directory(), 1);
    }
    char *longest = malloc(5001);
    memset(longest, 'n', 5000);
    longest[5000] = '\0';
    struct synthetic *s = synthetic_new(longest, KTRACE_ARCH_NVIDIA);
    char *path;
    assert_int_equal(ktrace_trace_export_new(&path, &s->trace, directory), KTRACE_OK);
    free(path);
    free(longest);
    synthetic_destroy(s);
    assert_int_equal(empty_directory(), 1);
}

struct racer {
    pthread_t thread;
    const struct synthetic *s;
    char *paths[20];
};

static void *race(void *argument)
{
    struct racer *racer = argument;
    for (int i = 0; i < 20; i++)
        if (ktrace_trace_export_new(&racer->paths[i], &racer->s->trace, directory) != KTRACE_OK)
            racer->paths[i] = NULL;
    return NULL;
}

static void test_new_files_in_a_race(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_new("race", KTRACE_ARCH_NVIDIA);
    struct racer racers[4] = {0};
    for (int i = 0; i < 4; i++) {
        racers[i].s = s;
        assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(racers[i].thread, NULL), 0);
    for (int i = 0; i < 80; i++) {
        char *path = racers[i / 20].paths[i % 20];
        assert_non_null(path);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(path, racers[j / 20].paths[j % 20]);
    }
    for (int i = 0; i < 80; i++)
        free(racers[i / 20].paths[i % 20]);
    assert_int_equal(empty_directory(), 80);
    synthetic_destroy(s);
}

static void test_export_replaces(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_everything(KTRACE_ARCH_NVIDIA);
    char path[192], link[192];
    snprintf(path, sizeof path, "%s/out.gz", directory);
    snprintf(link, sizeof link, "%s/link.gz", directory);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", path), KTRACE_OK);
    struct stat there, linked;
    assert_int_equal(stat(path, &there), 0);
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(there.st_mode & 0777, 0666 & ~mask);
    /* A link stays a link. */
    assert_int_equal(symlink("out.gz", link), 0);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", link), KTRACE_OK);
    assert_int_equal(lstat(link, &linked), 0);
    assert_true(S_ISLNK(linked.st_mode));
    off_t bytes = there.st_size;
    assert_int_equal(stat(path, &there), 0);
    assert_int_equal(there.st_size, bytes);
    assert_int_equal(empty_directory(), 2);
    synthetic_destroy(s);
}

static void test_export_keeps_the_mode(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_new("mode", KTRACE_ARCH_NVIDIA);
    static const mode_t modes[] = {0600, 0640, 0666, 0755};
    char path[192];
    struct stat there;
    snprintf(path, sizeof path, "%s/out.gz", directory);
    assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", path), KTRACE_OK);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", path), KTRACE_OK);
        assert_int_equal(stat(path, &there), 0);
        assert_int_equal(there.st_mode & 07777, modes[i]);
    }
    assert_int_equal(empty_directory(), 1);
    synthetic_destroy(s);
}

/* A link that leads nowhere yet, absolutely or from its own directory, or over another link. */
static void test_export_follows_dangling_links(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_new("links", KTRACE_ARCH_NVIDIA);
    char target[192], first[192], second[192];
    struct stat there;
    snprintf(target, sizeof target, "%s/target.gz", directory);
    snprintf(first, sizeof first, "%s/first.gz", directory);
    snprintf(second, sizeof second, "%s/second.gz", directory);
    for (int absolute = 0; absolute <= 1; absolute++) {
        assert_int_equal(symlink(absolute ? target : "target.gz", first), 0);
        assert_int_equal(symlink(absolute ? first : "first.gz", second), 0);
        assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", second), KTRACE_OK);
        assert_int_equal(lstat(second, &there), 0);
        assert_true(S_ISLNK(there.st_mode));
        assert_int_equal(lstat(first, &there), 0);
        assert_true(S_ISLNK(there.st_mode));
        assert_int_equal(lstat(target, &there), 0);
        assert_true(S_ISREG(there.st_mode) && there.st_size > 0);
        assert_int_equal(empty_directory(), 3);
    }
    assert_int_equal(symlink("first.gz", first), 0);
    assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", first), KTRACE_ERROR_IO); /* a link to itself */
    assert_int_equal(lstat(first, &there), 0);
    assert_true(S_ISLNK(there.st_mode));
    assert_int_equal(empty_directory(), 1);
    synthetic_destroy(s);
}

/* A file that only a descriptor has any more, as in `ktrace export -o /dev/stdout >file` while `file` is removed. */
static void test_export_to_a_removed_file(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_new("removed", KTRACE_ARCH_NVIDIA);
    char path[192], open_path[64];
    struct stat there;
    snprintf(path, sizeof path, "%s/out.gz", directory);
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    snprintf(open_path, sizeof open_path, "/proc/self/fd/%d", fd);
    assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", open_path), KTRACE_OK);
    assert_int_equal(fstat(fd, &there), 0);
    assert_true(there.st_size > 0);
    close(fd);
    assert_int_equal(empty_directory(), 0);
    synthetic_destroy(s);
}

/* A directory takes no file, but has one that may be written. */
static void test_export_into_a_closed_directory(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_new("closed", KTRACE_ARCH_NVIDIA);
    char path[192], other[192];
    struct stat there, larger;
    snprintf(path, sizeof path, "%s/out.gz", directory);
    snprintf(other, sizeof other, "%s/other.gz", directory);
    assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", path), KTRACE_OK);
    assert_int_equal(stat(path, &there), 0);
    assert_int_equal(truncate(path, 1000000), 0);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(chmod(directory, 0555), 0);
    const uid_t user = geteuid(); /* root may do anything */
    assert_true(user != 0 || seteuid(65534) == 0);
    int written = ktrace_trace_export(&s->trace, "perfetto", path);
    int created = ktrace_trace_export(&s->trace, "perfetto", other);
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(chmod(directory, 0700), 0);
    assert_int_equal(written, KTRACE_OK);
    assert_int_equal(created, KTRACE_ERROR_IO);
    assert_non_null(strstr(ktrace_last_error(), "other.gz: could not be opened: Permission denied"));
    assert_int_equal(stat(path, &larger), 0);
    assert_int_equal(larger.st_size, there.st_size);
    assert_int_equal(larger.st_ino, there.st_ino);
    assert_int_equal(empty_directory(), 1);
    synthetic_destroy(s);
}

static void test_a_device_is_written_in_place(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_everything(KTRACE_ARCH_NVIDIA);
    struct stat there;
    assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", "/dev/null"), KTRACE_OK);
    assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", "/dev/full"), KTRACE_ERROR_IO);
    assert_string_equal(ktrace_last_error(), "/dev/full: could not be written: No space left on device");
    assert_int_equal(stat("/dev/full", &there), 0);
    assert_true(S_ISCHR(there.st_mode));
    synthetic_destroy(s);
}

static void test_paths_that_cannot_be_opened(void **state)
{
    (void)state;
    struct synthetic *s = synthetic_new("paths", KTRACE_ARCH_NVIDIA);
    char path[192], *made = NULL;
    snprintf(path, sizeof path, "%s/none", directory);
    assert_int_equal(ktrace_trace_export_new(&made, &s->trace, path), KTRACE_ERROR_IO);
    assert_non_null(strstr(ktrace_last_error(), "No such file or directory"));
    assert_null(made);
    snprintf(path, sizeof path, "%s/none/x.gz", directory);
    assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", path), KTRACE_ERROR_IO);
    assert_int_equal(ktrace_trace_export(&s->trace, "perfetto", directory), KTRACE_ERROR_IO);
    assert_non_null(strstr(ktrace_last_error(), "Is a directory"));
    assert_int_equal(empty_directory(), 0);
    synthetic_destroy(s);
}

/* The file system refuses in the middle: nothing is left behind, and what was there before stays. */
static void test_a_failed_write_leaves_nothing(void **state)
{
    (void)state;
    struct synthetic *small = synthetic_new("full", KTRACE_ARCH_NVIDIA);
    struct synthetic *s = synthetic_large(200000, 100, 1);
    char path[192], *made = NULL;
    struct stat there;
    snprintf(path, sizeof path, "%s/out.gz", directory);
    assert_int_equal(ktrace_trace_export(&small->trace, "perfetto", path), KTRACE_OK);
    assert_int_equal(stat(path, &there), 0);
    off_t bytes = there.st_size;

    struct rlimit before, limit;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 100000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int replaced = ktrace_trace_export(&s->trace, "perfetto", path);
    int created = ktrace_trace_export_new(&made, &s->trace, directory);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);

    assert_int_equal(replaced, KTRACE_ERROR_IO);
    assert_int_equal(created, KTRACE_ERROR_IO);
    assert_non_null(strstr(ktrace_last_error(), "File too large"));
    assert_null(made);
    assert_int_equal(stat(path, &there), 0);
    assert_int_equal(there.st_size, bytes);
    assert_int_equal(empty_directory(), 1);
    synthetic_destroy(s);
    synthetic_destroy(small);
}

static void test_small_writes_are_gathered(void **state)
{
    (void)state;
    char path[192];
    snprintf(path, sizeof path, "%s/plain", directory);
    struct kt_file_sink file;
    assert_int_equal(kt_file_sink_create(&file, path), KTRACE_OK);
    uint8_t block[1000], *read_back = malloc(400000);
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (uint8_t)i;
    for (int i = 0; i < 200; i++)
        assert_int_equal(file.sink.write(&file.sink, block, sizeof block), KTRACE_OK);
    assert_int_equal(file.sink.write(&file.sink, NULL, 0), KTRACE_OK);
    uint8_t *large = calloc(1, 150000);
    assert_int_equal(file.sink.write(&file.sink, large, 150000), KTRACE_OK);
    assert_int_equal(file.sink.write(&file.sink, block, 5), KTRACE_OK);
    assert_int_equal(kt_file_sink_close(&file, KTRACE_OK), KTRACE_OK);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, read_back, 400000), 350005);
    close(fd);
    for (int i = 0; i < 200; i++)
        assert_memory_equal(read_back + 1000 * i, block, sizeof block);
    assert_memory_equal(read_back + 200000, large, 150000);
    assert_memory_equal(read_back + 350000, block, 5);
    free(read_back);
    free(large);
    assert_int_equal(kt_file_sink_create(&file, path), KTRACE_ERROR_STATE);
    assert_int_equal(empty_directory(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_traces_give_equal_bytes),
        cmocka_unit_test(test_every_sequence_begins_cleared),
        cmocka_unit_test(test_times_are_rounded_to_the_nearest),
        cmocka_unit_test(test_times_before_the_origin),
        cmocka_unit_test(test_times_before_the_clock_began),
        cmocka_unit_test(test_times_at_the_ends_of_the_range),
        cmocka_unit_test(test_times_that_run_back_stand_still),
        cmocka_unit_test(test_an_empty_trace),
        cmocka_unit_test(test_many_members),
        cmocka_unit_test(test_many_and_long_names),
        cmocka_unit_test(test_events_that_cannot_be),
        cmocka_unit_test(test_a_sink_that_fails),
        cmocka_unit_test(test_whole_traces_only),
        cmocka_unit_test(test_calls_that_are_wrong),
        cmocka_unit_test(test_new_files_never_overwrite),
        cmocka_unit_test(test_names_are_made_safe),
        cmocka_unit_test(test_new_files_in_a_race),
        cmocka_unit_test(test_export_replaces),
        cmocka_unit_test(test_export_keeps_the_mode),
        cmocka_unit_test(test_export_follows_dangling_links),
        cmocka_unit_test(test_export_to_a_removed_file),
        cmocka_unit_test(test_export_into_a_closed_directory),
        cmocka_unit_test(test_a_device_is_written_in_place),
        cmocka_unit_test(test_paths_that_cannot_be_opened),
        cmocka_unit_test(test_a_failed_write_leaves_nothing),
        cmocka_unit_test(test_small_writes_are_gathered),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
