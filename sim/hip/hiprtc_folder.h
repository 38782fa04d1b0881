/* hiprtc_folder.h - the folder in which a program is compiled. */
#ifndef SIM_HIPRTC_FOLDER_H
#define SIM_HIPRTC_FOLDER_H

#include <stddef.h>

struct sim_hiprtc_source;

#define SIM_FOLDER_BYTES 2048
#define SIM_PATH_BYTES 4096
/* What is in it. */
#define SIM_HIPRTC_HEADERS "headers"
#define SIM_HIPRTC_SOURCE "source/program.hip" /* alone, so that "x.h" is looked for among the headers */
#define SIM_HIPRTC_LOG "log"
#define SIM_HIPRTC_CODE "code"

/* Below $TMPDIR, or /tmp. */
const char *sim_hiprtc_folder_parent(void);
/* 0, or -1. */
int sim_hiprtc_folder_make(char folder[SIM_FOLDER_BYTES]);
void sim_hiprtc_folder_remove(const char *folder);

/* May a header have this name? Not one that leads out of the folder. */
int sim_hiprtc_name_is_below(const char *name);
/* Source with its expressions, prelude and headers. 0, or -1. */
int sim_hiprtc_write_source(const char *folder, const struct sim_hiprtc_source *source);
/* A file's bytes and a NUL behind them, to free(); NULL: it is not there. */
unsigned char *sim_hiprtc_read(size_t *bytes, const char *folder, const char *name);

#endif
