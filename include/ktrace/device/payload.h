/* device/payload.h - which values an event can carry, in C++. Part of nvidia.h and amdgcn.h.
 *
 * Before it, a target defines KTRACE_DEVICE_INLINE and, in ktrace_detail, bits_of(float), bits_of(double) and
 * half_to_float(unsigned short); behind it, payload<T> of its own half types.
 */
#ifndef KTRACE_DEVICE_PAYLOAD_H
#define KTRACE_DEVICE_PAYLOAD_H

namespace ktrace_detail
{

template <class T>
struct bare {
    using type = T;
};
template <class T>
struct bare<T &> : bare<T> {
};
template <class T>
struct bare<T &&> : bare<T> {
};
template <class T>
struct bare<const T> : bare<T> {
};
template <class T>
struct bare<volatile T> : bare<T> {
};
template <class T>
struct bare<const volatile T> : bare<T> {
};

template <class T>
struct unsupported {
    static constexpr bool value = false;
};

template <class T>
struct payload {
    static_assert(unsupported<T>::value, "ktrace: a payload is a bool, an integer of up to 64 bits, half, bfloat16, "
                                         "float or double; convert this value to one of them");
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_NONE;
};
/* `bits` gives 32 or 64 of them; shorter integers are extended to 32 by their sign. */
template <class T, class Bits, ktrace_u8 Type>
struct integer_payload {
    static constexpr ktrace_u8 type = Type;
    static KTRACE_DEVICE_INLINE Bits bits(T value)
    {
        return (Bits)value;
    }
};
template <class T>
using int32_payload = integer_payload<T, ktrace_u32, KTRACE_PAYLOAD_INT32>;
template <class T>
using uint32_payload = integer_payload<T, ktrace_u32, KTRACE_PAYLOAD_UINT32>;
template <class T>
using int64_payload = integer_payload<T, ktrace_u64, KTRACE_PAYLOAD_INT64>;
template <class T>
using uint64_payload = integer_payload<T, ktrace_u64, KTRACE_PAYLOAD_UINT64>;
template <bool Wide>
struct long_payload { /* long has 32 bits on some hosts */
    template <class T>
    using of_signed = int64_payload<T>;
    template <class T>
    using of_unsigned = uint64_payload<T>;
};
template <>
struct long_payload<false> {
    template <class T>
    using of_signed = int32_payload<T>;
    template <class T>
    using of_unsigned = uint32_payload<T>;
};
template <bool Signed>
struct char_payload : int32_payload<char> {
};
template <>
struct char_payload<false> : uint32_payload<char> {
};
template <>
struct payload<char> : char_payload<((char)-1 < 0)> {
};
template <>
struct payload<signed char> : int32_payload<signed char> {
};
template <>
struct payload<unsigned char> : uint32_payload<unsigned char> {
};
template <>
struct payload<short> : int32_payload<short> {
};
template <>
struct payload<unsigned short> : uint32_payload<unsigned short> {
};
template <>
struct payload<int> : int32_payload<int> {
};
template <>
struct payload<unsigned int> : uint32_payload<unsigned int> {
};
template <>
struct payload<long> : long_payload<sizeof(long) == 8>::of_signed<long> {
};
template <>
struct payload<unsigned long> : long_payload<sizeof(long) == 8>::of_unsigned<unsigned long> {
};
template <>
struct payload<long long> : int64_payload<long long> {
};
template <>
struct payload<unsigned long long> : uint64_payload<unsigned long long> {
};
template <>
struct payload<char16_t> : uint32_payload<char16_t> {
};
template <>
struct payload<char32_t> : uint32_payload<char32_t> {
};
template <>
struct payload<wchar_t> : int32_payload<wchar_t> {
};
#if defined(__cpp_char8_t)
template <>
struct payload<char8_t> : uint32_payload<char8_t> {
};
#endif
template <>
struct payload<bool> {
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_BOOL;
    static KTRACE_DEVICE_INLINE ktrace_u32 bits(bool value)
    {
        return value ? 1u : 0u;
    }
};
template <>
struct payload<float> {
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_FLOAT32;
    static KTRACE_DEVICE_INLINE ktrace_u32 bits(float value)
    {
        return bits_of(value);
    }
};
template <>
struct payload<double> {
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_FLOAT64;
    static KTRACE_DEVICE_INLINE ktrace_u64 bits(double value)
    {
        return bits_of(value);
    }
};
/* The half types are promoted by their bits, so that the headers which define them need not be included here. */
struct half_payload {
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_FLOAT32;
    template <class Half>
    static KTRACE_DEVICE_INLINE ktrace_u32 bits(const Half &value)
    {
        return bits_of(half_to_float(reinterpret_cast<const unsigned short &>(value)));
    }
};
struct bfloat16_payload {
    static constexpr ktrace_u8 type = KTRACE_PAYLOAD_FLOAT32;
    template <class Bfloat16>
    static KTRACE_DEVICE_INLINE ktrace_u32 bits(const Bfloat16 &value)
    {
        return (ktrace_u32) reinterpret_cast<const unsigned short &>(value) << 16;
    }
};

template <class T>
using payload_of = payload<typename bare<T>::type>;

} /* namespace ktrace_detail */

#endif
