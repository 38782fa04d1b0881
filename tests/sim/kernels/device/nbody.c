/* Accelerations of bodies by the hardware's reciprocal square root, and by a correctly rounded one. */
#include "kernel.h"

KERNEL nbody_fast(f32x4 *acceleration, const f32x4 *bodies, u32 count)
{
    u32 i = global_x();
    if (i >= count)
        return;
    f32x4 self = bodies[i];
    float ax = 0, ay = 0, az = 0;
    for (u32 j = 0; j < count; j++) {
        f32x4 other = bodies[j];
        float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
        float squared = dx * dx + dy * dy + dz * dz + 0.01f;
        float inverse = __builtin_amdgcn_rsqf(squared);
        float factor = other.w * inverse * inverse * inverse;
        ax += dx * factor;
        ay += dy * factor;
        az += dz * factor;
    }
    f32x4 result = {ax, ay, az, 0};
    acceleration[i] = result;
}

KERNEL nbody_exact(f32x4 *acceleration, const f32x4 *bodies, u32 count)
{
    SHARED f32x4 tile[64];
    u32 i = global_x();
    f32x4 self = bodies[i < count ? i : 0];
    f32x4 sum = {0, 0, 0, 0};
    for (u32 start = 0; start < count; start += 64) {
        if (thread_x() < 64 && start + thread_x() < count)
            tile[thread_x()] = bodies[start + thread_x()];
        barrier();
        for (u32 j = 0; j < 64 && start + j < count; j++) {
            f32x4 difference = tile[j] - self;
            float squared =
                difference.x * difference.x + difference.y * difference.y + difference.z * difference.z + 0.01f;
            float factor = tile[j].w / (squared * __builtin_sqrtf(squared));
            sum += difference * factor;
        }
        barrier();
    }
    if (i < count) {
        sum.w = 0;
        acceleration[i] = sum;
    }
}
