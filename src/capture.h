/* capture.h - captures besides the public API. */
#ifndef KT_CAPTURE_H
#define KT_CAPTURE_H

#include "backend/backend.h"

/* ktrace_capture_begin on a given backend, which it takes over, also on failure. */
int kt_capture_begin_on(struct ktrace_capture **out, struct kt_backend *backend,
                        const struct ktrace_capture_options *options);
/* In a forked child: no capture is open here. What the parent's holds is not freed. */
void kt_capture_forget(void);

#endif
