// What only C++ has: templates, virtual functions, lambdas, operators, and HIP's own way of writing kernels.
#include "hip_minimal.h"
#include "kernel.h"

template <typename T, unsigned Threads>
__device__ T sum_of_block(T value)
{
    __shared__ T partial[Threads];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = Threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    return partial[0];
}

// Instantiated below, found by its mangled name.
template <typename T, unsigned Threads>
__global__ void __launch_bounds__(Threads) cpp_sum(T *sums, const T *values, T scale)
{
    T sum = sum_of_block<T, Threads>(values[blockIdx.x * blockDim.x + threadIdx.x] * scale);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}
template __global__ void cpp_sum<u32, 128>(u32 *, const u32 *, u32);
template __global__ void cpp_sum<double, 64>(double *, const double *, double);

// Virtual functions: objects of several classes in private memory, a call that differs between lanes.
struct Shape {
    u32 size;
    __device__ explicit Shape(u32 s) : size(s)
    {
    }
    __device__ virtual u64 area() const = 0;
    __device__ virtual u32 corners() const
    {
        return 4;
    }
};
struct Square : Shape {
    __device__ explicit Square(u32 s) : Shape(s)
    {
    }
    __device__ u64 area() const override
    {
        return (u64)size * size;
    }
};
struct Rectangle : Shape {
    u32 other;
    __device__ Rectangle(u32 s, u32 o) : Shape(s), other(o)
    {
    }
    __device__ u64 area() const override
    {
        return (u64)size * other;
    }
};
struct Triangle : Rectangle {
    using Rectangle::Rectangle;
    __device__ u64 area() const override
    {
        return Rectangle::area() / 2;
    }
    __device__ u32 corners() const override
    {
        return 3;
    }
};

__device__ NOINLINE u64 describe(const Shape &shape)
{
    return shape.area() * 10 + shape.corners();
}

extern "C" __global__ void cpp_virtual(u64 *out)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    Square square(i);
    Rectangle rectangle(i, 7);
    Triangle triangle(i, 9);
    const Shape *shapes[3] = {&square, &rectangle, &triangle};
    out[i] = describe(*shapes[i % 3]);
}

// Lambdas with captures by value and by reference, folded over a pack.
template <typename Function>
__device__ void for_each_bit(u32 mask, Function function)
{
    for (; mask != 0; mask &= mask - 1)
        function(__builtin_ctz(mask));
}
template <typename... T>
__device__ auto total(T... values)
{
    return (values + ...);
}

extern "C" __global__ void cpp_lambda(u32 *out, const u32 *masks, u32 factor)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0, last = 99;
    for_each_bit(masks[i], [&sum, &last, factor](u32 bit) {
        sum += bit * factor;
        last = bit;
    });
    out[i] = total(sum, last, (u8)200, (u64)i) + [](u32 x) { return x ^ 21; }(i);
}

// Operators on 3x3 matrices; a constant one that the compiler made; variables of the device.
struct Matrix {
    float m[3][3];
    __device__ Matrix operator*(const Matrix &o) const
    {
        Matrix r{};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++)
                    r.m[i][j] = __builtin_fmaf(m[i][k], o.m[k][j], r.m[i][j]);
        return r;
    }
    __device__ Matrix &operator*=(const Matrix &o)
    {
        return *this = *this * o;
    }
    __device__ float &operator()(int i, int j)
    {
        return m[i][j];
    }
};
static constexpr Matrix make_matrix()
{
    Matrix made{};
    for (int i = 0; i < 9; i++)
        made.m[i / 3][i % 3] = (float)(i * i % 7) * 0.25f - 0.5f;
    return made;
}
__constant__ Matrix constant_matrix = make_matrix();
extern "C" {
__device__ u32 cpp_launches = 5;
}

extern "C" __global__ void cpp_matrix(float *out, u32 power)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    Matrix result = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    result(1, 2) = (float)i;
    for (u32 p = 0; p < power; p++)
        result *= constant_matrix;
    for (int e = 0; e < 9; e++)
        out[i * 9 + e] = result(e / 3, e % 3);
    if (i == 0)
        cpp_launches = cpp_launches * 2 + gridDim.x;
}
