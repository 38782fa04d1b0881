/* src/backend/cuda_api.h against the toolkit's cuda.h: enumerators, the layout of structs, and of each function how many
 * parameters it has and which are pointers, integers of which size. Compiling it is the test. */
#include <cstddef>
#include <cuda.h>
#include <type_traits>

#include "backend/cuda_api.h"

template <class Ours, class Theirs>
constexpr bool is_like = sizeof(Ours) == sizeof(Theirs) && std::is_pointer<Ours>::value
                                                               == std::is_pointer<Theirs>::value;

template <class Ours, class Theirs>
struct matches : std::false_type {
};
template <class... Ours, class... Theirs>
struct matches<kt_cu_result (*)(Ours...), CUresult (*)(Theirs...)> {
    static constexpr bool same_count = sizeof...(Ours) == sizeof...(Theirs);
    template <bool Same, class Dummy = void>
    struct each : std::false_type {
    };
    template <class Dummy>
    struct each<true, Dummy> {
        static constexpr bool value = (is_like<Ours, Theirs> && ...);
    };
    static constexpr bool value = each<same_count>::value;
};

#define CHECK_FUNCTION(field, exported, parameters) \
    static_assert(matches<kt_cu_result(*) parameters, decltype(&exported)>::value, #exported);
KT_CUDA_FUNCTIONS(CHECK_FUNCTION)
/* It can fail. */
static_assert(!matches<kt_cu_result (*)(int), decltype(&cuMemFree_v2)>::value, "a shorter parameter");
static_assert(!matches<kt_cu_result (*)(kt_cu_pointer, int), decltype(&cuMemFree_v2)>::value, "one too many");

#define CHECK_VALUE(ours, theirs) static_assert((int)(ours) == (int)(theirs), #theirs)
CHECK_VALUE(KT_CU_SUCCESS, CUDA_SUCCESS);
CHECK_VALUE(KT_CU_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
CHECK_VALUE(KT_CU_ERROR_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
CHECK_VALUE(KT_CU_ERROR_STREAM_CAPTURE_FIRST, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
CHECK_VALUE(KT_CU_ERROR_STREAM_CAPTURE_LAST, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
CHECK_VALUE(KT_CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST);
CHECK_VALUE(KT_CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE);
CHECK_VALUE(KT_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
CHECK_VALUE(KT_CU_ATTRIBUTE_CLOCK_RATE_KHZ, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
CHECK_VALUE(KT_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
CHECK_VALUE(KT_CU_ATTRIBUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
CHECK_VALUE(KT_CU_ATTRIBUTE_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);

#define CHECK_MEMBER(ours, theirs) \
    static_assert(offsetof(kt_cu_memcpy2d, ours) == offsetof(CUDA_MEMCPY2D, theirs) && \
                      sizeof(kt_cu_memcpy2d::ours) == sizeof(CUDA_MEMCPY2D::theirs), \
                  #theirs)
static_assert(sizeof(kt_cu_memcpy2d) == sizeof(CUDA_MEMCPY2D), "CUDA_MEMCPY2D");
CHECK_MEMBER(source_x_bytes, srcXInBytes);
CHECK_MEMBER(source_y, srcY);
CHECK_MEMBER(source_memory_type, srcMemoryType);
CHECK_MEMBER(source_host, srcHost);
CHECK_MEMBER(source_device, srcDevice);
CHECK_MEMBER(source_array, srcArray);
CHECK_MEMBER(source_pitch_bytes, srcPitch);
CHECK_MEMBER(destination_x_bytes, dstXInBytes);
CHECK_MEMBER(destination_y, dstY);
CHECK_MEMBER(destination_memory_type, dstMemoryType);
CHECK_MEMBER(destination_host, dstHost);
CHECK_MEMBER(destination_device, dstDevice);
CHECK_MEMBER(destination_array, dstArray);
CHECK_MEMBER(destination_pitch_bytes, dstPitch);
CHECK_MEMBER(width_bytes, WidthInBytes);
CHECK_MEMBER(height, Height);
