/* A 7-point stencil on a 3-D grid of 3-D workgroups, some of them partly outside. */
#include "kernel.h"

KERNEL stencil(float *out, const float *in, u32 nx, u32 ny, u32 nz)
{
    u32 x = block_x() * threads_x() + thread_x(), y = block_y() * threads_y() + thread_y(),
        z = block_z() * threads_z() + thread_z();
    if (x >= nx || y >= ny || z >= nz)
        return;
    u64 at = ((u64)z * ny + y) * nx + x;
    float sum = in[at] * -6.0f;
    sum += x > 0 ? in[at - 1] : 0.0f;
    sum += x + 1 < nx ? in[at + 1] : 0.0f;
    sum += y > 0 ? in[at - nx] : 0.0f;
    sum += y + 1 < ny ? in[at + nx] : 0.0f;
    sum += z > 0 ? in[at - (u64)nx * ny] : 0.0f;
    sum += z + 1 < nz ? in[at + (u64)nx * ny] : 0.0f;
    out[at] = sum;
}
