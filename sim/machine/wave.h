/* wave.h - the state of one wave, and what executing an instruction may ask of the machine. */
#ifndef SIM_WAVE_H
#define SIM_WAVE_H

#include <stdint.h>

#include "../isa/isa.h"

#define SIM_LANES 64
#define SIM_VGPRS 512 /* 0 to 255 vector registers, 256 to 511 accumulation registers */

struct sim_machine;
struct sim_workgroup;

/* Where a wave runs, as HW_ID and XCC_ID tell it. */
struct sim_place {
    uint8_t xcc, se, sh, cu, simd, slot;
};

enum sim_wave_state { SIM_WAVE_READY, SIM_WAVE_AT_BARRIER, SIM_WAVE_ENDED };

struct sim_wave {
    /* By operand code, 0 to 127: SGPRs, FLAT_SCRATCH, VCC, TTMP, M0, EXEC. */
    uint32_t sgpr[128];
    uint32_t scc;  /* 0 or 1 */
    uint64_t pc;   /* of the next instruction: already past the one that executes */
    uint32_t mode; /* as hardware register MODE: round 3:0, denormals 7:4, ... */
    uint32_t status;
    uint32_t (
        *vgpr)[SIM_LANES]; /* [SIM_VGPRS]; rows from vgpr_limit to 255 and from 256 + acc_limit are not allocated */
    uint32_t vgpr_limit, acc_limit, sgpr_limit;

    unsigned char *lds; /* of the workgroup */
    uint32_t lds_bytes;
    unsigned char *scratch; /* private memory: lane l's bytes start at l * scratch_lane_bytes */
    uint32_t scratch_lane_bytes;

    struct sim_machine *machine;
    struct sim_workgroup *workgroup;
    struct sim_place place;
    uint32_t index; /* within the workgroup */
    uint32_t state; /* enum sim_wave_state */
    int faulted;    /* the machine has the sentence */

    uint64_t
        now_cycle; /* when the executing instruction issues, in core clock cycles: s_memtime, s_memrealtime read it */
    /* Set by memory instructions for the cost model: cache lines (64 bytes) that the instruction touched. */
    uint32_t lines_touched;
    /* Set by vector instructions that call sim_memory for one lane after the other: which, for the sentence of a fault. */
    uint32_t lane; /* SIM_LANES: none */
};

static inline uint64_t sim_sgpr64(const struct sim_wave *wave, unsigned code)
{
    return wave->sgpr[code] | (uint64_t)wave->sgpr[code + 1] << 32;
}
static inline void sim_set_sgpr64(struct sim_wave *wave, unsigned code, uint64_t value)
{
    wave->sgpr[code] = (uint32_t)value;
    wave->sgpr[code + 1] = (uint32_t)(value >> 32);
}
static inline uint64_t sim_exec(const struct sim_wave *wave)
{
    return sim_sgpr64(wave, SIM_EXEC_LO);
}

/* ---- What the machine provides (machine/) ------------------------------------------------------------------------ */

/* Stops the dispatch with this sentence; the first one is kept. The machine adds kernel, workgroup, wave, address and
 * disassembly of the instruction. Execution of the wave ends after the instruction that called it. */
void sim_fault(struct sim_wave *wave, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Device memory: host pointer to `bytes` bytes at a device address that lie within one allocation (or in the code
 * object's loaded segments, for reading and its writable data for both), or NULL after sim_fault. Device addresses are
 * host addresses, so that the pointer equals the address; this checks it. */
void *sim_memory(struct sim_wave *wave, uint64_t address, uint32_t bytes, int is_write);

/* A FLAT address to what it means: LDS and private apertures are resolved for `lane`. Faults as sim_memory does. */
void *sim_flat_memory(struct sim_wave *wave, uint32_t lane, uint64_t address, uint32_t bytes, int is_write);
/* Aperture bases: bits 63:32 of flat addresses of LDS and of private memory. */
#define SIM_SHARED_APERTURE 0x0001000000000000ull
#define SIM_PRIVATE_APERTURE 0x0002000000000000ull

/* Simulated time in ticks of s_memrealtime (100 MHz, steps of 4) and of s_memtime (core clock) at wave->now_cycle. */
uint64_t sim_realtime_ticks(const struct sim_wave *wave);
uint64_t sim_core_ticks(const struct sim_wave *wave);

/* s_barrier, s_endpgm, s_sleep, s_trap ask the machine through these. */
void sim_wave_barrier(struct sim_wave *wave);
void sim_wave_end(struct sim_wave *wave);
void sim_wave_sleep(struct sim_wave *wave, uint32_t cycles);
/* Value of a hardware register by its id, as s_getreg_b32 numbers them (MODE 1, STATUS 2, HW_ID 4, LDS_ALLOC 6, XCC_ID 20,
 * ...). 0 and *value on success; -1: not modelled. */
int sim_hardware_register(const struct sim_wave *wave, unsigned id, uint32_t *value);

#endif
