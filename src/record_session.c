#include "record_session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/host_clock.h"
#include "error.h"
#include "export/export.h"
#include "log.h"
#include "origin.h"
#include "own_descriptor.h"
#include "quiet_write.h"
#include "string_builder.h"

const char *const kt_record_words[KT_RECORD_WORDS] = {
    [KT_RECORD_PROCESS] = "process",
    [KT_RECORD_PROGRAM] = "program",
    [KT_RECORD_COMMAND] = "command",
    [KT_RECORD_RANK] = "rank",
    [KT_RECORD_COLLECTING] = "collecting",
    [KT_RECORD_TRACE] = "trace",
    [KT_RECORD_WARNING] = "warning",
    [KT_RECORD_NOTE] = "note",
    [KT_RECORD_LOSS] = "loss",
    [KT_RECORD_OVERFLOW] = "overflow",
    [KT_RECORD_SIGNAL] = "signal",
    [KT_RECORD_ENDED] = "ended",
};

enum { NUMBERED_FILES = 10000, COMMAND_BYTES = 64 * 1024 };

/* Whether the environment asks for it, from the beginning of the process on. */
static char folder[4096];
static char process_name[KT_SAFE_NAME_BYTES + 1];

/* The file of this process; a forked child has another. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static char stem[sizeof folder + 64];                    /* "FOLDER/4711-0"; "": not made yet */
static struct kt_own_descriptor own = KT_NO_DESCRIPTOR;  /* holds the lock on it as long as the process lives */
static unsigned trace_count;

static int saving; /* threads that save; atomic */

static int begin_error; /* why the process has no file, as errno */
static void begin_process(void);

/* Asked from the static constructors of programs, which in a program that is linked with libktrace.a run before ours. */
int kt_record_is_on(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_process);
    return folder[0] != 0;
}

const char *kt_record_process_name(void)
{
    return process_name;
}

/* ---- Lines ---------------------------------------------------------------------------------------------------------- */

/* One write, so that lines of several threads never mix. 0, or -1 with errno. */
static int append(int file, const struct kt_string *line)
{
    if (line->failed) {
        errno = ENOMEM;
        return -1;
    }
    const ssize_t written = kt_write_quietly(file, line->text, line->length);
    if (written == (ssize_t)line->length)
        return 0;
    if (written >= 0)
        errno = ENOSPC;
    return -1;
}

/* With the lock held. 0, or -1 with errno. */
static int append_to_file(const struct kt_string *line)
{
    char path[sizeof stem + sizeof KT_RECORD_SUFFIX];
    if (kt_own_descriptor_is_ours(&own))
        return append(own.number, line);
    snprintf(path, sizeof path, "%s%s", stem, KT_RECORD_SUFFIX);
    const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0)
        return -1;
    const int status = append(file, line);
    const int error = errno;
    close(file);
    errno = error;
    return status;
}

/* Newlines, and whatever else no line should have, become visible. */
static void put_line(struct kt_string *text, enum kt_record_word word, const char *value)
{
    kt_string_append(text, kt_record_words[word]);
    kt_string_append(text, *value ? " " : "");
    kt_string_append_visible(text, value);
    kt_string_append(text, "\n");
}

/* ---- The file of this process --------------------------------------------------------------------------------------- */

/* The arguments as the kernel has them, each with a NUL behind it. */
static size_t read_arguments(char bytes[COMMAND_BYTES])
{
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? -1 : read(file, bytes, COMMAND_BYTES - 1);
    if (file >= 0)
        close(file);
    const size_t length = got < 0 ? 0 : (size_t)got;
    bytes[length] = 0;
    return length;
}

/* The words of read_arguments, which are changed: one text with blanks between. */
static void join_arguments(char *bytes, size_t length)
{
    while (length > 0 && bytes[length - 1] == 0)
        length--;
    for (size_t i = 0; i < length; i++)
        if (bytes[i] == 0)
            bytes[i] = ' ';
}

static void name_process(const char *bytes, size_t length)
{
    const char *arguments[64];
    size_t count = 0;
    for (size_t at = 0; at < length && count < sizeof arguments / sizeof *arguments; at += strlen(bytes + at) + 1)
        arguments[count++] = bytes + at;
    kt_record_program_name(process_name, sizeof process_name, arguments, count);
}

static void put_head(struct kt_string *text)
{
    char *bytes = malloc(COMMAND_BYTES);
    const char *rank = kt_origin_rank();
    kt_string_printf(text, "%s %d %ld %llu\n", kt_record_words[KT_RECORD_PROCESS], KT_RECORD_VERSION, (long)getpid(),
                     (unsigned long long)kt_host_now_ns());
    put_line(text, KT_RECORD_PROGRAM, process_name);
    if (bytes) {
        join_arguments(bytes, read_arguments(bytes));
        put_line(text, KT_RECORD_COMMAND, bytes);
    }
    free(bytes);
    if (rank)
        put_line(text, KT_RECORD_RANK, rank);
}

/* Unlike that of flock, a lock of fcntl is not inherited by children. */
static void lock_file(void)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)fcntl(own.number, F_SETLK, &whole); /* where no locks are to be had nobody waits for this process */
}

/* With the lock held. 0, or -1 with errno. */
static int make_file(void)
{
    char path[sizeof stem + sizeof KT_RECORD_SUFFIX];
    struct kt_string head = KT_STRING_INIT;
    if (stem[0])
        return 0;
    for (int number = 0; number < NUMBERED_FILES && own.number < 0; number++) {
        snprintf(stem, sizeof stem, "%s/%ld-%d", folder, (long)getpid(), number);
        snprintf(path, sizeof path, "%s%s", stem, KT_RECORD_SUFFIX);
        if (kt_own_descriptor_take(&own, open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666)) < 0 &&
            errno != EEXIST)
            break;
    }
    if (own.number < 0) {
        stem[0] = 0;
        return -1;
    }
    lock_file();
    put_head(&head);
    const int status = append(own.number, &head);
    kt_string_destroy(&head);
    return status;
}

/* 0, or -1 with errno. */
static int write_line(enum kt_record_word word, const char *value)
{
    struct kt_string line = KT_STRING_INIT;
    put_line(&line, word, value);
    pthread_mutex_lock(&lock);
    int status = make_file();
    if (status == 0)
        status = append_to_file(&line);
    const int error = errno;
    pthread_mutex_unlock(&lock);
    kt_string_destroy(&line);
    errno = error;
    return status;
}

/* ---- Beginning and end of the process ------------------------------------------------------------------------------- */

/* 0, or -1 with errno. */
static int open_folder(const char *path)
{
    char *bytes = malloc(COMMAND_BYTES);
    if (*path != '/' || strlen(path) >= sizeof folder || bytes == NULL) {
        free(bytes);
        errno = *path != '/' ? EINVAL : bytes ? ENAMETOOLONG : ENOMEM;
        return -1;
    }
    strcpy(folder, path);
    name_process(bytes, read_arguments(bytes));
    free(bytes);
    pthread_mutex_lock(&lock);
    const int status = make_file();
    const int error = errno;
    pthread_mutex_unlock(&lock);
    if (status < 0)
        folder[0] = process_name[0] = 0;
    errno = error;
    return status;
}

static void begin_process(void)
{
    const char *path = getenv(KT_RECORD_VARIABLE);
    if (path && *path && open_folder(path) < 0)
        begin_error = errno;
}

/* A process has its file from its start, whether it records or not. */
__attribute__((constructor)) static void take_part(void)
{
    if (!kt_record_is_on() && begin_error)
        kt_tell("%s is \"%s\", where no file can be made (%s): this process does not take part in the recording of "
                "'ktrace record'",
                KT_RECORD_VARIABLE, getenv(KT_RECORD_VARIABLE), strerror(begin_error));
}

__attribute__((destructor)) static void end_process(void)
{
    if (kt_record_is_on() && stem[0])
        write_line(KT_RECORD_ENDED, "");
}

void kt_record_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    stem[0] = 0;
    kt_own_descriptor_close(&own); /* it is no lock in the child */
    trace_count = 0;
    saving = 0;
}

void kt_record_leave(void)
{
    char path[sizeof stem + sizeof KT_RECORD_SUFFIX];
    if (!kt_record_is_on() || stem[0] == 0)
        return;
    pthread_mutex_lock(&lock);
    snprintf(path, sizeof path, "%s%s", stem, KT_RECORD_SUFFIX);
    unlink(path);
    kt_own_descriptor_close(&own);
    stem[0] = 0;
    pthread_mutex_unlock(&lock);
}

/* ---- What there is to record ---------------------------------------------------------------------------------------- */

int kt_record_say(enum kt_record_word word, const char *text)
{
    return kt_record_is_on() && write_line(word, text) == 0;
}

/* Its path, in which the file's name begins at `*name`; "" where the process has no file. */
static void name_trace(char *path, size_t bytes, const char **name, const struct ktrace_trace *trace)
{
    char safe[KT_SAFE_NAME_BYTES + 1];
    kt_safe_name(safe, trace->snapshot->name);
    pthread_mutex_lock(&lock);
    path[0] = 0;
    if (make_file() == 0)
        snprintf(path, bytes, "%s-%u-%s.ktrace", stem, trace_count++, safe);
    pthread_mutex_unlock(&lock);
    *name = path[0] ? strrchr(path, '/') + 1 : path;
}

void kt_record_count(struct kt_record_numbers *out, const struct ktrace_trace *trace)
{
    *out = (struct kt_record_numbers){.launches = trace->launch_count,
                                      .waves = trace->wave_count,
                                      .events = trace->event_count,
                                      .waves_dropped = trace->snapshot->waves_dropped,
                                      .slots_lost = trace->slots_lost,
                                      .waves_unfinished = trace->waves_unfinished};
}

int kt_record_is_saving(void)
{
    return __atomic_load_n(&saving, __ATOMIC_ACQUIRE) != 0;
}

static void save(const struct ktrace_trace *trace)
{
    char path[sizeof stem + KT_SAFE_NAME_BYTES + 32], line[KT_SAFE_NAME_BYTES + 256];
    struct kt_record_numbers n;
    const char *name;
    name_trace(path, sizeof path, &name, trace);
    const int status =
        *path ? ktrace_trace_save(trace, path) : kt_fail(KTRACE_ERROR_IO, "%s: no file can be made there", folder);
    kt_record_count(&n, trace);
    snprintf(line, sizeof line, KT_RECORD_TRACE_FORMAT "%s", n.launches, n.waves, n.events, n.waves_dropped,
             n.slots_lost, n.waves_unfinished, name);
    if (status < 0)
        write_line(KT_RECORD_LOSS, ktrace_last_error());
    else if (write_line(KT_RECORD_TRACE, line) == 0 && trace->warning[0])
        write_line(KT_RECORD_WARNING, trace->warning);
}

void kt_record_trace(const struct ktrace_trace *trace)
{
    if (!kt_record_is_on() || trace == NULL || trace->event_count == 0)
        return;
    const struct kt_failure failure = kt_failure_keep(KTRACE_OK);
    __atomic_fetch_add(&saving, 1, __ATOMIC_ACQ_REL);
    save(trace);
    __atomic_fetch_sub(&saving, 1, __ATOMIC_ACQ_REL);
    kt_fail_again(&failure);
}
