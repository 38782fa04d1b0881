/* device/nvidia.h - the annotations on NVIDIA GPUs, sm_75 and newer. Included by device.h.
 *
 * A wave (warp) owns one region of the capture's buffer from KTRACE_KERNEL on: a header, a ring for lane 0 and a small
 * ring for each other lane. An event is led by its first active lane, which stores it to its own ring and advances its
 * own count. So two sides of a branch never write one slot, nothing has to be agreed between lanes, and every ring is
 * dense: the count says exactly what was lost. The event is one asm block without a branch, an atomic or a fence; it
 * must stay in the kernel's own straight code, since a call lets lanes run apart and record twice.
 *
 * This file: types and payloads, the control block, sites, events, the wave's start and end, the macros.
 */
#ifndef KTRACE_DEVICE_NVIDIA_H
#define KTRACE_DEVICE_NVIDIA_H

#if !defined(__cplusplus)
#error "ktrace: CUDA kernels are compiled as C++"
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 750
#error "ktrace: NVIDIA devices before compute capability 7.5 are not supported"
#endif

#include "../record.h"

#if !defined(__CUDACC_RTC__) && !defined(KTRACE_NO_REGISTER)
#include "../ktrace.h"
#endif

#define KTRACE_DEVICE_INLINE __device__ __forceinline__

/* ---- Payloads --------------------------------------------------------------------------------------------------- */

struct __half;
struct __nv_bfloat16;

namespace ktrace_detail {

template <class T> struct bare { using type = T; };
template <class T> struct bare<T &> : bare<T> {};
template <class T> struct bare<T &&> : bare<T> {};
template <class T> struct bare<const T> : bare<T> {};
template <class T> struct bare<volatile T> : bare<T> {};
template <class T> struct bare<const volatile T> : bare<T> {};

template <class T> struct unsupported { static constexpr bool value = false; };

template <class T> struct payload {
    static_assert(unsupported<T>::value, "ktrace: a payload is a bool, an integer of up to 64 bits, half, bfloat16, "
                                         "float or double; convert this value to one of them");
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_NONE;
};
/* `bits` gives 32 or 64 of them; shorter integers are extended to 32 by their sign. */
template <class T, class Bits, ktrace_u8 Type> struct integer_payload {
    static constexpr ktrace_u8 type = Type;
    static KTRACE_DEVICE_INLINE Bits bits(T value) { return (Bits)value; }
};
template <class T> using int32_payload = integer_payload<T, ktrace_u32, KTRACE_PAYLOAD_INT32>;
template <class T> using uint32_payload = integer_payload<T, ktrace_u32, KTRACE_PAYLOAD_UINT32>;
template <class T> using int64_payload = integer_payload<T, ktrace_u64, KTRACE_PAYLOAD_INT64>;
template <class T> using uint64_payload = integer_payload<T, ktrace_u64, KTRACE_PAYLOAD_UINT64>;
template <bool Wide> struct long_payload { /* long has 32 bits on some hosts */
    template <class T> using of_signed = int64_payload<T>;
    template <class T> using of_unsigned = uint64_payload<T>;
};
template <> struct long_payload<false> {
    template <class T> using of_signed = int32_payload<T>;
    template <class T> using of_unsigned = uint32_payload<T>;
};
template <bool Signed> struct char_payload : int32_payload<char> {};
template <> struct char_payload<false> : uint32_payload<char> {};
template <> struct payload<char> : char_payload<((char)-1 < 0)> {};
template <> struct payload<signed char> : int32_payload<signed char> {};
template <> struct payload<unsigned char> : uint32_payload<unsigned char> {};
template <> struct payload<short> : int32_payload<short> {};
template <> struct payload<unsigned short> : uint32_payload<unsigned short> {};
template <> struct payload<int> : int32_payload<int> {};
template <> struct payload<unsigned int> : uint32_payload<unsigned int> {};
template <> struct payload<long> : long_payload<sizeof(long) == 8>::of_signed<long> {};
template <> struct payload<unsigned long> : long_payload<sizeof(long) == 8>::of_unsigned<unsigned long> {};
template <> struct payload<long long> : int64_payload<long long> {};
template <> struct payload<unsigned long long> : uint64_payload<unsigned long long> {};
template <> struct payload<bool> {
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_BOOL;
    static KTRACE_DEVICE_INLINE ktrace_u32 bits(bool value) { return value ? 1u : 0u; }
};
template <> struct payload<float> {
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_FLOAT32;
    static KTRACE_DEVICE_INLINE ktrace_u32 bits(float value)
    {
        ktrace_u32 word;
        asm("mov.b32 %0, %1;" : "=r"(word) : "f"(value));
        return word;
    }
};
template <> struct payload<double> {
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_FLOAT64;
    static KTRACE_DEVICE_INLINE ktrace_u64 bits(double value)
    {
        unsigned long long word;
        asm("mov.b64 %0, %1;" : "=l"(word) : "d"(value));
        return word;
    }
};
/* The half types are promoted by their bits, so that cuda_fp16.h need not be included here. */
template <> struct payload<__half> {
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_FLOAT32;
    template <class Half> static KTRACE_DEVICE_INLINE ktrace_u32 bits(const Half &value)
    {
        float wide;
        asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(reinterpret_cast<const unsigned short &>(value)));
        return payload<float>::bits(wide);
    }
};
template <> struct payload<__nv_bfloat16> {
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_FLOAT32;
    template <class Bfloat16> static KTRACE_DEVICE_INLINE ktrace_u32 bits(const Bfloat16 &value)
    {
        return (ktrace_u32)reinterpret_cast<const unsigned short &>(value) << 16;
    }
};

template <class T> using payload_of = payload<typename bare<T>::type>;

/* ---- The module's control block --------------------------------------------------------------------------------- */

} /* namespace ktrace_detail */

/* Found by name in modules loaded through the driver API, by address in objects that nvcc links. In whole-program mode
 * each translation unit is a module and has its own; with -rdc=true the linked module has one. */
#if defined(__CUDACC_RDC__)
extern "C" {
inline
#else
static
#endif
    __constant__ __align__(128) struct ktrace_control ktrace_control_block = {
        KTRACE_CONTROL_MAGIC, KTRACE_WIRE_VERSION, sizeof(struct ktrace_control), {0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        {{0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 0}};
#if defined(__CUDACC_RDC__)
}
#endif

namespace ktrace_detail {

/* ---- Sites ------------------------------------------------------------------------------------------------------ */

/* How an event names its site. */
struct bank_offset {
    ktrace_u32 value; /* of the descriptor in the constant bank: an immediate in the machine code */
};
struct global_address {
    ktrace_u64 value; /* of the descriptor in global memory: a slot of its own */
};

/* The descriptor as the compiler initializes it: the text is an address, which only a pointer can hold. */
struct site_image {
    ktrace_u16 magic;
    ktrace_u8 kind, payload_type;
    ktrace_u32 version_line;
    const char *text;
};
static_assert(sizeof(site_image) == sizeof(struct ktrace_site), "the image is what the host reads");

#if KTRACE_SITES_IN_GLOBAL
typedef global_address site_id;
#define KTRACE_SITE_SPACE __device__
KTRACE_DEVICE_INLINE site_id id_of(const site_image *site) { return {(ktrace_u64)site}; }
#else
typedef bank_offset site_id;
#define KTRACE_SITE_SPACE __constant__
KTRACE_DEVICE_INLINE site_id id_of(const site_image *site)
{
#if defined(__CUDA_ARCH__)
    return {(ktrace_u32)__cvta_generic_to_constant(site)};
#else
    return {(ktrace_u32)(ktrace_u64)site};
#endif
}
#endif

#define KTRACE_SITE(kind, type, name) \
    ([]() -> ktrace_detail::site_id { \
        static KTRACE_SITE_SPACE const ktrace_detail::site_image site = { \
            KTRACE_SITE_MAGIC, kind, type, ((ktrace_u32)KTRACE_WIRE_VERSION << 24) | (ktrace_u32)__LINE__, \
            name "\0" __FILE__}; \
        return ktrace_detail::id_of(&site); \
    }())

/* Ends need no name of their own: one descriptor a kind and payload type serves them all. */
KTRACE_DEVICE_INLINE site_id pop_site() { return KTRACE_SITE(KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, ""); }
template <ktrace_u8 Type> KTRACE_DEVICE_INLINE site_id stop_site() { return KTRACE_SITE(KTRACE_KIND_STOP, Type, ""); }

/* ---- Events ----------------------------------------------------------------------------------------------------- */

} /* namespace ktrace_detail */

/* A wave's handle, in registers; each lane has its own. */
struct ktrace_wave {
    ktrace_u32 count_bytes; /* 8 * (slots this lane stored + 1) */
    ktrace_u32 ring_low, ring_high; /* address of this lane's ring, aligned to its size */
    ktrace_u32 ring_mask;           /* its size - 1 */
    ktrace_u32 elect_mask;          /* lanes below this one; all ones in a wave that does not record */
};

typedef ktrace_u32 ktrace_token; /* its start's clock | 1; 0 is inactive */

namespace ktrace_detail {

/* The token whose range an event closes: of the first lane that holds one (a stop), or of the first lane (a next). */
struct stopped_token {
    ktrace_token value;
};
struct followed_token {
    ktrace_token value;
};

/* One event, as few instructions as the machine allows: VOTE, LOP3 (who leads), CS2R, LOP3 (address), LEA (site |
 * sequence), STG, IADD, and a MOV for the address' upper half. The election comes before the clock read: it depends on
 * nothing, so the compiler overlaps it with what runs before; after the read only the store waits. Operands: %0 count,
 * %1 clock, %2 ring low, %3 ring high, %4 ring mask, %5 elect mask, %6 site id, %7... what else is stored. */
#define KTRACE_ASM_BEGIN "{ .reg .u32 m, a, c, d, x; .reg .pred n, r; .reg .u64 p;\n\t"
/* n: this lane does not lead. */
#define KTRACE_ASM_ELECT "activemask.b32 m;\n\tlop3.or.b32 x|n, m, %5, 0, 0xC0, 0;\n\t"
/* Of the active lanes that hold a token: the mask counts predicated lanes only. */
#define KTRACE_ASM_ELECT_HOLDER(token) \
    "setp.eq.u32 r, " token ", 0; mov.u32 m, 0;\n\t@!r activemask.b32 m;\n\tlop3.or.b32 x|n, m, %5, 0, 0xC0, r;\n\t"
#define KTRACE_ASM_CLOCK "mov.u32 %1, %%clock;\n\tlop3.b32 a, %0, %4, %2, 0xEA; mov.b64 p, {a, %3};\n\t"
#define KTRACE_ASM_EVENT KTRACE_ASM_CLOCK "mad.lo.u32 d, %0, 8192, %6;\n\t@!n st.global.v2.u32 [p], {%1, d};\n\t"
/* The low half of the token in place of the sequence number. */
#define KTRACE_ASM_EVENT_TOKEN(token) \
    KTRACE_ASM_CLOCK "mad.lo.u32 d, " token ", 65536, %6;\n\t@!n st.global.v2.u32 [p], {%1, d};\n\t"
#define KTRACE_ASM_SLOT(bytes) "add.u32 c, %0, " bytes "; lop3.b32 a, c, %4, %2, 0xEA; mov.b64 p, {a, %3};\n\t"
#define KTRACE_ASM_STORE_32(value) "@!n st.global.u32 [p], " value ";\n\t"
#define KTRACE_ASM_STORE_64(value) "@!n st.global.u64 [p], " value ";\n\t"
#define KTRACE_ASM_END(bytes) "@!n add.u32 %0, %0, " bytes "; }"

/* The overloads of record: (wave, site [, token] [, payload]). Each returns its clock. `event` is the election and the
 * event's own slot, `slots` what follows it, `bytes` all of them together. */
#if defined(__CUDA_ARCH__)
#define KTRACE_RECORD(parameters, id, event, slots, bytes, ...) \
    KTRACE_DEVICE_INLINE ktrace_u32 record parameters \
    { \
        ktrace_u32 clock; \
        asm volatile(KTRACE_ASM_BEGIN event slots KTRACE_ASM_END(bytes) \
                     : "+r"(wave.count_bytes), "=&r"(clock) \
                     : "r"(wave.ring_low), "r"(wave.ring_high), "r"(wave.ring_mask), "r"(wave.elect_mask), \
                       "r"((ktrace_u32)(id)) __VA_ARGS__ \
                     : "memory"); \
        return clock; \
    }
#else /* the host's pass over __host__ __device__ functions: nothing is recorded there */
#define KTRACE_RECORD(parameters, id, event, slots, bytes, ...) \
    KTRACE_DEVICE_INLINE ktrace_u32 record parameters \
    { \
        return 0; \
    }
#endif
#define KTRACE_AND_U32(value) , "r"(value)
#define KTRACE_AND_U64(value) , "l"((unsigned long long)(value))
#define KTRACE_SLOT_32(place, value) KTRACE_ASM_SLOT(place) KTRACE_ASM_STORE_32(value)
#define KTRACE_SLOT_64(place, value) KTRACE_ASM_SLOT(place) KTRACE_ASM_STORE_64(value)

/* Without and with a payload of either width, for one way to begin the event. `more` are operands %7 on, `n` the first
 * free number, and `after` and `end` count the slots in bytes: before the payload, and with it. */
#define KTRACE_RECORDS(parameters, id, event, slots, n, after, end, more) \
    KTRACE_RECORD((ktrace_wave & wave, KTRACE_UNPACK parameters), id, event, slots, after, more) \
    KTRACE_RECORD((ktrace_wave & wave, KTRACE_UNPACK parameters, ktrace_u32 bits), id, event, \
                  slots KTRACE_SLOT_32(after, n), end, more KTRACE_AND_U32(bits)) \
    KTRACE_RECORD((ktrace_wave & wave, KTRACE_UNPACK parameters, ktrace_u64 bits), id, event, \
                  slots KTRACE_SLOT_64(after, n), end, more KTRACE_AND_U64(bits))
#define KTRACE_UNPACK(...) __VA_ARGS__

#define KTRACE_PLAIN KTRACE_ASM_ELECT KTRACE_ASM_EVENT
#define KTRACE_STOP KTRACE_ASM_ELECT_HOLDER("%7") KTRACE_ASM_EVENT_TOKEN("%7")
#define KTRACE_NEXT KTRACE_ASM_ELECT KTRACE_ASM_EVENT_TOKEN("%7")

KTRACE_RECORDS((bank_offset site), site.value, KTRACE_PLAIN, , "%7", "8", "16", )
KTRACE_RECORDS((bank_offset site, stopped_token token), site.value, KTRACE_STOP, , "%8", "8", "16",
               KTRACE_AND_U32(token.value))
KTRACE_RECORDS((bank_offset site, followed_token token), site.value, KTRACE_NEXT, , "%8", "8", "16",
               KTRACE_AND_U32(token.value))
KTRACE_RECORDS((global_address site), KTRACE_SITE_WIDE, KTRACE_PLAIN, KTRACE_SLOT_64("8", "%7"), "%8", "16", "24",
               KTRACE_AND_U64(site.value))
KTRACE_RECORDS((global_address site, stopped_token token), KTRACE_SITE_WIDE, KTRACE_STOP, KTRACE_SLOT_64("8", "%8"),
               "%9", "16", "24", KTRACE_AND_U32(token.value) KTRACE_AND_U64(site.value))
KTRACE_RECORDS((global_address site, followed_token token), KTRACE_SITE_WIDE, KTRACE_NEXT, KTRACE_SLOT_64("8", "%8"),
               "%9", "16", "24", KTRACE_AND_U32(token.value) KTRACE_AND_U64(site.value))

/* ---- A wave's start and end ------------------------------------------------------------------------------------- */

#define KTRACE_SPECIAL_U32(name, register) \
    KTRACE_DEVICE_INLINE ktrace_u32 name() \
    { \
        ktrace_u32 value; \
        asm("mov.u32 %0, %%" register ";" : "=r"(value)); \
        return value; \
    }
#define KTRACE_SPECIAL_U64(how, name, register) \
    KTRACE_DEVICE_INLINE ktrace_u64 name() \
    { \
        unsigned long long value; \
        how("mov.u64 %0, %%" register ";" : "=l"(value)); \
        return value; \
    }
#if defined(__CUDA_ARCH__)
KTRACE_SPECIAL_U32(lane_id, "laneid")
KTRACE_SPECIAL_U32(lanes_below, "lanemask_lt")
KTRACE_SPECIAL_U32(sm_id, "smid")
KTRACE_SPECIAL_U32(sm_count, "nsmid")
KTRACE_SPECIAL_U32(warp_slot, "warpid")
KTRACE_SPECIAL_U64(asm, grid_id, "gridid")
KTRACE_SPECIAL_U64(asm volatile, clock_ticks, "clock64")
KTRACE_SPECIAL_U64(asm volatile, wall_ns, "globaltimer")
#if __CUDA_ARCH__ >= 900
KTRACE_SPECIAL_U32(cluster_rank, "cluster_ctarank")
#else
KTRACE_DEVICE_INLINE ktrace_u32 cluster_rank() { return 0; }
#endif
#endif
#undef KTRACE_SPECIAL_U32
#undef KTRACE_SPECIAL_U64

constexpr ktrace_u32 no_region = 0xFFFFFFFFu;

struct wave_place {
    ktrace_u32 wave, waves; /* within the workgroup */
};

#if defined(__CUDA_ARCH__)

KTRACE_DEVICE_INLINE wave_place place_of_wave()
{
    wave_place place;
    const ktrace_u32 thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    place.wave = thread >> 5;
    place.waves = (blockDim.x * blockDim.y * blockDim.z + 31) >> 5;
    return place;
}

KTRACE_DEVICE_INLINE bool passes(const struct ktrace_filter &filter, const wave_place &place)
{
    const ktrace_u32 sm = sm_id();
    const ktrace_u32 wave_bit = place.wave < 32 ? filter.wave_mask_low >> place.wave
                                                : filter.wave_mask_high >> (place.wave < 64 ? place.wave - 32 : 31);
    const ktrace_u32 workgroup = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    return blockIdx.x >= filter.block_first[0] && blockIdx.x <= filter.block_last[0] &&
           blockIdx.y >= filter.block_first[1] && blockIdx.y <= filter.block_last[1] &&
           blockIdx.z >= filter.block_first[2] && blockIdx.z <= filter.block_last[2] && sm >= filter.place_first &&
           sm <= filter.place_last && (wave_bit & 1) != 0 &&
           (filter.workgroup_step <= 1 || workgroup % filter.workgroup_step == 0);
}

/* The value of the one lane where `chosen`, for all `lanes`. Uniform in the compiler's eyes where the machine can say so,
 * so that the kernel's own code behind it keeps its uniform registers. */
KTRACE_DEVICE_INLINE ktrace_u32 of_chosen(ktrace_u32 value, bool chosen, ktrace_u32 lanes)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(lanes, chosen ? value : 0);
#else
    return __shfl_sync(lanes, value, __ffs((int)__ballot_sync(lanes, chosen)) - 1);
#endif
}

/* Adds 1 in the lane where `chosen` and returns what was there, all ones past 32 bits; without a branch. */
KTRACE_DEVICE_INLINE ktrace_u32 take_number(ktrace_u64 *counter, bool chosen)
{
    unsigned long long before = 0;
    asm volatile("{ .reg .pred q; setp.ne.u32 q, %2, 0; @q atom.global.add.u64 %0, [%1], 1; }"
                 : "+l"(before)
                 : "l"((unsigned long long)counter), "r"((ktrace_u32)chosen)
                 : "memory");
    return before >> 32 ? 0xFFFFFFFFu : (ktrace_u32)before;
}

/* A full partition passes the wave on. Once all are full a flag spares later waves the search. One lane. */
KTRACE_DEVICE_INLINE ktrace_u32 claim_elsewhere(const struct ktrace_control &control, ktrace_u32 partition)
{
    struct ktrace_counters *counters = (struct ktrace_counters *)control.counters;
    volatile ktrace_u64 *full = &counters->all.full;
    for (ktrace_u32 step = 1; step < control.partitions && *full == 0; step++) {
        const ktrace_u32 next = (partition + step) & (control.partitions - 1);
        volatile ktrace_u64 *claims = &counters->partition[next].claims;
        if (*claims >= control.regions_per_partition) continue;
        const ktrace_u64 index = atomicAdd((unsigned long long *)claims, 1ull);
        if (index < control.regions_per_partition) return (ktrace_u32)index * control.partitions + next;
    }
    *full = 1;
    atomicAdd((unsigned long long *)&counters->all.dropped, 1ull);
    return no_region;
}

KTRACE_DEVICE_INLINE void store_words(bool chosen, ktrace_u64 address, ktrace_u32 a, ktrace_u32 b, ktrace_u32 c,
                                      ktrace_u32 d)
{
    asm volatile("{ .reg .pred q; setp.ne.u32 q, %5, 0; @q st.global.v4.u32 [%0], {%1, %2, %3, %4}; }" ::"l"(
                     (unsigned long long)address),
                 "r"(a), "r"(b), "r"(c), "r"(d), "r"((ktrace_u32)chosen)
                 : "memory");
}
KTRACE_DEVICE_INLINE void store_pair(bool chosen, ktrace_u64 address, ktrace_u64 a, ktrace_u64 b)
{
    store_words(chosen, address, (ktrace_u32)a, (ktrace_u32)(a >> 32), (ktrace_u32)b, (ktrace_u32)(b >> 32));
}

/* A wall time between two clock reads, the clock at their middle, and how far they are apart. */
struct anchor {
    ktrace_u64 clock, wall;
    ktrace_u32 gap;
};
KTRACE_DEVICE_INLINE anchor read_anchor()
{
    anchor result;
    const ktrace_u64 before = clock_ticks();
    result.wall = wall_ns();
    const ktrace_u64 after = clock_ticks();
    result.gap = (ktrace_u32)(after - before);
    result.clock = before + result.gap / 2;
    return result;
}

KTRACE_DEVICE_INLINE void write_header(bool leads, ktrace_u64 header, const struct ktrace_control &control,
                                       site_id kernel, const wave_place &place, const anchor &start,
                                       ktrace_u32 lane_count)
{
    store_words(leads, header, KTRACE_WAVE_MAGIC, KTRACE_WIRE_VERSION | KTRACE_ARCH_NVIDIA << 16 | lane_count << 24,
                control.module, (ktrace_u32)__cvta_generic_to_constant(&control));
    store_pair(leads, header + 16, kernel.value, grid_id());
    store_words(leads, header + 32, gridDim.x, gridDim.y, gridDim.z, blockIdx.x);
    store_words(leads, header + 48, blockIdx.y, blockIdx.z, blockDim.x | blockDim.y << 16, blockDim.z | place.wave << 16);
    store_pair(leads, header + 64, start.clock, start.wall);
    /* the end anchor at 80 stays 0 until the wave ends */
    store_words(leads, header + 96, sm_id(), sm_count(), warp_slot(), cluster_rank());
    store_words(leads, header + 112, start.gap, 0, 0, 0);
}

/* The region of a wave that the filter let through, or no_region. Consecutive waves of a row of workgroups take consecutive
 * partitions. */
KTRACE_DEVICE_INLINE ktrace_u32 claim(const struct ktrace_control &control, const wave_place &place, ktrace_u32 lanes,
                                      bool leads, anchor *start)
{
    struct ktrace_counters *counters = (struct ktrace_counters *)control.counters;
    const ktrace_u32 partition = (blockIdx.x * place.waves + place.wave) & (control.partitions - 1);
    const ktrace_u32 taken = take_number(&counters->partition[partition].claims, leads);
    *start = read_anchor(); /* while the atomic is under way */
    const ktrace_u32 index = of_chosen(taken, leads, lanes);
    if (index < control.regions_per_partition) return index * control.partitions + partition;
    return of_chosen(leads ? claim_elsewhere(control, partition) : 0, leads, lanes);
}

KTRACE_DEVICE_INLINE void begin(ktrace_wave &wave, site_id kernel)
{
    const struct ktrace_control &control = ktrace_control_block;
    wave.count_bytes = 8;
    wave.ring_low = wave.ring_high = wave.ring_mask = 0;
    wave.elect_mask = 0xFFFFFFFFu;
    if (control.mode == KTRACE_MODE_DORMANT) return;

    const wave_place place = place_of_wave();
    const ktrace_u32 lanes = __activemask(), lane = lane_id(), below = lanes_below();
    const bool leads = (lanes & below) == 0;
    if (control.mode == KTRACE_MODE_FILTER && !passes(control.filter, place)) {
        struct ktrace_counters *counters = (struct ktrace_counters *)control.counters;
        take_number(&counters->partition[place.wave & (control.partitions - 1)].filtered, leads);
        return;
    }
    anchor start;
    const ktrace_u32 region = claim(control, place, lanes, leads, &start);
    if (region == no_region) return;

    const ktrace_u32 ring_bytes = lane == 0 ? control.main_ring_bytes : control.lane_ring_bytes;
    const ktrace_u64 rings = lane == 0 ? control.main_rings : control.lane_rings;
    const ktrace_u64 ring = rings + (ktrace_u64)(lane == 0 ? region : region * 31 + (lane - 1)) * ring_bytes;
    wave.ring_low = (ktrace_u32)ring;
    wave.ring_high = (ktrace_u32)(ring >> 32);
    wave.ring_mask = ring_bytes - 1;
    wave.elect_mask = below;
    write_header(leads, control.headers + (ktrace_u64)region * sizeof(struct ktrace_wave_header), control, kernel, place,
                 start, __popc(lanes));
}

/* Lanes may come here together or apart: each writes its own count, and the last to come writes the end that stays. */
KTRACE_DEVICE_INLINE void end(const ktrace_wave &wave)
{
    if (wave.elect_mask == 0xFFFFFFFFu) return;
    const struct ktrace_control &control = ktrace_control_block;
    const anchor stop = read_anchor();
    const ktrace_u32 lane = lane_id();
    /* the region follows from the ring's address: no register is kept for it */
    const ktrace_u64 ring = (ktrace_u64)wave.ring_high << 32 | wave.ring_low;
    const ktrace_u32 index =
        (ktrace_u32)((ring - (lane == 0 ? control.main_rings : control.lane_rings)) >> __popc(wave.ring_mask));
    const ktrace_u32 region = lane == 0 ? index : index / 31;
    struct ktrace_wave_header *header = (struct ktrace_wave_header *)control.headers + region;
    header->final_count_bytes[lane] = wave.count_bytes;
    if ((__activemask() & wave.elect_mask) == 0) {
        store_pair(true, (ktrace_u64)&header->end_clock_ticks, stop.clock, stop.wall);
        header->end_gap_ticks = stop.gap;
    }
}

#else

KTRACE_DEVICE_INLINE void begin(ktrace_wave &, site_id) {}
KTRACE_DEVICE_INLINE void end(const ktrace_wave &) {}

#endif

/* The handle that KTRACE_KERNEL declares. */
struct kernel_wave : ktrace_wave {
    KTRACE_DEVICE_INLINE explicit kernel_wave(site_id kernel) { begin(*this, kernel); }
    KTRACE_DEVICE_INLINE ~kernel_wave() { end(*this); }
    kernel_wave(const kernel_wave &) = delete;
    kernel_wave &operator=(const kernel_wave &) = delete;
};

/* The handle of an untraced specialization: every event on it is nothing. */
struct untraced_wave {
    KTRACE_DEVICE_INLINE explicit untraced_wave(site_id) {}
};
template <class... Rest> KTRACE_DEVICE_INLINE ktrace_u32 record(untraced_wave &, Rest...) { return 0; }

template <bool Traced> struct choose {
    using kernel = kernel_wave;
    using parameter = ktrace_wave;
};
template <> struct choose<false> {
    using kernel = untraced_wave;
    using parameter = untraced_wave;
};

template <class Wave> struct range {
    Wave &wave;
    template <class... Payload> KTRACE_DEVICE_INLINE range(Wave &handle, site_id site, Payload... payload) : wave(handle)
    {
        record(wave, site, payload...);
    }
    KTRACE_DEVICE_INLINE ~range() { record(wave, pop_site()); }
    range(const range &) = delete;
    range &operator=(const range &) = delete;
};
template <class Wave, class... Rest> range(Wave &, Rest...) -> range<Wave>;

/* ---- Pins ------------------------------------------------------------------------------------------------------- */

template <unsigned Bytes> struct pin_as;
template <> struct pin_as<1> {
    template <class T> static KTRACE_DEVICE_INLINE void pin(T &value)
    {
        unsigned int word = (unsigned int)value;
        asm volatile("" : "+r"(word));
        value = (T)word;
    }
};
template <> struct pin_as<2> {
    template <class T> static KTRACE_DEVICE_INLINE void pin(T &value)
    {
        asm volatile("" : "+h"(reinterpret_cast<unsigned short &>(value)));
    }
};
template <> struct pin_as<4> {
    template <class T> static KTRACE_DEVICE_INLINE void pin(T &value)
    {
        asm volatile("" : "+r"(reinterpret_cast<unsigned int &>(value)));
    }
};
template <> struct pin_as<8> {
    template <class T> static KTRACE_DEVICE_INLINE void pin(T &value)
    {
        asm volatile("" : "+l"(reinterpret_cast<unsigned long long &>(value)));
    }
};
template <class T> KTRACE_DEVICE_INLINE void pin(T &value)
{
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,
                  "ktrace: KTRACE_PIN takes a value of 1, 2, 4 or 8 bytes; pin the members of a larger one");
    pin_as<sizeof(T)>::pin(value);
}
KTRACE_DEVICE_INLINE void pin(float &value) { asm volatile("" : "+f"(value)); }
KTRACE_DEVICE_INLINE void pin(double &value) { asm volatile("" : "+d"(value)); }

} /* namespace ktrace_detail */

/* ---- The macros ------------------------------------------------------------------------------------------------- */

#define KTRACE_JOIN_(a, b) a##b
#define KTRACE_JOIN(a, b) KTRACE_JOIN_(a, b)
#define KTRACE_SELECT_(one, two, chosen, ...) chosen
#define KTRACE_SELECT(plain, with_payload, ...) KTRACE_SELECT_(__VA_ARGS__, with_payload, plain, )(__VA_ARGS__)
#define KTRACE_TYPE_OF(payload) (ktrace_detail::payload_of<decltype(payload)>::type)
#define KTRACE_BITS_OF(payload) (ktrace_detail::payload_of<decltype(payload)>::bits(payload))

#define KTRACE_EVENT_1(kind, name) \
    ktrace_detail::record(ktrace_handle, KTRACE_SITE(kind, KTRACE_PAYLOAD_NONE, name))
#define KTRACE_EVENT_2(kind, name, payload) \
    ktrace_detail::record(ktrace_handle, KTRACE_SITE(kind, KTRACE_TYPE_OF(payload), name), KTRACE_BITS_OF(payload))

#define KTRACE_MARK_1(name) ((void)KTRACE_EVENT_1(KTRACE_KIND_MARK, name))
#define KTRACE_MARK_2(name, payload) ((void)KTRACE_EVENT_2(KTRACE_KIND_MARK, name, payload))
#define KTRACE_PUSH_1(name) ((void)KTRACE_EVENT_1(KTRACE_KIND_PUSH, name))
#define KTRACE_PUSH_2(name, payload) ((void)KTRACE_EVENT_2(KTRACE_KIND_PUSH, name, payload))
#define KTRACE_START_1(name) (KTRACE_EVENT_1(KTRACE_KIND_START, name) | 1u)
#define KTRACE_START_2(name, payload) (KTRACE_EVENT_2(KTRACE_KIND_START, name, payload) | 1u)
#define KTRACE_STOP_1(token) \
    ((void)ktrace_detail::record(ktrace_handle, ktrace_detail::stop_site<KTRACE_PAYLOAD_NONE>(), \
                                 ktrace_detail::stopped_token{(ktrace_token)(token)}))
#define KTRACE_STOP_2(token, payload) \
    ((void)ktrace_detail::record(ktrace_handle, ktrace_detail::stop_site<KTRACE_TYPE_OF(payload)>(), \
                                 ktrace_detail::stopped_token{(ktrace_token)(token)}, KTRACE_BITS_OF(payload)))
#define KTRACE_NEXT_1(token, name) \
    (ktrace_detail::record(ktrace_handle, KTRACE_SITE(KTRACE_KIND_NEXT, KTRACE_PAYLOAD_NONE, name), \
                           ktrace_detail::followed_token{(ktrace_token)(token)}) | \
     1u)
#define KTRACE_NEXT_2(token, name, payload) \
    (ktrace_detail::record(ktrace_handle, KTRACE_SITE(KTRACE_KIND_NEXT, KTRACE_TYPE_OF(payload), name), \
                           ktrace_detail::followed_token{(ktrace_token)(token)}, KTRACE_BITS_OF(payload)) | \
     1u)
#define KTRACE_RANGE_1(name) \
    ktrace_detail::range KTRACE_JOIN(ktrace_range_, __LINE__)(ktrace_handle, \
                                                              KTRACE_SITE(KTRACE_KIND_PUSH, KTRACE_PAYLOAD_NONE, name))
#define KTRACE_RANGE_2(name, payload) \
    ktrace_detail::range KTRACE_JOIN(ktrace_range_, __LINE__)( \
        ktrace_handle, KTRACE_SITE(KTRACE_KIND_PUSH, KTRACE_TYPE_OF(payload), name), KTRACE_BITS_OF(payload))

#define KTRACE_KERNEL(name) \
    ktrace_detail::kernel_wave ktrace_handle(KTRACE_SITE(KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, name))
#define KTRACE_KERNEL_IF(traced, name) \
    typename ktrace_detail::choose<(traced)>::kernel ktrace_handle( \
        KTRACE_SITE(KTRACE_KIND_KERNEL, KTRACE_PAYLOAD_NONE, name))
#define KTRACE_RANGE(...) KTRACE_SELECT(KTRACE_RANGE_1, KTRACE_RANGE_2, __VA_ARGS__)
#define KTRACE_MARK(...) KTRACE_SELECT(KTRACE_MARK_1, KTRACE_MARK_2, __VA_ARGS__)
#define KTRACE_RANGE_PUSH(...) KTRACE_SELECT(KTRACE_PUSH_1, KTRACE_PUSH_2, __VA_ARGS__)
#define KTRACE_RANGE_POP() ((void)ktrace_detail::record(ktrace_handle, ktrace_detail::pop_site()))
#define KTRACE_RANGE_START(...) KTRACE_SELECT(KTRACE_START_1, KTRACE_START_2, __VA_ARGS__)
#define KTRACE_RANGE_STOP(...) KTRACE_SELECT(KTRACE_STOP_1, KTRACE_STOP_2, __VA_ARGS__)
#define KTRACE_RANGE_NEXT(token, ...) KTRACE_SELECT_(__VA_ARGS__, KTRACE_NEXT_2, KTRACE_NEXT_1, )(token, __VA_ARGS__)
#define KTRACE_INACTIVE_TOKEN(name) ((void)sizeof(name ""), (ktrace_token)0)
#define KTRACE_PIN(x) ktrace_detail::pin(x)
#define KTRACE_PARAM , ktrace_wave &ktrace_handle
#define KTRACE_ARG , ktrace_handle
#define KTRACE_PARAM_ONLY ktrace_wave &ktrace_handle
#define KTRACE_ARG_ONLY ktrace_handle
#define KTRACE_PARAM_IF(traced) , typename ktrace_detail::choose<(traced)>::parameter &ktrace_handle

/* ---- Registration ----------------------------------------------------------------------------------------------- */

/* Every translation unit tells libktrace where its control block is, through the CUDA runtime it was linked with. */
#if defined(__CUDACC__) && !defined(__CUDACC_RTC__) && !defined(__CUDA_ARCH__) && !defined(KTRACE_NO_REGISTER)
namespace ktrace_detail {
namespace {
struct registered_unit {
    struct ktrace_registration registration;
    static int symbol_address(void **address, const void *symbol)
    {
        const cudaError_t error = cudaGetSymbolAddress(address, symbol);
        if (error != cudaSuccess) (void)cudaGetLastError(); /* not an error of the program's own calls */
        return (int)error;
    }
    registered_unit()
        : registration{sizeof(struct ktrace_registration), nullptr, &ktrace_control_block, symbol_address, __FILE__}
    {
        ktrace_register(&registration);
    }
    ~registered_unit() { ktrace_unregister(&registration); }
};
registered_unit registered_unit_instance;
} /* namespace */
} /* namespace ktrace_detail */
#endif

#endif
