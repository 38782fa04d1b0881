/* count_work.c - how much work reading a trace is, in basic blocks of the library that run: no clock, so that the answer is the same each
 * time. What the C library and libdeflate do is not counted.
 *
 * Standard input: files one after the other, each behind its length, 4 bytes little-endian. Standard output: a line of JSON for
 * each, {"load": blocks, ...}, or {"sentence": TEXT}. The library that this is linked with is compiled with -fsanitize-coverage=trace-pc. */
#include "../fuzz/look.h"
#include "export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void __sanitizer_cov_trace_pc(void);

static uint64_t blocks;

/* Called at each basic block. */
void __sanitizer_cov_trace_pc(void)
{
    blocks++;
}

static int discard(struct kt_sink *sink, const void *data, size_t bytes)
{
    (void)sink;
    (void)data;
    (void)bytes;
    return KTRACE_OK;
}

static void count(const void *data, size_t bytes)
{
    static const struct {
        const char *name;
        unsigned looks;
    } kinds[] = {{"facts", LOOK_FACTS},
                 {"texts", LOOK_TEXTS},
                 {"views", LOOK_VIEWS},
                 {"file", LOOK_FILE},
                 {"merged", LOOK_MERGED}};
    struct ktrace_trace *trace;
    blocks = 0;
    if (ktrace_trace_load_memory(&trace, data, bytes) < 0) {
        printf("{\"sentence\": \"%s\"}\n", ktrace_last_error());
        return;
    }
    printf("{\"load\": %" PRIu64, blocks);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        blocks = 0;
        look_at(trace, kinds[i].looks);
        printf(", \"%s\": %" PRIu64, kinds[i].name, blocks);
    }
    for (const struct kt_exporter *const *exporter = kt_exporters; *exporter; exporter++) {
        struct kt_sink sink = {.write = discard};
        blocks = 0;
        if ((*exporter)->write(&sink, trace, KT_EVERY_LAUNCH) < 0)
            abort();
        printf(", \"%s\": %" PRIu64, (*exporter)->name, blocks);
    }
    printf("}\n");
    ktrace_trace_destroy(trace);
}

int main(void)
{
    uint8_t length[4];
    while (fread(length, 1, sizeof length, stdin) == sizeof length) {
        const size_t bytes = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
        uint8_t *data = malloc(bytes ? bytes : 1);
        if (!data || fread(data, 1, bytes, stdin) != bytes)
            return 1;
        count(data, bytes);
        free(data);
        fflush(stdout);
    }
    return 0;
}
