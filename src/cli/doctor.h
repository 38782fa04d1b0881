/* doctor.h - the parts of `ktrace doctor`. */
#ifndef KT_CLI_DOCTOR_H
#define KT_CLI_DOCTOR_H

#include "cli.h"

#include "../backend/backend.h"
#include "../settings.h"

#include <limits.h>

/* ---- What a runtime answers: doctor_probe.c, doctor_devices.c ------------------------------------------------------ */

enum { DOCTOR_DEVICES = 64 }; /* that are listed */

struct doctor_device {
    char name[128];
    uint32_t places;
    uint32_t major, minor; /* compute capability; of AMD's targets the 9.4 of gfx942 */
};

struct doctor_runtime {
    const char *name, *backend; /* "CUDA", "cuda" */
    bool usable;                /* a capture can be of its current device */
    bool crashed;               /* asking it ended the process that asked, or did not end */
    struct kt_device_facts facts;
    int device_count, listed, current;
    struct doctor_device devices[DOCTOR_DEVICES];
    char library[PATH_MAX];
    char passed_over[1024]; /* why that is not ROCm's; "" */
    char reason[2048];      /* why it is not usable */
};

/* Asks the runtime `backend`, "cuda" or "hip", in a child. CLI_OK, or an exit status after an error: there was no child. */
int doctor_probe(struct doctor_runtime *out, const char *name, const char *backend, int limit_s);
/* In the child, where that runtime is loaded: the devices that it has. */
void doctor_list_devices(struct doctor_runtime *runtime);

/* ---- What a capture would choose: doctor_choice.c ------------------------------------------------------------------ */

enum { DOCTOR_CUDA, DOCTOR_HIP, DOCTOR_RUNTIMES };

/* In a program that has told libktrace of no kernels. */
struct doctor_choice {
    const struct doctor_runtime *runtime; /* NULL: the capture is refused */
    char why[1024];
    struct kt_device_choice devices; /* which of the runtime's */
};
/* Whether device `index` is recorded from the beginning on, where the program uses none yet. */
bool doctor_chosen(const struct doctor_choice *choice, int index);
/* Why these: "KTRACE_DEVICES says so". */
const char *doctor_devices_why(const struct doctor_choice *choice);
void doctor_choose(struct doctor_choice *out, const struct doctor_runtime runtimes[DOCTOR_RUNTIMES]);

/* ---- What else a first trace needs: doctor_tools.c ----------------------------------------------------------------- */

struct doctor_tool {
    const char *label;   /* "on HIP" */
    const char *key;     /* in JSON */
    char *path;          /* NULL: it is not there */
    const char *missing; /* what to do about that */
};
enum { DOCTOR_DEMO_PARTS = 3, DOCTOR_COMPILERS = 3 };
struct doctor_tools {
    struct doctor_tool demo[DOCTOR_DEMO_PARTS];
    struct doctor_tool compilers[DOCTOR_COMPILERS];
};
void doctor_find_tools(struct doctor_tools *out);
void doctor_free_tools(struct doctor_tools *tools);

/* ---- Saying it: doctor_text.c, doctor_json.c ----------------------------------------------------------------------- */

int doctor_print_text(const struct doctor_runtime runtimes[DOCTOR_RUNTIMES], const struct doctor_choice *choice,
                      const struct doctor_tools *tools);
int doctor_print_json(const struct doctor_runtime runtimes[DOCTOR_RUNTIMES], const struct doctor_choice *choice,
                      const struct doctor_tools *tools);

#endif
