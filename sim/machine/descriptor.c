/* Kernel descriptors: LLVM's AMDGPUUsage, "Kernel Descriptor" and its compute_pgm_rsrc tables for GFX90A and GFX942. */
#include <inttypes.h>

#include "module.h"

enum { DESCRIPTOR_BYTES = 64, ENTRY_ALIGNMENT = 256, PRELOAD_ENTRY_OFFSET = 256, MAX_USER_SGPRS = 16 };

static uint32_t field(uint32_t word, unsigned shift, unsigned bits)
{
    return word >> shift & ((1u << bits) - 1);
}

static void read_registers(struct descriptor *out, uint32_t rsrc1, uint32_t rsrc2, uint32_t rsrc3)
{
    /* Allocated in eights of the unified file of vector and accumulation registers; scalar ones in sixteens. */
    out->vgprs = 8 * (field(rsrc1, 0, 6) + 1);
    out->accumulation_offset = 4 * (field(rsrc3, 0, 6) + 1);
    out->sgprs = 16 * (field(rsrc1, 6, 4) / 2 + 1);
    /* Bits 19:12 are MODE's rounding and denormal bits as they are; DX10_CLAMP, IEEE and FP16_OVFL lie elsewhere. */
    out->mode = field(rsrc1, 12, 8) | field(rsrc1, 21, 1) << 8 | field(rsrc1, 23, 1) << 9 | field(rsrc1, 26, 1) << 23;
    out->scratch = field(rsrc2, 0, 1) != 0;
    out->user_sgprs = field(rsrc2, 1, 5);
    for (int i = 0; i < 3; i++)
        out->workgroup_id[i] = field(rsrc2, 7 + (unsigned)i, 1) != 0;
    out->workgroup_info = field(rsrc2, 10, 1) != 0;
    out->workitem_ids = field(rsrc2, 11, 2) + 1;
}

static int check(const struct sim_kernel *kernel, const struct descriptor *d, uint32_t properties)
{
    const char *name = kernel->name;
    if (properties & (1u << 0 | 1u << 5))
        return sim_fail(
            "the descriptor of kernel '%s' asks for a private segment buffer or flat scratch in user SGPRs; "
            "gfx942 and gfx950 have architected flat scratch instead",
            name);
    if (properties & 1u << 10)
        return sim_fail("the descriptor of kernel '%s' asks for waves of 32 lanes", name);
    uint32_t used = 2u * d->dispatch_pointer + 2u * d->queue_pointer + 2u * d->kernarg_pointer + 2u * d->dispatch_id +
                    d->private_size + d->preload_dwords;
    if (used > d->user_sgprs || d->user_sgprs > MAX_USER_SGPRS)
        return sim_fail(
            "the code object is damaged: the descriptor of kernel '%s' needs %u user SGPRs and has %u of at "
            "most %d",
            name, used, d->user_sgprs, MAX_USER_SGPRS);
    if (d->accumulation_offset > d->vgprs)
        return sim_fail("the code object is damaged: the accumulation registers of kernel '%s' begin at %u of %u", name,
                        d->accumulation_offset, d->vgprs);
    if (d->workitem_ids > 3)
        return sim_fail("the code object is damaged: the descriptor of kernel '%s' asks for workitem ids of kind 3",
                        name);
    if (((uint64_t)d->preload_offset_dwords + d->preload_dwords) * 4 >
        ((uint64_t)kernel->facts.kernarg_bytes + 3) / 4 * 4)
        return sim_fail("the code object is damaged: kernel '%s' preloads arguments beyond its %u bytes", name,
                        kernel->facts.kernarg_bytes);
    return 0;
}

int descriptor_read(struct sim_kernel *kernel, uint64_t address)
{
    const unsigned char *p = module_bytes(kernel->module, address, DESCRIPTOR_BYTES);
    if (!p)
        return sim_fail("the code object is damaged: the descriptor of kernel '%s' lies outside of what is loaded",
                        kernel->name);
    struct descriptor *out = &kernel->descriptor;
    uint32_t properties = load_le16(p + 56), preload = load_le16(p + 58);
    *out = (struct descriptor){.group_bytes = load_le32(p),
                               .private_bytes = load_le32(p + 4),
                               .kernarg_bytes = load_le32(p + 8),
                               .entry = address + load_le64(p + 16),
                               .dispatch_pointer = properties >> 1 & 1,
                               .queue_pointer = properties >> 2 & 1,
                               .kernarg_pointer = properties >> 3 & 1,
                               .dispatch_id = properties >> 4 & 1,
                               .private_size = properties >> 6 & 1,
                               .dynamic_stack = properties >> 11 & 1,
                               .preload_dwords = preload & 0x7F,
                               .preload_offset_dwords = preload >> 7};
    read_registers(out, load_le32(p + 48), load_le32(p + 52), load_le32(p + 44));
    if (out->entry % ENTRY_ALIGNMENT || !module_code(kernel->module, out->entry))
        return sim_fail("the code object is damaged: kernel '%s' begins at 0x%" PRIx64
                        ", which is no code or not a multiple of %d",
                        kernel->name, out->entry - kernel->module->load_bias, ENTRY_ALIGNMENT);
    kernel->code_address = out->entry;
    /* Code that takes preloaded arguments begins with a piece that loads them itself, for firmware that cannot preload;
     * firmware that can begins behind it. */
    if (out->preload_dwords)
        out->entry += PRELOAD_ENTRY_OFFSET;
    if (!out->scratch && out->private_bytes)
        out->scratch = 1;
    return check(kernel, out, properties);
}
