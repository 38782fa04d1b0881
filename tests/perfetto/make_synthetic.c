/* make_synthetic - write a trace made by hand with the Perfetto exporter, or another.
 *
 *     make_synthetic OUT                         every feature, NVIDIA words
 *     make_synthetic --amdgcn OUT                the same with AMD's
 *     make_synthetic --exporter NAME [--amdgcn] OUT
 *     make_synthetic --large EVENTS PER_WAVE PAYLOAD OUT    many events; prints time and size
 */
#include "ktrace/ktrace.h"
#include "synthetic.h"

#include <time.h>

/* Of this process: others may be running. */
static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int export(struct synthetic *s, const char *exporter, const char *path)
{
    int status = ktrace_trace_export(&s->trace, exporter, path);
    if (status)
        fprintf(stderr, "make_synthetic: %s\n", ktrace_last_error());
    return status ? 1 : 0;
}

static int export_large(uint64_t events, uint32_t events_per_wave, int with_payload, const char *path)
{
    struct synthetic *s = synthetic_large(events, events_per_wave, with_payload);
    double best_s = 1e9;
    void *data = NULL;
    size_t bytes = 0;
    int status = 0;
    for (int i = 0; i < 5 && !status; i++) {
        free(data);
        data = NULL;
        double start_s = processor_s();
        status = ktrace_trace_export_memory(&data, &bytes, &s->trace, "perfetto");
        double took_s = processor_s() - start_s;
        best_s = took_s < best_s ? took_s : best_s;
    }
    free(data);
    if (!status)
        printf("%llu events in %llu waves: %.1f ns an event, %.2f bytes an event\n",
               (unsigned long long)s->trace.event_count, (unsigned long long)s->trace.wave_count,
               best_s * 1e9 / (double)s->trace.event_count, (double)bytes / (double)s->trace.event_count);
    status = export(s, "perfetto", path);
    synthetic_destroy(s);
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "--large") == 0)
        return export_large(strtoull(argv[2], NULL, 10), (uint32_t)strtoul(argv[3], NULL, 10), atoi(argv[4]), argv[5]);
    const int named = argc > 3 && strcmp(argv[1], "--exporter") == 0 ? 2 : 0;
    const int amdgcn = argc == 3 + named && strcmp(argv[1 + named], "--amdgcn") == 0;
    if (argc != 2 + named + amdgcn) {
        fprintf(stderr,
                "usage: make_synthetic [--exporter NAME] [--amdgcn] OUT | --large EVENTS PER_WAVE PAYLOAD OUT\n");
        return 2;
    }
    struct synthetic *s = synthetic_everything(amdgcn ? KTRACE_ARCH_AMDGCN : KTRACE_ARCH_NVIDIA);
    int status = export(s, named ? argv[2] : "perfetto", argv[argc - 1]);
    synthetic_destroy(s);
    return status;
}
