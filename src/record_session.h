/* record_session.h - the library's side of `ktrace record`, which runs programs with KTRACE_RECORD=FOLDER in their environment.
 *
 * Each process that has libktrace leaves in that folder
 *   - a file NAME.process, of lines that are appended one at a time, each a word of enum kt_record_word and what belongs to it:
 *     who the process is, what it saved, what it has to say, how it ended. A process that dies leaves what it had written. As long
 *     as it lives its file is locked (fcntl), so that nobody has to guess from process ids;
 *   - a .ktrace file for each trace: of its process-wide collection, and whatever a capture of its own hands to the program for
 *     the first time. Nothing is in two of them.
 *
 * Instead of the export at exit (process_wide.h). src/cli/record_*.c is the other side.
 */
#ifndef KT_RECORD_SESSION_H
#define KT_RECORD_SESSION_H

#include "trace.h"

#define KT_RECORD_VARIABLE "KTRACE_RECORD"
#define KT_RECORD_SUFFIX ".process"
#define KT_RECORD_VERSION 1

enum kt_record_word {
    KT_RECORD_PROCESS,    /* first: KT_RECORD_VERSION, the process id, and its begin: nanoseconds of the host's clock */
    KT_RECORD_PROGRAM,    /* its name: kt_record_program_name */
    KT_RECORD_COMMAND,    /* its arguments, with blanks between */
    KT_RECORD_RANK,       /* that a launcher such as mpirun or torchrun gave it: kt_origin_rank */
    KT_RECORD_COLLECTING, /* from here on there is something to lose */
    KT_RECORD_TRACE,      /* a file, and its numbers: struct kt_record_numbers */
    KT_RECORD_WARNING,    /* of the trace before */
    KT_RECORD_NOTE,       /* a sentence, such as why nothing was recorded: said where that is so */
    KT_RECORD_LOSS,       /* a sentence about what was lost: the command fails */
    KT_RECORD_OVERFLOW,   /* the same, of KTRACE_ERROR_OVERFLOW; a trace behind it has what there was room for */
    KT_RECORD_SIGNAL,     /* a number: it is about to die of it, and has saved what could be had */
    KT_RECORD_ENDED,      /* it exits */
    KT_RECORD_WORDS
};
extern const char *const kt_record_words[KT_RECORD_WORDS];

/* After the word "trace", in this order, with blanks between, and then the file's name. */
#define KT_RECORD_TRACE_FORMAT "%llu %llu %llu %llu %llu %llu "
struct kt_record_numbers {
    unsigned long long launches, waves, events;
    unsigned long long waves_dropped, slots_lost, waves_unfinished;
};

void kt_record_count(struct kt_record_numbers *out, const struct ktrace_trace *trace);

/* Whether the process is recorded. */
int kt_record_is_on(void);
/* The process, as kt_record_program_name has it; "" where it is not recorded. */
const char *kt_record_process_name(void);

/* Does nothing where the process is not recorded, or the trace is NULL or has no events. Call these without locks (locks.h): they
 * write files. */
void kt_record_trace(const struct ktrace_trace *trace);
/* Whether a thread is about that. Can be asked by a signal handler. */
int kt_record_is_saving(void);
/* A line of the process's file. Not 0: it was written. */
int kt_record_say(enum kt_record_word word, const char *text);
/* A capture or process-wide collection has begun: from now on the process hands over at its end what was not handed over before,
 * however it ends (record_end.c). */
void kt_record_collecting(void);

/* In a forked child, which is a process of its own. */
void kt_record_forget(void);
/* This process is none that somebody wants recorded, and leaves no file; one that has something to say does. */
void kt_record_leave(void);

/* What to call a program of these arguments: the name of its file; or of the script or module that a Python runs. Written to
 * `name`, cut to `bytes`. */
void kt_record_program_name(char *name, size_t bytes, const char *const *arguments, size_t count);

#endif
