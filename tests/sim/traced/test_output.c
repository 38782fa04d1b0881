/* test_output.c - what a capture puts out by itself: summary, launches and files of one snapshot, before its end and after it, and
 * a file for each launch of a graph. */
#include <unistd.h>

#include "replayed.h"

/* All that a capture says at one time. */
struct answers {
    char *summary, *summary_json, *launches;
    char *path;
    char **paths;
    uint64_t count;
};

static struct answers ask(struct traced *t, const char *const *names, uint64_t name_count)
{
    struct answers a = {.count = 0};
    must(ktrace_capture_summary_text(&a.summary, t->capture));
    must(ktrace_capture_summary_json(&a.summary_json, t->capture));
    must(ktrace_capture_launches_json(&a.launches, t->capture));
    must(ktrace_capture_export(&a.path, t->capture));
    must(ktrace_capture_export_launches(&a.paths, &a.count, t->capture, names, name_count));
    return a;
}

/* Removes the files, which must be there. */
static void forget(struct answers *a)
{
    assert_int_equal(unlink(a->path), 0);
    for (uint64_t i = 0; i < a->count; i++)
        assert_int_equal(unlink(a->paths[i]), 0);
    ktrace_paths_free(a->paths, a->count);
    free(a->path);
    free(a->summary);
    free(a->summary_json);
    free(a->launches);
}

static void same_texts(const struct answers *a, const struct answers *b)
{
    assert_string_equal(a->summary, b->summary);
    assert_string_equal(a->summary_json, b->summary_json);
    assert_string_equal(a->launches, b->launches);
    assert_int_equal(a->count, b->count);
}

/* Launches in the list: each has an id. */
static uint64_t listed(const struct answers *a)
{
    uint64_t count = 0;
    for (const char *at = a->launches; (at = strstr(at, "\"launch_id\":")); at++)
        count++;
    return count;
}

static void is_named(const char *path, const char *folder, const char *name)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "%s/%s_ktrace.pftrace.gz", folder, name);
    assert_string_equal(path, wanted);
}

static void begin_into(struct traced *t, const char *folder, int stay_armed)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.name = "model";
    options.directory = folder;
    options.stay_armed = stay_armed;
    begin(t, &options);
}

/* All of it is of one snapshot, which asking does not use up, and which stays when the capture was stopped. */
static void one_snapshot(void **state)
{
    struct traced *t = *state;
    char folder[] = "output_XXXXXX";
    assert_non_null(mkdtemp(folder));
    begin_into(t, folder, 0);
    launch_kernel(t, "work", 2, 128, 3, NULL);
    launch_kernel(t, "other", 1, 64, 2, NULL);
    struct answers first = ask(t, NULL, 0);
    assert_int_equal(listed(&first), 2);
    assert_int_equal(first.count, 2);
    is_named(first.path, folder, "model");
    is_named(first.paths[0], folder, "work_launch_0");
    is_named(first.paths[1], folder, "other_launch_1");
    struct answers again = ask(t, NULL, 0); /* nothing is overwritten: these files have numbers */
    same_texts(&first, &again);
    forget(&again);

    launch_kernel(t, "work", 1, 64, 1, NULL); /* behind what there was */
    struct answers more = ask(t, NULL, 0);
    assert_int_equal(listed(&more), 3);
    assert_string_not_equal(first.summary, more.summary);
    must(ktrace_capture_stop(t->capture));
    launch_kernel(t, "work", 1, 64, 1, NULL); /* dormant */
    struct answers stopped = ask(t, NULL, 0);
    same_texts(&more, &stopped);
    struct ktrace_trace *trace = end(t);
    check_launches(t, 0, 3, trace);
    ktrace_trace_destroy(trace);
    forget(&stopped);
    forget(&more);
    forget(&first);
    assert_int_equal(rmdir(folder), 0);
}

/* Three layers are three nodes of one kernel: each has a file of its own under the name that it is given. */
static void layers_of_a_graph(void **state)
{
    struct traced *t = *state;
    struct graph g;
    char folder[] = "output_XXXXXX";
    static const char *const names[] = {"layer_0", "layer_1", "layer_2"};
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 3; i++)
        prepare(t, "work", (struct dim3){2, 1, 1}, (struct dim3){64, 1, 1}, i);
    build_graph(&g, t, 0);
    begin_into(t, folder, 1);
    replay(&g, t);
    must(ktrace_capture_stop(t->capture));
    for (int round = 0; round < 2; round++) {
        struct answers a = ask(t, names, 3);
        assert_int_equal(listed(&a), 3);
        assert_int_equal(a.count, 3);
        for (int i = 0; i < 3; i++)
            is_named(a.paths[i], folder, names[i]);
        char **paths = NULL;
        uint64_t count = 9;
        refuses(ktrace_capture_export_launches(&paths, &count, t->capture, names, 2), KTRACE_ERROR_ARGUMENT,
                "2 names were given, but 3 launches have events");
        assert_true(!paths && count == 9);
        forget(&a);
        replay(&g, t); /* after the end: a read puts it in the place of what was shown */
        ktrace_trace_destroy(read_trace(t));
    }
    ktrace_trace_destroy(end(t));
    destroy_graph(&g);
    assert_int_equal(rmdir(folder), 0);
}

/* Without events every answer is "empty", and no file is written. */
static void nothing(void **state)
{
    struct traced *t = *state;
    char folder[] = "output_XXXXXX";
    assert_non_null(mkdtemp(folder));
    begin_into(t, folder, 0);
    for (int round = 0; round < 2; round++) {
        struct answers a = ask(t, NULL, 0);
        assert_true(!a.summary && !a.summary_json && !a.launches && !a.path && !a.paths && a.count == 0);
        launch_kernel(t, "plain", 1, 64, 0, NULL);
        if (round == 0)
            must(ktrace_capture_stop(t->capture));
    }
    ktrace_trace_destroy(end(t));
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACED_TEST(one_snapshot),
        TRACED_TEST(layers_of_a_graph),
        TRACED_TEST(nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
