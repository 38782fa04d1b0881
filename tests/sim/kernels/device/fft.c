/* A radix-2 Fourier transform of 256 points in LDS, one workgroup a transform, with factors that the host computed. */
#include "kernel.h"

#define FFT_POINTS 256u

KERNEL fft(f32x2 *data, const f32x2 *factors)
{
    SHARED f32x2 points[FFT_POINTS];
    f32x2 *mine = data + block_x() * FFT_POINTS;
    u32 t = thread_x();
    for (u32 i = t; i < FFT_POINTS; i += threads_x())
        points[__builtin_bitreverse32(i) >> 24] = mine[i];
    barrier();
    for (u32 half = 1; half < FFT_POINTS; half *= 2) {
        for (u32 pair = t; pair < FFT_POINTS / 2; pair += threads_x()) {
            u32 low = pair / half * half * 2 + pair % half, high = low + half;
            f32x2 factor = factors[pair % half * (FFT_POINTS / 2 / half)], value = points[high];
            f32x2 turned = {value.x * factor.x - value.y * factor.y, value.x * factor.y + value.y * factor.x};
            points[high] = points[low] - turned;
            points[low] += turned;
        }
        barrier();
    }
    for (u32 i = t; i < FFT_POINTS; i += threads_x())
        mine[i] = points[i];
}
