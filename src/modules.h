/* modules.h - reading a module's descriptors from the device. */
#ifndef KT_MODULES_H
#define KT_MODULES_H

#include "backend/backend.h"

/* Checks the control block at `control` (KTRACE_ERROR_VERSION when it was compiled with another wire version) and reads
 * every descriptor of its constant bank, or on amdgcn of its section, into `*out`, numbered `number`. The caller owns
 * `out->sites`. */
int kt_module_read(struct kt_module *out, struct kt_backend *backend, uint32_t arch, uint64_t control, uint32_t number);

/* Adds the descriptor at device address `id` (see KTRACE_SITE_WIDE) unless it is there already. KTRACE_ERROR_NOT_FOUND:
 * there is no descriptor. Keeps the order of `module->sites`. `peek`: without waiting for kernels. */
int kt_module_add_wide(struct kt_module *module, struct kt_backend *backend, uint64_t id, int peek);

/* Deep copy; `out` may be freed with kt_module_free. */
int kt_module_copy(struct kt_module *out, const struct kt_module *module);

#endif
