/* device/amdgcn.h - the annotations on gfx942 and gfx950, for HIP C++, C and OpenCL C as clang compiles them. Included by
 * device.h.
 *
 * A wave owns one region of the capture's buffer from KTRACE_KERNEL on: a header and a ring. An event is a clock read, its
 * wait, one scalar store and scalar arithmetic: no vector register, no branch, no atomic (amdgcn_event.h). The wave's state lies
 * in scalar registers that the compiler keeps away from: every kernel carries an attribute for that, which this header adds to
 * what makes a function a kernel. Functions that record must be inlined, also at -O0, and the assembler refuses those
 * that were not.
 *
 * This file: what differs between the languages, what each annotation is, registration; macros.h: their names and arguments.
 */
#ifndef KTRACE_DEVICE_AMDGCN_H
#define KTRACE_DEVICE_AMDGCN_H

#if (defined(__HIP__) && defined(__HIP_DEVICE_COMPILE__)) || (!defined(__HIP__) && defined(__AMDGCN__))
#define KTRACE_DEVICE_PASS 1
#if !defined(__gfx942__) && !defined(__gfx950__)
#if !defined(__amdgcn_processor__)
#error "ktrace: this is compiled for no processor: say -mcpu=gfx942 or -mcpu=gfx950"
#elif defined(__cplusplus)
static_assert(false,
              "ktrace: this is compiled for " __amdgcn_processor__ ", but ktrace records on gfx942 and gfx950 only");
#else
_Static_assert(0,
               "ktrace: this is compiled for " __amdgcn_processor__ ", but ktrace records on gfx942 and gfx950 only");
#endif
#endif
#else
#define KTRACE_DEVICE_PASS 0
#endif

#include "../record.h"

/* ---- What differs between the languages ------------------------------------------------------------------------------ */

#if defined(__HIP__)
#if __cplusplus < 201703L
#error "ktrace: annotated kernels are compiled as C++17 or newer (-std=c++17)"
#endif
#define KTRACE_DEVICE_FUNCTION __attribute__((device))
#define KTRACE_DEVICE_VARIABLE __attribute__((device))
#define KTRACE_GLOBAL_SPACE
#define KTRACE_TEXT_SPACE
#if defined(__CLANG_RDC__) /* device code of all translation units becomes one module */
#define KTRACE_CONTROL_LINKAGE inline
#elif KTRACE_DEVICE_PASS /* each translation unit is a module, and has its control block by this name */
#define KTRACE_CONTROL_LINKAGE
#else
#define KTRACE_CONTROL_LINKAGE static
#endif
#define KTRACE_CONTROL_ATTRIBUTES
#if KTRACE_DEVICE_PASS
#define KTRACE_GLOBAL_MACRO __attribute__((global)) __attribute__((KTRACE_KERNEL_ATTRIBUTES))
#else
#define KTRACE_GLOBAL_MACRO __attribute__((global))
#endif
#elif defined(__OPENCL_CPP_VERSION__)
#error "ktrace: kernels in C++ for OpenCL are not supported: write them in OpenCL C or HIP C++"
#elif defined(__OPENCL_C_VERSION__)
#if __OPENCL_C_VERSION__ < 200
#error "ktrace: annotated kernels are compiled as OpenCL C 2.0 or newer (-cl-std=CL2.0)"
#endif
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#define KTRACE_DEVICE_FUNCTION
#define KTRACE_DEVICE_VARIABLE __global
#define KTRACE_GLOBAL_SPACE __global
#define KTRACE_TEXT_SPACE __constant
#define KTRACE_CONTROL_LINKAGE
#define KTRACE_CONTROL_ATTRIBUTES __attribute__((weak, used, visibility("protected")))
#else
#if __clang_major__ < 21 /* which take amdgpu_num_sgpr in OpenCL C and HIP only */
#error "ktrace: kernels in plain C need clang 21 or newer; with this one compile them as HIP C++ or OpenCL C"
#endif
#define KTRACE_DEVICE_FUNCTION
#define KTRACE_DEVICE_VARIABLE
#define KTRACE_GLOBAL_SPACE
#define KTRACE_TEXT_SPACE
#define KTRACE_CONTROL_LINKAGE
#define KTRACE_CONTROL_ATTRIBUTES __attribute__((weak, used, visibility("protected")))
#endif
#define KTRACE_CONSTANT_SPACE __attribute__((address_space(4)))
#if defined(__cplusplus)
#define KTRACE_DEVICE_INLINE inline KTRACE_DEVICE_FUNCTION __attribute__((always_inline))
#else
#define KTRACE_DEVICE_INLINE static inline __attribute__((always_inline))
#endif

#include "macros.h"

#include "amdgcn_wave.h"

#include "amdgcn_payload.h"

/* ---- Kernels carry the attributes ------------------------------------------------------------------------------------ */

#if defined(__HIP__)
#ifndef __global__
#error "ktrace: include HIP's headers before ktrace/device.h"
#endif
#undef __global__
#define __global__ KTRACE_GLOBAL_MACRO
#elif defined(__OPENCL_C_VERSION__)
#define __kernel __kernel __attribute__((KTRACE_KERNEL_ATTRIBUTES))
#define kernel __kernel
#else
#define amdgpu_kernel amdgpu_kernel, KTRACE_KERNEL_ATTRIBUTES
#define __amdgpu_kernel__ amdgpu_kernel
#endif

/* A kernel that asks for another number would have annotations' registers among its own. */
#define amdgpu_num_sgpr(count) amdgpu_num_sgpr(KTRACE_KERNEL_SGPRS)
#define __amdgpu_num_sgpr__(count) amdgpu_num_sgpr(count)

/* The label that events measure their distance from. In C, where each kernel's code is in the same section, it must be the one
 * that the attributes name; templates have sections of their own, and in HIP it is __global__ that is looked at. */
#if defined(__HIP__)
#define KTRACE_ASM_KERNEL KTRACE_ASM_SITES ".popsection\n76543:\n\t" KTRACE_ASM_SITE
namespace ktrace_detail
{
constexpr bool is_same_text(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}
} /* namespace ktrace_detail */
#define KTRACE_TEXT_OF_(...) #__VA_ARGS__
#define KTRACE_TEXT_OF(...) KTRACE_TEXT_OF_(__VA_ARGS__)
#define KTRACE_CHECK_KERNEL() \
    static_assert(::ktrace_detail::is_same_text(KTRACE_TEXT_OF(__global__), KTRACE_TEXT_OF(KTRACE_GLOBAL_MACRO)), \
                  "ktrace: __global__ was defined again behind ktrace/device.h: include that behind HIP's headers")
#else
#define KTRACE_ASM_KERNEL \
    KTRACE_ASM_SITES \
    ".popsection\n76543:\n\t.pushsection .text.ktrace, \"ax\", @progbits\n\t.ifndef " \
    ".Lktrace_kernels\n.Lktrace_kernels:\n\t.endif\n\t" \
    ".popsection\n\t.pushsection .ktrace_kernels, \"\", @progbits\n\t" \
    ".long 76543b - .Lktrace_kernels // KTRACE_KERNEL where amdgpu_kernel or __kernel was not what made the kernel " \
    "one\n\t" \
    ".popsection\n\t" KTRACE_ASM_SITE
#define KTRACE_CHECK_KERNEL() (void)0
#endif

/* ---- The macros ------------------------------------------------------------------------------------------------------ */

typedef ktrace_u32 ktrace_token; /* 2 * its start's slot index + 1; 0 is inactive */

#if defined(__cplusplus)
/* The handle is nothing but a type: what there is to know is in registers. */
struct ktrace_wave {
    static constexpr bool traced = true;
};
namespace ktrace_detail
{
struct untraced_wave {
    static constexpr bool traced = false;
};
template <class Wave>
struct plain {
    using type = Wave;
};
template <class Wave>
struct plain<Wave &> : plain<Wave> {
};
template <class Wave>
struct plain<const Wave> : plain<Wave> {
};
} /* namespace ktrace_detail */
#define KTRACE_TRACED ::ktrace_detail::plain<decltype(KTRACE_HANDLE)>::type::traced
#define KTRACE_IF_TRACED if constexpr (KTRACE_TRACED)
#else
struct ktrace_wave {
    char unused;
};
#define KTRACE_IF_TRACED if (((void)KTRACE_HANDLE, 1))
#endif

/* The payload's bits and type. In C++ a copy, since decltype takes no lambdas before C++20; in C bit fields have no such copy. */
#if defined(__cplusplus)
#define KTRACE_PAYLOAD_VALUE(value) \
    const auto ktrace_payload_ = (value); \
    const ktrace_u64 ktrace_bits_ = KTRACE_PAYLOAD_BITS(ktrace_payload_); \
    (void)ktrace_bits_
#define KTRACE_TYPE_OF_PAYLOAD(value) KTRACE_PAYLOAD_TYPE(ktrace_payload_)
#else
#define KTRACE_PAYLOAD_VALUE(value) \
    const ktrace_u64 ktrace_bits_ = KTRACE_PAYLOAD_BITS(value); \
    (void)ktrace_bits_
#define KTRACE_TYPE_OF_PAYLOAD(value) KTRACE_PAYLOAD_TYPE(value)
#endif

#define KTRACE_EVENT_1(code, kind, name) \
    KTRACE_IF_TRACED KTRACE_RECORD(code(KTRACE_ASM_STORE, "8"), kind, KTRACE_PAYLOAD_NONE, name, __FILE__, (), ())
#define KTRACE_EVENT_2(code, kind, name, value) \
    KTRACE_IF_TRACED \
    { \
        KTRACE_PAYLOAD_VALUE(value); \
        KTRACE_RECORD(code(KTRACE_ASM_STORE_PAYLOAD, "16"), kind, KTRACE_TYPE_OF_PAYLOAD(value), name, __FILE__, (), \
                      (, [payload] "s"(KTRACE_SCALAR_64(ktrace_bits_)))); \
    }
#define KTRACE_STATEMENT(...) ((void)__extension__({ __VA_ARGS__; }))
#define KTRACE_NAMED(name) \
    KTRACE_STATIC_ASSERT(sizeof("" name) > 1, "ktrace: an annotation needs a name, a string literal")

#define KTRACE_MARK_1(name) \
    KTRACE_STATEMENT(KTRACE_NAMED(name); KTRACE_EVENT_1(KTRACE_ASM_PLAIN, KTRACE_KIND_MARK, name))
#define KTRACE_MARK_2(name, value) \
    KTRACE_STATEMENT(KTRACE_NAMED(name); KTRACE_EVENT_2(KTRACE_ASM_PLAIN, KTRACE_KIND_MARK, name, value))
#define KTRACE_PUSH_1(name) \
    KTRACE_STATEMENT(KTRACE_NAMED(name); KTRACE_EVENT_1(KTRACE_ASM_PLAIN, KTRACE_KIND_PUSH, name))
#define KTRACE_PUSH_2(name, value) \
    KTRACE_STATEMENT(KTRACE_NAMED(name); KTRACE_EVENT_2(KTRACE_ASM_PLAIN, KTRACE_KIND_PUSH, name, value))
/* Ends need no name of their own. */
#define KTRACE_POP() \
    KTRACE_RECORD(KTRACE_ASM_PLAIN(KTRACE_ASM_STORE, "8"), KTRACE_KIND_POP, KTRACE_PAYLOAD_NONE, "", "", (), ())

#if KTRACE_DEVICE_PASS
#define KTRACE_LATEST(token) ktrace_latest(token)
#else
#define KTRACE_LATEST(token) (token)
#endif
/* A start or a next: `before` computes what is recorded, `operands` are the asm's inputs of it. */
#define KTRACE_STARTED(code, kind, name, before, operands, value_type, slots) \
    __extension__({ \
        KTRACE_NAMED(name); \
        ktrace_token ktrace_started_ = 0; \
        KTRACE_IF_TRACED \
        { \
            before; \
            KTRACE_RECORD(code slots, kind, value_type, name, __FILE__, ([started] "=&s"(ktrace_started_)), operands); \
        } \
        ktrace_started_; \
    })
#define KTRACE_PLAIN_SLOT (KTRACE_ASM_STORE, "8")
#define KTRACE_PAYLOAD_SLOTS (KTRACE_ASM_STORE_PAYLOAD, "16")
#define KTRACE_TOKEN_VALUE(token) \
    const ktrace_token ktrace_held_ = (token); \
    KTRACE_READ_CLOCK(); \
    const ktrace_u32 ktrace_latest_ = KTRACE_LATEST(ktrace_held_); \
    (void)ktrace_latest_
#define KTRACE_START_1(name) \
    KTRACE_STARTED(KTRACE_ASM_START, KTRACE_KIND_START, name, (void)0, (), KTRACE_PAYLOAD_NONE, KTRACE_PLAIN_SLOT)
#define KTRACE_START_2(name, value) \
    KTRACE_STARTED(KTRACE_ASM_START, KTRACE_KIND_START, name, KTRACE_PAYLOAD_VALUE(value), \
                   (, [payload] "s"(KTRACE_SCALAR_64(ktrace_bits_))), KTRACE_TYPE_OF_PAYLOAD(value), \
                   KTRACE_PAYLOAD_SLOTS)
#define KTRACE_NEXT_1(held, name) \
    KTRACE_STARTED(KTRACE_ASM_NEXT, KTRACE_KIND_NEXT, name, KTRACE_TOKEN_VALUE(held), \
                   (, [token] "s"(KTRACE_UNIFORM_32(ktrace_latest_))), KTRACE_PAYLOAD_NONE, KTRACE_PLAIN_SLOT)
#define KTRACE_NEXT_2(held, name, value) \
    KTRACE_STARTED(KTRACE_ASM_NEXT, KTRACE_KIND_NEXT, name, KTRACE_PAYLOAD_VALUE(value); \
                   KTRACE_TOKEN_VALUE(held), \
                   (, [token] "s"(KTRACE_UNIFORM_32(ktrace_latest_)), [payload] "s"(KTRACE_SCALAR_64(ktrace_bits_))), \
                   KTRACE_TYPE_OF_PAYLOAD(value), KTRACE_PAYLOAD_SLOTS)
#define KTRACE_STOP_1(held) \
    KTRACE_STATEMENT(KTRACE_IF_TRACED { \
        KTRACE_TOKEN_VALUE(held); \
        KTRACE_RECORD(KTRACE_ASM_STOP(KTRACE_ASM_STORE, "8"), KTRACE_KIND_STOP, KTRACE_PAYLOAD_NONE, "", "", (), \
                      (, [token] "s"(KTRACE_UNIFORM_32(ktrace_latest_)))); \
    })
#define KTRACE_STOP_2(held, value) \
    KTRACE_STATEMENT(KTRACE_IF_TRACED { \
        KTRACE_PAYLOAD_VALUE(value); \
        KTRACE_TOKEN_VALUE(held); \
        KTRACE_RECORD( \
            KTRACE_ASM_STOP(KTRACE_ASM_STORE_PAYLOAD, "16"), KTRACE_KIND_STOP, KTRACE_TYPE_OF_PAYLOAD(value), "", "", \
            (), (, [token] "s"(KTRACE_UNIFORM_32(ktrace_latest_)), [payload] "s"(KTRACE_SCALAR_64(ktrace_bits_)))); \
    })

/* ---- Scopes ---------------------------------------------------------------------------------------------------------- */

#if KTRACE_DEVICE_PASS
#define KTRACE_BEGIN_WAVE(name) \
    do { \
        KTRACE_NAMED(name); \
        ktrace_u32 ktrace_site_; \
        ktrace_u64 ktrace_sites_; \
        KTRACE_RECORD_KERNEL(name); \
        ktrace_begin(ktrace_site_, ktrace_sites_); \
    } while (0)
#define KTRACE_RECORD_KERNEL(name) \
    do { \
        static KTRACE_TEXT_SPACE const char ktrace_text_[] = name "\0" __FILE__; \
        ktrace_u32 ktrace_last_; /* named, so that the kernel's descriptor asks for all registers up to it */ \
        __asm__ volatile( \
            KTRACE_ASM_KERNEL "s_getpc_b64 s[76:77]\n\t" \
                              "s_add_u32 s76, s76, .Lktrace_sites@rel32@lo+4\n\t" \
                              "s_addc_u32 s77, s77, .Lktrace_sites@rel32@hi+12\n\t" \
                              "s_mov_b64 %[sites], s[76:77]\n\ts_mov_b32 %[site], " KTRACE_ASM_ID \
            : [site] "=s"(ktrace_site_), [sites] "=&s"(ktrace_sites_), "={s86}"(ktrace_last_) \
            : [magic] "i"(KTRACE_SITE_MAGIC), [kind] "i"(KTRACE_KIND_KERNEL), [type] "i"(KTRACE_PAYLOAD_NONE), \
              [version_line] "i"((int)(KTRACE_WIRE_VERSION << 24 | __LINE__)), [text] "i"(ktrace_text_) \
            : "memory", "scc"); \
    } while (0)
#define KTRACE_END_WAVE() ktrace_end_wave()
#else
#define KTRACE_BEGIN_WAVE(name) ((void)sizeof("" name))
#define KTRACE_END_WAVE() ((void)0)
#endif

/* Two ranges may be on one line; to clang 22, __COUNTER__ is an extension of a later C. */
#if __has_warning("-Wc2y-extensions")
#define KTRACE_QUIET_BEGIN _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wc2y-extensions\"")
#define KTRACE_QUIET_END _Pragma("clang diagnostic pop")
#else
#define KTRACE_QUIET_BEGIN
#define KTRACE_QUIET_END
#endif

#if defined(__cplusplus)

namespace ktrace_detail
{
template <class Wave>
struct kernel_scope : Wave {
    kernel_scope() = default;
    kernel_scope(const kernel_scope &) = delete;
    kernel_scope &operator=(const kernel_scope &) = delete;
    KTRACE_DEVICE_INLINE ~kernel_scope()
    {
        if constexpr (Wave::traced)
            KTRACE_END_WAVE();
    }
};
template <class Wave>
struct range_scope {
    KTRACE_DEVICE_INLINE explicit range_scope(const Wave &)
    {
    }
    range_scope(const range_scope &) = delete;
    range_scope &operator=(const range_scope &) = delete;
    KTRACE_DEVICE_INLINE ~range_scope()
    {
        if constexpr (Wave::traced)
            KTRACE_POP();
    }
};
template <bool Traced>
struct choose {
    using wave = ktrace_wave;
};
template <>
struct choose<false> {
    using wave = untraced_wave;
};
} /* namespace ktrace_detail */

#define KTRACE_KERNEL_OF(wave, name) \
    ::ktrace_detail::kernel_scope<wave> KTRACE_HANDLE; \
    KTRACE_CHECK_KERNEL(); \
    KTRACE_IF_TRACED KTRACE_BEGIN_WAVE(name)
#define KTRACE_KERNEL(name) KTRACE_KERNEL_OF(ktrace_wave, name)
#define KTRACE_KERNEL_IF(is_traced, name) KTRACE_KERNEL_OF(typename ::ktrace_detail::choose<(is_traced)>::wave, name)
#define KTRACE_RANGE(...) \
    KTRACE_QUIET_BEGIN ::ktrace_detail::range_scope KTRACE_JOIN(ktrace_range_, __COUNTER__)(KTRACE_HANDLE) \
        KTRACE_QUIET_END; \
    KTRACE_SELECT(KTRACE_PUSH_1, KTRACE_PUSH_2, __VA_ARGS__)
#define KTRACE_PARAM_ONLY ktrace_wave &KTRACE_HANDLE
#define KTRACE_PARAM_ONLY_IF(is_traced) typename ::ktrace_detail::choose<(is_traced)>::wave &KTRACE_HANDLE

#else

struct ktrace_range {
    char unused;
};
KTRACE_DEVICE_INLINE void ktrace_leave_kernel(const struct ktrace_wave *wave)
{
    (void)wave;
    KTRACE_END_WAVE();
}
KTRACE_DEVICE_INLINE void ktrace_leave_range(const struct ktrace_range *range)
{
    (void)range;
    KTRACE_POP();
}
#define KTRACE_KERNEL(name) \
    struct ktrace_wave KTRACE_HANDLE __attribute__((cleanup(ktrace_leave_kernel), unused)) = {0}; \
    KTRACE_BEGIN_WAVE(name)
#define KTRACE_RANGE(...) \
    KTRACE_QUIET_BEGIN \
    struct ktrace_range KTRACE_JOIN(ktrace_range_, __COUNTER__) \
        __attribute__((cleanup(ktrace_leave_range), unused)) = {0} KTRACE_QUIET_END; \
    KTRACE_SELECT(KTRACE_PUSH_1, KTRACE_PUSH_2, __VA_ARGS__)
#define KTRACE_PARAM_ONLY const struct ktrace_wave KTRACE_HANDLE

#endif

#define KTRACE_RANGE_POP() KTRACE_STATEMENT(KTRACE_IF_TRACED KTRACE_POP())

/* A vector register holds it between the two events; a value in scalar registers is moved there. */
#if KTRACE_DEVICE_PASS
#define KTRACE_PIN(x) __asm__ volatile("" : "+v"(x))
#else
#define KTRACE_PIN(x) ((void)(x))
#endif
/* The compiler proper puts s_waitcnt before an asm that names a register which a load writes: a pin waits. */
#define KTRACE_WAIT(x) KTRACE_STATEMENT(KTRACE_IF_TRACED { KTRACE_PIN(x); })

/* ---- Registration ---------------------------------------------------------------------------------------------------- */

/* Every translation unit that hipcc compiles tells libktrace where its control block is. */
#if defined(__HIP__) && !KTRACE_DEVICE_PASS && !defined(__HIPCC_RTC__) && !defined(KTRACE_NO_REGISTER)
#include "../ktrace.h"
namespace ktrace_detail
{
namespace
{
struct registered_unit {
    struct ktrace_registration registration;
    static int symbol_address(void **address, const void *symbol)
    {
        const auto error = hipGetSymbolAddress(address, symbol);
        if (error != 0)
            (void)hipGetLastError(); /* not an error of the program's own calls */
        return (int)error;
    }
    registered_unit()
        : registration{sizeof(struct ktrace_registration),
                       nullptr,
                       &ktrace_control_block,
                       symbol_address,
                       __BASE_FILE__,
                       KTRACE_ARCH_AMDGCN}
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
