/* host_pipeline - what the host side of a trace costs, in processor time: a snapshot to a trace (decode, clocks, pairing,
 * launches, statistics), the summary, the Perfetto export, saving and loading.
 *
 * Usage: host_pipeline [--rounds N]. Prints Markdown: the fastest of N rounds, 5 unless told.
 */
#include "build_snapshot.h"
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LAUNCHES = 8, WORKGROUPS = 256, ITERATIONS = 40, DEFAULT_ROUNDS = 5 };

enum stage { DECODE, SUMMARY, EXPORT, SAVE, LOAD, STAGE_COUNT };
static const char *const stage_names[] = {"snapshot to trace", "summary, text", "export, perfetto", "save", "load"};

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void require(int status)
{
    if (status < 0) {
        fprintf(stderr, "host_pipeline: %s\n", ktrace_last_error());
        exit(1);
    }
}

/* The time since *began, which becomes now. */
static double lap_ns(double *began)
{
    double now = now_ns(), passed = now - *began;
    *began = now;
    return passed;
}

static uint64_t run_round(double *ns, size_t *exported_bytes, const char *path)
{
    struct kt_snapshot *snapshot = build_example(LAUNCHES, WORKGROUPS, ITERATIONS);
    struct ktrace_trace *trace, *loaded;
    char *text;
    void *exported;

    double began = now_ns();
    require(kt_trace_from_snapshot(&trace, snapshot));
    ns[DECODE] = lap_ns(&began);
    require(ktrace_trace_summary_text(&text, trace));
    ns[SUMMARY] = lap_ns(&began);
    require(ktrace_trace_export_memory(&exported, exported_bytes, trace, "perfetto"));
    ns[EXPORT] = lap_ns(&began);
    require(ktrace_trace_save(trace, path));
    ns[SAVE] = lap_ns(&began);
    require(ktrace_trace_load(&loaded, path));
    ns[LOAD] = lap_ns(&began);

    struct ktrace_trace_info info = {.struct_size = sizeof info};
    require(ktrace_trace_info(&info, trace));
    free(text);
    free(exported);
    ktrace_trace_destroy(trace);
    ktrace_trace_destroy(loaded);
    return info.events;
}

int main(int argc, char **argv)
{
    int rounds = DEFAULT_ROUNDS;
    if (argc == 3 && strcmp(argv[1], "--rounds") == 0)
        rounds = atoi(argv[2]);
    if (rounds < 1 || (argc != 1 && argc != 3)) {
        fprintf(stderr, "usage: host_pipeline [--rounds N]\n");
        return 2;
    }
    char path[] = "/tmp/ktrace-host-pipeline-XXXXXX";
    int file = mkstemp(path);
    if (file < 0) {
        perror(path);
        return 1;
    }
    close(file);

    double best_ns[STAGE_COUNT], ns[STAGE_COUNT];
    uint64_t events = 0;
    size_t exported_bytes = 0;
    for (int round = 0; round < rounds; round++) {
        events = run_round(ns, &exported_bytes, path);
        for (int stage = 0; stage < STAGE_COUNT; stage++)
            if (round == 0 || ns[stage] < best_ns[stage])
                best_ns[stage] = ns[stage];
    }
    unlink(path);

    printf("%" PRIu64 " events, %zu bytes exported (%.2f an event), fastest of %d\n\n", events, exported_bytes,
           (double)exported_bytes / (double)events, rounds);
    printf("| stage | ns an event | events a second |\n|---|---|---|\n");
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        printf("| %s | %.1f | %.1f M |\n", stage_names[stage], best_ns[stage] / (double)events,
               1e3 * (double)events / best_ns[stage]);
    return 0;
}
