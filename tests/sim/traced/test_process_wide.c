/* test_process_wide.c - collection outside of captures: its cached snapshot, its rest during captures, and the environment's
 * KTRACE_ENABLE with what is exported at exit. */
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

static void tear_down_collection(void)
{
    must(ktrace_disable());
}

static struct ktrace_trace *collected(void)
{
    struct ktrace_trace *trace = NULL;
    must(ktrace_collect_trace(&trace));
    return trace;
}

static void check_collected(struct traced *t, size_t first, size_t count)
{
    struct ktrace_trace *trace = collected();
    assert_non_null(trace);
    check_launches(t, first, count, trace);
    ktrace_trace_destroy(trace);
}

/* The same snapshot until a traced launch or replay was recorded; untraced ones leave it. */
static void a_cached_snapshot(void **state)
{
    struct traced *t = *state;
    char *text[3];
    assert_int_equal(ktrace_active(), 0);
    must(ktrace_enable(NULL));
    assert_int_equal(ktrace_active(), 1);
    launch_kernel(t, "work", 2, 128, 3, NULL);
    launch_kernel(t, "other", 1, 64, 2, NULL);
    must(ktrace_summary(&text[0]));
    assert_non_null(text[0]);
    for (int i = 0; i < 3; i++)
        check_collected(t, 0, 2);
    struct launched *plain = launch_kernel(t, "plain", 1, 64, 0, NULL);
    ok(hipDeviceSynchronize());
    must(ktrace_summary(&text[1]));
    assert_string_equal(text[0], text[1]);
    check_collected(t, 0, 2);
    *plain = (struct launched){.kernel = "plain", .log = plain->log, .arrived = plain->arrived, .noted = plain->noted};
    const size_t first = t->count;
    launch_kernel(t, "other", 3, 64, 1, NULL);
    must(ktrace_summary(&text[2]));
    assert_string_not_equal(text[0], text[2]);
    check_collected(t, first, 1);
    for (int i = 0; i < 3; i++)
        free(text[i]);
    refuses(ktrace_enable(NULL), KTRACE_ERROR_STATE, "on already");
    tear_down_collection();
    assert_int_equal(ktrace_active(), 0);
    launch_kernel(t, "work", 1, 64, 1, NULL); /* dormant */
    struct ktrace_trace *trace = collected();
    assert_null(trace);
}

static void replays_renew_it(void **state)
{
    struct traced *t = *state;
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t exec;
    must(ktrace_enable(NULL));
    prepare(t, "work", (struct dim3){2, 1, 1}, (struct dim3){64, 1, 1}, 4);
    ok(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    ok(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    ok(launch_prepared(t, &t->launched[0], stream));
    ok(hipStreamEndCapture(stream, &graph));
    ok(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    for (int i = 0; i < 3; i++) {
        const size_t first = t->count;
        for (int k = 0; k <= i; k++) {
            ok(hipGraphLaunch(exec, stream));
            remember_replay(t, &t->launched[0], stream);
        }
        check_collected(t, first, t->count - first);
        check_collected(t, first, t->count - first);
    }
    tear_down_collection();
    ok(hipGraphExecDestroy(exec));
    ok(hipGraphDestroy(graph));
    ok(hipStreamDestroy(stream));
}

/* A capture has what is launched inside, the collection what was before and comes after; its calls are errors meanwhile. */
static void it_rests_during_captures(void **state)
{
    struct traced *t = *state;
    struct ktrace_trace *trace = NULL;
    char *text = NULL;
    must(ktrace_enable(NULL));
    launch_kernel(t, "work", 2, 64, 1, NULL);
    begin(t, NULL);
    launch_kernel(t, "other", 2, 64, 2, NULL);
    refuses(ktrace_summary(&text), KTRACE_ERROR_STATE, "capture");
    refuses(ktrace_collect(&text, NULL, NULL), KTRACE_ERROR_STATE, "capture");
    refuses(ktrace_collect_trace(&trace), KTRACE_ERROR_STATE, "capture");
    assert_true(!text && !trace);
    trace = read_trace(t);
    check_launches(t, 1, 1, trace);
    ktrace_trace_destroy(trace);
    launch_kernel(t, "other", 1, 64, 0, NULL);
    trace = end(t);
    check_launches(t, 2, 1, trace);
    ktrace_trace_destroy(trace);
    check_collected(t, 0, 1); /* launched before the capture */
    launch_kernel(t, "work", 1, 64, 5, NULL);
    check_collected(t, 3, 1);
    tear_down_collection();
}

/* Files go where it says, and do not overwrite each other. */
static void files(void **state)
{
    struct traced *t = *state;
    char folder[] = "process_wide_XXXXXX", *path[3] = {NULL};
    assert_non_null(mkdtemp(folder));
    must(ktrace_enable(NULL));
    must(ktrace_collect(&path[0], "gemm", folder));
    assert_null(path[0]); /* nothing was recorded */
    launch_kernel(t, "work", 2, 64, 1, NULL);
    for (int i = 0; i < 2; i++) {
        must(ktrace_collect(&path[i], "gemm", folder));
        assert_non_null(path[i]);
        assert_non_null(strstr(path[i], "gemm_ktrace"));
        assert_int_equal(access(path[i], R_OK), 0);
    }
    assert_string_not_equal(path[0], path[1]);
    must(ktrace_collect(&path[2], NULL, folder));
    assert_non_null(strstr(path[2], "/kernel_ktrace.pftrace.gz"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(unlink(path[i]), 0);
        free(path[i]);
    }
    assert_int_equal(rmdir(folder), 0);
    tear_down_collection();
}

/* ---- The environment ---------------------------------------------------------------------------------------------- */

/* In a process with KTRACE_ENABLE=1, which knows nothing of ktrace but that it attaches its module. */
static int a_program(int collects, int enables)
{
    void *state;
    char *text = NULL;
    const struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    traced_set_up(&state);
    struct traced *t = state;
    if (enables) { /* what the environment has begun, as programs of hipcc do */
        must(ktrace_enable(NULL));
        must(ktrace_enable(NULL));
        assert_int_equal(ktrace_enable(&options), KTRACE_ERROR_STATE);
        assert_non_null(strstr(ktrace_last_error(), "KTRACE_ENABLE"));
    }
    launch_kernel(t, "work", 2, 64, 1, NULL);
    launch_kernel(t, "other", 2, 64, 1, NULL);
    if (collects)
        must(ktrace_summary(&text));
    free(text);
    return traced_tear_down(&state); /* what an unloaded module recorded is still exported */
}

/* What this program wrote when run again as `role`, and the files in `folder`, which are removed: their count, the last's name. */
static int run_again(char *said, size_t bytes, const char *enable, const char *role, const char *folder, char name[256])
{
    int ends[2], status = -1, files = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (!child) {
        setenv("KTRACE_ENABLE", enable, 1);
        setenv("KTRACE_DUMP_DIR", folder, 1);
        dup2(ends[1], STDERR_FILENO);
        execl("/proc/self/exe", "test_process_wide", role, (char *)NULL);
        _exit(99);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; length + 1 < bytes && (got = read(ends[0], said + length, bytes - 1 - length)) > 0;)
        length += (size_t)got;
    said[length] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, 256, "%s", entry->d_name);
        assert_int_equal(unlinkat(dirfd(directory), entry->d_name, 0), 0);
        files++;
    }
    closedir(directory);
    return files;
}

static void the_environment(void **state)
{
    (void)state;
    char folder[] = "process_wide_XXXXXX", said[4096], name[256] = "";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(run_again(said, sizeof said, "1", "leaves", folder, name), 1);
    assert_non_null(strstr(name, "_ktrace.pftrace.gz"));
    assert_non_null(strstr(said, "2 launches exported to"));
    assert_non_null(strstr(said, "simulated time"));
    assert_int_equal(run_again(said, sizeof said, "1", "enables", folder, name), 1);
    assert_non_null(strstr(said, "2 launches exported to"));
    assert_int_equal(run_again(said, sizeof said, "1", "collects", folder, name), 0);
    assert_int_equal(run_again(said, sizeof said, "0", "leaves", folder, name), 0);
    assert_string_equal(said, "");
    assert_int_equal(run_again(said, sizeof said, "maybe", "leaves", folder, name), 0);
    assert_non_null(strstr(said, "maybe"));
    assert_int_equal(rmdir(folder), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return a_program(!strcmp(argv[1], "collects"), !strcmp(argv[1], "enables"));
    unsetenv("KTRACE_ENABLE");
    const struct CMUnitTest tests[] = {
        TRACED_TEST(a_cached_snapshot),        TRACED_TEST(replays_renew_it),
        TRACED_TEST(it_rests_during_captures), TRACED_TEST(files),
        cmocka_unit_test(the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
