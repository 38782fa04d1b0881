/* device/amdgcn_event.h - sites and events on gfx942 and gfx950. Part of amdgcn.h.
 *
 * A wave records with scalar instructions alone, so that it is right under any divergence without an agreement: both sides
 * of a branch run one after the other and take consecutive slots, and an event in a branch that no lane takes is skipped with
 * the branch. Its state lies in scalar registers that the compiler does not use in a kernel (KTRACE_KERNEL_ATTRIBUTES):
 *
 *   s[80:81] ring   s82 count, 8 * (slots + 1)   s83 ring bytes - 1   s84 region
 *   s[76:79], s85, s86 for the length of one event
 *
 * s80 to s87 are callee-saved in LLVM's calling convention (CSR_AMDGPU_SGPRs), so that functions which do not record may be
 * called. No higher ones: with more than 96 SGPRs, of which 6 are not ours to choose, fewer waves fit a SIMD.
 */
#ifndef KTRACE_DEVICE_AMDGCN_EVENT_H
#define KTRACE_DEVICE_AMDGCN_EVENT_H

/* With 84, LLVM allocates s0 to s75: it keeps 6 for VCC, FLAT_SCRATCH and XNACK_MASK and rounds. The section tells events
 * whether they are in a kernel that has this attribute: see below. */
#define KTRACE_KERNEL_SGPRS 84
#define KTRACE_KERNEL_ATTRIBUTES amdgpu_num_sgpr(KTRACE_KERNEL_SGPRS), section(".text.ktrace")

/* A site is assembled beside the event that names it: its index among its translation unit's sites is a constant of the
 * assembler. The distance of the event from 76543b, the entry of its kernel, is not only for the reader: where KTRACE_KERNEL's
 * attributes are missing, or in a function that was not inlined into a kernel, it spans two sections and is refused. (The label
 * that the first site brings along is for functions in front of all kernels.) */
#define KTRACE_ASM_SITES \
    ".pushsection ktrace_sites, \"a\", @progbits\n\t" \
    ".ifndef .Lktrace_sites\n\t.p2align 4\n.Lktrace_sites:\n\t" \
    ".pushsection .ktrace_kernels, \"\", @progbits\n76543:\n\t.popsection\n\t.endif\n"
#define KTRACE_ASM_SITE \
    KTRACE_ASM_SITES \
    ".Lktrace_site_%=:\n\t.if (.Lktrace_site_%= - .Lktrace_sites) / 16 > 65535\n\t" \
    ".error \"ktrace: more than 65536 annotations in one translation unit\"\n\t.endif\n\t" \
    ".short %c[magic]\n\t.byte %c[kind], %c[type]\n\t.long %c[version_line]\n\t" \
    ".long %c[text] - .Lktrace_site_%=\n\t" \
    ".long .Lktrace_event_%= - 76543b // an annotation outside of a kernel: is its function inlined?\n\t" \
    ".popsection\n.Lktrace_event_%=:\n\t"
#define KTRACE_ASM_ID "(.Lktrace_site_%= - .Lktrace_sites) / 16"

/* The instructions of an event. The clock read is what takes longest, so that what does not depend on it stands before the
 * wait. The wait covers the last event's store, too: its data registers are free from then on. */
#define KTRACE_ASM_OFFSET "s_and_b32 s85, s82, s83\n\t"
#define KTRACE_ASM_CLOCK "s_memrealtime s[76:77]\n\t" KTRACE_ASM_OFFSET
#define KTRACE_ASM_INDEX "s_lshr_b32 s86, s82, 3\n\t"
#define KTRACE_ASM_WAIT "s_waitcnt lgkmcnt(0)\n\t"
#define KTRACE_ASM_WORD(upper) "s_pack_ll_b32_b16 s77, " KTRACE_ASM_ID ", " upper "\n\t"
#define KTRACE_ASM_STORE "s_store_dwordx2 s[76:77], s[80:81], s85 glc\n\t"
#define KTRACE_ASM_STORE_PAYLOAD "s_mov_b64 s[78:79], %[payload]\n\ts_store_dwordx4 s[76:79], s[80:81], s85 glc\n\t"
/* Without a token the event goes behind the ring and its overhang's first slot, and the count stays. */
#define KTRACE_ASM_IF_TOKEN(bytes) \
    "s_add_u32 s86, s83, 17\n\ts_cmp_lg_u32 %[token], 0\n\ts_cselect_b32 s85, s85, s86\n\t" \
    "s_cselect_b32 s86, " bytes ", 0\n\t"
#define KTRACE_ASM_ADVANCE(bytes) "s_add_u32 s82, s82, " bytes

#define KTRACE_ASM_PLAIN(store, bytes) \
    KTRACE_ASM_CLOCK KTRACE_ASM_INDEX KTRACE_ASM_WAIT KTRACE_ASM_WORD("s86") store KTRACE_ASM_ADVANCE(bytes)
/* A start's token is 2 * its slot's index + 1: never 0, and later starts have larger ones. */
#define KTRACE_ASM_START(store, bytes) \
    "s_lshr_b32 s86, s82, 3\n\ts_lshl1_add_u32 %[started], s86, 1\n\t" KTRACE_ASM_PLAIN(store, bytes)
/* The clock of a stop or a next is read before its token is looked for, which takes a loop where lanes hold different ones.
 * s[76:77] keep it: nothing else of the kernel uses them. */
#if KTRACE_DEVICE_PASS
#define KTRACE_READ_CLOCK() __asm__ volatile("s_memrealtime s[76:77]\n\t" KTRACE_ASM_WAIT ::: "memory")
#else
#define KTRACE_READ_CLOCK() (void)0
#endif
#define KTRACE_ASM_STOP(store, bytes) \
    KTRACE_ASM_OFFSET KTRACE_ASM_IF_TOKEN(bytes) KTRACE_ASM_WORD("%[token]") store KTRACE_ASM_ADVANCE("s86")
#define KTRACE_ASM_NEXT(store, bytes) \
    KTRACE_ASM_OFFSET KTRACE_ASM_INDEX KTRACE_ASM_WORD("%[token]") store KTRACE_ASM_ADVANCE( \
        bytes) "\n\ts_lshl1_add_u32 %[started], s86, 1"

/* One event as a statement. `site_name` and `file` are literals; the lists of operands are in parentheses. */
#if KTRACE_DEVICE_PASS
#define KTRACE_RECORD(code, event_kind, payload_type, site_name, file, outputs, inputs) \
    do { \
        static KTRACE_TEXT_SPACE const char ktrace_text_[] = site_name "\0" file; \
        __asm__ volatile(KTRACE_ASM_SITE code \
                         : KTRACE_UNPACK outputs \
                         : [magic] "i"(KTRACE_SITE_MAGIC), [kind] "i"(event_kind), [type] "i"(payload_type), \
                           [version_line] "i"((int)(KTRACE_WIRE_VERSION << 24 | __LINE__)), \
                           [text] "i"(ktrace_text_)KTRACE_UNPACK inputs \
                         : "memory", "scc"); \
    } while (0)
#else /* HIP's pass for the host sees kernels, too; there, nothing runs them */
#define KTRACE_RECORD(code, event_kind, payload_type, site_name, file, outputs, inputs) ((void)sizeof(site_name))
#endif
#define KTRACE_UNPACK(...) __VA_ARGS__

/* What asm takes in scalar registers is spelled in its operand: at -O0 a variable lies in memory, whose loads are vectors. */
#define KTRACE_UNIFORM_32(value) ((ktrace_u32)__builtin_amdgcn_readfirstlane((int)(value)))
#define KTRACE_UNIFORM_64(value) \
    ((ktrace_u64)KTRACE_UNIFORM_32((ktrace_u64)(value) >> 32) << 32 | KTRACE_UNIFORM_32((ktrace_u64)(value)))

/* The same for values of the kernel's own. Where all lanes compute the same, the optimizer takes the read of the first lane away,
 * and clang 22 then hands the vector register of a conversion, say, to asm that asked for a scalar one. It does not with M0.
 * Clang 19 keeps that read, and would make it write M0, which is no instruction that LLVM 22 knows. */
#if KTRACE_DEVICE_PASS && defined(__OPTIMIZE__) && __clang_major__ >= 20
static inline KTRACE_DEVICE_FUNCTION __attribute__((always_inline)) ktrace_u32 ktrace_scalar(ktrace_u32 value)
{
    ktrace_u32 scalar;
    if (__builtin_constant_p(value))
        return value;
    __asm__("s_mov_b32 %0, m0" : "=s"(scalar) : "{m0}"(KTRACE_UNIFORM_32(value)));
    return scalar;
}
#define KTRACE_SCALAR_64(value) \
    ((ktrace_u64)ktrace_scalar((ktrace_u32)((value) >> 32)) << 32 | ktrace_scalar((ktrace_u32)(value)))
#else
#define KTRACE_SCALAR_64(value) KTRACE_UNIFORM_64(value)
#endif

#endif
