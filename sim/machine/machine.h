/* machine.h - a simulated chip: memory, code objects, dispatches, time. hip/ is built on this alone.
 *
 * Nothing here is thread-safe: hip/ holds one lock. Nothing prints or exits; a fallible call returns 0, or -1 with the
 * sentence in sim_error(). Time is in cycles of the core clock, from the machine's creation.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "../isa/isa.h"

struct sim_machine;
struct sim_module;
struct sim_kernel;

/* The chip. Defaults (sim_chip_config_init): MI300X for gfx942, MI350X for gfx950, by their public data sheets. */
struct sim_chip_config {
    enum sim_chip chip;
    char name[64]; /* "AMD Instinct MI300X (simulated)" */
    uint32_t xccs, ses_per_xcc, shs_per_se, cus_per_sh, simds_per_cu, waves_per_simd;
    uint32_t active_cus_per_xcc; /* 0: all of them */
    uint32_t core_mhz;           /* a multiple of 100 */
    uint64_t memory_bytes;
    uint64_t max_wave_instructions; /* of one dispatch; then it is endless: an error. 0: no limit */
};
void sim_chip_config_init(struct sim_chip_config *config, enum sim_chip chip);
/* The environment's changes: KTRACE_SIM_CHIP=gfx942|gfx950 and KTRACE_SIM_TOPOLOGY=xccs,ses,shs,cus,simds,waves,
 * KTRACE_SIM_MAX_INSTRUCTIONS. -1 with a sentence that quotes a malformed value. */
int sim_chip_config_from_environment(struct sim_chip_config *config);

const char *sim_error(void); /* of the calling thread; "" if none */

int sim_machine_create(struct sim_machine **out, const struct sim_chip_config *config);
void sim_machine_destroy(struct sim_machine *machine);
const struct sim_chip_config *sim_machine_config(const struct sim_machine *machine);

/* ---- Memory: device addresses are host addresses ------------------------------------------------------------------ */
int sim_memory_allocate(void **address, struct sim_machine *machine, uint64_t bytes); /* aligned to 4096, guard pages */
int sim_memory_free(struct sim_machine *machine, void *address);
/* To zero, within one allocation or segment. Whole pages go back to the host until something is written there. */
void sim_memory_clear(void *address, uint64_t bytes);
/* The allocation (or loaded segment) that holds an address; -1: none. */
int sim_memory_range(void **base, uint64_t *bytes, const struct sim_machine *machine, const void *address);
/* Host memory that kernels may use (hipHostMalloc, hipHostRegister). */
int sim_memory_register(struct sim_machine *machine, void *address, uint64_t bytes);
int sim_memory_unregister(struct sim_machine *machine, void *address);

/* ---- Code ------------------------------------------------------------------------------------------------------------ */
/* Load an amdhsa code object (ELF, code object version 4 to 6) for this chip; `image` may be freed afterwards. */
int sim_module_load(struct sim_module **out, struct sim_machine *machine, const void *image, size_t bytes);
void sim_module_unload(struct sim_module *module);
int sim_module_symbol(void **address, uint64_t *bytes, const struct sim_module *module,
                      const char *name); /* variables */
/* Any address of a loaded module's segments to the module's static content; what HSA's loader tells tools. */
const void *sim_module_host_address(const struct sim_machine *machine, const void *device_address);

enum sim_argument_kind { SIM_ARGUMENT_VALUE, SIM_ARGUMENT_POINTER, SIM_ARGUMENT_DYNAMIC_LDS, SIM_ARGUMENT_HIDDEN };
struct sim_argument {
    uint32_t offset, bytes; /* in the kernarg segment */
    uint32_t kind;          /* enum sim_argument_kind */
    char hidden[32];        /* value_kind of hidden arguments, as metadata has it: "hidden_block_count_x" */
};
struct sim_kernel_facts {
    const char *name;
    uint32_t kernarg_bytes, kernarg_alignment, group_segment_bytes, private_segment_bytes;
    uint32_t sgprs, vgprs, agprs, wavefront_size, max_workgroup_size;
    uint32_t argument_count; /* hidden ones included */
    const struct sim_argument *arguments;
};
const struct sim_kernel *sim_module_kernel(const struct sim_module *module,
                                           const char *name); /* NULL: none, error set */
size_t sim_module_kernel_count(const struct sim_module *module);
const struct sim_kernel *sim_module_kernel_at(const struct sim_module *module, size_t index);
const struct sim_kernel_facts *sim_kernel_facts(const struct sim_kernel *kernel);

/* ---- Queues: hardware's structure in device memory (amd_queue_t), for kernels that ask for queue_ptr ----------------- */
int sim_queue_create(uint64_t *address, struct sim_machine *machine);
void sim_queue_destroy(struct sim_machine *machine, uint64_t address);

/* ---- Running --------------------------------------------------------------------------------------------------------- */
struct sim_dispatch_config {
    const struct sim_kernel *kernel;
    uint32_t grid[3];       /* workgroups */
    uint32_t block[3];      /* workitems of a workgroup */
    uint32_t last_block[3]; /* workitems of the last workgroup in each dimension (partial); equal to block otherwise */
    uint32_t dynamic_lds_bytes;
    const void
        *kernarg; /* kernarg_bytes, explicit arguments filled in; hidden ones are filled in by the machine. Copied. */
    uint64_t queue_address; /* what queue_ptr shows: of sim_queue_create, or 0: the machine's own queue */
    uint64_t dispatch_id;   /* index of the packet in its queue */
    uint64_t not_before_cycle;
};
struct sim_dispatch;
/* Queue a dispatch; its workgroups start from not_before_cycle on, side by side with other dispatches as far as there is room. */
int sim_dispatch_start(struct sim_dispatch **out, struct sim_machine *machine,
                       const struct sim_dispatch_config *config);
/* Finished: 1, failed: -1 (sentence: sim_dispatch_error), running: 0. */
int sim_dispatch_state(const struct sim_dispatch *dispatch);
const char *sim_dispatch_error(const struct sim_dispatch *dispatch);
/* Why it failed, for HIP's error codes. */
enum sim_failure {
    SIM_FAILURE_NONE,
    SIM_FAILURE_ADDRESS, /* no memory at an address, or not writable */
    SIM_FAILURE_ENDLESS, /* max_wave_instructions, or every wave waits at a barrier */
    SIM_FAILURE_OTHER    /* an instruction that is not implemented, a trap, ... */
};
enum sim_failure sim_dispatch_failure(const struct sim_dispatch *dispatch);
uint64_t sim_dispatch_end_cycle(const struct sim_dispatch *dispatch);
void sim_dispatch_release(struct sim_dispatch *dispatch); /* finished or failed ones only */

/* Execute waves in time order until `cycle`, or until some dispatch finishes or fails, whichever comes first. Returns the
 * cycle reached: `cycle` itself, or the end of that dispatch. UINT64_MAX: until one finishes. With nothing to run it
 * returns `cycle` at once (UINT64_MAX: the clock stands still). A dispatch in which nothing can go on, or which exceeds
 * max_wave_instructions, fails. */
uint64_t sim_machine_run(struct sim_machine *machine, uint64_t cycle);
uint64_t sim_machine_now(const struct sim_machine *machine);

/* Wave instructions executed so far: for speed measurements. */
uint64_t sim_machine_instructions(const struct sim_machine *machine);

/* Simulated nanoseconds of a cycle, and the 100 MHz counter at it (steps of 4). */
uint64_t sim_cycle_ns(const struct sim_machine *machine, uint64_t cycle);
uint64_t sim_cycle_realtime_ticks(const struct sim_machine *machine, uint64_t cycle);

#endif
