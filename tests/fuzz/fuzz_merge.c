/* fuzz_merge.c - two .ktrace files from anywhere: what merging them gives is whole, and can be saved, loaded and looked at. An input
 * is a byte of options (1: by starts, 2: the second is moved), the length of the first file as a u32, and both files. Each input is
 * tried as it is, and once more with the files' checksums made right. */
#include "look.h"
#include "reader.h"
#include "repair.h"
#include "trace.h"
#include "trace_file.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { BY_START = 1, MOVED = 2, HEADER_BYTES = 5 };

static void demand(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, ktrace_last_error());
    abort();
}

/* Nothing is lost, and nothing comes from nowhere. */
static void compare(const struct ktrace_trace *whole, const struct ktrace_trace *const traces[2])
{
    const struct kt_snapshot *sum = whole->snapshot, *a = traces[0]->snapshot, *b = traces[1]->snapshot;
    demand(sum->wave_count == a->wave_count + b->wave_count, "waves");
    demand(sum->ring_count == a->ring_count + b->ring_count, "rings");
    demand(sum->waves_dropped == a->waves_dropped + b->waves_dropped, "waves dropped");
    demand(sum->waves_filtered == a->waves_filtered + b->waves_filtered, "waves filtered");
    demand(sum->process_count <= a->process_count + b->process_count, "processes");
    demand(sum->device_count <= a->device_count + b->device_count, "devices");
}

static void merge(const struct ktrace_trace *const traces[2], uint8_t how)
{
    const int64_t offsets_ns[2] = {0, -1234567};
    struct ktrace_merge_options options = KTRACE_MERGE_OPTIONS_INIT;
    struct ktrace_trace *whole, *loaded;
    void *data;
    size_t bytes;
    options.align = how & BY_START ? KTRACE_ALIGN_START : KTRACE_ALIGN_HOST;
    options.offsets_ns = how & MOVED ? offsets_ns : NULL;
    options.offset_count = 2;
    const int status = ktrace_trace_merge(&whole, traces, 2, &options);
    demand(status == 0 || status == KTRACE_ERROR_ARGUMENT || status == KTRACE_ERROR_MEMORY, "merging");
    if (status < 0)
        return;
    compare(whole, traces);
    look_at(whole, LOOK_FACTS | LOOK_TEXTS);
    demand(kt_snapshot_save_memory(&data, &bytes, whole->snapshot) == 0, "saving");
    demand(ktrace_trace_load_memory(&loaded, data, bytes) == 0, "loading");
    demand(loaded->snapshot->process_count == whole->snapshot->process_count, "processes of the file");
    demand(loaded->event_count == whole->event_count && loaded->duration_ps == whole->duration_ps,
           "what is in the file");
    ktrace_trace_destroy(loaded);
    ktrace_trace_destroy(whole);
    free(data);
}

static void load(const uint8_t *first, size_t first_bytes, const uint8_t *second, size_t second_bytes, uint8_t how)
{
    struct ktrace_trace *traces[2] = {NULL, NULL};
    if (ktrace_trace_load_memory(&traces[0], first, first_bytes) == 0 &&
        ktrace_trace_load_memory(&traces[1], second, second_bytes) == 0)
        merge((const struct ktrace_trace *const *)traces, how);
    ktrace_trace_destroy(traces[0]);
    ktrace_trace_destroy(traces[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct kt_reader reader = kt_reader_over(data, bytes);
    const uint8_t how = kt_read_u8(&reader);
    const size_t first_bytes = kt_read_count(&reader, 1), second_bytes = kt_reader_left(&reader) - first_bytes;
    if (reader.failed)
        return 0;
    const uint8_t *first = data + HEADER_BYTES, *second = first + first_bytes;
    load(first, first_bytes, second, second_bytes, how);
    uint8_t *repaired_first = repaired_copy(first, first_bytes), *repaired_second = repaired_copy(second, second_bytes);
    if (repaired_first && repaired_second)
        load(repaired_first, first_bytes, repaired_second, second_bytes, how);
    free(repaired_first);
    free(repaired_second);
    return 0;
}
