/* Where a workgroup goes. An XCC's dispatcher goes round its shader arrays (SE, SH), and in each round its CUs; a
 * workgroup's waves go round the SIMDs of its CU. A SIMD has room for so many waves, vector and scalar registers, a CU for so
 * much LDS. Which XCC it is, dispatch.c decides: workgroups take turns, as on MI300X. */
#include "internal.h"

uint32_t place_lds_allocated(const struct sim_machine *machine, uint32_t lds_bytes)
{
    return (lds_bytes + machine->lds_granule - 1) / machine->lds_granule * machine->lds_granule;
}

static uint32_t room(const struct simd *simd, const struct descriptor *descriptor)
{
    uint32_t by_vgprs = simd->vgprs_free / descriptor->vgprs, by_sgprs = simd->sgprs_free / descriptor->sgprs;
    uint32_t waves = simd->slots_free;
    waves = by_vgprs < waves ? by_vgprs : waves;
    return by_sgprs < waves ? by_sgprs : waves;
}

/* SIMDs for so many waves, from the CU's next one on; 0: they do not fit. */
static int fits(struct simd **simds, struct cu *cu, uint32_t simd_count, uint32_t waves,
                const struct descriptor *descriptor)
{
    uint32_t left[SIM_MAX_SIMDS], all = 0;
    for (uint32_t i = 0; i < simd_count; i++)
        all += left[i] = room(&cu->simds[i], descriptor);
    if (all < waves)
        return 0;
    uint32_t next = cu->next_simd;
    for (uint32_t wave = 0; wave < waves; wave++) {
        while (!left[next])
            next = (next + 1) % simd_count;
        left[next]--;
        simds[wave] = &cu->simds[next];
        next = (next + 1) % simd_count;
    }
    cu->next_simd = (uint8_t)next;
    return 1;
}

static struct cu *place_in_array(struct simd **simds, struct xcc *xcc, uint32_t array, uint32_t simd_count,
                                 uint32_t waves, const struct descriptor *descriptor, uint32_t lds_allocated)
{
    uint32_t first = xcc->first_cu[array], count = xcc->first_cu[array + 1] - first;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = (xcc->next_cu[array] + i) % count;
        struct cu *cu = &xcc->cus[first + index];
        if (cu->lds_free < lds_allocated || !fits(simds, cu, simd_count, waves, descriptor))
            continue;
        xcc->next_cu[array] = (index + 1) % count;
        return cu;
    }
    return NULL;
}

struct cu *place_workgroup(struct simd *simds[SIM_MAX_WORKGROUP_WAVES], const struct sim_machine *machine,
                           struct xcc *xcc, uint32_t waves, const struct descriptor *descriptor, uint32_t lds_allocated)
{
    uint32_t arrays = machine->config.ses_per_xcc * machine->config.shs_per_se;
    for (uint32_t i = 0; i < arrays; i++) {
        uint32_t array = (xcc->next_array + i) % arrays;
        struct cu *cu =
            place_in_array(simds, xcc, array, machine->config.simds_per_cu, waves, descriptor, lds_allocated);
        if (cu) {
            xcc->next_array = (array + 1) % arrays;
            return cu;
        }
    }
    return NULL;
}

int place_check(const struct sim_machine *machine, uint32_t waves, const struct descriptor *descriptor,
                uint32_t lds_allocated, const char *kernel_name)
{
    const struct simd empty = {
        .vgprs_free = SIM_SIMD_VGPRS, .sgprs_free = SIM_SIMD_SGPRS, .slots_free = machine->config.waves_per_simd};
    uint32_t all = machine->config.simds_per_cu * room(&empty, descriptor);
    if (lds_allocated > machine->lds_bytes_per_cu)
        return sim_fail("kernel '%s' needs %u bytes of LDS for a workgroup, and a CU of this chip has %u", kernel_name,
                        lds_allocated, machine->lds_bytes_per_cu);
    if (waves > all)
        return sim_fail(
            "a workgroup of %u waves of kernel '%s', with %u vector and %u scalar registers each, does not fit "
            "into a CU, which has room for %u of them: launch smaller workgroups",
            waves, kernel_name, descriptor->vgprs, descriptor->sgprs, all);
    return 0;
}
