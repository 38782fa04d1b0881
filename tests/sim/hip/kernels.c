/* kernels.c - small kernels for the tests of the simulator's HIP interface. */
#define KERNEL __attribute__((amdgpu_kernel, visibility("default"), used)) void
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))

typedef unsigned int u32;
typedef unsigned long long u64;

__attribute__((used, visibility("default"))) GLOBAL u32 counter = 7;
__attribute__((used, visibility("default"))) GLOBAL u32 table[4] = {1, 2, 3, 4};

static u32 global_id(u32 workitems)
{
    return __builtin_amdgcn_workgroup_id_x() * workitems + __builtin_amdgcn_workitem_id_x();
}

/* out[i] = a * in[i] + b, for one-dimensional workgroups of 64. Arguments of three sizes. */
KERNEL affine(GLOBAL u32 *out, const GLOBAL u32 *in, u32 a, unsigned char b, u32 count)
{
    const u32 i = global_id(64);
    if (i < count)
        out[i] = a * in[i] + b;
}

/* Adds to `counter` and shows its value. */
KERNEL add_counter(GLOBAL u32 *out, u32 by)
{
    if (__builtin_amdgcn_workitem_id_x() == 0)
        *out = __atomic_add_fetch(&counter, by, __ATOMIC_RELAXED);
}

/* Spins for `ticks` of the 100 MHz clock, then notes its begin and end in out[0..1]. */
KERNEL spin(volatile GLOBAL u64 *out, u64 ticks)
{
    const u64 begin = __builtin_amdgcn_s_memrealtime();
    u64 now = begin;
    while (now - begin < ticks) {
        __builtin_amdgcn_s_sleep(8);
        now = __builtin_amdgcn_s_memrealtime();
    }
    out[0] = begin;
    out[1] = now;
}

/* Writes progress to out[0] and never ends. */
KERNEL hang(volatile GLOBAL u32 *out)
{
    for (u32 i = 1;; i++)
        *out = i;
}

KERNEL store_at(volatile GLOBAL u32 *out, u64 offset)
{
    out[offset] = 1;
}

/* clang has no builtin for it. */
u64 dispatch_id(void) __asm__("llvm.amdgcn.dispatch.id");

/* Its dispatch id and queue. */
KERNEL identity(GLOBAL u64 *out)
{
    out[0] = dispatch_id();
    out[1] = (u64)__builtin_amdgcn_queue_ptr();
}

/* Sum of a workgroup's indices through shared memory. */
KERNEL reduce(GLOBAL u32 *out)
{
    static LDS u32 values[256] __attribute__((loader_uninitialized));
    const u32 i = __builtin_amdgcn_workitem_id_x();
    values[i] = i;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (i == 0) {
        u32 sum = 0;
        for (u32 j = 0; j < 256; j++)
            sum += values[j];
        out[__builtin_amdgcn_workgroup_id_x()] = sum;
    }
}
