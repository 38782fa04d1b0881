#include "origin.h"

#include "array.h"
#include "backend/host_clock.h"
#include "string_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

/* Under the operation lock. After a fork both are the child's own. */
static uint8_t process_id[KT_ID_BYTES];
static pid_t process_of_id;
static uint32_t captures;

/* ---- Captures ----------------------------------------------------------------------------------------------------- */

/* Zeros where there are no random numbers: then it is not known. */
static void know_process(void)
{
    if (process_of_id == getpid())
        return;
    if (getrandom(process_id, sizeof process_id, 0) != (ssize_t)sizeof process_id)
        memset(process_id, 0, sizeof process_id);
    process_of_id = getpid();
    captures = 0;
}

static const char *environment(const char *name)
{
    return getenv(name);
}

int kt_origin_begin(struct kt_recording_origin *origin)
{
    know_process();
    origin->number = ++captures;
    kt_origin_read_clocks(origin);
    return kt_origin_label(&origin->label, environment);
}

void kt_origin_end(struct kt_recording_origin *origin)
{
    free(origin->label);
    origin->label = NULL;
}

void kt_origin_read_clocks(struct kt_recording_origin *origin)
{
    struct kt_clock_reading best = {.real_before_ns = 0};
    uint64_t best_ns = UINT64_MAX;
    for (int i = 0; i < 4; i++) { /* being interrupted between two of them is rare */
        struct kt_clock_reading reading = {.real_before_ns = kt_host_now_ns()};
        reading.monotonic_ns = kt_host_clock_ns(CLOCK_MONOTONIC);
        reading.real_after_ns = kt_host_now_ns();
        if (reading.real_after_ns - reading.real_before_ns < best_ns) {
            best_ns = reading.real_after_ns - reading.real_before_ns;
            best = reading;
        }
    }
    if (origin->reading_count == KT_MAX_CLOCK_READINGS) {
        memmove(&origin->readings[1], &origin->readings[2], (KT_MAX_CLOCK_READINGS - 2) * sizeof best);
        origin->reading_count--;
    }
    origin->readings[origin->reading_count++] = best;
}

/* ---- Labels ------------------------------------------------------------------------------------------------------- */

/* Of torchrun and its like, Open MPI, MPICH and its like, Slurm; a rank within the host only where there is no other. */
static const struct {
    const char *variable, *before;
} ranks[] = {{"RANK", "rank "},
             {"OMPI_COMM_WORLD_RANK", "rank "},
             {"PMIX_RANK", "rank "},
             {"PMI_RANK", "rank "},
             {"MV2_COMM_WORLD_RANK", "rank "},
             {"SLURM_PROCID", "rank "},
             {"LOCAL_RANK", "local rank "}};

static int is_number(const char *text)
{
    return text && *text && strspn(text, "0123456789") == strlen(text);
}

/* Without leading zeros; NULL: there is none. `*before` is what to say before it. */
static const char *find_rank(const char **before, const char *(*variable)(const char *name))
{
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const char *rank = variable(ranks[i].variable);
        if (!is_number(rank))
            continue;
        *before = ranks[i].before;
        rank += strspn(rank, "0");
        return *rank ? rank : rank - 1;
    }
    return NULL;
}

int kt_origin_label(char **out, const char *(*variable)(const char *name))
{
    struct kt_string label = KT_STRING_INIT;
    const char *given = variable("KTRACE_LABEL"), *before, *rank;
    if (given && *given) {
        kt_string_append(&label, given);
    } else if ((rank = find_rank(&before, variable)) != NULL) {
        kt_string_append(&label, before);
        kt_string_append(&label, rank);
    }
    return kt_string_take(out, &label);
}

const char *kt_origin_rank(void)
{
    const char *before;
    return find_rank(&before, environment);
}

/* ---- The process and its host ------------------------------------------------------------------------------------- */

/* Replaces `*to`, as far as `text` is known. */
static int tell(char **to, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return kt_fail_memory(strlen(text) + 1);
    free(*to);
    *to = copy;
    return 0;
}

static void read_boot(char *out, size_t bytes)
{
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, out, bytes - 1);
    if (file >= 0)
        close(file);
    out[got < 0 ? 0 : got] = 0;
    out[strcspn(out, "\n")] = 0;
}

static void read_program(char *out, size_t bytes)
{
    const ssize_t got = readlink("/proc/self/exe", out, bytes - 1);
    out[got < 0 ? 0 : got] = 0;
}

static int tell_host(struct kt_process *process)
{
    char text[4096];
    read_boot(text, sizeof text);
    int status = tell(&process->boot, text);
    if (gethostname(text, sizeof text) != 0)
        *text = 0;
    text[sizeof text - 1] = 0;
    if (status == 0)
        status = tell(&process->host, text);
    read_program(text, sizeof text);
    if (status == 0)
        status = tell(&process->program, text);
    return status < 0 ? status : tell(&process->version, KTRACE_VERSION_STRING);
}

static int tell_reads(struct kt_process *process, const struct kt_recording_origin *origin,
                      const struct ktrace_filter *filter, uint32_t arch)
{
    struct kt_reads *reads = kt_array_new_zeroed(1, sizeof *reads);
    if (!reads)
        return KTRACE_ERROR_MEMORY;
    const int status = ktrace_filter_format(&reads->filter, filter, arch);
    if (status < 0) {
        free(reads);
        return status;
    }
    reads->capture = origin->number;
    reads->first = reads->last = kt_origin_reads(origin) + 1;
    free(process->reads); /* of several parts without any */
    process->reads = reads;
    process->read_count = 1;
    return 0;
}

static int tell_readings(struct kt_process *process, const struct kt_recording_origin *origin)
{
    struct kt_clock_reading *readings = kt_array_new(origin->reading_count, sizeof *readings);
    if (!readings)
        return KTRACE_ERROR_MEMORY;
    if (origin->reading_count)
        memcpy(readings, origin->readings, origin->reading_count * sizeof *readings);
    free(process->readings);
    process->readings = readings;
    process->reading_count = origin->reading_count;
    return 0;
}

int kt_origin_tell(struct kt_process *process, const struct kt_recording_origin *origin,
                   const struct ktrace_filter *filter, uint32_t arch)
{
    memcpy(process->id, process_id, sizeof process->id);
    process->pid = (uint32_t)getpid();
    int status = tell_host(process);
    if (status == 0)
        status = tell(&process->label, origin->label);
    if (status == 0)
        status = tell_reads(process, origin, filter, arch);
    return status < 0 ? status : tell_readings(process, origin);
}
