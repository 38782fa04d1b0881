/* vector_memory.h - what DS, FLAT and MUBUF share: 64 lanes' addresses to pointers, and data between those and VGPRs.
 *
 * First every lane's pointer is found; a fault there means that nothing has happened yet. Then lanes are served in
 * ascending order. Whole waves that access one piece of memory side by side, the common case, are checked once and copied
 * as a block.
 */
#ifndef SIM_VECTOR_MEMORY_H
#define SIM_VECTOR_MEMORY_H

#include <string.h>

#include "atomic.h"
#include "exec.h"
#include "operands.h"

/* What an instruction moves for each lane. Narrow loads are extended to 32 bits; _D16 to 16 bits in the low half of the
 * register and _D16_HI in its high half, the other half then being 0: chips with ECC write whole registers (CDNA3 ISA
 * manual 9.1.6; LLVM's d16PreservesUnusedBits). Stores of _D16_HI take the high half. */
enum sim_data {
    SIM_U8,
    SIM_I8,
    SIM_U16,
    SIM_I16,
    SIM_U8_D16,
    SIM_I8_D16,
    SIM_U16_D16,
    SIM_U8_D16_HI,
    SIM_I8_D16_HI,
    SIM_U16_D16_HI,
    SIM_DWORD_1,
    SIM_DWORD_2,
    SIM_DWORD_3,
    SIM_DWORD_4
};
static inline unsigned sim_data_dwords(enum sim_data data)
{
    return data < SIM_DWORD_1 ? 1 : data - SIM_DWORD_1 + 1u;
}
static inline unsigned sim_data_bytes(enum sim_data data)
{
    switch (data) {
    case SIM_U8:
    case SIM_I8:
    case SIM_U8_D16:
    case SIM_I8_D16:
    case SIM_U8_D16_HI:
    case SIM_I8_D16_HI: return 1;
    case SIM_U16:
    case SIM_I16:
    case SIM_U16_D16:
    case SIM_U16_D16_HI: return 2;
    default: return 4 * sim_data_dwords(data);
    }
}

struct sim_access {
    uint64_t lanes;                    /* which lanes do it: set by the caller, a subset of EXEC */
    uint32_t bytes, alignment;         /* of each lane's piece; alignment 1: any */
    int is_write;                      /* stores and atomics */
    int contiguous;                    /* all 64 lanes, each at the last one's end */
    uint64_t lds_lanes;                /* of FLAT: lanes whose addresses are LDS */
    unsigned char *pointer[SIM_LANES]; /* of each of `lanes` */
};

#define SIM_EACH_ACTIVE(lane, lanes) \
    for (uint64_t left_ = (lanes); left_ && (lane = (unsigned)__builtin_ctzll(left_), 1); left_ &= left_ - 1)

/* Addresses to access->pointer; they also count wave->lines_touched. 0 after sim_fault. Addresses of lanes that are not in
 * access->lanes may be anything. */
int sim_find_global(struct sim_wave *wave, struct sim_access *access, const uint64_t *address);
int sim_find_flat(struct sim_wave *wave, struct sim_access *access, const uint64_t *address);
int sim_find_lds(struct sim_wave *wave, struct sim_access *access, const uint32_t *address);
int sim_find_scratch(struct sim_wave *wave, struct sim_access *access, const uint32_t *offset);

/* Between memory and sim_data_dwords(data) registers. */
void sim_load_lanes(uint32_t (*rows)[SIM_LANES], const struct sim_access *access, enum sim_data data);
void sim_store_lanes(const struct sim_access *access, uint32_t (*rows)[SIM_LANES], enum sim_data data);
/* A lane's data as a load returns it, to 1 to 4 dwords. */
void sim_load_lane(uint32_t *dwords, const unsigned char *pointer, enum sim_data data);

/* Atomics. `data2` may be NULL where the operation has none; `old`, if not NULL, receives what memory had, after the data
 * of all lanes was read: it may be the same registers. `flush` is for memory; lanes in access->lds_lanes take `lds_flush`. */
void sim_atomic_lanes32(const struct sim_access *access, sim_atomic32 operation, uint32_t (*old)[SIM_LANES],
                        uint32_t (*data)[SIM_LANES], uint32_t (*data2)[SIM_LANES], unsigned flush, unsigned lds_flush);
void sim_atomic_lanes64(const struct sim_access *access, sim_atomic64 operation, uint32_t (*old)[SIM_LANES],
                        uint32_t (*data)[SIM_LANES], uint32_t (*data2)[SIM_LANES], unsigned flush, unsigned lds_flush);

/* Loads whose data go to LDS (global_load_lds_*, scratch_load_lds_*, MUBUF with lds): lane l's to M0[17:2] * 4 +
 * `offset` + l * 4, or l * 16 for 3 and 4 dwords; narrow data as whole dwords (CDNA3 and CDNA4 ISA manuals, 10.3, 9.1.9).
 * Lanes in `lanes` but not in access->lanes have no memory: they write 0. */
void sim_load_to_lds(struct sim_wave *wave, const struct sim_access *access, uint64_t lanes, enum sim_data data,
                     uint32_t offset);

static inline uint32_t sim_load32(const unsigned char *pointer)
{
    uint32_t value;
    memcpy(&value, pointer, sizeof value);
    return value;
}
static inline uint64_t sim_load64(const unsigned char *pointer)
{
    uint64_t value;
    memcpy(&value, pointer, sizeof value);
    return value;
}

#endif
