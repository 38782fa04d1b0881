#include "record.h"

#include "../array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Files of processes --------------------------------------------------------------------------------------------- */

static bool is_process_file(const char *name)
{
    const size_t length = strlen(name), suffix = sizeof KT_RECORD_SUFFIX - 1;
    return length > suffix && strcmp(name + length - suffix, KT_RECORD_SUFFIX) == 0;
}

/* Calls `take` with each, opened. CLI_OK, or CLI_FAILURE after an error. */
static int for_each_file(const char *folder, int (*take)(void *context, int file), void *context)
{
    DIR *opened = opendir(folder);
    const struct dirent *entry;
    int status = CLI_OK;
    if (opened == NULL)
        return cli_error("%s: this folder, where the program leaves its traces, cannot be read: %s", folder,
                         strerror(errno));
    while (status == CLI_OK && (entry = readdir(opened)) != NULL) {
        if (!is_process_file(entry->d_name))
            continue;
        const int file = openat(dirfd(opened), entry->d_name, O_RDWR | O_CLOEXEC); /* a lock wants one for writing */
        if (file < 0)                                                              /* gone: kt_record_leave */
            continue;
        status = take(context, file);
        close(file);
    }
    closedir(opened);
    return status;
}

struct living {
    pid_t *processes;
    size_t most, count;
};

static int take_living(void *context, int file)
{
    struct living *living = context;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(file, F_GETLK, &whole) != 0 || whole.l_type == F_UNLCK)
        return CLI_OK;
    if (living->count < living->most)
        living->processes[living->count] = whole.l_pid;
    living->count++;
    return CLI_OK;
}

size_t record_living(pid_t *processes, size_t most, const char *folder)
{
    struct living living = {processes, most, 0};
    for_each_file(folder, take_living, &living);
    return living.count;
}

/* ---- Lines ---------------------------------------------------------------------------------------------------------- */

static int out_of_memory(void)
{
    return cli_error("out of memory");
}

/* NAME of "4711-0-2-NAME.ktrace". */
static char *name_of(const char *file)
{
    int begin = 0;
    const char *end = strrchr(file, '.');
    (void)sscanf(file, "%*[0-9]-%*[0-9]-%*[0-9]-%n", &begin);
    return strndup(file + begin, end ? (size_t)(end - file) - (size_t)begin : strlen(file + begin));
}

static int add_trace(struct record_process *process, const char *text)
{
    struct record_trace trace = {0};
    struct kt_record_numbers *n = &trace.numbers;
    int length = 0;
    if (sscanf(text, KT_RECORD_TRACE_FORMAT "%n", &n->launches, &n->waves, &n->events, &n->waves_dropped,
               &n->slots_lost, &n->waves_unfinished, &length) != 6 ||
        length == 0 || strchr(text + length, '/'))
        return CLI_OK; /* not whole: a disk that is full */
    trace.file = strdup(text + length);
    trace.name = name_of(text + length);
    if (trace.file && trace.name &&
        kt_array_reserve(&process->traces, &process->trace_room, process->trace_count + 1, sizeof trace) == 0) {
        process->traces[process->trace_count++] = trace;
        return CLI_OK;
    }
    free(trace.file);
    free(trace.name);
    return out_of_memory();
}

static int add_said(struct record_process *process, enum kt_record_word word, const char *sentence)
{
    char *copy = strdup(sentence);
    if (copy &&
        kt_array_reserve(&process->said, &process->said_room, process->said_count + 1, sizeof *process->said) == 0) {
        process->said[process->said_count++] = (struct record_said){word, copy};
        return CLI_OK;
    }
    free(copy);
    return out_of_memory();
}

static int keep(char **to, const char *text)
{
    free(*to);
    *to = strdup(text);
    return *to ? CLI_OK : out_of_memory();
}

static int take_head(struct record_process *process, const char *text)
{
    unsigned long long begin_ns = 0;
    int version = 0;
    if (sscanf(text, "%d %ld %llu", &version, &process->id, &begin_ns) == 3)
        process->begin_ns = begin_ns;
    if (version == KT_RECORD_VERSION)
        return CLI_OK;
    return add_said(process, KT_RECORD_LOSS,
                    "its libktrace and this 'ktrace record' are of versions that do not understand each other in "
                    "everything: use the 'ktrace' that belongs to that libktrace, or something may be missing");
}

static int take_line(struct record_process *process, enum kt_record_word word, const char *text)
{
    switch (word) {
    case KT_RECORD_PROCESS: return take_head(process, text);
    case KT_RECORD_PROGRAM: return keep(&process->program, text);
    case KT_RECORD_COMMAND: return keep(&process->command, text);
    case KT_RECORD_RANK: process->rank = strtol(text, NULL, 10); return CLI_OK;
    case KT_RECORD_COLLECTING: process->is_collecting = true; return CLI_OK;
    case KT_RECORD_TRACE: return add_trace(process, text);
    case KT_RECORD_WARNING:
        return process->trace_count ? keep(&process->traces[process->trace_count - 1].warning, text) : CLI_OK;
    case KT_RECORD_SIGNAL: process->signal = (int)strtol(text, NULL, 10); return CLI_OK;
    case KT_RECORD_ENDED: process->has_ended = true; return CLI_OK;
    default: return add_said(process, word, text);
    }
}

/* Whole lines only: the last one of a process that was killed may be none. */
static int take_lines(struct record_process *process, FILE *file)
{
    char *line = NULL;
    size_t capacity = 0;
    int status = CLI_OK;
    for (ssize_t length;
         status == CLI_OK && (length = getline(&line, &capacity, file)) > 0 && line[length - 1] == '\n';) {
        line[length - 1] = 0;
        char *text = line + strcspn(line, " ");
        if (*text)
            *text++ = 0;
        for (int word = 0; word < KT_RECORD_WORDS; word++)
            if (strcmp(line, kt_record_words[word]) == 0)
                status = take_line(process, (enum kt_record_word)word, text);
    }
    free(line);
    return status;
}

/* ---- All of them ---------------------------------------------------------------------------------------------------- */

static int take_process(void *context, int descriptor)
{
    struct record_session *session = context;
    struct record_process *process;
    if (kt_array_reserve(&session->processes, &session->room, session->count + 1, sizeof *process) < 0)
        return out_of_memory();
    const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
    if (file == NULL) {
        const int error = errno;
        if (copy >= 0)
            close(copy);
        return cli_error("a file of a process cannot be read: %s", strerror(error));
    }
    process = &session->processes[session->count++];
    *process = (struct record_process){.rank = -1};
    int status = take_lines(process, file);
    if (status == CLI_OK && process->program == NULL) /* it had no time for more */
        status = keep(&process->program, "");
    fclose(file);
    return status;
}

static int by_rank_and_begin(const void *left, const void *right)
{
    const struct record_process *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

int record_read(struct record_session *out, const char *folder)
{
    *out = (struct record_session){0};
    const int status = for_each_file(folder, take_process, out);
    if (status != CLI_OK)
        record_session_free(out);
    else if (out->count)
        qsort(out->processes, out->count, sizeof *out->processes, by_rank_and_begin);
    return status;
}

void record_trace_free(struct record_trace *trace)
{
    free(trace->file);
    free(trace->name);
    free(trace->warning);
    *trace = (struct record_trace){0};
}

void record_session_free(struct record_session *session)
{
    for (size_t i = 0; i < session->count; i++) {
        struct record_process *process = &session->processes[i];
        for (size_t k = 0; k < process->trace_count; k++)
            record_trace_free(&process->traces[k]);
        for (size_t k = 0; k < process->said_count; k++)
            free(process->said[k].sentence);
        free(process->traces);
        free(process->said);
        free(process->program);
        free(process->command);
    }
    free(session->processes);
    *session = (struct record_session){0};
}
