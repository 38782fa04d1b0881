/* device/nvidia_event.h - sites and events. Part of nvidia.h. */
#ifndef KTRACE_DEVICE_NVIDIA_EVENT_H
#define KTRACE_DEVICE_NVIDIA_EVENT_H

#include "nvidia_payload.h"

namespace ktrace_detail
{

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

/* The built-in is an immediate in the machine code. In debug builds it is a call, and calls let lanes run apart. */
KTRACE_DEVICE_INLINE ktrace_u32 constant_offset(const void *generic)
{
#if !defined(__CUDA_ARCH__)
    return (ktrace_u32)(ktrace_u64)generic;
#elif defined(__CUDACC_DEBUG__)
    unsigned long long offset;
    asm("cvta.to.const.u64 %0, %1;" : "=l"(offset) : "l"(generic));
    return (ktrace_u32)offset;
#else
    return (ktrace_u32)__cvta_generic_to_constant(generic);
#endif
}

#if KTRACE_SITES_IN_GLOBAL
typedef global_address site_id;
#define KTRACE_SITE_SPACE __device__
KTRACE_DEVICE_INLINE site_id id_of(const site_image *site)
{
    return {(ktrace_u64)site};
}
#else
typedef bank_offset site_id;
#define KTRACE_SITE_SPACE __constant__
KTRACE_DEVICE_INLINE site_id id_of(const site_image *site)
{
    return {constant_offset(site)};
}
#endif

template <ktrace_u8 Type>
struct payload_type {
    static constexpr ktrace_u8 value = Type;
};

/* The parameter of an annotation's lambda below. NVRTC takes a generic lambda for a host function, so there the type is named
 * (and a payload cannot contain a lambda before C++20). */
#if defined(__CUDACC_RTC__)
#define KTRACE_TYPE_OF(payload) ::ktrace_detail::payload_type<::ktrace_detail::payload_of<decltype(payload)>::type>
#else
#define KTRACE_TYPE_OF(payload) auto
#endif
#define KTRACE_NO_TYPE ::ktrace_detail::payload_type<KTRACE_PAYLOAD_NONE>

/* One annotation's site, as a function of its payload's type. What is inside carries names that no payload has,
 * and debug builds inline what says so only. */
#define KTRACE_SITE_OF(kind, name, type) \
    [](type ktrace_payload_type_) __attribute__((always_inline))->::ktrace_detail::site_id \
    { \
        static_assert(sizeof("" name) > 1 || (kind) == KTRACE_KIND_POP || (kind) == KTRACE_KIND_STOP, \
                      "ktrace: an annotation needs a name, a string literal"); \
        static KTRACE_SITE_SPACE const ::ktrace_detail::site_image ktrace_site_ = { \
            KTRACE_SITE_MAGIC, kind, decltype(ktrace_payload_type_)::value, \
            ((ktrace_u32)KTRACE_WIRE_VERSION << 24) | (ktrace_u32)__LINE__, name "\0" __FILE__}; \
        return ::ktrace_detail::id_of(&ktrace_site_); \
    }
#define KTRACE_SITE_WITHOUT_PAYLOAD(kind, name) (KTRACE_SITE_OF(kind, name, KTRACE_NO_TYPE)(KTRACE_NO_TYPE()))

/* Ends need no name of their own: one descriptor a kind and payload type serves them all. */
KTRACE_DEVICE_INLINE site_id pop_site()
{
    return KTRACE_SITE_WITHOUT_PAYLOAD(KTRACE_KIND_POP, "");
}
struct stop_site_of {
    template <class Type>
    KTRACE_DEVICE_INLINE site_id operator()(Type type) const
    {
        return KTRACE_SITE_OF(KTRACE_KIND_STOP, "", Type)(type);
    }
};

} /* namespace ktrace_detail */

/* A wave's handle, in registers; each lane has its own. */
struct ktrace_wave {
    ktrace_u32 count_bytes;         /* 8 * (slots this lane stored + 1) */
    ktrace_u32 ring_low, ring_high; /* address of this lane's ring, aligned to its size */
    ktrace_u32 ring_mask;           /* its size - 1 */
    ktrace_u32 elect_mask;          /* lanes below this one; all ones in a wave that does not record */
};

typedef ktrace_u32 ktrace_token; /* its start's clock | 1; 0 is inactive */

namespace ktrace_detail
{

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
                       "r"((ktrace_u32)(id))__VA_ARGS__ \
                     : "memory"); \
        return clock; \
    }
#else /* nvcc's pass for the host sees device functions, too; there, nothing calls them */
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

#undef KTRACE_AND_U32
#undef KTRACE_AND_U64
#undef KTRACE_ASM_BEGIN
#undef KTRACE_ASM_CLOCK
#undef KTRACE_ASM_ELECT
#undef KTRACE_ASM_ELECT_HOLDER
#undef KTRACE_ASM_END
#undef KTRACE_ASM_EVENT
#undef KTRACE_ASM_EVENT_TOKEN
#undef KTRACE_ASM_SLOT
#undef KTRACE_ASM_STORE_32
#undef KTRACE_ASM_STORE_64
#undef KTRACE_NEXT
#undef KTRACE_PLAIN
#undef KTRACE_RECORD
#undef KTRACE_RECORDS
#undef KTRACE_SLOT_32
#undef KTRACE_SLOT_64
#undef KTRACE_STOP
#undef KTRACE_UNPACK

} /* namespace ktrace_detail */

#endif
