/* hip_modules.h - what the registry asks of HIP without an open capture. */
#ifndef KT_HIP_MODULES_H
#define KT_HIP_MODULES_H

/* Does this hipModule_t have a control block? KTRACE_ERROR_NOT_FOUND with the reason if not. */
int kt_hip_module_check(void *module);

#endif
