/* record.h - the parts of `ktrace record`, in the order in which they are used.
 *
 * The program runs with KTRACE_RECORD in its environment, which names a folder beside the output: there each of its processes that
 * has libktrace leaves its traces, and a file of lines about itself (../record_session.h).
 */
#ifndef KT_CLI_RECORD_H
#define KT_CLI_RECORD_H

#include "cli.h"

#include "../record_session.h"

#include <signal.h>
#include <sys/types.h>

/* ---- What captures of the program are told: record_settings.c ------------------------------------------------------ */

/* Options of the command, each for a variable of the environment; `val` of struct option. */
enum record_setting {
    RECORD_BLOCKS = 256,
    RECORD_BUFFER_BYTES,
    RECORD_EVENTS_PER_WAVE,
    RECORD_EVENTS_PER_LANE,
    RECORD_DEVICES,
    RECORD_BACKEND,
    RECORD_KEEP_LAST
};
#define RECORD_SETTINGS_OPTIONS \
    {"blocks", required_argument, NULL, RECORD_BLOCKS}, \
        {"buffer-bytes", required_argument, NULL, RECORD_BUFFER_BYTES}, \
        {"events-per-wave", required_argument, NULL, RECORD_EVENTS_PER_WAVE}, \
        {"events-per-lane", required_argument, NULL, RECORD_EVENTS_PER_LANE}, \
        {"devices", required_argument, NULL, RECORD_DEVICES}, {"backend", required_argument, NULL, RECORD_BACKEND}, \
    { \
        "keep-last", no_argument, NULL, RECORD_KEEP_LAST \
    }

/* Puts one into the environment. CLI_OK, or an exit status after an error. */
int record_set(int option, const char *argument);
/* Whether captures can begin with what is in the environment, whoever put it there. The same. */
int record_check_settings(void);

/* ---- Where files go: record_files.c -------------------------------------------------------------------------------- */

struct record_files {
    char *directory; /* absolute */
    char *shown;     /* as the user wrote it, with a '/' behind it; "": the current one */
    char *stem;      /* of the output's name, without ".ktrace" */
    char *suffix;    /* ".ktrace", or "" where the user's name has none */
    char *session;   /* the folder that KTRACE_RECORD names; NULL: there is none */
    bool was_named;  /* by -o, a file */
    bool may_replace;
};
/* `output` as of -o, or NULL. Makes the folder. CLI_OK, or an exit status after an error. */
int record_files_open(struct record_files *out, const char *output, bool may_replace, char *const *command);
/* The folder stays, which is said: what is in it could not be moved, or not be read. */
void record_files_keep_session(struct record_files *files);
/* Removes the folder, unless it stays, with what is in it. */
void record_files_close(struct record_files *files);

/* One of them, whose names are these: "STEM.ktrace"; of several "STEM.1.NAME.ktrace", without NAME where it is STEM. */
struct record_placed {
    char *from;       /* in the session's folder */
    const char *name; /* of the trace; not owned */
    char *path;       /* where it is now, as the user may write it; NULL: not there */
};
/* Moves them. Where a name is taken all get another number, unless they may replace what is there. CLI_OK, or CLI_FAILURE after an error:
 * those without a `path` are still in the folder, which stays. */
int record_files_place(struct record_files *files, struct record_placed *placed, size_t count);

/* ---- The program: record_program.c ---------------------------------------------------------------------------------- */

struct record_program {
    char *const *command; /* NULL-terminated */
    const char *session;
    int64_t duration_ms; /* 0: as long as it takes */
    bool quiet;

    int error; /* of errno.h: it could not be started; 0: it was */
    pid_t process;
    int status;     /* as of waitpid */
    bool was_ended; /* after duration_ms */
    sigset_t mask;  /* of signals, before */
};
/* Runs it to its end, and to that of each of its processes that records. Signals are its own: they are passed on, unless the terminal
 * has sent them to it as well. CLI_OK, or CLI_FAILURE after an error: it was not tried. */
int record_program_run(struct record_program *program);

/* From record_program_run on signals wait until here: nothing of what there is must get lost by one. */
void record_program_release(const struct record_program *program);

/* ---- What its processes left: record_read.c ------------------------------------------------------------------------- */

struct record_trace {
    char *file; /* its name in the folder */
    char *name; /* of the trace, as a part of a file's name */
    struct kt_record_numbers numbers;
    char *warning; /* NULL: none */
};

struct record_said {
    enum kt_record_word word; /* NOTE, LOSS or OVERFLOW */
    char *sentence;
};

struct record_process {
    long id;
    uint64_t begin_ns;
    char *program, *command;
    long rank;  /* -1: none */
    int signal; /* it died of this one, and said so; 0: it did not */
    bool is_collecting, has_ended;
    struct record_trace *traces;
    struct record_said *said;
    size_t trace_count, said_count, trace_room, said_room;
};

struct record_session {
    struct record_process *processes; /* by rank, those without first, then by begin */
    size_t count, room;
};
/* CLI_OK, or CLI_FAILURE after an error. */
int record_read(struct record_session *out, const char *folder);
void record_session_free(struct record_session *session);
/* Process ids of those that live, up to `most` of them. How many there are. */
size_t record_living(pid_t *processes, size_t most, const char *folder);

/* ---- One of several: record_merge.c --------------------------------------------------------------------------------- */

/* All traces of the session as one, of this name, in a file of the folder. Free its strings. CLI_OK, or CLI_FAILURE after an error: there
 * is none. */
int record_merge(struct record_trace *out, const struct record_session *session, const char *folder, const char *name);
void record_trace_free(struct record_trace *trace);

/* ---- What is said about it: record_report.c ------------------------------------------------------------------------- */

/* To standard error, unless `quiet`: files, and what comes next. What was lost is said in any case. `merged`: the one placed is that;
 * NULL: they are the session's. */
void record_report(const struct record_session *session, const struct record_program *program,
                   const struct record_placed *placed, size_t count, const struct record_trace *merged);
/* Why there is no trace. */
void record_report_nothing(const struct record_session *session, const struct record_program *program);

#endif
