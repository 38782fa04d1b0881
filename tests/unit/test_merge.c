/* ktrace_trace_merge: what becomes of processes, launches, times, losses; and what is refused. */
#include "build_snapshot.h"
#include "failing_memory.h"
#include "trace.h"
#include "trace_file_bytes.h"

#define HOST_NS INT64_C(1700000000000000000)
#define HOUR_NS INT64_C(3600000000000)
#define MERGED(options, ...) \
    merged((const struct ktrace_trace *const[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *), options)

/* ---- Ranks -------------------------------------------------------------------------------------------------------- */

/* A process with one device, which ran two launches of two waves. Zero means the default. */
struct rank {
    uint8_t id;        /* of the process; 0: not known */
    uint8_t uuid;      /* of its device; 0: not known */
    const char *boot;  /* "a" */
    const char *label; /* "" */
    uint64_t clock;    /* when its first wave starts, in ticks of half a nanosecond */
    int64_t host_ns;   /* what CLOCK_REALTIME was ahead of the device's wall clock, besides HOST_NS */
    int64_t set_ns;    /* what CLOCK_REALTIME was ahead of where nobody had set it */
    uint32_t read;     /* of its capture, 1; each has grid ids of its own */
    uint32_t slots;    /* of lane 0's ring, 64 */
    int no_anchors;
    uint32_t ordinal;
};

static char *copy_text(const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    return copy;
}

static void set_text(char **to, const char *text)
{
    free(*to);
    *to = copy_text(text);
}

static void tell_origin(struct kt_process *process, const struct rank *rank)
{
    if (rank->id == 0)
        return;
    process->id[0] = rank->id;
    process->pid = 1000u + rank->id;
    set_text(&process->label, rank->label ? rank->label : "");
    set_text(&process->boot, rank->boot ? rank->boot : "a");
    set_text(&process->host, rank->boot ? rank->boot : "a");
    set_text(&process->version, "0.1.0");
    process->reads = calloc(1, sizeof *process->reads);
    process->readings = calloc(1, sizeof *process->readings);
    assert_non_null(process->reads);
    assert_non_null(process->readings);
    process->read_count = process->reading_count = 1;
    process->reads[0] = (struct kt_reads){.capture = 1, .filter = copy_text("all")};
    process->reads[0].first = process->reads[0].last = rank->read ? rank->read : 1;
    const uint64_t real_ns = (uint64_t)(HOST_NS + rank->set_ns);
    process->readings[0] = (struct kt_clock_reading){real_ns + 900, 1000, real_ns + 1100};
}

static void add_anchors(struct kt_device *device, const struct rank *rank, uint64_t first_ns)
{
    device->anchor_count = rank->no_anchors ? 0 : 2;
    device->anchors = calloc(2, sizeof *device->anchors);
    assert_non_null(device->anchors);
    for (uint64_t i = 0; i < device->anchor_count; i++) {
        const uint64_t device_ns = first_ns - 1000 + i * 5000,
                       host_ns = device_ns + (uint64_t)(HOST_NS + rank->host_ns);
        device->anchors[i] = (struct kt_host_anchor){host_ns - 100, host_ns + 100, device_ns};
    }
}

static struct kt_snapshot *snapshot_of(const struct rank *rank)
{
    struct build *build = build_begin(rank->slots ? rank->slots : 64, 16);
    const uint32_t module = build_module(build, 0x140);
    const uint32_t step = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "step");
    const uint32_t compute = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_UINT64, "compute");
    const uint32_t pop = build_site(build, module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "");
    const uint64_t first = rank->clock ? rank->clock : 10000;
    for (uint32_t i = 0; i < 4; i++) {
        const uint64_t start = first + i / 2 * 3000 + i % 2 * 10;
        struct build_wave options = {.kernel = step,
                                     .grid_id = (rank->read ? rank->read : 1) * 2 + i / 2,
                                     .block = {64, 1, 1},
                                     .wave = (uint16_t)(i % 2),
                                     .start_clock = start};
        const uint32_t wave = build_wave(build, &options);
        build_payload(build, wave, 0, start + 100, compute, rank->id * 100u + i);
        build_event(build, wave, 0, start + 700 + i, pop);
        build_end(build, wave, start + 800);
    }
    struct kt_snapshot *snapshot = build_finish(build);
    struct kt_device *device = &snapshot->devices[0];
    device->ordinal = rank->ordinal;
    device->identity.uuid[3] = rank->uuid;
    device->waves_dropped = snapshot->waves_dropped = 1u + rank->id;
    device->waves_filtered = snapshot->waves_filtered = 10;
    add_anchors(device, rank, build_wall_ns(first));
    tell_origin(&snapshot->processes[0], rank);
    return snapshot;
}

static struct ktrace_trace *trace_of(struct kt_snapshot *snapshot)
{
    struct ktrace_trace *trace;
    if (kt_trace_from_snapshot(&trace, snapshot) < 0)
        fail_msg("%s", ktrace_last_error());
    return trace;
}

static struct ktrace_trace *rank_of(const struct rank *rank)
{
    return trace_of(snapshot_of(rank));
}
#define RANK(...) rank_of(&(struct rank){__VA_ARGS__})

static struct ktrace_trace *merged(const struct ktrace_trace *const *traces, uint64_t count,
                                   const struct ktrace_merge_options *options)
{
    struct ktrace_trace *trace;
    if (ktrace_trace_merge(&trace, traces, count, options) < 0)
        fail_msg("%s", ktrace_last_error());
    return trace;
}

static void assert_not_merged(const struct ktrace_trace *const *traces, uint64_t count,
                              const struct ktrace_merge_options *options, const char *words)
{
    struct ktrace_trace *trace = NULL;
    assert_int_equal(ktrace_trace_merge(&trace, traces, count, options), KTRACE_ERROR_ARGUMENT);
    if (!strstr(ktrace_last_error(), words))
        fail_msg("\"%s\" does not say \"%s\"", ktrace_last_error(), words);
    assert_null(trace);
}
#define ASSERT_REFUSED(a, b, options, words) \
    assert_not_merged((const struct ktrace_trace *const[]){a, b}, 2, options, words)

static struct ktrace_process_info process_of(const struct ktrace_trace *trace, uint64_t index)
{
    struct ktrace_process_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_process(&info, trace, index), 0);
    return info;
}

static struct ktrace_device_info device_of(const struct ktrace_trace *trace, uint64_t index)
{
    struct ktrace_device_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_device(&info, trace, index), 0);
    return info;
}

static struct ktrace_trace_info info_of(const struct ktrace_trace *trace)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_get_info(&info, trace), 0);
    return info;
}

/* Index in `whole` of the wave that is wave `index` of `part`, which became device `device` there. */
static uint64_t wave_in(const struct ktrace_trace *whole, uint32_t device, const struct ktrace_trace *part,
                        uint64_t index)
{
    const struct kt_wave *wanted = &part->waves[index];
    const struct kt_launch *launch = &part->launches[wanted->launch];
    for (uint64_t i = 0; i < whole->wave_count; i++) {
        const struct kt_launch *other = &whole->launches[whole->waves[i].launch];
        if (other->device == device && other->grid_id == launch->grid_id && other->occurrence == launch->occurrence &&
            whole->waves[i].wave == wanted->wave &&
            memcmp(whole->waves[i].workgroup, wanted->workgroup, sizeof wanted->workgroup) == 0)
            return i;
    }
    fail_msg("a wave is not there");
    return 0;
}

/* All events of `part` are in `whole`, moved by `shift_ps`, to within `tolerance_ps`. Returns by how much the first one is. */
static int64_t assert_within(const struct ktrace_trace *whole, uint32_t device, const struct ktrace_trace *part,
                             int64_t tolerance_ps)
{
    int64_t shift_ps = 0;
    int known = 0;
    for (uint64_t w = 0; w < part->wave_count; w++) {
        const struct kt_wave *wave = &part->waves[w], *there = &whole->waves[wave_in(whole, device, part, w)];
        assert_int_equal(there->event_count, wave->event_count);
        for (uint32_t e = 0; e < wave->event_count; e++) {
            const struct kt_event *event = &part->events[wave->first_event + e];
            const struct kt_event *other = &whole->events[there->first_event + e];
            assert_string_equal(other->site->name, event->site->name);
            assert_int_equal(other->payload, event->payload);
            assert_int_equal(other->partner, event->partner);
            if (!known)
                shift_ps = other->time_ps - event->time_ps;
            known = 1;
            assert_in_range(other->time_ps - event->time_ps - shift_ps + tolerance_ps, 0, 2 * tolerance_ps);
        }
    }
    return shift_ps;
}

/* ---- Times -------------------------------------------------------------------------------------------------------- */

/* Two devices with clocks of their own, on one host: the second began 700 ns of its host's clock later. */
static void one_host(void **state)
{
    (void)state;
    struct ktrace_trace *a = RANK(.id = 1, .uuid = 1, .label = "rank 0");
    struct ktrace_trace *b = RANK(.id = 2, .uuid = 2, .label = "rank 1", .clock = 500000, .host_ns = 700 - 245000);
    struct ktrace_trace *whole = MERGED(NULL, a, b);
    const struct ktrace_trace_info info = info_of(whole);
    assert_int_equal(info.processes, 2);
    assert_int_equal(info.devices, 2);
    assert_int_equal(info.launches, 4); /* though their grid ids are the same */
    assert_int_equal(info.waves, 8);
    assert_int_equal(info.events, 16);
    assert_int_equal(info.waves_dropped, 2 + 3);
    assert_int_equal(info.waves_filtered, 20);
    assert_string_equal(info.name, "test");
    assert_in_range(assert_within(whole, 0, a, 500) + 1000, 0, 2000);
    const double within_ps =
        1e3 * (device_of(whole, 0).clock_uncertainty_ns + device_of(whole, 1).clock_uncertainty_ns);
    assert_true(within_ps > 100e3 && within_ps < 2000e3);
    const int64_t shift_ps = assert_within(whole, 1, b, 500);
    assert_in_range(shift_ps - 700000 + (int64_t)within_ps, 0, 2 * (int64_t)within_ps);
    assert_int_equal(process_of(whole, 0).relation, KTRACE_RELATION_SELF);
    assert_int_equal(process_of(whole, 1).relation, KTRACE_RELATION_HOST);
    assert_string_equal(process_of(whole, 1).label, "rank 1");
    assert_string_equal(device_of(whole, 1).label, "rank 1: Synthetic device #0");
    assert_int_equal(process_of(whole, 1).waves_dropped, 3);
    assert_int_equal(process_of(whole, 1).events, 8);
    assert_null(strstr(ktrace_trace_warning(whole), "CLOCK_REALTIME"));
    assert_null(strstr(ktrace_trace_warning(whole), "asked"));
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(a);
}

/* Anchors that are off by microseconds do not matter: the clock is one. */
static void one_device(void **state)
{
    (void)state;
    struct ktrace_trace *a = RANK(.id = 1, .uuid = 7), *b = RANK(.id = 2, .uuid = 7, .clock = 10800, .host_ns = 5000);
    struct ktrace_trace *whole = MERGED(NULL, a, b);
    const int64_t shift_ps = 1000 * (int64_t)(b->origin_ns - a->origin_ns);
    assert_int_equal(assert_within(whole, 0, a, 0), 0);
    assert_int_equal(assert_within(whole, 1, b, 1), shift_ps);
    assert_int_equal(process_of(whole, 1).relation, KTRACE_RELATION_DEVICE);
    assert_int_equal(whole->launch_count, 4);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(b);

    /* Nor does it where the second has none. */
    b = RANK(.id = 2, .uuid = 7, .clock = 10800, .no_anchors = 1);
    whole = MERGED(NULL, a, b);
    assert_int_equal(assert_within(whole, 1, b, 1), shift_ps);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(b);

    /* But where they say that the clock was set, as by a driver that was loaded anew, the host's relates them. */
    b = RANK(.id = 2, .uuid = 7, .clock = 10800, .host_ns = HOUR_NS);
    whole = MERGED(NULL, a, b);
    assert_int_equal(process_of(whole, 1).relation, KTRACE_RELATION_HOST);
    assert_in_range(assert_within(whole, 1, b, 1000) - 1000 * HOUR_NS, 0, 3000000);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(b);

    /* After another boot it is another clock. */
    b = RANK(.id = 2, .uuid = 7, .boot = "b");
    whole = MERGED(NULL, a, b);
    assert_int_equal(process_of(whole, 1).relation, KTRACE_RELATION_REALTIME);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(a);
}

/* Somebody set the clock by an hour between two captures: as what is monotonic tells. */
static void a_clock_that_was_set(void **state)
{
    (void)state;
    struct ktrace_trace *a = RANK(.id = 1), *b = RANK(.id = 2, .host_ns = 700 + HOUR_NS, .set_ns = HOUR_NS);
    struct ktrace_trace *whole = MERGED(NULL, a, b);
    const int64_t shift_ps = assert_within(whole, 1, b, 500);
    assert_in_range(shift_ps - 700000 + 1000000, 0, 2000000);
    assert_in_range(process_of(whole, 1).shift_ns + HOUR_NS + 200, 0, 400);
    struct ktrace_trace *other_way = MERGED(NULL, b, a);
    assert_in_range(process_of(other_way, 1).shift_ns - HOUR_NS + 200, 0, 400);
    assert_in_range(assert_within(other_way, 0, b, 500) - 700000 + 1000000, 0, 2000000);
    ktrace_trace_destroy(other_way);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(b);

    /* What readings leave open is no reason to move anything. */
    b = RANK(.id = 2, .set_ns = 150);
    whole = MERGED(NULL, a, b);
    assert_int_equal(process_of(whole, 1).shift_ns, 0);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(a);
}

static void hosts(void **state)
{
    (void)state;
    struct ktrace_trace *a = RANK(.id = 1, .label = "rank 0"), *b = RANK(.id = 2, .label = "rank 1", .boot = "b");
    struct ktrace_trace *old = RANK(.id = 0, .clock = 30000);
    struct ktrace_trace *whole = MERGED(NULL, a, b, old);
    assert_int_equal(process_of(whole, 1).relation, KTRACE_RELATION_REALTIME);
    assert_int_equal(process_of(whole, 2).relation, KTRACE_RELATION_REALTIME);
    assert_string_equal(process_of(whole, 2).label, "process 3");
    assert_non_null(
        strstr(ktrace_trace_warning(whole),
               "the times of rank 1 and process 3 are related to those of rank 0 by the hosts' CLOCK_REALTIME"));
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(old);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(a);
}

static struct ktrace_merge_options by_start(const int64_t *offsets_ns, uint64_t count)
{
    struct ktrace_merge_options options = KTRACE_MERGE_OPTIONS_INIT;
    options.align = KTRACE_ALIGN_START;
    options.offsets_ns = offsets_ns;
    options.offset_count = count;
    return options;
}

static void nothing_relates_them(void **state)
{
    (void)state;
    struct ktrace_trace *a = RANK(.id = 1), *b = RANK(.id = 2, .no_anchors = 1, .clock = 777000);
    ASSERT_REFUSED(a, b, NULL, "trace 2 (test) to those of the traces before it: the host's clock was not read");
    ASSERT_REFUSED(a, b, NULL, "--align start");
    ASSERT_REFUSED(b, a, NULL, "those before it have no reading of the host's clock");

    struct ktrace_merge_options options = by_start(NULL, 0);
    struct ktrace_trace *whole = MERGED(&options, a, b);
    assert_int_equal(assert_within(whole, 0, a, 0), 0);
    assert_in_range(assert_within(whole, 1, b, 1) + 1000, 0, 2000);
    assert_int_equal(process_of(whole, 1).relation, KTRACE_RELATION_PLACED);
    assert_non_null(strstr(ktrace_trace_warning(whole), "the times of pid 1002 were placed beside those of pid 1001"));
    ktrace_trace_destroy(whole);

    const int64_t offsets_ns[] = {1000, -250000};
    options = by_start(offsets_ns, 2);
    whole = MERGED(&options, a, b);
    assert_int_equal(process_of(whole, 1).shift_ns, -251000);
    const int64_t first_ps = assert_within(whole, 0, a, 1), second_ps = assert_within(whole, 1, b, 1);
    assert_in_range(first_ps - second_ps - 251000000 + 1000, 0, 2000);
    assert_in_range(second_ps + 1000, 0, 2000); /* the earliest is at 0 */
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(a);
}

static void offsets(void **state)
{
    (void)state;
    struct ktrace_trace *a = RANK(.id = 1, .uuid = 1), *b = RANK(.id = 2, .uuid = 2), *c = RANK(.id = 3, .uuid = 1);
    const int64_t offsets_ns[] = {0, 44000}, far_ns[] = {0, INT64_MAX}, equal_ns[] = {9, 9};
    struct ktrace_merge_options options = KTRACE_MERGE_OPTIONS_INIT;
    options.offsets_ns = offsets_ns;
    options.offset_count = 2;
    struct ktrace_trace *plain = MERGED(NULL, a, b), *moved = MERGED(&options, a, b);
    const int64_t by_ps = assert_within(moved, 1, b, 500) - assert_within(plain, 1, b, 500);
    assert_in_range(by_ps - 44000000 + 50000, 0, 100000);
    assert_int_equal(process_of(moved, 1).shift_ns, 44000);
    ASSERT_REFUSED(a, c, &options, "trace 2 (test) recorded the same device as trace 1 (test)");
    options.offsets_ns = equal_ns;
    ktrace_trace_destroy(moved);
    moved = MERGED(&options, a, c);
    assert_int_equal(process_of(moved, 1).relation, KTRACE_RELATION_DEVICE);
    options.offsets_ns = far_ns;
    ASSERT_REFUSED(a, b, &options, "trace 2 (test) cannot be moved by 9223372036854775807 ns");
    options.offset_count = 3;
    ASSERT_REFUSED(a, b, &options, "there are 3 offsets for 2 traces");
    ktrace_trace_destroy(plain);
    ktrace_trace_destroy(moved);
    ktrace_trace_destroy(c);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(a);
}

/* ---- Reads -------------------------------------------------------------------------------------------------------- */

/* Two reads of one capture shared out the waves of a launch. */
static void consecutive_reads(void **state)
{
    (void)state;
    struct kt_snapshot *first = snapshot_of(&(struct rank){.id = 1, .uuid = 1});
    struct kt_snapshot *second = snapshot_of(&(struct rank){.id = 1, .uuid = 1, .read = 2, .clock = 20000});
    second->waves[0].grid_id = second->waves[1].grid_id = first->waves[2].grid_id; /* waves 2 and 3 of a block of 4 */
    for (int i = 0; i < 2; i++) {
        first->waves[2 + i].block[0] = second->waves[i].block[0] = 128;
        second->waves[i].wave = (uint16_t)(2 + i);
    }
    struct ktrace_trace *a = trace_of(first), *b = trace_of(second);
    assert_int_equal(a->launch_count + b->launch_count, 4);
    struct ktrace_trace *whole = MERGED(NULL, b, a); /* in any order */
    const struct ktrace_trace_info info = info_of(whole);
    assert_int_equal(info.processes, 1);
    assert_int_equal(info.devices, 1);
    assert_int_equal(info.launches, 3);
    assert_int_equal(info.waves, 8);
    assert_int_equal(info.waves_dropped, 4);
    const struct kt_process *process = &whole->snapshot->processes[0];
    assert_int_equal(process->read_count, 1);
    assert_int_equal(process->reads[0].first, 1);
    assert_int_equal(process->reads[0].last, 2);
    assert_string_equal(device_of(whole, 0).label, "device 0: Synthetic device");
    assert_in_range(assert_within(whole, 0, a, 16000) + 16000, 0,
                    32000); /* there are more anchors to fit its clocks by */
    ASSERT_REFUSED(whole, a, NULL, "have the same read of one capture");
    ktrace_trace_destroy(whole);

    /* And beside another process, whatever is asked for. */
    struct ktrace_trace *other = RANK(.id = 2, .uuid = 1, .clock = 12000);
    const int64_t offsets_ns[] = {5, 0, 5}, apart_ns[] = {5, 0, 6};
    struct ktrace_merge_options options = by_start(offsets_ns, 3);
    const struct ktrace_trace *const three[] = {a, other, b};
    whole = merged(three, 3, &options);
    assert_int_equal(info_of(whole).processes, 2);
    assert_int_equal(info_of(whole).launches, 5);
    const int64_t between_ps = assert_within(whole, 0, b, 16000) - assert_within(whole, 0, a, 16000);
    assert_in_range(between_ps - 1000 * (int64_t)(b->origin_ns - a->origin_ns) + 32000, 0, 64000);
    ktrace_trace_destroy(whole);
    options = by_start(apart_ns, 3);
    assert_not_merged(three, 3, &options, "are of one process, whose times cannot be moved by two offsets");
    ktrace_trace_destroy(other);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(a);
}

static void nothing_twice(void **state)
{
    (void)state;
    struct ktrace_trace *a = RANK(.id = 1, .label = "rank 0"), *again = RANK(.id = 1),
                        *later = RANK(.id = 1, .read = 2);
    struct ktrace_trace *old = RANK(.id = 0), *older = RANK(.id = 0), *other = RANK(.id = 0, .clock = 77777);
    ASSERT_REFUSED(a, a, NULL, "trace 1 (test, rank 0) and trace 2 (test, rank 0) are one trace");
    ASSERT_REFUSED(a, again, NULL, "have the same read of one capture, or one and a look at what it read");
    ASSERT_REFUSED(old, older, NULL, "have the same wave, and do not both say which process they are of");
    ASSERT_REFUSED(a, old, NULL, "have the same wave");
    const struct ktrace_trace *const three[] = {a, later, again};
    assert_not_merged(three, 3, NULL, "trace 1 (test, rank 0) and trace 3 (test)");
    ktrace_trace_destroy(MERGED(NULL, a, later));
    ktrace_trace_destroy(MERGED(NULL, old, other));
    ktrace_trace_destroy(other);
    ktrace_trace_destroy(older);
    ktrace_trace_destroy(old);
    ktrace_trace_destroy(later);
    ktrace_trace_destroy(again);
    ktrace_trace_destroy(a);
}

/* A process that begins another capture, with the same rings and with others. */
static void captures_of_one_process(void **state)
{
    (void)state;
    struct kt_snapshot *next = snapshot_of(&(struct rank){.id = 1, .clock = 40000});
    next->processes[0].reads[0].capture = 2;
    struct ktrace_trace *a = RANK(.id = 1), *b = trace_of(next);
    struct ktrace_trace *whole = MERGED(NULL, a, b);
    assert_int_equal(info_of(whole).processes, 1);
    assert_int_equal(whole->snapshot->processes[0].read_count, 2);
    assert_int_equal(info_of(whole).waves, 8);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(b);

    next = snapshot_of(&(struct rank){.id = 1, .clock = 40000, .slots = 128});
    next->processes[0].reads[0].capture = 2;
    b = trace_of(next);
    whole = MERGED(NULL, a, b);
    assert_int_equal(info_of(whole).processes, 2);
    assert_int_equal(whole->snapshot->processes[1].main_ring_slots, 128);
    assert_string_not_equal(process_of(whole, 0).label, process_of(whole, 1).label);
    assert_int_equal(process_of(whole, 1).relation, KTRACE_RELATION_HOST);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(a);
}

/* ---- Files, and merging again ------------------------------------------------------------------------------------- */

static void assert_file(const struct ktrace_trace *trace)
{
    struct bytes file = saved(trace->snapshot);
    assert_loads(trace->snapshot, file.data, file.count);
    struct ktrace_trace *loaded;
    assert_int_equal(ktrace_trace_load_memory(&loaded, file.data, file.count), 0);
    char *before, *after;
    assert_int_equal(ktrace_trace_launches_json(&before, trace), 0);
    assert_int_equal(ktrace_trace_launches_json(&after, loaded), 0);
    assert_string_equal(before, after);
    free(before);
    free(after);
    free(file.data);
    ktrace_trace_destroy(loaded);
}

static void files(void **state)
{
    (void)state;
    struct ktrace_trace *a = RANK(.id = 1, .uuid = 1, .label = "rank 0");
    struct ktrace_trace *b = RANK(.id = 2, .uuid = 1, .label = "rank 1", .slots = 256, .clock = 10600);
    struct ktrace_trace *c = RANK(.id = 3, .uuid = 9, .label = "rank 2", .boot = "b", .ordinal = 3);
    struct ktrace_trace *d = RANK(.id = 4, .no_anchors = 1, .clock = 88800);
    struct ktrace_merge_options start = by_start((const int64_t[]){0, -17}, 2);
    struct ktrace_trace *pair = MERGED(NULL, a, b), *both = MERGED(NULL, pair, c);
    struct ktrace_trace *all = MERGED(NULL, a, b, c), *more = MERGED(&start, both, d);
    assert_file(pair);
    assert_file(both);
    assert_file(more);
    char *once, *twice;
    assert_int_equal(ktrace_trace_launches_json(&once, all), 0);
    assert_int_equal(ktrace_trace_launches_json(&twice, both), 0);
    assert_string_equal(once, twice);
    free(once);
    free(twice);
    assert_int_equal(info_of(more).processes, 4);
    assert_string_equal(device_of(more, 2).label, "rank 2: Synthetic device #3");
    assert_int_equal(process_of(more, 1).relation, KTRACE_RELATION_DEVICE);
    assert_int_equal(process_of(more, 2).relation, KTRACE_RELATION_REALTIME);
    assert_int_equal(process_of(more, 3).relation, KTRACE_RELATION_PLACED);
    assert_in_range(assert_within(more, 3, d, 1) + 1000, 0, 2000);
    /* What was laid side by side is a first one, or laid again. */
    struct ktrace_trace *fresh = RANK(.id = 9);
    ASSERT_REFUSED(fresh, more, NULL, "trace 2 (test) was merged by where its traces start");
    struct ktrace_trace *e = RANK(.id = 5, .uuid = 1, .clock = 11000), *most = MERGED(NULL, more, e);
    assert_int_equal(process_of(most, 4).relation, KTRACE_RELATION_DEVICE);
    assert_int_equal(assert_within(most, 4, e, 1) - assert_within(most, 0, a, 1),
                     1000 * (int64_t)(e->origin_ns - a->origin_ns));
    assert_file(most);
    struct ktrace_trace *traces[] = {most, e, fresh, more, all, both, pair, d, c, b, a};
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
        ktrace_trace_destroy(traces[i]);
}

/* ---- What they are called ----------------------------------------------------------------------------------------- */

static void labels(void **state)
{
    (void)state;
    struct ktrace_trace *a = RANK(.id = 1, .label = "rank 0", .boot = "a");
    struct ktrace_trace *b = RANK(.id = 2, .label = "rank 0", .boot = "b");
    struct ktrace_trace *c = RANK(.id = 3, .label = "rank 0", .boot = "b"), *d = RANK(.id = 4, .boot = "b");
    const struct ktrace_trace *const four[] = {a, b, c, d};
    struct ktrace_trace *whole = merged(four, 4, NULL);
    assert_string_equal(process_of(whole, 0).label, "rank 0 on a");
    assert_string_equal(process_of(whole, 1).label, "rank 0 (pid 1002)");
    assert_string_equal(process_of(whole, 2).label, "rank 0 (pid 1003)");
    assert_string_equal(process_of(whole, 3).label, "pid 1004");
    ktrace_trace_destroy(whole);

    const char *const names[] = {"producer", NULL, "", "consumer"};
    struct ktrace_merge_options options = KTRACE_MERGE_OPTIONS_INIT;
    options.name = "step";
    options.labels = names;
    options.label_count = 4;
    whole = merged(four, 4, &options);
    assert_string_equal(info_of(whole).name, "step");
    assert_string_equal(process_of(whole, 0).label, "producer");
    assert_string_equal(process_of(whole, 3).label, "consumer");
    options.label_count = 2;
    ASSERT_REFUSED(whole, whole, &options, "trace 1 (step) is of 4 processes, which cannot all be called \"producer\"");
    ASSERT_REFUSED(a, a, &options, "are one trace");
    options.label_count = 3;
    ASSERT_REFUSED(a, b, &options, "there are 3 labels for 2 traces");
    struct ktrace_trace *later = RANK(.id = 1, .label = "rank 0", .read = 2);
    options.labels = (const char *const[]){"first", "second"};
    options.label_count = 2;
    ASSERT_REFUSED(a, later, &options, "are of one process, which cannot be called \"first\" and \"second\"");
    options.labels = (const char *const[]){"", "second"};
    struct ktrace_trace *one = MERGED(&options, a, later);
    assert_string_equal(process_of(one, 0).label, "second");
    ktrace_trace_destroy(one);
    ktrace_trace_destroy(later);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(d);
    ktrace_trace_destroy(c);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(a);
}

/* ---- What cannot be one ------------------------------------------------------------------------------------------- */

static void kinds(void **state)
{
    (void)state;
    void *data;
    size_t bytes;
    struct ktrace_trace *cuda = RANK(.id = 1), *hip;
    assert_int_equal(kt_file_read(&data, &bytes, KT_TEST_DATA "/format/v1_amdgcn.ktrace"), 0);
    assert_int_equal(ktrace_trace_load_memory(&hip, data, bytes), 0);
    free(data);
    ASSERT_REFUSED(cuda, hip, NULL, "trace 1 (test) is of CUDA and trace 2");
    struct kt_snapshot *simulated = snapshot_of(&(struct rank){.id = 2});
    simulated->flags |= KT_SNAPSHOT_SIMULATED;
    struct ktrace_trace *sim = trace_of(simulated);
    ASSERT_REFUSED(cuda, sim, NULL, "trace 2 (test) is of simulated time and trace 1 (test) was recorded on a device");
    ktrace_trace_destroy(sim);

    /* Two simulated processes have each a time of its own, even for devices of one name. */
    struct kt_snapshot *a = snapshot_of(&(struct rank){.id = 2, .uuid = 1}),
                       *b = snapshot_of(&(struct rank){.id = 3, .uuid = 1});
    a->flags |= KT_SNAPSHOT_SIMULATED;
    b->flags |= KT_SNAPSHOT_SIMULATED;
    struct ktrace_trace *one = trace_of(a), *other = trace_of(b);
    ASSERT_REFUSED(one, other, NULL, "each process that is simulated has a time of its own");
    struct ktrace_merge_options options = by_start((const int64_t[]){0, -3000000000}, 2); /* before its clock's 0 */
    struct ktrace_trace *whole = MERGED(&options, one, other);
    assert_int_equal(assert_within(whole, 1, other, 0), 0);
    assert_int_equal(assert_within(whole, 0, one, 0), INT64_C(3000000000000));
    assert_file(whole);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(other);
    ktrace_trace_destroy(one);
    ktrace_trace_destroy(hip);
    ktrace_trace_destroy(cuda);
}

static void calls_that_are_wrong(void **state)
{
    (void)state;
    struct ktrace_trace *a = RANK(.id = 1), *b = RANK(.id = 2), *out;
    const struct ktrace_trace *const both[] = {a, b}, *const hole[] = {a, NULL};
    assert_int_equal(ktrace_trace_merge(NULL, both, 2, NULL), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_merge(&out, NULL, 2, NULL), KTRACE_ERROR_ARGUMENT);
    assert_not_merged(both, 0, NULL, "there is no trace");
    assert_not_merged(hole, 2, NULL, "trace 2 is NULL");
    struct ktrace_merge_options options = KTRACE_MERGE_OPTIONS_INIT;
    options.align = 2;
    assert_not_merged(both, 2, &options, "align is 2");
    options = (struct ktrace_merge_options){.struct_size = 4};
    assert_not_merged(both, 2, &options, "struct_size is 4");
    struct {
        struct ktrace_merge_options options;
        uint64_t more;
    } newer = {.options = KTRACE_MERGE_OPTIONS_INIT, .more = 0};
    newer.options.struct_size = sizeof newer;
    ktrace_trace_destroy(merged(both, 2, &newer.options));
    newer.more = 1;
    assert_int_equal(ktrace_trace_merge(&out, both, 2, &newer.options), KTRACE_ERROR_VERSION);
    struct ktrace_process_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_process(&info, a, 1), KTRACE_ERROR_NOT_FOUND);
    struct ktrace_trace *alone = merged(both, 1, NULL); /* a copy */
    assert_int_equal(assert_within(alone, 0, a, 0), 0);
    ktrace_trace_destroy(alone);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(a);
}

/* ---- What is not whole -------------------------------------------------------------------------------------------- */

static void empty_traces(void **state)
{
    (void)state;
    struct ktrace_trace *a = RANK(.id = 1, .label = "rank 0");
    struct kt_snapshot *nothing = build_nothing();
    tell_origin(&nothing->processes[0], &(struct rank){.id = 2, .label = "rank 1"});
    set_text(&nothing->warning, "nothing was recorded: no kernel ran");
    struct ktrace_trace *empty = trace_of(nothing), *whole = MERGED(NULL, empty, a);
    assert_int_equal(process_of(whole, 0).relation, KTRACE_RELATION_NONE);
    assert_int_equal(process_of(whole, 1).relation, KTRACE_RELATION_SELF);
    assert_non_null(strstr(ktrace_trace_warning(whole), "rank 1: nothing was recorded: no kernel ran"));
    assert_int_equal(info_of(whole).events, 8);
    assert_file(whole);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(empty);
    ktrace_trace_destroy(a);
}

/* Waves whose module is not there, which a trace of one device may have. */
static void modules_that_are_missing(void **state)
{
    (void)state;
    struct kt_snapshot *torn = snapshot_of(&(struct rank){.id = 2});
    torn->waves[1].module = 4711;
    struct ktrace_trace *a = RANK(.id = 1), *b = trace_of(torn), *whole = MERGED(NULL, a, b);
    assert_int_equal(info_of(whole).waves, 8);
    assert_int_equal(process_of(whole, 1).waves, 4);
    assert_int_equal(whole->slots_corrupt, b->slots_corrupt);
    assert_file(whole);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(a);
}

static void memory_that_runs_out(void **state)
{
    (void)state;
    struct ktrace_trace *a = RANK(.id = 1, .uuid = 1, .label = "rank 0"), *b = RANK(.id = 2, .uuid = 1, .clock = 10600);
    struct ktrace_trace *c = RANK(.id = 1, .uuid = 1, .label = "rank 0", .read = 2, .clock = 20000), *whole = NULL;
    const struct ktrace_trace *const traces[] = {a, b, c};
    int status = KTRACE_ERROR_MEMORY;
    for (long i = 0; status == KTRACE_ERROR_MEMORY && i < 10000; i++) {
        allocations_left = i;
        status = ktrace_trace_merge(&whole, traces, 3, NULL);
        allocations_left = -1;
        assert_true(status == 0 || status == KTRACE_ERROR_MEMORY);
    }
    assert_int_equal(status, 0);
    assert_int_equal(info_of(whole).processes, 2);
    ktrace_trace_destroy(whole);
    ktrace_trace_destroy(c);
    ktrace_trace_destroy(b);
    ktrace_trace_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_host),
        cmocka_unit_test(one_device),
        cmocka_unit_test(a_clock_that_was_set),
        cmocka_unit_test(hosts),
        cmocka_unit_test(nothing_relates_them),
        cmocka_unit_test(offsets),
        cmocka_unit_test(consecutive_reads),
        cmocka_unit_test(nothing_twice),
        cmocka_unit_test(captures_of_one_process),
        cmocka_unit_test(files),
        cmocka_unit_test(labels),
        cmocka_unit_test(kinds),
        cmocka_unit_test(calls_that_are_wrong),
        cmocka_unit_test(empty_traces),
        cmocka_unit_test(modules_that_are_missing),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
