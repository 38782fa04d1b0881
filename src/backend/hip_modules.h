/* hip_modules.h - what the registry asks of HIP without an open capture. */
#ifndef KT_HIP_MODULES_H
#define KT_HIP_MODULES_H

#include <stdint.h>

/* Does this hipModule_t of the current device have a control block? KTRACE_ERROR_NOT_FOUND with the reason if not. `*owner`: see
 * struct kt_backend. */
int kt_hip_module_check(uint64_t *owner, void *module);

#endif
