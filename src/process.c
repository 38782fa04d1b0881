#include "process.h"

#include "array.h"

#include <stdio.h>

int kt_id_is_known(const uint8_t id[KT_ID_BYTES])
{
    static const uint8_t none[KT_ID_BYTES];
    return memcmp(id, none, sizeof none) != 0;
}

void kt_id_text(char out[KT_ID_TEXT_BYTES], const uint8_t id[KT_ID_BYTES])
{
    size_t length = 0;
    *out = 0;
    if (!kt_id_is_known(id))
        return;
    for (int i = 0; i < KT_ID_BYTES; i++)
        length += (size_t)snprintf(out + length, KT_ID_TEXT_BYTES - length, "%s%02x",
                                   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
}

/* ---- Its memory --------------------------------------------------------------------------------------------------- */

/* Every string that a process owns. */
#define STRINGS(process) \
    { \
        &(process)->label, &(process)->host, &(process)->boot, &(process)->program, &(process)->version \
    }
enum { STRING_COUNT = 5 };

int kt_process_init(struct kt_process *process)
{
    *process = (struct kt_process){.pid = 0};
    char **strings[STRING_COUNT] = STRINGS(process);
    for (int i = 0; i < STRING_COUNT; i++)
        if (!(*strings[i] = strdup("")))
            return kt_fail_memory(1);
    return 0;
}

static void free_reads(struct kt_reads *reads, uint32_t count)
{
    for (uint32_t i = 0; reads && i < count; i++)
        free(reads[i].filter);
    free(reads);
}

void kt_process_free(struct kt_process *process)
{
    char **strings[STRING_COUNT] = STRINGS(process);
    for (int i = 0; i < STRING_COUNT; i++)
        free(*strings[i]);
    free_reads(process->reads, process->read_count);
    free(process->readings);
    *process = (struct kt_process){.pid = 0};
}

/* Room for `more` beyond what is copied. */
static int copy_reads(struct kt_reads **out, const struct kt_process *process, uint32_t more)
{
    struct kt_reads *reads = kt_array_new_zeroed((size_t)process->read_count + more, sizeof *reads);
    int status = reads ? 0 : KTRACE_ERROR_MEMORY;
    for (uint32_t i = 0; i < process->read_count && status == 0; i++) {
        reads[i] = process->reads[i];
        reads[i].filter = strdup(process->reads[i].filter);
        status = reads[i].filter ? 0 : kt_fail_memory(strlen(process->reads[i].filter) + 1);
    }
    if (status < 0)
        free_reads(reads, process->read_count);
    else
        *out = reads;
    return status;
}

int kt_process_copy(struct kt_process *out, const struct kt_process *process)
{
    *out = *process;
    char **strings[STRING_COUNT] = STRINGS(out);
    struct kt_process from = *process;
    char **sources[STRING_COUNT] = STRINGS(&from);
    size_t bytes = process->reading_count * sizeof *process->readings;
    int status = 0;
    out->reads = NULL;
    out->read_count = 0;
    out->readings = NULL;
    for (int i = 0; i < STRING_COUNT; i++) {
        *strings[i] = strdup(*sources[i]);
        if (!*strings[i])
            status = kt_fail_memory(strlen(*sources[i]) + 1);
    }
    out->readings = kt_array_new(process->reading_count, sizeof *out->readings);
    if (!out->readings)
        return KTRACE_ERROR_MEMORY;
    if (bytes)
        memcpy(out->readings, process->readings, bytes);
    if (status == 0)
        status = copy_reads(&out->reads, process, 0);
    if (status == 0)
        out->read_count = process->read_count;
    return status;
}

/* ---- Two of one process ------------------------------------------------------------------------------------------- */

int kt_process_is_same(const struct kt_process *a, const struct kt_process *b)
{
    return kt_id_is_known(a->id) && memcmp(a->id, b->id, sizeof a->id) == 0;
}

static int by_capture(const void *left, const void *right)
{
    const struct kt_reads *a = left, *b = right;
    if (a->capture != b->capture)
        return a->capture < b->capture ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* Goes through reads in order. */
struct sweep {
    const struct kt_reads *reads;
    uint32_t count, at;
    uint32_t capture; /* of the read before `at`; 0: there is none, as captures are counted from 1 */
    uint64_t last;    /* the largest of that capture so far */
};

/* The next read of `one`: whether it begins before something of `other` has ended. */
static int step(struct sweep *one, const struct sweep *other)
{
    const struct kt_reads *next = &one->reads[one->at++];
    if (next->capture != one->capture || next->last > one->last)
        one->last = next->last;
    one->capture = next->capture;
    return next->capture == other->capture && next->first <= other->last;
}

static int sweep_both(struct sweep one, struct sweep other)
{
    while (one.at < one.count || other.at < other.count) {
        const int first = other.at == other.count ||
                          (one.at < one.count && by_capture(&one.reads[one.at], &other.reads[other.at]) <= 0);
        if (first ? step(&one, &other) : step(&other, &one))
            return 1;
    }
    return 0;
}

int kt_process_reads_overlap(const struct kt_process *a, const struct kt_process *b)
{
    struct kt_reads *sorted = kt_array_new((size_t)a->read_count + b->read_count, sizeof *sorted);
    if (!sorted)
        return KTRACE_ERROR_MEMORY;
    struct kt_reads *second = sorted + a->read_count;
    if (a->read_count)
        memcpy(sorted, a->reads, a->read_count * sizeof *sorted);
    if (b->read_count)
        memcpy(second, b->reads, b->read_count * sizeof *second);
    qsort(sorted, a->read_count, sizeof *sorted, by_capture);
    qsort(second, b->read_count, sizeof *second, by_capture);
    const int overlap = sweep_both((struct sweep){.reads = sorted, .count = a->read_count},
                                   (struct sweep){.reads = second, .count = b->read_count});
    free(sorted);
    return overlap;
}

/* Those that follow each other become one. */
static uint32_t join_reads(struct kt_reads *reads, uint32_t count)
{
    uint32_t kept = 0;
    qsort(reads, count, sizeof *reads, by_capture);
    for (uint32_t i = 0; i < count; i++) {
        struct kt_reads *last = kept ? &reads[kept - 1] : NULL;
        if (last && last->capture == reads[i].capture && reads[i].first <= last->last + 1) {
            last->last = reads[i].last > last->last ? reads[i].last : last->last;
            free(reads[i].filter);
        } else {
            reads[kept++] = reads[i];
        }
    }
    return kept;
}

static int by_time(const void *left, const void *right)
{
    const struct kt_clock_reading *a = left, *b = right;
    return (a->monotonic_ns > b->monotonic_ns) - (a->monotonic_ns < b->monotonic_ns);
}

static uint32_t join_readings(struct kt_clock_reading *readings, uint32_t count)
{
    uint32_t kept = 0;
    if (count)
        qsort(readings, count, sizeof *readings, by_time);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || memcmp(&readings[kept - 1], &readings[i], sizeof *readings) != 0)
            readings[kept++] = readings[i];
    return kept;
}

int kt_process_join(struct kt_process *process, const struct kt_process *more)
{
    const uint64_t readings_count = (uint64_t)process->reading_count + more->reading_count;
    struct kt_clock_reading *readings = kt_array_new((size_t)readings_count, sizeof *readings);
    struct kt_reads *reads = NULL, *second = NULL;
    int status = readings ? copy_reads(&reads, process, more->read_count) : KTRACE_ERROR_MEMORY;
    if (status == 0)
        status = copy_reads(&second, more, 0);
    if (status < 0) {
        free(readings);
        free_reads(reads, process->read_count);
        return status;
    }
    if (more->read_count)
        memcpy(reads + process->read_count, second, more->read_count * sizeof *reads);
    free(second); /* its filters are theirs now */
    free_reads(process->reads, process->read_count);
    process->reads = reads;
    process->read_count = join_reads(reads, process->read_count + more->read_count);
    if (process->reading_count)
        memcpy(readings, process->readings, process->reading_count * sizeof *readings);
    if (more->reading_count)
        memcpy(readings + process->reading_count, more->readings, more->reading_count * sizeof *readings);
    free(process->readings);
    process->readings = readings;
    process->reading_count = join_readings(readings, (uint32_t)readings_count);
    return 0;
}

/* ---- The host's clocks -------------------------------------------------------------------------------------------- */

/* 0: nonsense, as a file from anywhere may have. */
static int distance_of(struct kt_clock_distance *out, const struct kt_clock_reading *reading)
{
    const uint64_t width_ns = reading->real_after_ns - reading->real_before_ns;
    *out = (struct kt_clock_distance){.low_ns = (int64_t)(reading->real_before_ns - reading->monotonic_ns)};
    return width_ns < 1000000000 && !__builtin_add_overflow(out->low_ns, (int64_t)width_ns, &out->high_ns);
}

int kt_process_clock_distance(struct kt_clock_distance *out, const struct kt_process *process)
{
    struct kt_clock_distance all = {.low_ns = 0}, next;
    int known = 0;
    for (uint32_t i = 0; i < process->reading_count; i++) {
        if (!distance_of(&next, &process->readings[i]))
            continue;
        if (!known)
            *out = all = next;
        known = 1;
        all.low_ns = next.low_ns > all.low_ns ? next.low_ns : all.low_ns;
        all.high_ns = next.high_ns < all.high_ns ? next.high_ns : all.high_ns;
    }
    if (known && all.low_ns <= all.high_ns)
        *out = all;
    else if (known)
        out->was_set = 1;
    return known;
}
