/* backend_choice.h - which runtime a capture is of. */
#ifndef KT_BACKEND_CHOICE_H
#define KT_BACKEND_CHOICE_H

#include "backend/backend.h"

/* Which are opened, the first that has a device. */
struct kt_backend_candidates {
    const char *names[2]; /* "cuda", "hip" */
    int count;
};
/* As ktrace_capture_options says of `wanted`. KTRACE_ERROR_ARGUMENT: no backend has that name. */
int kt_backend_candidates(struct kt_backend_candidates *out, const char *wanted);
int kt_backend_open(struct kt_backend **out, const char *name);

/* Opens the backend named `wanted`; NULL or "": as ktrace_capture_options says. KTRACE_ERROR_NO_DEVICE: with the
 * reasons of all candidates. */
int kt_backend_choose(struct kt_backend **out, const char *wanted);

/* Whose backend it is; NULL: of none that is known here. */
const struct kt_runtime *kt_backend_runtime_of(const struct kt_backend *backend);

/* "CUDA" or "HIP": whose modules `arch` has. */
const char *kt_backend_runtime(uint32_t arch);

#endif
