/* cuda_modules.h - what the registry asks of CUDA without an open capture. */
#ifndef KT_CUDA_MODULES_H
#define KT_CUDA_MODULES_H

#include <stdint.h>

/* Does this CUmodule of the current context have a control block? KTRACE_ERROR_NOT_FOUND with the reason if not. `*owner`: see
 * struct kt_backend. */
int kt_cuda_module_check(uint64_t *owner, void *module);

#endif
