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
    char driver[160];    /* versions: "580.95.05, CUDA 13.0"; "": not known */
    char compiler[5000]; /* at run time, NVRTC or hipRTC: its version and file, or why there is none */
    bool compiles;
    char library[PATH_MAX];
    char passed_over[1024]; /* why that is not ROCm's; "" */
    char reason[2048];      /* why it is not usable */
};

/* Asks the runtime `backend`, "cuda" or "hip", in a child. CLI_OK, or an exit status after an error: there was no child. */
int doctor_probe(struct doctor_runtime *out, const char *name, const char *backend, int limit_s);
/* In the child, where that runtime is loaded: versions, and the devices that it has; its compiler. */
void doctor_list_devices(struct doctor_runtime *runtime);
void doctor_find_compiler(struct doctor_runtime *runtime);

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

/* ---- Clocks: doctor_clocks.c ---------------------------------------------------------------------------------------- */

/* Of one device, as measured. */
struct doctor_clock {
    uint32_t arch; /* enum ktrace_arch */
    int simulated;
    /* The wall clock: differences between successive readings that differ. */
    char unmeasured[1024]; /* why there are none; "" */
    uint64_t step_count, least_ns, usual_ns, multiple_ns, backward;
    /* The clock that events are stamped with, where that is another. */
    double cycle_hz;    /* 0: it is the wall clock */
    uint32_t cycles;    /* between successive readings */
    uint32_t clock_khz; /* nominal */
    /* How long after a reading of the host's clock a device's can have been: at the least, and usually. */
    char unrelated[1024]; /* why that is not known; "" */
    uint64_t host_ns, usual_host_ns;
};
/* Of the devices that are chosen, by their index; those of others stay as they are. CLI_OK, or an exit status after an error. */
int doctor_measure(struct doctor_clock clocks[DOCTOR_DEVICES], const struct doctor_choice *choice, int limit_s);

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
/* A program through PATH, then, by a name of its own, in the folders (NULL ends them) that vendors install to: free() it. NULL: there is
 * none. */
char *doctor_find_program(const char *name, const char *elsewhere_name, const char *const *elsewhere);
/* One of the CUDA toolkit: through PATH, below CUDA_PATH and /usr/local/cuda, or as pip installed it into the environment of Python or
 * conda that is active: free() it. NULL: there is none. */
char *doctor_find_cuda_program(const char *name);

/* ---- Saying it: doctor_text.c, doctor_json.c ----------------------------------------------------------------------- */

struct doctor_findings {
    const struct doctor_runtime *runtimes; /* DOCTOR_RUNTIMES */
    const struct doctor_choice *choice;
    const struct doctor_clock *clocks; /* DOCTOR_DEVICES */
    const struct doctor_tools *tools;
};
int doctor_print_text(const struct doctor_findings *findings);
int doctor_print_json(const struct doctor_findings *findings);

#endif
