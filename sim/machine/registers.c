/* Hardware registers, as s_getreg_b32 reads them: CDNA3 ISA guide, "Hardware Registers"; numbers as in LLVM's assembler. */
#include "internal.h"

enum {
    MODE = 1,
    STATUS = 2,
    TRAP_STATUS = 3,
    HARDWARE_ID = 4,
    GPR_ALLOCATION = 5,
    LDS_ALLOCATION = 6,
    INSTRUCTION_BUFFER_STATUS = 7,
    MEMORY_BASES = 15,
    XCC_ID = 20
};

static uint32_t hardware_id(const struct sim_wave *wave)
{
    const struct sim_place *place = &wave->place;
    /* wave 3:0, SIMD 5:4, pipe 7:6, CU 11:8, SH 12, SE 14:13; above them which workgroup and queue, not modelled: 0 */
    return place->slot | (uint32_t)place->simd << 4 | (uint32_t)place->cu << 8 | (uint32_t)place->sh << 12 |
           (uint32_t)place->se << 13;
}

static uint32_t status(const struct sim_wave *wave)
{
    uint32_t execz = !sim_exec(wave), vccz = !sim_sgpr64(wave, SIM_VCC_LO);
    return wave->status | wave->scc | execz << 9 | vccz << 10;
}

int sim_hardware_register(const struct sim_wave *wave, unsigned id, uint32_t *value)
{
    const struct resident *resident = (const struct resident *)wave;
    switch (id) {
    case MODE: *value = wave->mode; return 0;
    case STATUS: *value = status(wave); return 0;
    case TRAP_STATUS: *value = 0; return 0; /* no exception happened */
    case HARDWARE_ID: *value = hardware_id(wave); return 0;
    case GPR_ALLOCATION: /* sizes only, in allocation units less one: vector 13:8, scalar 27:24 */
        *value = ((wave->vgpr_limit + wave->acc_limit) / 8 - 1) << 8 | ((wave->sgpr_limit + 15) / 16 - 1) << 24;
        return 0;
    case LDS_ALLOCATION: *value = (wave->lds_bytes + 255) / 256 << 12; return 0; /* the size, in 64 dwords */
    case INSTRUCTION_BUFFER_STATUS:                                              /* vmcnt 3:0 and 23:22, lgkmcnt 11:8 */
        *value = (resident->vector_memory.count & 15) | (resident->vector_memory.count >> 4 & 3) << 22 |
                 (resident->scalar_and_lds.count & 15) << 8;
        return 0;
    case MEMORY_BASES: /* bits 63:48 of the apertures: private 15:0, shared 31:16 */
        *value = (uint32_t)(SIM_PRIVATE_APERTURE >> 48 | SIM_SHARED_APERTURE >> 48 << 16);
        return 0;
    case XCC_ID: *value = wave->place.xcc; return 0;
    default: return -1;
    }
}
