/* Chips: their defaults, what the environment changes, and the tree of XCCs, CUs and SIMDs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

/* ---- Facts -------------------------------------------------------------------------------------------------------------- */

static const struct {
    struct sim_chip_config config;
    uint32_t lds_bytes, lds_granule;
} chips[SIM_CHIPS] = {
    /* MI300X: 8 XCDs of 40 CUs, 38 of them active, 2100 MHz, 192 GB (data sheet, CDNA3 white paper); 4 SEs of 1 SH of 10
     * CUs (Linux, amdgpu's topology). LDS in pieces of 512 bytes (LLVM, AMDGPUBaseInfo). */
    [SIM_GFX942] = {{.chip = SIM_GFX942,
                     .name = "AMD Instinct MI300X (simulated)",
                     .xccs = 8,
                     .ses_per_xcc = 4,
                     .shs_per_se = 1,
                     .cus_per_sh = 10,
                     .active_cus_per_xcc = 38,
                     .simds_per_cu = 4,
                     .waves_per_simd = 8,
                     .core_mhz = 2100,
                     .memory_bytes = 192ull << 30},
                    65536,
                    512},
    /* MI350X: 8 XCDs of 36 CUs, 32 of them active, 2200 MHz, 288 GB (data sheet, CDNA4 white paper). How the 36 divide into
     * SEs is chosen. */
    [SIM_GFX950] = {{.chip = SIM_GFX950,
                     .name = "AMD Instinct MI350X (simulated)",
                     .xccs = 8,
                     .ses_per_xcc = 4,
                     .shs_per_se = 1,
                     .cus_per_sh = 9,
                     .active_cus_per_xcc = 32,
                     .simds_per_cu = 4,
                     .waves_per_simd = 8,
                     .core_mhz = 2200,
                     .memory_bytes = 288ull << 30},
                    163840,
                    1280},
};
/* From one wave's vector registers to the next one's: not a power of two, so that rows of all waves do not meet in the same
 * few lines of the host's caches. */
#define VGPRS_STRIDE ((size_t)SIM_VGPRS * SIM_LANES * 4 + 17 * 64)
/* About two minutes of simulation. */
#define DEFAULT_MAX_INSTRUCTIONS 1000000000ull

void sim_chip_config_init(struct sim_chip_config *config, enum sim_chip chip)
{
    *config = chips[chip].config;
    config->max_wave_instructions = DEFAULT_MAX_INSTRUCTIONS;
}

/* ---- The environment ------------------------------------------------------------------------------------------------------ */

static const char *environment(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static int set_topology(struct sim_chip_config *config, const char *text)
{
    unsigned n[6];
    int end = 0;
    if (sscanf(text, "%3u,%3u,%3u,%3u,%3u,%3u%n", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &end) != 6 || text[end])
        return sim_fail("KTRACE_SIM_TOPOLOGY is '%s'; it takes six numbers below 1000, as in 8,4,1,10,4,8: XCCs, SEs "
                        "of each, SHs of each, CUs of each, SIMDs of each, waves of each",
                        text);
    config->xccs = n[0];
    config->ses_per_xcc = n[1];
    config->shs_per_se = n[2];
    config->cus_per_sh = n[3];
    config->simds_per_cu = n[4];
    config->waves_per_simd = n[5];
    config->active_cus_per_xcc = 0;
    return 0;
}

int sim_chip_config_from_environment(struct sim_chip_config *config)
{
    const char *chip = environment("KTRACE_SIM_CHIP"), *topology = environment("KTRACE_SIM_TOPOLOGY");
    const char *limit = environment("KTRACE_SIM_MAX_INSTRUCTIONS");
    if (chip && !strcmp(chip, "gfx942"))
        sim_chip_config_init(config, SIM_GFX942);
    else if (chip && !strcmp(chip, "gfx950"))
        sim_chip_config_init(config, SIM_GFX950);
    else if (chip)
        return sim_fail("KTRACE_SIM_CHIP is '%s'; gfx942 and gfx950 can be simulated", chip);
    if (topology && set_topology(config, topology))
        return -1;
    if (limit) {
        char *end;
        config->max_wave_instructions = strtoull(limit, &end, 10);
        if (*end || *limit < '0' || *limit > '9')
            return sim_fail(
                "KTRACE_SIM_MAX_INSTRUCTIONS is '%s'; it takes a number of wave instructions, 0 for no limit", limit);
    }
    return 0;
}

static int check_config(const struct sim_chip_config *config)
{
    const struct {
        const char *what;
        uint32_t value, max;
    } checks[] = {
        {"XCCs", config->xccs, SIM_MAX_XCCS},
        {"SEs of an XCC", config->ses_per_xcc, SIM_MAX_SES},
        {"SHs of an SE", config->shs_per_se, SIM_MAX_SHS},
        {"CUs of an SH", config->cus_per_sh, SIM_MAX_CUS},
        {"SIMDs of a CU", config->simds_per_cu, SIM_MAX_SIMDS},
        {"waves of a SIMD", config->waves_per_simd, SIM_MAX_SLOTS},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (!checks[i].value || checks[i].value > checks[i].max)
            return sim_fail("a chip with %u %s: 1 to %u can be simulated, as many as HW_ID and XCC_ID can name",
                            checks[i].value, checks[i].what, checks[i].max);
    if (!config->core_mhz || config->core_mhz % 100)
        return sim_fail("a core clock of %u MHz: it has to be a multiple of 100, the clock of s_memrealtime",
                        config->core_mhz);
    if (config->active_cus_per_xcc > config->ses_per_xcc * config->shs_per_se * config->cus_per_sh)
        return sim_fail("%u active CUs of an XCC that has %u", config->active_cus_per_xcc,
                        config->ses_per_xcc * config->shs_per_se * config->cus_per_sh);
    return 0;
}

/* ---- The tree --------------------------------------------------------------------------------------------------------------- */

static void build_cu(struct sim_machine *machine, struct cu *cu, struct resident *residents, unsigned char *vgprs)
{
    const struct sim_chip_config *config = &machine->config;
    cu->lds_free = machine->lds_bytes_per_cu;
    for (uint32_t s = 0; s < config->simds_per_cu; s++) {
        struct simd *simd = &cu->simds[s];
        event_init(&simd->agent.event);
        simd->agent.kind = EVENT_SIMD;
        simd->vgprs_free = SIM_SIMD_VGPRS;
        simd->sgprs_free = SIM_SIMD_SGPRS;
        simd->slots_free = config->waves_per_simd;
        simd->cu = cu;
        simd->index = (uint8_t)s;
        for (uint32_t slot = 0; slot < SIM_MAX_SLOTS; slot++)
            simd->ready[slot] = SIM_NEVER;
        for (uint32_t slot = 0; slot < config->waves_per_simd; slot++) {
            size_t number = s * config->waves_per_simd + slot;
            struct resident *resident = &residents[number];
            resident->simd = simd;
            resident->wave.machine = machine;
            resident->wave.vgpr = (uint32_t(*)[SIM_LANES])(vgprs + number * VGPRS_STRIDE);
            resident->wave.place = (struct sim_place){
                .xcc = cu->xcc, .se = cu->se, .sh = cu->sh, .cu = cu->index, .simd = (uint8_t)s, .slot = (uint8_t)slot};
            simd->residents[slot] = resident;
        }
    }
}

/* Of the CUs of an XCC the last ones of the last SEs are inactive: which ones differs from chip to chip. */
static uint32_t active_of_array(const struct sim_chip_config *config, uint32_t active, uint32_t array)
{
    uint32_t arrays = config->ses_per_xcc * config->shs_per_se;
    return active / arrays + (array < active % arrays);
}

static void build_xcc(struct sim_machine *machine, struct xcc *xcc, uint32_t index)
{
    const struct sim_chip_config *config = &machine->config;
    uint32_t per_cu = config->simds_per_cu * config->waves_per_simd, active = machine->active_cus_per_xcc;
    event_init(&xcc->agent.event);
    xcc->agent.kind = EVENT_XCC;
    xcc->cus = &machine->cus[(size_t)index * active];
    for (uint32_t array = 0; array < config->ses_per_xcc * config->shs_per_se; array++) {
        for (uint32_t i = 0; i < active_of_array(config, active, array); i++) {
            size_t number = (size_t)index * active + xcc->cu_count;
            struct cu *cu = &xcc->cus[xcc->cu_count++];
            *cu = (struct cu){.xcc = (uint8_t)index,
                              .se = (uint8_t)(array / config->shs_per_se),
                              .sh = (uint8_t)(array % config->shs_per_se),
                              .index = (uint8_t)i};
            build_cu(machine, cu, &machine->residents[number * per_cu],
                     machine->vgprs + number * per_cu * VGPRS_STRIDE);
        }
        xcc->first_cu[array + 1] = xcc->cu_count;
    }
}

int chip_build(struct sim_machine *machine)
{
    const struct sim_chip_config *config = &machine->config;
    if (check_config(config))
        return -1;
    uint32_t all = config->ses_per_xcc * config->shs_per_se * config->cus_per_sh;
    machine->active_cus_per_xcc = config->active_cus_per_xcc ? config->active_cus_per_xcc : all;
    machine->lds_bytes_per_cu = chips[config->chip].lds_bytes;
    machine->lds_granule = chips[config->chip].lds_granule;
    size_t cus = (size_t)config->xccs * machine->active_cus_per_xcc;
    machine->resident_count = cus * config->simds_per_cu * config->waves_per_simd;
    machine->xccs = calloc(config->xccs, sizeof *machine->xccs);
    machine->cus = calloc(cus, sizeof *machine->cus);
    machine->residents = calloc(machine->resident_count, sizeof *machine->residents);
    /* Rows that no wave has are never touched and take no memory. */
    void *vgprs = mmap(NULL, machine->resident_count * VGPRS_STRIDE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    machine->vgprs = vgprs == MAP_FAILED ? NULL : vgprs;
    if (!machine->xccs || !machine->cus || !machine->residents || !machine->vgprs)
        return sim_fail("the host has no memory for a chip of %zu waves", machine->resident_count);
    for (uint32_t i = 0; i < config->xccs; i++)
        build_xcc(machine, &machine->xccs[i], i);
    return 0;
}

void chip_free(struct sim_machine *machine)
{
    if (machine->vgprs)
        munmap(machine->vgprs, machine->resident_count * VGPRS_STRIDE);
    free(machine->residents);
    free(machine->cus);
    free(machine->xccs);
}
