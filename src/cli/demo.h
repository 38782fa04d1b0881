/* demo.h - the parts of `ktrace demo`; `ktrace doctor` says whether they are there. */
#ifndef KT_CLI_DEMO_H
#define KT_CLI_DEMO_H

#include "cli.h"

/* ---- What makes the trace: demo_choice.c -------------------------------------------------------------------------- */

/* A program, `NAME FILE.ktrace`, that runs a traced GEMM, checks its numbers, saves FILE.ktrace and prints a line. Exit status
 * 77 says that it finds no device, and its last line why. */
struct demo_helper {
    const char *on; /* what --on and KTRACE_BACKEND call it */
    const char *runtime;
    const char *name;
    const char *wishes[2]; /* variables that ask for its device: one that is not there is an error then; NULL: none */
    const char *missing;   /* what is said where it was not installed */
    const char *places[3];
};
enum { DEMO_HELPERS = 2 };
extern const struct demo_helper demo_helpers[DEMO_HELPERS]; /* in the order in which they are tried */

struct demo_choice {
    const struct demo_helper *only; /* NULL: the first helper that finds a device */
    bool replay;
    const char *who; /* chose: "--on ", "KTRACE_BACKEND="; NULL: nobody did */
};
/* `on` is the option, or NULL. CLI_OK, or an exit status after an error. */
int demo_choose(struct demo_choice *out, const char *on);

/* ---- Where it lies: demo_places.c --------------------------------------------------------------------------------- */

/* "directory/name", to free(); NULL after cli_error. `directory` NULL or "": `name`. */
char *demo_join(const char *directory, const char *name);
/* To free(); NULL where it was not installed. */
char *demo_find_helper(const struct demo_helper *helper);
/* To free(); NULL where there is none. With KTRACE_DATA_DIR, the one that it names, there or not. */
char *demo_find_recording(void);

/* ---- Running it: demo_helper.c, demo_replay.c --------------------------------------------------------------------- */

enum demo_made { DEMO_FAILED, DEMO_MADE, DEMO_NOT_MADE };

/* Makes trace_path. NOT_MADE: `why` says why the helper has no device to use. FAILED: after cli_error. */
enum demo_made demo_run_helper(struct kt_string *why, const struct demo_helper *helper, const char *trace_path,
                               int limit_s);
/* Loads the recording and saves it as trace_path; `why` completes "No kernel was run:". */
int demo_replay(struct ktrace_trace **out, const char *trace_path, const char *why);

/* ---- What it writes: demo_files.c --------------------------------------------------------------------------------- */

/* Two files that are written only where nothing was. They are created empty at once, so that the names are ours. */
struct demo_files {
    char *trace;        /* demo.ktrace */
    char *perfetto;     /* demo_ktrace.pftrace.gz */
    int number;         /* of the suffix; 0: none */
    const char *folder; /* that was made for them; NULL: none */
};
/* In `directory`, which is made if need be and must stay valid; NULL: here. Until demo_files_finish a signal removes what was
 * made. */
int demo_files_reserve(struct demo_files *out, const char *directory);
/* The files stay where they are whole, and are removed where they are not, with the folder that was made for them. */
void demo_files_finish(struct demo_files *files, bool whole);

#endif
