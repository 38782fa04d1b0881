/* module.h - the steps of loading a code object, each in its file. */
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "elf.h"
#include "internal.h"

/* metadata.c: module->kernels from the metadata notes. What was made is freed with the module, also after a failure. */
int metadata_read(struct sim_module *module, const struct bytes *notes, size_t count);
void metadata_free(struct sim_module *module);

/* relocation.c: writes addresses into the loaded segments. */
int relocate(struct sim_module *module);

/* descriptor.c: unpacks the kernel's descriptor, which lies at `address` in a loaded segment. */
int descriptor_read(struct sim_kernel *kernel, uint64_t address);

/* code_object.c: `bytes` loaded bytes at a device address, in one segment; NULL: they are not. */
unsigned char *module_bytes(const struct sim_module *module, uint64_t address, uint64_t bytes);
struct code *module_code(const struct sim_module *module, uint64_t address); /* that holds it, or NULL */

#endif
