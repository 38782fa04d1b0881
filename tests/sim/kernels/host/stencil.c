#include "check.h"

void check_stencil(void **state)
{
    (void)state;
    enum { NX = 18, NY = 7, NZ = 10 };
    float in[NZ + 2][NY + 2][NX + 2] = {{{0}}}, packed[NZ][NY][NX], out[NZ][NY][NX], expected[NZ][NY][NX];
    uint64_t seed = 35;
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++)
                packed[z][y][x] = in[z + 1][y + 1][x + 1] = random_integer(&seed, 1 << 23) * 0x1p-15f;
    for (int z = 1; z <= NZ; z++)
        for (int y = 1; y <= NY; y++)
            for (int x = 1; x <= NX; x++) {
                float sum = in[z][y][x] * -6;
                sum += in[z][y][x - 1];
                sum += in[z][y][x + 1];
                sum += in[z][y - 1][x];
                sum += in[z][y + 1][x];
                sum += in[z - 1][y][x];
                sum += in[z + 1][y][x];
                expected[z - 1][y - 1][x - 1] = sum;
            }
    void *d_out = device_zeros(sizeof out), *d_in = device_copy(packed, sizeof packed);
    uint32_t nx = NX, ny = NY, nz = NZ;
    struct shape shape = {{(NX + 7) / 8, (NY + 3) / 4, (NZ + 2) / 3}, {8, 4, 3}, 0};
    LAUNCH("stencil", shape, &d_out, &d_in, &nx, &ny, &nz);
    device_read(out, d_out, sizeof out);
    check_equal("sums", out, expected, NX * NY * NZ, 4);
}
