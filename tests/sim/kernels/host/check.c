#include "check.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of HIP's API that is used, as AMD's headers declare it: enums are ints, handles pointers. */
static struct {
    int (*hipInit)(unsigned flags);
    const char *(*ktrace_simulator_error)(void); /* hipGetErrorString in more words */
    int (*hipMalloc)(void **out, size_t bytes);
    int (*hipFree)(void *memory);
    int (*hipMemcpy)(void *to, const void *from, size_t bytes, int kind);
    int (*hipModuleLoadData)(void **module, const void *image);
    int (*hipModuleUnload)(void *module);
    int (*hipModuleGetFunction)(void **function, void *module, const char *name);
    int (*hipModuleGetGlobal)(void **address, size_t *bytes, void *module, const char *name);
    int (*hipModuleLaunchKernel)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                 unsigned block_y, unsigned block_z, unsigned lds_bytes, void *stream, void **arguments,
                                 void **extra);
    int (*hipDeviceSynchronize)(void);
} hip;
enum { HIP_TO_DEVICE = 1, HIP_TO_HOST = 2 };

enum { GUARD_BYTES = 64, GUARD = 0xa5, MOST_BUFFERS = 32 };
static struct {
    void *module;
    struct {
        unsigned char *device;
        size_t bytes;
    } buffers[MOST_BUFFERS];
    size_t buffer_count;
} harness;

static void require(int error, const char *call)
{
    if (error != 0)
        fail_msg("%s: error %d, %s", call, error, hip.ktrace_simulator_error());
}
#define HIP(call) require(call, #call)

static void *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *bytes = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        rewind(file);
        bytes = size > 0 ? malloc((size_t)size) : NULL;
        if (bytes && fread(bytes, 1, (size_t)size, file) != (size_t)size) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(file);
    return bytes;
}

int harness_open(const char *library, const char *code_object)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
#define FIND(name) \
    if (!(*(void **)&hip.name = dlsym(handle, #name))) { \
        fprintf(stderr, "%s has no " #name "\n", library); \
        return -1; \
    }
    FIND(hipInit)
    FIND(ktrace_simulator_error)
    FIND(hipMalloc)
    FIND(hipFree)
    FIND(hipMemcpy)
    FIND(hipModuleLoadData)
    FIND(hipModuleUnload)
    FIND(hipModuleGetFunction)
    FIND(hipModuleGetGlobal)
    FIND(hipModuleLaunchKernel)
    FIND(hipDeviceSynchronize)
#undef FIND
    void *image = read_file(code_object);
    if (!image) {
        fprintf(stderr, "%s cannot be read\n", code_object);
        return -1;
    }
    int error = hip.hipInit(0);
    if (error == 0)
        error = hip.hipModuleLoadData(&harness.module, image);
    free(image);
    if (error != 0) {
        fprintf(stderr, "%s was not loaded: error %d, %s\n", code_object, error, hip.ktrace_simulator_error());
        return -1;
    }
    return 0;
}

void harness_close(void)
{
    (void)hip.hipModuleUnload(harness.module); /* the library stays: its device lives as long as the process */
}

static void *device_new(const void *content, size_t bytes)
{
    assert_true(harness.buffer_count < MOST_BUFFERS);
    unsigned char *staged = malloc(bytes + GUARD_BYTES);
    assert_non_null(staged);
    if (content)
        memcpy(staged, content, bytes);
    else
        memset(staged, 0, bytes);
    memset(staged + bytes, GUARD, GUARD_BYTES);
    void *device = NULL;
    int error = hip.hipMalloc(&device, bytes + GUARD_BYTES);
    if (error == 0)
        error = hip.hipMemcpy(device, staged, bytes + GUARD_BYTES, HIP_TO_DEVICE);
    free(staged);
    require(error, "hipMalloc and hipMemcpy");
    harness.buffers[harness.buffer_count].device = device;
    harness.buffers[harness.buffer_count++].bytes = bytes;
    return device;
}

void *device_zeros(size_t bytes)
{
    return device_new(NULL, bytes);
}

void *device_copy(const void *host, size_t bytes)
{
    return device_new(host, bytes);
}

void device_read(void *host, const void *device, size_t bytes)
{
    HIP(hip.hipMemcpy(host, device, bytes, HIP_TO_HOST));
}

static void *variable(const char *name, size_t bytes)
{
    void *address = NULL;
    size_t there = 0;
    HIP(hip.hipModuleGetGlobal(&address, &there, harness.module, name));
    assert_int_equal(there, bytes);
    return address;
}

void device_set_variable(const char *name, const void *host, size_t bytes)
{
    HIP(hip.hipMemcpy(variable(name, bytes), host, bytes, HIP_TO_DEVICE));
}

void device_get_variable(void *host, const char *name, size_t bytes)
{
    HIP(hip.hipMemcpy(host, variable(name, bytes), bytes, HIP_TO_HOST));
}

void launch(const char *name, struct shape shape, void **arguments)
{
    void *function = NULL;
    HIP(hip.hipModuleGetFunction(&function, harness.module, name));
    HIP(hip.hipModuleLaunchKernel(function, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1],
                                  shape.block[2], shape.dynamic_lds_bytes, NULL, arguments, NULL));
    HIP(hip.hipDeviceSynchronize());
}

/* Runs after a case, failed or not: a result of -1 fails it. */
int harness_end_case(void **state)
{
    (void)state;
    int result = 0;
    for (size_t i = 0; i < harness.buffer_count; i++) {
        unsigned char guard[GUARD_BYTES];
        const unsigned char *at = harness.buffers[i].device + harness.buffers[i].bytes;
        if (hip.hipMemcpy(guard, at, sizeof guard, HIP_TO_HOST) != 0)
            result = -1;
        for (size_t b = 0; result == 0 && b < sizeof guard; b++)
            if (guard[b] != GUARD) {
                print_error("buffer %zu was written %zu bytes past its end\n", i, b);
                result = -1;
            }
        if (hip.hipFree(harness.buffers[i].device) != 0)
            result = -1;
    }
    harness.buffer_count = 0;
    return result;
}

static uint64_t element(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

void check_equal(const char *what, const void *actual, const void *expected, size_t count, size_t element_bytes)
{
    const unsigned char *a = actual, *e = expected;
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < count; i++)
        if (memcmp(a + i * element_bytes, e + i * element_bytes, element_bytes) != 0 && wrong++ == 0)
            first = i;
    if (wrong != 0)
        fail_msg("%s: %zu of %zu differ; [%zu] is 0x%llx, not 0x%llx", what, wrong, count, first,
                 (unsigned long long)element(a + first * element_bytes, element_bytes),
                 (unsigned long long)element(e + first * element_bytes, element_bytes));
}

void check_close(const char *what, const float *actual, const double *expected, size_t count, double bound,
                 double floor)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs(actual[i] - expected[i]) <= bound * fabs(expected[i]) + floor))
            fail_msg("%s: [%zu] is %.9g, not %.9g: relative error %g, allowed %g", what, i, actual[i], expected[i],
                     fabs(actual[i] / expected[i] - 1), bound);
}

/* Steele, Lea and Flood's splitmix64. */
uint64_t random_u64(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint32_t random_u32(uint64_t *seed)
{
    return (uint32_t)(random_u64(seed) >> 32);
}

void random_fill(void *to, size_t bytes, uint64_t seed)
{
    unsigned char *at = to;
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)random_u32(&seed);
}

float random_integer(uint64_t *seed, int range)
{
    return (float)((int)(random_u32(seed) % (2 * (unsigned)range + 1)) - range);
}

void random_floats(float *to, size_t count, uint64_t *seed, int range, float scale)
{
    for (size_t i = 0; i < count; i++)
        to[i] = random_integer(seed, range) * scale;
}

uint16_t half_from_double(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    if (isnan(value))
        return 0x7e00;
    if (magnitude == 0)
        return sign;
    int exponent;
    (void)frexp(magnitude, &exponent); /* magnitude is of [2^(exponent - 1), 2^exponent) */
    int unit = exponent - 11 > -24 ? exponent - 11 : -24;
    double units = nearbyint(ldexp(magnitude, -unit)); /* exact scaling, one rounding */
    if (ldexp(units, unit) >= 65536)
        return sign | 0x7c00;
    if (units >= 2048) {
        units /= 2;
        unit++;
    }
    unsigned whole = (unsigned)units; /* 2^10 more is a normal number's implicit bit */
    return (uint16_t)(sign | (whole < 1024 ? whole : ((unsigned)(unit + 25) << 10) + (whole - 1024)));
}

double half_to_double(uint16_t half)
{
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    double magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                       : exponent == 0 ? ldexp(mantissa, -24)
                                       : ldexp(1024 + mantissa, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}
