/* backend_choice.h - which runtime a capture is of. */
#ifndef KT_BACKEND_CHOICE_H
#define KT_BACKEND_CHOICE_H

#include "backend/backend.h"

/* Opens the backend named `wanted`; NULL or "": as ktrace_capture_options says. */
int kt_backend_choose(struct kt_backend **out, const char *wanted);

/* "CUDA" or "HIP": whose modules `arch` has. */
const char *kt_backend_runtime(uint32_t arch);

#endif
