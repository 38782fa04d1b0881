/* Relocation types: LLVM's AMDGPUUsage, "Relocation Records". */
#include <inttypes.h>

#include "module.h"

enum {
    R_NONE = 0,
    R_ABS32_LO = 1,
    R_ABS32_HI = 2,
    R_ABS64 = 3,
    R_REL32 = 4,
    R_REL64 = 5,
    R_ABS32 = 6,
    R_REL32_LO = 10,
    R_REL32_HI = 11,
    R_RELATIVE64 = 13
};
enum { BIND_WEAK = 2 };

static void store_le(unsigned char *p, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (unsigned char)(value >> 8 * i);
}

/* Address of the symbol that a relocation names. */
static int symbol_address(uint64_t *out, const struct sim_module *module, const struct elf_relocation *relocation)
{
    *out = 0;
    if (!relocation->symbol || relocation->type == R_RELATIVE64)
        return 0;
    if (relocation->symbol >= module->elf->symbol_count)
        return sim_fail("the code object is damaged: a relocation names symbol %u of %zu", relocation->symbol,
                        module->elf->symbol_count);
    struct elf_symbol symbol = elf_symbol_at(module->elf, relocation->symbol);
    if (symbol.defined)
        *out = module->load_bias + symbol.value;
    else if (symbol.binding != BIND_WEAK)
        return sim_fail("the code object needs '%s', which nothing defines: link it with the file that does",
                        symbol.name);
    return 0;
}

static int apply(struct sim_module *module, const struct elf_relocation *relocation)
{
    uint64_t symbol;
    if (symbol_address(&symbol, module, relocation))
        return -1;
    uint64_t place = module->load_bias + relocation->address, value = symbol + (uint64_t)relocation->addend;
    unsigned bytes = 4;
    switch (relocation->type) {
    case R_NONE: return 0;
    case R_ABS32_LO: break;
    case R_ABS32_HI: value >>= 32; break;
    case R_ABS64: bytes = 8; break;
    case R_ABS32:
        if (value > UINT32_MAX)
            return sim_fail("the address 0x%" PRIx64 " does not fit into 32 bits, as a relocation at 0x%" PRIx64
                            " asks",
                            value, relocation->address);
        break;
    case R_REL32:
    case R_REL32_LO: value -= place; break;
    case R_REL32_HI: value = (value - place) >> 32; break;
    case R_REL64:
        value -= place;
        bytes = 8;
        break;
    case R_RELATIVE64:
        value = module->load_bias + (uint64_t)relocation->addend;
        bytes = 8;
        break;
    default:
        return sim_fail("the code object has a relocation of type %u at 0x%" PRIx64
                        ", which is not one of those that a "
                        "loader resolves",
                        relocation->type, relocation->address);
    }
    unsigned char *p = module_bytes(module, place, bytes);
    if (!p)
        return sim_fail("the code object is damaged: a relocation at 0x%" PRIx64 " lies outside of what is loaded",
                        relocation->address);
    store_le(p, value, bytes);
    return 0;
}

int relocate(struct sim_module *module)
{
    for (size_t i = 0; i < module->elf->relocation_count; i++) {
        struct elf_relocation relocation = elf_relocation_at(module->elf, i);
        if (apply(module, &relocation))
            return -1;
    }
    return 0;
}
