/* capture.h - what tests of captures use besides the public API. */
#ifndef KT_CAPTURE_H
#define KT_CAPTURE_H

#include "backend/backend.h"

/* ktrace_capture_begin on a given backend, which it takes over, also on failure. */
int kt_capture_begin_on(struct ktrace_capture **out, struct kt_backend *backend,
                        const struct ktrace_capture_options *options);

#endif
