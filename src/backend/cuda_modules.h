/* cuda_modules.h - what the registry asks of CUDA without an open capture. */
#ifndef KT_CUDA_MODULES_H
#define KT_CUDA_MODULES_H

/* Does this CUmodule of the current context have a control block? KTRACE_ERROR_NOT_FOUND with the reason if not. */
int kt_cuda_module_check(void *module);

#endif
