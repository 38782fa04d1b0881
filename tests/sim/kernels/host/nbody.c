#include "check.h"

#include <math.h>

enum { BODIES = 100 };

static void make_bodies(float bodies[BODIES][4])
{
    uint64_t seed = 16;
    for (int i = 0; i < BODIES; i++) {
        for (int axis = 0; axis < 3; axis++)
            bodies[i][axis] = random_integer(&seed, 1 << 20) * 0x1p-20f;
        bodies[i][3] = 0.5f + fabsf(random_integer(&seed, 1000)) * 0x1p-10f;
    }
}

void check_nbody_fast(void **state)
{
    (void)state;
    float bodies[BODIES][4], acceleration[BODIES][4];
    make_bodies(bodies);
    uint32_t count = BODIES;
    void *d_acceleration = device_zeros(sizeof acceleration), *d_bodies = device_copy(bodies, sizeof bodies);
    LAUNCH("nbody_fast", SHAPE_1D(2, 64), &d_acceleration, &d_bodies, &count);
    device_read(acceleration, d_acceleration, sizeof acceleration);
    for (int i = 0; i < BODIES; i++) {
        double sum[3] = {0}, magnitude[3] = {0};
        for (int j = 0; j < BODIES; j++) {
            double d[3], squared = 0.01;
            for (int axis = 0; axis < 3; axis++) {
                d[axis] = (double)bodies[j][axis] - bodies[i][axis];
                squared += d[axis] * d[axis];
            }
            double factor = bodies[j][3] / (squared * sqrt(squared));
            for (int axis = 0; axis < 3; axis++) {
                sum[axis] += d[axis] * factor;
                magnitude[axis] += fabs(d[axis] * factor);
            }
        }
        /* A term's relative error: 6 roundings, three times v_rsq_f32's ulp, half of it of the squared distance's four
         * roundings each; and at most BODIES roundings of partial sums, all relative to the sum of magnitudes. */
        for (int axis = 0; axis < 3; axis++)
            check_close("acceleration", &acceleration[i][axis], &sum[axis], 1, 0,
                        (6 + 6 + 6 + BODIES) * 0x1p-24 * magnitude[axis]);
    }
}

void check_nbody_exact(void **state)
{
    (void)state;
    float bodies[BODIES][4], acceleration[BODIES][4], expected[BODIES][4];
    make_bodies(bodies);
    for (int i = 0; i < BODIES; i++) {
        float sum[4] = {0};
        for (int j = 0; j < BODIES; j++) {
            float d[3];
            for (int axis = 0; axis < 3; axis++)
                d[axis] = bodies[j][axis] - bodies[i][axis];
            float squared = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01f;
            float factor = bodies[j][3] / (squared * sqrtf(squared));
            for (int axis = 0; axis < 3; axis++)
                sum[axis] += d[axis] * factor;
        }
        for (int axis = 0; axis < 4; axis++)
            expected[i][axis] = sum[axis];
    }
    uint32_t count = BODIES;
    void *d_acceleration = device_zeros(sizeof acceleration), *d_bodies = device_copy(bodies, sizeof bodies);
    LAUNCH("nbody_exact", SHAPE_1D(1, 128), &d_acceleration, &d_bodies, &count);
    device_read(acceleration, d_acceleration, sizeof acceleration);
    check_equal("acceleration", acceleration, expected, BODIES * 4, 4);
}
