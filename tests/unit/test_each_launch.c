/* Launches one by one: the statistics of their own phases, and a file for each. What such a file holds is checked with
 * Perfetto's schema in tests/perfetto/check_launches.py. */
#include "build_snapshot.h"
#include "export/sink.h"
#include "launch_phases.h"
#include "scratch.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[256];

static struct ktrace_trace *trace_of(struct kt_snapshot *snapshot)
{
    struct ktrace_trace *trace;
    if (kt_trace_from_snapshot(&trace, snapshot) != KTRACE_OK)
        fail_msg("%s", ktrace_last_error());
    return trace;
}

static struct ktrace_trace *example(uint32_t launches)
{
    return trace_of(build_example(launches, 3, 4));
}

static int setup(void **state)
{
    (void)state;
    return make_scratch(directory, sizeof directory);
}

static int teardown(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    return system(command);
}

static int count_files(void)
{
    int count = 0;
    DIR *folder = opendir(directory);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* ---- Statistics ------------------------------------------------------------------------------------------------- */

static struct ktrace_phase_info phase_of(const struct ktrace_trace *trace, uint64_t launch, uint64_t index)
{
    struct ktrace_phase_info info = {.struct_size = sizeof info};
    assert_int_equal(ktrace_trace_launch_phase(&info, trace, launch, index), KTRACE_OK);
    return info;
}

/* Two launches of one kernel. On the builder's clock a tick is 0.5 ns. */
static struct ktrace_trace *two_launches(void)
{
    struct build *build = build_begin(64, 16);
    uint32_t module = build_module(build, 0x140);
    uint32_t kernel = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "gemm");
    uint32_t tile = build_site(build, module, KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, "tile");
    uint32_t pop = build_site(build, module, KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "");
    uint32_t spot = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "spot");
    static const uint64_t lengths[2][4] = {{200, 400, 600, 800}, {4000, 8000, 0, 0}};
    for (uint64_t launch = 0; launch < 2; launch++) {
        uint64_t clock = 100000 + launch * 100000;
        uint32_t wave = build_wave(
            build, &(struct build_wave){.kernel = kernel, .grid_id = 7 + launch, .start_clock = clock - 1000});
        for (int i = 0; i < 4 && lengths[launch][i]; i++) {
            build_event(build, wave, 0, clock, tile);
            build_event(build, wave, 0, clock + lengths[launch][i], pop);
            clock += 10000;
        }
        if (launch == 1) { /* a phase of its own, and a range that stays open */
            build_event(build, wave, 0, clock, spot);
            build_event(build, wave, 0, clock + 100, tile);
        }
        build_end(build, wave, clock + 1000);
    }
    return trace_of(build_finish(build));
}

static void assert_about(double value, double wanted_ns)
{
    if (value < wanted_ns * 0.999 || value > wanted_ns * 1.001)
        fail_msg("%g ns instead of %g", value, wanted_ns);
}

static void test_known_statistics(void **state)
{
    struct ktrace_trace *trace = two_launches();
    uint64_t count = 77;
    (void)state;
    assert_int_equal(ktrace_trace_launch_phase_count(&count, trace, 0), KTRACE_OK);
    assert_int_equal(count, 1); /* "spot" is not in this launch */
    struct ktrace_phase_info tile = phase_of(trace, 0, 0);
    assert_string_equal(tile.kernel, "gemm");
    assert_string_equal(tile.name, "tile");
    assert_int_equal(tile.kind, KTRACE_KIND_PUSH);
    assert_int_equal(tile.count, 4);
    assert_int_equal(tile.unclosed, 0);
    assert_about(tile.total_ns, 1000);
    assert_about(tile.mean_ns, 250);
    assert_about(tile.min_ns, 100);
    assert_about(tile.p50_ns, 200);
    assert_about(tile.p90_ns, 400);
    assert_about(tile.max_ns, 400);

    assert_int_equal(ktrace_trace_launch_phase_count(&count, trace, 1), KTRACE_OK);
    assert_int_equal(count, 2);
    tile = phase_of(trace, 1, 0);
    assert_int_equal(tile.count, 2);
    assert_int_equal(tile.unclosed, 1);
    assert_about(tile.total_ns, 6000);
    assert_about(tile.min_ns, 2000);
    assert_about(tile.max_ns, 4000);
    struct ktrace_phase_info spot = phase_of(trace, 1, 1);
    assert_string_equal(spot.name, "spot");
    assert_int_equal(spot.count, 1);
    ktrace_trace_destroy(trace);
}

/* Of any trace: what the launches have is what the trace has. */
static void check_sums(const struct ktrace_trace *trace)
{
    for (uint64_t p = 0; p < ktrace_trace_phase_count(trace); p++) {
        struct ktrace_phase_info whole = {.struct_size = sizeof whole}, sum = {0};
        assert_int_equal(ktrace_trace_phase(&whole, trace, p), KTRACE_OK);
        for (uint64_t launch = 0; launch < trace->launch_count; launch++) {
            uint64_t count;
            assert_int_equal(ktrace_trace_launch_phase_count(&count, trace, launch), KTRACE_OK);
            for (uint64_t i = 0; i < count; i++) {
                const struct ktrace_phase_info part = phase_of(trace, launch, i);
                if (strcmp(part.kernel, whole.kernel) != 0 || strcmp(part.name, whole.name) != 0 ||
                    part.kind != whole.kind)
                    continue;
                assert_true(part.count + part.unclosed > 0);
                if (part.count && part.kind != KTRACE_KIND_MARK) {
                    sum.min_ns = sum.count == 0 || part.min_ns < sum.min_ns ? part.min_ns : sum.min_ns;
                    sum.max_ns = part.max_ns > sum.max_ns ? part.max_ns : sum.max_ns;
                }
                sum.count += part.count;
                sum.unclosed += part.unclosed;
                sum.total_ns += part.total_ns;
            }
        }
        assert_int_equal(sum.count, whole.count);
        assert_int_equal(sum.unclosed, whole.unclosed);
        assert_true(sum.min_ns == whole.min_ns && sum.max_ns == whole.max_ns);
        assert_true(sum.total_ns >= whole.total_ns * (1 - 1e-9) && sum.total_ns <= whole.total_ns * (1 + 1e-9));
    }
}

static void test_launches_add_up_to_the_trace(void **state)
{
    static const char *const recordings[] = {
        "/h200/graph/graph_built_before.ktrace", "/h200/capacity/launches_accumulate.ktrace",
        "/h200/example_divergence.ktrace",       "/sim/example_divergence.ktrace",
        "/sim/peek_open_ranges.ktrace",          "/format/v1.ktrace"};
    struct ktrace_trace *trace = example(5);
    (void)state;
    check_sums(trace);
    ktrace_trace_destroy(trace);
    for (size_t i = 0; i < sizeof recordings / sizeof recordings[0]; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s%s", KT_TEST_DATA, recordings[i]);
        assert_int_equal(ktrace_trace_load(&trace, path), KTRACE_OK);
        assert_true(trace->launch_count > 0);
        check_sums(trace);
        ktrace_trace_destroy(trace);
    }
}

static void test_launches_and_phases_that_are_not_there(void **state)
{
    struct ktrace_trace *trace = example(2);
    struct ktrace_phase_info info = {.struct_size = sizeof info};
    uint64_t count = 77;
    (void)state;
    assert_int_equal(ktrace_trace_launch_phase_count(&count, trace, 2), KTRACE_ERROR_NOT_FOUND);
    assert_string_equal(ktrace_last_error(), "launch 2 is not there: the trace has 2");
    assert_int_equal(count, 77);
    assert_int_equal(ktrace_trace_launch_phase(&info, trace, 2, 0), KTRACE_ERROR_NOT_FOUND);
    assert_int_equal(ktrace_trace_launch_phase(&info, trace, 0, 1000), KTRACE_ERROR_NOT_FOUND);
    assert_non_null(strstr(ktrace_last_error(), "there is no phase 1000: launch 0 has "));
    info.struct_size = 0;
    assert_int_equal(ktrace_trace_launch_phase(&info, trace, 0, 0), KTRACE_ERROR_ARGUMENT);
    info.struct_size = offsetof(struct ktrace_phase_info, unclosed); /* an older caller */
    info.unclosed = 77;
    assert_int_equal(ktrace_trace_launch_phase(&info, trace, 0, 0), KTRACE_OK);
    assert_true(info.count > 0);
    assert_int_equal(info.unclosed, 77);
    assert_int_equal(ktrace_trace_launch_phase(NULL, trace, 0, 0), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_launch_phase_count(NULL, trace, 0), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_launch_phase_count(&count, NULL, 0), KTRACE_ERROR_ARGUMENT);
    ktrace_trace_destroy(trace);
}

enum { THREADS = 4, LAUNCHES = 40 };
struct asker {
    const struct ktrace_trace *trace;
    const struct kt_launch_phases *answers[LAUNCHES];
};

static void *ask(void *argument)
{
    struct asker *asker = argument;
    for (uint64_t i = 0; i < LAUNCHES; i++)
        asker->answers[i] = kt_launch_phases(asker->trace, i);
    return NULL;
}

static void test_any_thread_may_ask(void **state)
{
    struct ktrace_trace *trace = example(LAUNCHES);
    pthread_t threads[THREADS];
    struct asker askers[THREADS];
    (void)state;
    assert_int_equal(trace->launch_count, LAUNCHES);
    for (int i = 0; i < THREADS; i++) {
        askers[i].trace = trace;
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        for (int launch = 0; launch < LAUNCHES; launch++) {
            assert_non_null(askers[i].answers[launch]);
            assert_ptr_equal(askers[i].answers[launch], askers[0].answers[launch]);
        }
    ktrace_trace_destroy(trace);
}

/* ---- Text and JSON ---------------------------------------------------------------------------------------------- */

static void test_text_of_two_launches(void **state)
{
    struct ktrace_trace *trace = two_launches();
    char *text;
    (void)state;
    assert_int_equal(ktrace_trace_launches_text(&text, trace), KTRACE_OK);
    assert_ptr_equal(strstr(text, "2 launches\n  launch  kernel  grid id  grid "), text);
    assert_non_null(strstr(text, "\n  #1      gemm          8  (1, 1, 1)  (32, 1, 1)  "));
    assert_non_null(strstr(text, "\n  #0      tile   range      4  1.00 us  250.1 ns"));
    assert_non_null(strstr(text, "\n  #1      spot   mark       1\n"));
    assert_null(strstr(text, "lost")); /* nothing was: no column */
    assert_non_null(strstr(text, "\nwarning: 1 range is unclosed\n"));
    free(text);
    ktrace_trace_destroy(trace);
}

static void test_text_and_json_of_nothing(void **state)
{
    struct ktrace_trace *trace = trace_of(build_finish(build_begin(64, 16)));
    char *text;
    (void)state;
    assert_int_equal(ktrace_trace_launches_text(&text, trace), KTRACE_OK);
    assert_ptr_equal(strstr(text, "0 launches\n"), text);
    free(text);
    assert_int_equal(ktrace_trace_launches_json(&text, trace), KTRACE_OK);
    assert_non_null(strstr(text, "\"launches\": []\n}\n"));
    free(text);
    assert_int_equal(ktrace_trace_launches_text(NULL, trace), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_launches_text(&text, NULL), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_launches_json(NULL, trace), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_launches_json(&text, NULL), KTRACE_ERROR_ARGUMENT);
    ktrace_trace_destroy(trace);
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

static void assert_file(const char *path, const char *name)
{
    char wanted[600];
    snprintf(wanted, sizeof wanted, "%s/%s", directory, name);
    assert_string_equal(path, wanted);
    assert_int_equal(access(path, R_OK), 0);
}

static void assert_content(const char *path, const struct ktrace_trace *trace, uint64_t launch)
{
    struct kt_memory_sink memory;
    kt_memory_sink_init(&memory);
    assert_int_equal(kt_exporter_perfetto.write(&memory.sink, trace, launch), KTRACE_OK);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t *content = malloc(memory.buffer.bytes + 1);
    assert_non_null(content);
    assert_int_equal(fread(content, 1, memory.buffer.bytes + 1, file), memory.buffer.bytes);
    assert_memory_equal(content, memory.buffer.data, memory.buffer.bytes);
    free(content);
    fclose(file);
    kt_pb_destroy(&memory.buffer);
}

static void test_names_of_their_own(void **state)
{
    struct ktrace_trace *trace = example(3);
    char **paths, **again;
    uint64_t count;
    (void)state;
    assert_int_equal(trace->launch_count, 3);
    assert_int_equal(ktrace_trace_export_launches(&paths, &count, trace, directory, NULL, 0), KTRACE_OK);
    assert_int_equal(count, 3);
    assert_null(paths[3]);
    assert_file(paths[0], "gemm_launch_0_ktrace.pftrace.gz");
    assert_file(paths[1], "reduce_launch_1_ktrace.pftrace.gz");
    assert_file(paths[2], "gemm_launch_2_ktrace.pftrace.gz");
    for (uint64_t i = 0; i < count; i++)
        assert_content(paths[i], trace, i);
    assert_int_equal(ktrace_trace_export_launches(&again, &count, trace, directory, NULL, 0), KTRACE_OK);
    assert_file(again[0], "gemm_launch_0_ktrace_1.pftrace.gz"); /* nothing is written over */
    assert_content(paths[0], trace, 0);
    ktrace_paths_free(again, count);
    ktrace_paths_free(paths, count);
    ktrace_paths_free(NULL, 5);
    ktrace_trace_destroy(trace);
}

static void test_given_names(void **state)
{
    static const char *const names[] = {"layer 0", "same", "same"};
    struct ktrace_trace *trace = example(3);
    char **paths;
    uint64_t count;
    (void)state;
    assert_int_equal(ktrace_trace_export_launches(&paths, &count, trace, directory, names, 3), KTRACE_OK);
    assert_int_equal(count, 3);
    assert_file(paths[0], "layer_0_ktrace.pftrace.gz");
    assert_file(paths[1], "same_ktrace.pftrace.gz");
    assert_file(paths[2], "same_ktrace_1.pftrace.gz");
    for (uint64_t i = 0; i < count; i++)
        assert_content(paths[i], trace, i);
    ktrace_paths_free(paths, count);
    ktrace_trace_destroy(trace);
}

static void test_wrong_names(void **state)
{
    static char long_name[202];
    memset(long_name, 'x', sizeof long_name - 1);
    const struct {
        const char *names[4];
        uint64_t count;
        const char *sentence;
    } cases[] = {
        {{"a"},
         1,
         "1 name was given, but 3 launches have events: give one for each of these, in the order of first "
         "timestamps"},
        {{"a", "b", "c", "d"},
         4,
         "4 names were given, but 3 launches have events: give one for each of these, in the order "
         "of first timestamps"},
        {{"a"},
         0,
         "0 names were given, but 3 launches have events: give one for each of these, in the order of first "
         "timestamps"},
        {{"a", "", "c"}, 3, "names[1] is empty: every launch that has events has a name"},
        {{NULL, "b", "c"}, 3, "names[0] is NULL: every launch that has events has a name"},
        {{"a", "b", "x/y"}, 3, "names[2] is \"x/y\": a name, not a path; the directory is an argument of its own"},
        {{"a", "..", "c"}, 3, "names[1] is \"..\": a name, not a path; the directory is an argument of its own"},
        {{"a", "b", "."}, 3, "names[2] is \".\": a name, not a path; the directory is an argument of its own"},
        {{"a", "b", "/"}, 3, "names[2] is \"/\": a name, not a path; the directory is an argument of its own"},
        {{"\x1B/", "b", "c"}, 3, "names[0] is \"\\x1B/\": a name, not a path; the directory is an argument of its own"},
        {{"a", "b", long_name},
         3,
         "names[2] is "
         "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
         "xxxxxxxxxxxxxxxxxxxx\": longer than the 200 bytes that a name may have"},
    };
    struct ktrace_trace *trace = example(3);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char **paths = (char **)&trace;
        uint64_t count = 77;
        assert_int_equal(ktrace_trace_export_launches(&paths, &count, trace, directory, cases[i].names, cases[i].count),
                         KTRACE_ERROR_ARGUMENT);
        assert_string_equal(ktrace_last_error(), cases[i].sentence);
        assert_ptr_equal(paths, &trace);
        assert_int_equal(count, 77);
    }
    char **paths;
    uint64_t count;
    assert_int_equal(ktrace_trace_export_launches(&paths, &count, trace, directory, NULL, 3), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_export_launches(NULL, &count, trace, directory, NULL, 0), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_export_launches(&paths, NULL, trace, directory, NULL, 0), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(ktrace_trace_export_launches(&paths, &count, NULL, directory, NULL, 0), KTRACE_ERROR_ARGUMENT);
    assert_int_equal(count_files(), 0);
    ktrace_trace_destroy(trace);
}

/* Kernels may be called anything, and at any length. */
static void test_hostile_kernel_names(void **state)
{
    char kernel[600], wanted[256];
    (void)state;
    memset(kernel, 'k', sizeof kernel - 1);
    kernel[sizeof kernel - 1] = '\0';
    memcpy(kernel, "../a b", 6);
    struct build *build = build_begin(64, 16);
    uint32_t module = build_module(build, 0x140);
    uint32_t site = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, kernel);
    uint32_t mark = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_NONE, "m");
    uint32_t wave = build_wave(build, &(struct build_wave){.kernel = site, .start_clock = 1000});
    build_event(build, wave, 0, 1100, mark);
    build_end(build, wave, 1200);
    struct ktrace_trace *trace = trace_of(build_finish(build));
    char **paths;
    uint64_t count;
    assert_int_equal(ktrace_trace_export_launches(&paths, &count, trace, directory, NULL, 0), KTRACE_OK);
    assert_int_equal(count, 1);
    kernel[0] = kernel[2] = kernel[4] = '_';
    snprintf(wanted, sizeof wanted, "%.191s_launch_0_ktrace.pftrace.gz", kernel);
    assert_file(paths[0], wanted);
    ktrace_paths_free(paths, count);
    ktrace_trace_destroy(trace);
}

/* `events` of each launch in turn. */
static struct ktrace_trace *launches_of(const uint32_t *events, size_t launches)
{
    struct build *build = build_begin(65536, 16);
    uint32_t module = build_module(build, 0x140);
    uint32_t site = build_site(build, module, KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, "k");
    uint32_t mark = build_site(build, module, KTRACE_KIND_MARK, KTRACE_PAYLOAD_UINT64, "m");
    uint64_t clock = 1000, random = 1;
    for (size_t i = 0; i < launches; i++) {
        uint32_t wave = build_wave(build, &(struct build_wave){.kernel = site, .grid_id = i, .start_clock = clock});
        for (uint32_t event = 0; event < events[i]; event++) {
            random = random * 6364136223846793005u + 1442695040888963407u; /* which gzip cannot shorten */
            build_payload(build, wave, 0, clock += 100, mark, random);
        }
        build_end(build, wave, clock += 100);
        clock += 1000;
    }
    return trace_of(build_finish(build));
}

static void test_launches_without_events_have_no_file(void **state)
{
    static const uint32_t events[] = {0, 2, 0, 1}, none[] = {0, 0};
    static const char *const names[] = {"first", "second"};
    struct ktrace_trace *trace = launches_of(events, 4);
    char **paths;
    uint64_t count;
    (void)state;
    assert_int_equal(trace->launch_count, 4);
    assert_int_equal(ktrace_trace_export_launches(&paths, &count, trace, directory, names, 2), KTRACE_OK);
    assert_int_equal(count, 2);
    assert_file(paths[0], "first_ktrace.pftrace.gz");
    assert_content(paths[0], trace, 1);
    assert_content(paths[1], trace, 3);
    ktrace_paths_free(paths, count);
    assert_int_equal(ktrace_trace_export_launches(&paths, &count, trace, directory, NULL, 0), KTRACE_OK);
    assert_file(paths[0], "k_launch_1_ktrace.pftrace.gz");
    ktrace_paths_free(paths, count);
    ktrace_trace_destroy(trace);

    trace = launches_of(none, 2);
    assert_int_equal(ktrace_trace_export_launches(&paths, &count, trace, directory, NULL, 0), KTRACE_OK);
    assert_int_equal(count, 0);
    assert_null(paths[0]);
    ktrace_paths_free(paths, count);
    assert_int_equal(ktrace_trace_export_launches(&paths, &count, trace, directory, names, 2), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(),
                        "2 names were given, but 0 launches have events: give one for each of these, "
                        "in the order of first timestamps");
    ktrace_trace_destroy(trace);
}

static void test_a_directory_that_is_not_there(void **state)
{
    struct ktrace_trace *trace = example(1);
    char path[400], **paths;
    uint64_t count;
    (void)state;
    snprintf(path, sizeof path, "%s/none", directory);
    assert_int_equal(ktrace_trace_export_launches(&paths, &count, trace, path, NULL, 0), KTRACE_ERROR_IO);
    assert_non_null(strstr(ktrace_last_error(), "/none/gemm_launch_0_ktrace.pftrace.gz: could not be opened: No such "
                                                "file or directory"));
    assert_int_equal(count_files(), 0);
    ktrace_trace_destroy(trace);
}

/* The third file is larger than files may be. */
static void test_a_failure_leaves_nothing(void **state)
{
    static const uint32_t events[] = {1, 2, 5000, 1};
    struct ktrace_trace *trace = launches_of(events, 4);
    struct rlimit before, limit;
    char other[400], **paths;
    uint64_t count;
    (void)state;
    snprintf(other, sizeof other, "%s/k_launch_0_ktrace.pftrace.gz", directory);
    fclose(fopen(other, "w")); /* another's file stays */
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 16384;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const int status = ktrace_trace_export_launches(&paths, &count, trace, directory, NULL, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, KTRACE_ERROR_IO);
    assert_non_null(strstr(ktrace_last_error(), "/k_launch_2_ktrace.pftrace.gz: could not be written: File too large"));
    assert_int_equal(count_files(), 1);
    assert_int_equal(access(other, R_OK), 0);
    ktrace_trace_destroy(trace);
}

int main(void)
{
#define TEST_WITH_FILES(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_statistics),
        cmocka_unit_test(test_launches_add_up_to_the_trace),
        cmocka_unit_test(test_launches_and_phases_that_are_not_there),
        cmocka_unit_test(test_any_thread_may_ask),
        cmocka_unit_test(test_text_of_two_launches),
        cmocka_unit_test(test_text_and_json_of_nothing),
        TEST_WITH_FILES(test_names_of_their_own),
        TEST_WITH_FILES(test_given_names),
        TEST_WITH_FILES(test_wrong_names),
        TEST_WITH_FILES(test_hostile_kernel_names),
        TEST_WITH_FILES(test_launches_without_events_have_no_file),
        TEST_WITH_FILES(test_a_directory_that_is_not_there),
        TEST_WITH_FILES(test_a_failure_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
