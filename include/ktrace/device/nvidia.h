/* device/nvidia.h - the annotations on NVIDIA GPUs, sm_75 and newer. Included by device.h.
 *
 * A wave (warp) owns one region of the capture's buffer from KTRACE_KERNEL on: a header, a ring for lane 0 and a small
 * ring for each other lane. An event is led by its first active lane, which stores it to its own ring and advances its
 * own count. So two sides of a branch never write one slot, nothing has to be agreed between lanes, and every ring is
 * dense: the count says exactly what was lost. The event is one asm block without a branch, an atomic or a fence, and
 * everything around it is inlined also with -G: a call directly before it would let lanes run apart and record twice. A
 * device function that is itself not inlined may be annotated: its lanes meet at their own events.
 *
 * nvidia_payload.h: what an event can carry. nvidia_event.h: sites and events. nvidia_wave.h: the control block, a wave's
 * start and end. macros.h: their names and arguments. This file: handles, pins and waits, what each annotation is, registration.
 */
#ifndef KTRACE_DEVICE_NVIDIA_H
#define KTRACE_DEVICE_NVIDIA_H

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "ktrace: annotated kernels are compiled as C++17 or newer (-std=c++17)"
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 750
#error "ktrace: NVIDIA devices before compute capability 7.5 are not supported"
#endif

#include "macros.h"
#include "nvidia_wave.h"

#if !defined(__CUDACC_RTC__) && !defined(KTRACE_NO_REGISTER)
#include "../ktrace.h"
#endif

namespace ktrace_detail
{

/* The handle that KTRACE_KERNEL declares. */
struct kernel_wave : ktrace_wave {
    KTRACE_DEVICE_INLINE explicit kernel_wave(site_id kernel)
    {
        begin(*this, kernel);
    }
    KTRACE_DEVICE_INLINE ~kernel_wave()
    {
        end(*this);
    }
    kernel_wave(const kernel_wave &) = delete;
    kernel_wave &operator=(const kernel_wave &) = delete;
};

/* The handle of an untraced specialization: every event on it is nothing. */
struct untraced_wave {
    KTRACE_DEVICE_INLINE explicit untraced_wave(site_id)
    {
    }
};
template <class... Rest>
KTRACE_DEVICE_INLINE ktrace_u32 record(untraced_wave &, Rest...)
{
    return 0;
}

template <bool Traced>
struct choose {
    using kernel = kernel_wave;
    using parameter = ktrace_wave;
};
template <>
struct choose<false> {
    using kernel = untraced_wave;
    using parameter = untraced_wave;
};

/* An event with a payload, which is evaluated once. `site_of` gives the site for its type. */
template <class Wave, class Payload, class SiteOf, class... Token>
KTRACE_DEVICE_INLINE ktrace_u32 record_payload(Wave &wave, SiteOf site_of, Payload payload, Token... token)
{
    return record(wave, site_of(payload_type<payload_of<Payload>::type>()), token...,
                  payload_of<Payload>::bits(payload));
}

[[nodiscard]] KTRACE_DEVICE_INLINE ktrace_token token_of(ktrace_u32 clock)
{
    return clock | 1u;
}

template <class Wave>
struct range {
    Wave &wave;
    KTRACE_DEVICE_INLINE range(Wave &handle, site_id site) : wave(handle)
    {
        record(wave, site);
    }
    template <class SiteOf, class Payload>
    KTRACE_DEVICE_INLINE range(Wave &handle, SiteOf site_of, Payload payload) : wave(handle)
    {
        record_payload(wave, site_of, payload);
    }
    KTRACE_DEVICE_INLINE ~range()
    {
        record(wave, pop_site());
    }
    range(const range &) = delete;
    range &operator=(const range &) = delete;
};
template <class Wave, class... Rest>
range(Wave &, Rest...) -> range<Wave>;

/* ---- Pins and waits --------------------------------------------------------------------------------------------- */

/* A pin is an asm that takes the value and gives it back: it orders code for the compiler proper. ptxas, which comes behind it,
 * sees nothing there, and reads a clock while what the value needs is under way. A wait is two instructions more, ISETP and a
 * PMTRIG that it predicates: ptxas keeps PMTRIG, a trigger for profilers, in order with clock reads, and the warp cannot pass it
 * before the value is there. It triggers nothing: its mask is 0. `other` is a register whose value ptxas cannot know: a
 * constant would be compared at compile time with what else is known of the value, such as that it was a byte. */
#define KTRACE_HOLDS(type, constraint, compare) \
    KTRACE_DEVICE_INLINE void hold(type &value) \
    { \
        asm volatile("" : "+" constraint(value)); \
    } \
    KTRACE_DEVICE_INLINE void hold(type &value, ktrace_u32 other) \
    { \
        asm volatile("{ .reg .pred p; .reg .u32 l, h; " compare " @p pmevent.mask 0; }" \
                     : "+" constraint(value) \
                     : "r"(other)); \
    }
#define KTRACE_COMPARE_64 "mov.b64 {l, h}, %0; setp.eq.u32 p, l, %1; setp.eq.and.u32 p, h, %1, p;"
KTRACE_HOLDS(unsigned short, "h", "cvt.u32.u16 l, %0; setp.eq.u32 p, l, %1;")
KTRACE_HOLDS(unsigned int, "r", "setp.eq.u32 p, %0, %1;")
KTRACE_HOLDS(float, "f", "setp.eq.b32 p, %0, %1;")
KTRACE_HOLDS(unsigned long long, "l", KTRACE_COMPARE_64)
KTRACE_HOLDS(double, "d", KTRACE_COMPARE_64)
#undef KTRACE_COMPARE_64
#undef KTRACE_HOLDS

template <class T>
struct is_const {
    static constexpr bool value = false;
};
template <class T>
struct is_const<const T> {
    static constexpr bool value = true;
};
template <class T, class... Other>
KTRACE_DEVICE_INLINE void hold(T &value, Other... other)
{
    static_assert(!is_const<T>::value, "ktrace: KTRACE_PIN and KTRACE_WAIT take a variable that is not const");
    static_assert(
        sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,
        "ktrace: KTRACE_PIN and KTRACE_WAIT take a value of 1, 2, 4 or 8 bytes; take the members of a larger one");
    if constexpr (sizeof(T) == 1) {
        unsigned int word = (unsigned int)value;
        hold(word, other...);
        value = (T)word;
    } else if constexpr (sizeof(T) == 2) {
        hold(reinterpret_cast<unsigned short &>(value), other...);
    } else if constexpr (sizeof(T) == 4) {
        hold(reinterpret_cast<unsigned int &>(value), other...);
    } else if constexpr (sizeof(T) == 8) {
        hold(reinterpret_cast<unsigned long long &>(value), other...);
    }
}

template <class T>
KTRACE_DEVICE_INLINE void pin(T &value)
{
    hold(value);
}
template <class T>
KTRACE_DEVICE_INLINE void wait(const ktrace_wave &wave, T &value)
{
    hold(value, wave.ring_high);
}
template <class T>
KTRACE_DEVICE_INLINE void wait(const untraced_wave &, T &)
{
}

} /* namespace ktrace_detail */

/* ---- The macros ------------------------------------------------------------------------------------------------- */

#define KTRACE_EVENT_1(kind, name) ::ktrace_detail::record(KTRACE_HANDLE, KTRACE_SITE_WITHOUT_PAYLOAD(kind, name))
#define KTRACE_EVENT_2(kind, name, payload) \
    ::ktrace_detail::record_payload(KTRACE_HANDLE, KTRACE_SITE_OF(kind, name, KTRACE_TYPE_OF(payload)), payload)
#define KTRACE_MARK_1(name) ((void)KTRACE_EVENT_1(KTRACE_KIND_MARK, name))
#define KTRACE_MARK_2(name, payload) ((void)KTRACE_EVENT_2(KTRACE_KIND_MARK, name, payload))
#define KTRACE_PUSH_1(name) ((void)KTRACE_EVENT_1(KTRACE_KIND_PUSH, name))
#define KTRACE_PUSH_2(name, payload) ((void)KTRACE_EVENT_2(KTRACE_KIND_PUSH, name, payload))
#define KTRACE_START_1(name) ::ktrace_detail::token_of(KTRACE_EVENT_1(KTRACE_KIND_START, name))
#define KTRACE_START_2(name, payload) ::ktrace_detail::token_of(KTRACE_EVENT_2(KTRACE_KIND_START, name, payload))
#define KTRACE_STOP_1(token) \
    ((void)::ktrace_detail::record( \
        KTRACE_HANDLE, ::ktrace_detail::stop_site_of()(::ktrace_detail::payload_type<KTRACE_PAYLOAD_NONE>()), \
        ::ktrace_detail::stopped_token{token}))
#define KTRACE_STOP_2(token, payload) \
    ((void)::ktrace_detail::record_payload(KTRACE_HANDLE, ::ktrace_detail::stop_site_of(), payload, \
                                           ::ktrace_detail::stopped_token{token}))
#define KTRACE_NEXT_1(token, name) \
    ::ktrace_detail::token_of(::ktrace_detail::record( \
        KTRACE_HANDLE, KTRACE_SITE_WITHOUT_PAYLOAD(KTRACE_KIND_NEXT, name), ::ktrace_detail::followed_token{token}))
#define KTRACE_NEXT_2(token, name, payload) \
    ::ktrace_detail::token_of(::ktrace_detail::record_payload( \
        KTRACE_HANDLE, KTRACE_SITE_OF(KTRACE_KIND_NEXT, name, KTRACE_TYPE_OF(payload)), payload, \
        ::ktrace_detail::followed_token{token}))
#define KTRACE_RANGE_1(name) \
    ::ktrace_detail::range KTRACE_JOIN(ktrace_range_, __COUNTER__)( \
        KTRACE_HANDLE, KTRACE_SITE_WITHOUT_PAYLOAD(KTRACE_KIND_PUSH, name))
#define KTRACE_RANGE_2(name, payload) \
    ::ktrace_detail::range KTRACE_JOIN(ktrace_range_, __COUNTER__)( \
        KTRACE_HANDLE, KTRACE_SITE_OF(KTRACE_KIND_PUSH, name, KTRACE_TYPE_OF(payload)), payload)

#define KTRACE_KERNEL(name) \
    ::ktrace_detail::kernel_wave KTRACE_HANDLE(KTRACE_SITE_WITHOUT_PAYLOAD(KTRACE_KIND_KERNEL, name))
#define KTRACE_KERNEL_IF(traced, name) \
    typename ::ktrace_detail::choose<(traced)>::kernel KTRACE_HANDLE( \
        KTRACE_SITE_WITHOUT_PAYLOAD(KTRACE_KIND_KERNEL, name))
#define KTRACE_RANGE(...) KTRACE_SELECT(KTRACE_RANGE_1, KTRACE_RANGE_2, __VA_ARGS__)
#define KTRACE_RANGE_POP() ((void)::ktrace_detail::record(KTRACE_HANDLE, ::ktrace_detail::pop_site()))
#define KTRACE_PIN(x) ::ktrace_detail::pin(x)
#define KTRACE_WAIT(x) ::ktrace_detail::wait(KTRACE_HANDLE, x)
#define KTRACE_PARAM_ONLY ktrace_wave &KTRACE_HANDLE
#define KTRACE_PARAM_ONLY_IF(traced) typename ::ktrace_detail::choose<(traced)>::parameter &KTRACE_HANDLE

/* ---- Registration ----------------------------------------------------------------------------------------------- */

/* Every translation unit tells libktrace where its control block is, through the CUDA runtime it was linked with. */
#if defined(__CUDACC__) && !defined(__CUDACC_RTC__) && !defined(__CUDA_ARCH__) && !defined(KTRACE_NO_REGISTER)
namespace ktrace_detail
{
namespace
{
struct registered_unit {
    struct ktrace_registration registration;
    static int symbol_address(void **address, const void *symbol)
    {
        const cudaError_t error = cudaGetSymbolAddress(address, symbol);
        if (error != cudaSuccess)
            (void)cudaGetLastError(); /* not an error of the program's own calls */
        return (int)error;
    }
    registered_unit()
        : registration{sizeof(struct ktrace_registration),
                       nullptr,
                       &ktrace_control_block,
                       symbol_address,
                       __BASE_FILE__,
                       KTRACE_ARCH_NVIDIA}
    {
        ktrace_register(&registration);
    }
    ~registered_unit()
    {
        ktrace_unregister(&registration);
    }
};
registered_unit registered_unit_instance;
} /* namespace */
} /* namespace ktrace_detail */
#endif

#endif
