/* internal.h - what the files of machine/ share: a chip's resources, and what occupies them. */
#ifndef SIM_INTERNAL_H
#define SIM_INTERNAL_H

#include "calendar.h"
#include "cost.h"
#include "error.h"
#include "machine.h"
#include "memory.h"
#include "wave.h"

/* HW_ID and XCC_ID (registers.c) have this many bits for each. */
#define SIM_MAX_XCCS 16
#define SIM_MAX_SES 4
#define SIM_MAX_SHS 2
#define SIM_MAX_CUS 16
#define SIM_MAX_SIMDS 4
#define SIM_MAX_SLOTS 16
#define SIM_MAX_QUEUES 4096
#define SIM_MAX_WORKGROUP_ITEMS 1024
#define SIM_MAX_WORKGROUP_WAVES (SIM_MAX_WORKGROUP_ITEMS / SIM_LANES)

/* Registers of a SIMD: rows of 64 lanes, vector and accumulation registers together; scalar ones (LLVM, AMDGPUBaseInfo). */
#define SIM_SIMD_VGPRS 512
#define SIM_SIMD_SGPRS 800

/* Registers that nothing was written to, on hardware whatever was there before: a quiet NaN that shows in a debugger. */
#define SIM_UNDEFINED 0x7FC0DEADu

/* ---- Code ------------------------------------------------------------------------------------------------------- */

/* One executable segment, with its instructions as far as they were decoded. */
struct code {
    uint64_t base, bytes;
    const struct sim_instruction **decoded; /* one a dword; NULL: not yet */
    struct code_chunk *chunks;              /* where they are, newest first */
    size_t chunk_used;                      /* of the newest */
};

/* The kernel descriptor, unpacked. */
struct descriptor {
    uint32_t group_bytes, private_bytes, kernarg_bytes;
    uint64_t entry;                             /* address of the first instruction that runs */
    uint32_t vgprs, accumulation_offset, sgprs; /* as allocated */
    uint32_t mode;
    uint32_t user_sgprs;
    uint8_t dispatch_pointer, queue_pointer, kernarg_pointer, dispatch_id, private_size; /* user SGPRs, in this order */
    uint32_t preload_dwords, preload_offset_dwords;
    uint8_t workgroup_id[3], workgroup_info, scratch, dynamic_stack;
    uint32_t workitem_ids; /* 1 to 3: x, x and y, all */
};

struct sim_kernel {
    struct sim_kernel_facts facts;
    struct descriptor descriptor;
    struct sim_module *module;
    uint64_t descriptor_address, code_address;
    uint32_t required_workgroup[3]; /* all 0: any */
    char *name;
    struct sim_argument *arguments;
};

struct sim_module {
    struct sim_machine *machine;
    struct sim_module *next;
    unsigned char *image;
    size_t image_bytes;
    struct memory_block block; /* all segments, at distances as in the file */
    uint64_t load_bias;        /* address - virtual address of the file */
    struct elf_view *elf;      /* of the image */
    struct code *codes;
    size_t code_count;
    struct sim_kernel *kernels;
    size_t kernel_count;
};

/* ---- The chip ------------------------------------------------------------------------------------------------------- */

enum event_kind { EVENT_SIMD, EVENT_XCC, EVENT_DISPATCH };
/* First in everything that waits in the calendar. */
struct agent {
    struct event event;
    enum event_kind kind;
};

struct resident;

struct simd {
    struct agent agent;
    const struct resident *upcoming; /* the wave that will issue at the agent's cycle */
    uint64_t free_cycle;             /* issues nothing before */
    uint64_t matrix_free_cycle;      /* of the matrix core */
    uint64_t ready[SIM_MAX_SLOTS];   /* when the wave's next instruction may issue; SIM_NEVER: none, or it waits */
    struct resident *residents[SIM_MAX_SLOTS]; /* the waves of its slots, running or not */
    uint32_t vgprs_free, sgprs_free, slots_free;
    struct cu *cu;
    uint8_t index;
};

struct cu {
    struct simd simds[SIM_MAX_SIMDS];
    uint64_t vector_memory_free_cycle, lds_free_cycle;
    uint32_t lds_free;
    uint8_t next_simd;
    uint8_t xcc, se, sh, index;
};

struct xcc {
    struct agent agent;  /* when its dispatcher looks for a workgroup to start */
    uint64_t next_cycle; /* starts none before */
    struct cu *cus;      /* active ones, by SE, SH, CU */
    uint32_t cu_count;
    uint32_t first_cu[SIM_MAX_SES * SIM_MAX_SHS + 1]; /* of each SE and SH, and the end */
    uint32_t next_array, next_cu[SIM_MAX_SES * SIM_MAX_SHS];
};

struct sim_machine {
    struct sim_chip_config config;
    struct memory memory;
    struct calendar calendar;
    uint64_t now, instructions;
    uint32_t active_cus_per_xcc, lds_bytes_per_cu, lds_granule;
    struct xcc *xccs;
    struct cu *cus;
    struct resident *residents; /* of each wave slot of the chip */
    size_t resident_count;
    unsigned char *vgprs; /* SIM_VGPRS rows for each of them */
    struct sim_module *modules;
    struct sim_dispatch *dispatches; /* neither finished nor failed, oldest first */
    uint64_t queue_address;          /* of dispatches that name no queue */
    struct memory_block queues[SIM_MAX_QUEUES];
    size_t queue_count;
    uint64_t queue_id;
    char fault[512]; /* sentence of the executing instruction's fault, and its kind */
    enum sim_failure failure;
    int finished; /* a dispatch finished or failed since sim_machine_run began */
};

/* ---- What runs ------------------------------------------------------------------------------------------------------ */

struct sim_dispatch {
    struct agent agent; /* first its start, then its end */
    struct sim_dispatch *next;
    struct sim_machine *machine;
    const struct sim_kernel *kernel; /* gone when its module is, which ends the dispatch */
    struct sim_dispatch_config config;
    struct memory_block block; /* the AQL packet and the arguments */
    uint64_t packet_address, kernarg_address;
    uint32_t lds_bytes, scratch_lane_bytes;
    uint64_t workgroups, workgroups_ended, next_workgroup[SIM_MAX_XCCS];
    uint64_t instructions, instruction_limit;
    uint64_t end_cycle;
    int state; /* of sim_dispatch_state */
    enum sim_failure failure;
    int started;
    char *error;
};

struct sim_workgroup {
    struct sim_dispatch *dispatch;
    struct cu *cu;
    uint32_t id[3], items[3]; /* items: of this one, which may be partial */
    uint32_t wave_count, live, at_barrier;
    uint32_t lds_allocated;
    unsigned char *lds;
    struct resident *waves[SIM_MAX_WORKGROUP_WAVES]; /* NULL: ended */
};

/* A wave in its slot. The machine's side of struct sim_wave, which is first. */
struct resident {
    struct sim_wave wave;
    struct simd *simd;
    struct code *code;          /* that holds the pc, most likely */
    uint64_t sleep_cycles;      /* asked for by the executing instruction */
    uint64_t pc_of_instruction; /* that executes */
    const struct sim_instruction *instruction;
    struct outstanding vector_memory, scalar_and_lds;
};

static inline struct resident *resident_of(struct sim_wave *wave)
{
    return (struct resident *)wave;
}

/* ---- By file ---------------------------------------------------------------------------------------------------------- */

/* chip.c: makes and frees the tree of xccs, cus, simds */
int chip_build(struct sim_machine *machine);
void chip_free(struct sim_machine *machine);

/* place.c: a workgroup of so many waves with such registers onto a CU; NULL: no room now */
struct cu *place_workgroup(struct simd *simds[SIM_MAX_WORKGROUP_WAVES], const struct sim_machine *machine,
                           struct xcc *xcc, uint32_t waves, const struct descriptor *descriptor,
                           uint32_t lds_allocated);
/* -1 with a sentence if the chip never has room for it. */
int place_check(const struct sim_machine *machine, uint32_t waves, const struct descriptor *descriptor,
                uint32_t lds_allocated, const char *kernel_name);
uint32_t place_lds_allocated(const struct sim_machine *machine, uint32_t lds_bytes);

/* workgroup.c: starts and ends workgroups and their waves */
int workgroup_start(struct sim_dispatch *dispatch, struct cu *cu, struct simd *const *simds, uint32_t waves,
                    uint64_t linear_id, uint32_t lds_allocated);
uint32_t workgroup_wave_count(const uint32_t items[3]);
void workgroup_id(uint32_t id[3], const struct sim_dispatch *dispatch, uint64_t linear_id);
void workgroup_items(uint32_t items[3], const struct sim_dispatch *dispatch, const uint32_t id[3]);
void workgroup_free(struct sim_workgroup *workgroup); /* without waves */
void wave_arrive_at_barrier(struct resident *resident, uint64_t cycle);
void wave_leave(struct resident *resident, uint64_t cycle); /* it ended */
void wave_release(struct resident *resident);               /* its slot is free, whatever it did */

/* wave_state.c: registers of a wave that starts */
void wave_state_init(struct resident *resident, const struct sim_dispatch *dispatch);

/* arguments.c: memory of a dispatch: packet and arguments, hidden ones filled in */
int arguments_build(struct sim_dispatch *dispatch);

/* schedule.c */
void simd_wake(struct sim_machine *machine, struct simd *simd);
void xcc_wake(struct sim_machine *machine, struct xcc *xcc, uint64_t cycle);

/* dispatch.c */
void dispatch_fail(struct sim_dispatch *dispatch, enum sim_failure failure, const char *sentence);
void dispatch_finish(struct sim_dispatch *dispatch);
void dispatch_workgroup_ended(struct sim_dispatch *dispatch);

/* code.c: the instruction at the wave's pc; NULL after sim_fault */
const struct sim_instruction *code_fetch(struct resident *resident);
/* The same if it was decoded before, else NULL. */
static inline const struct sim_instruction *code_decoded(const struct resident *resident)
{
    uint64_t offset = resident->wave.pc - resident->code->base;
    return offset < resident->code->bytes ? resident->code->decoded[offset / 4] : NULL;
}
void code_free(struct code *code);

/* fault.c: fault_report: the dispatch fails with the machine's fault sentence, told with all that is known of the wave.
 * fault_endless: that sentence, for a dispatch beyond its limit of instructions. fault_stuck: fails a dispatch in which
 * nothing can go on. */
void fault_report(struct resident *resident);
void fault_endless(struct resident *resident);
void fault_stuck(struct sim_dispatch *dispatch);

#endif
