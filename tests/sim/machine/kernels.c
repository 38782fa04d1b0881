/* Kernels that the tests of sim/machine run. */
typedef unsigned u32;
typedef unsigned long u64;
#define KERNEL __attribute__((amdgpu_kernel, visibility("default"))) void
#define GLOBAL __attribute__((address_space(1)))
#define CONSTANT __attribute__((address_space(4)))
#define LDS __attribute__((address_space(3)))
#define UNINITIALIZED __attribute__((loader_uninitialized))
#define VISIBLE __attribute__((visibility("default")))

static u32 workgroup_size(int d)
{
    /* of the dispatch packet, whatever version of the ABI */
    const CONSTANT unsigned short *packet = __builtin_amdgcn_dispatch_ptr();
    return packet[2 + d];
}

static u32 item(void)
{
    return __builtin_amdgcn_workgroup_id_x() * workgroup_size(0) + __builtin_amdgcn_workitem_id_x();
}

static u32 hardware_id(void)
{
    u32 value;
    __asm__ volatile("s_getreg_b32 %0, hwreg(HW_REG_HW_ID)" : "=s"(value));
    return value;
}

static u32 xcc_id(void)
{
    u32 value;
    __asm__ volatile("s_getreg_b32 %0, hwreg(HW_REG_XCC_ID)" : "=s"(value));
    return value;
}

/* ---- What they are given ------------------------------------------------------------------------------------------ */

KERNEL nothing(void)
{
}

KERNEL store(GLOBAL int *out, int value)
{
    *out = value;
}

KERNEL arguments(GLOBAL u64 *out, char c, short s, u64 l, float f, double d, int i)
{
    out[0] = (u64)(long)c;
    out[1] = (u64)(long)s;
    out[2] = l;
    out[3] = (u64)(long)(f * 2);
    out[4] = (u64)(long)(d * 4);
    out[5] = (u64)(long)i;
}

/* One record a workitem, at its place in the order of the grid. */
KERNEL identify(GLOBAL u32 *out, u32 items_x, u32 items_y)
{
    u32 x = __builtin_amdgcn_workgroup_id_x() * workgroup_size(0) + __builtin_amdgcn_workitem_id_x();
    u32 y = __builtin_amdgcn_workgroup_id_y() * workgroup_size(1) + __builtin_amdgcn_workitem_id_y();
    u32 z = __builtin_amdgcn_workgroup_id_z() * workgroup_size(2) + __builtin_amdgcn_workitem_id_z();
    GLOBAL u32 *record = out + 4 * (x + (u64)items_x * (y + (u64)items_y * z));
    record[0] = x;
    record[1] = y;
    record[2] = z;
    record[3]++;
}

KERNEL implicit_arguments(GLOBAL u32 *out, u32 dwords)
{
    const CONSTANT u32 *implicit = __builtin_amdgcn_implicitarg_ptr();
    for (u32 i = 0; i < dwords; i++)
        out[i] = implicit[i];
}

u64 dispatch_id(void) __asm__("llvm.amdgcn.dispatch.id");

KERNEL packet(GLOBAL u64 *out)
{
    const CONSTANT u64 *packet = __builtin_amdgcn_dispatch_ptr();
    const CONSTANT u64 *queue = __builtin_amdgcn_queue_ptr();
    for (int i = 0; i < 8; i++)
        out[i] = packet[i];
    out[8] = (u64)packet;
    out[9] = (u64)queue;
    out[10] = queue[8];
    out[11] = dispatch_id();
}

/* ---- Memory ------------------------------------------------------------------------------------------------------- */

UNINITIALIZED LDS int exchange[1024];
extern LDS int dynamic[];

KERNEL reverse(GLOBAL int *out, const GLOBAL int *in)
{
    u32 local = __builtin_amdgcn_workitem_id_x(), size = workgroup_size(0);
    exchange[local] = in[item()];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    out[item()] = exchange[size - 1 - local];
}

KERNEL reverse_dynamic(GLOBAL int *out, const GLOBAL int *in)
{
    u32 local = __builtin_amdgcn_workitem_id_x(), size = workgroup_size(0);
    dynamic[local] = in[item()];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    out[item()] = dynamic[size - 1 - local];
}

__attribute__((noinline)) static int sum(const int *values, int count)
{
    int result = 0;
    for (int i = 0; i < count; i++)
        result += values[i];
    return result;
}

KERNEL private_memory(GLOBAL int *out)
{
    volatile int values[37];
    for (int i = 0; i < 37; i++)
        values[i] = (int)item() * i;
    out[item()] = sum((const int *)values, 37);
}

VISIBLE int table[4] = {10, 20, 30, 40};
VISIBLE int *pointer = &table[2];
VISIBLE const int constants[3] = {7, 8, 9};
VISIBLE const int *const constant_pointer = &constants[1];
VISIBLE int zeros[100];
extern __attribute__((weak)) int absent;
VISIBLE int *absent_pointer = &absent;

KERNEL globals(GLOBAL u64 *out)
{
    out[0] = (u64)*pointer;
    out[1] = (u64)*constant_pointer;
    out[2] = (u64)zeros[99];
    out[3] = (u64)absent_pointer;
    table[3] = 41;
    zeros[1] = 5;
}

/* ---- Time and place ------------------------------------------------------------------------------------------------- */

KERNEL places(GLOBAL u32 *out)
{
    u32 wave = item() / 64;
    out[2 * wave] = hardware_id();
    out[2 * wave + 1] = xcc_id();
}

KERNEL times(GLOBAL u64 *out, u32 rounds)
{
    u64 start = __builtin_amdgcn_s_memrealtime();
    u32 x = item();
    for (u32 i = 0; i < rounds; i++) {
        x = x * 1664525 + 1013904223;
        __asm__ volatile("" : "+v"(x));
    }
    u64 end = __builtin_amdgcn_s_memrealtime();
    u32 wave = item() / 64;
    if (item() % 64 == 0) {
        out[3 * wave] = start;
        out[3 * wave + 1] = end;
        out[3 * wave + 2] = __builtin_amdgcn_s_memtime();
    }
    if (x == 1)
        out[0] = 0;
}

/* Waves 0 and 1 of a workgroup take turns through LDS. */
KERNEL ping_pong_lds(GLOBAL u32 *out, u32 rounds)
{
    volatile LDS int *turn = exchange;
    u32 wave = __builtin_amdgcn_readfirstlane(__builtin_amdgcn_workitem_id_x() / 64), seen = 0;
    if (__builtin_amdgcn_workitem_id_x() == 0)
        *turn = 0;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    for (u32 i = 0; i < rounds; i++) {
        while ((u32)*turn != 2 * i + wave)
            seen++;
        *turn = (int)(2 * i + wave + 1);
    }
    out[__builtin_amdgcn_workitem_id_x()] = seen;
}

/* Workgroups 0 and 1 take turns through memory. */
KERNEL ping_pong_memory(volatile GLOBAL u32 *turn, GLOBAL u32 *out, u32 rounds)
{
    u32 who = __builtin_amdgcn_workgroup_id_x(), seen = 0;
    for (u32 i = 0; i < rounds; i++) {
        while (*turn != 2 * i + who) {
            seen++;
            __builtin_amdgcn_s_sleep(1);
        }
        *turn = 2 * i + who + 1;
    }
    out[item()] = seen;
}

/* All waves but the first end; the first waits at a barrier. */
KERNEL early_exit(GLOBAL int *out)
{
    if (__builtin_amdgcn_readfirstlane(__builtin_amdgcn_workitem_id_x() / 64))
        return;
    __builtin_amdgcn_s_barrier();
    *out = 1;
}

/* ---- What must fail --------------------------------------------------------------------------------------------------- */

KERNEL load_at(GLOBAL char *out, u64 address)
{
    *out = *(volatile GLOBAL char *)address;
}

KERNEL store_at(u64 address)
{
    *(volatile GLOBAL char *)address = 1;
}

KERNEL load_flat_at(GLOBAL int *out, u64 address)
{
    *out = *(volatile int *)address;
}

KERNEL endless(void)
{
    for (;;)
        __asm__ volatile("s_nop 0");
}

/* The first wave waits at a barrier for a second that waits for the first. */
KERNEL deadlock(volatile GLOBAL int *flag)
{
    if (__builtin_amdgcn_readfirstlane(__builtin_amdgcn_workitem_id_x() / 64))
        while (!*flag)
            ;
    __builtin_amdgcn_s_barrier();
    *flag = 1;
}

KERNEL jump(u64 address)
{
    __asm__ volatile("s_mov_b32 s4, %0\n s_mov_b32 s5, %1\n s_setpc_b64 s[4:5]"
                     :
                     : "s"(__builtin_amdgcn_readfirstlane((u32)address)),
                       "s"(__builtin_amdgcn_readfirstlane((u32)(address >> 32)))
                     : "s4", "s5");
}

KERNEL unknown_instruction(void)
{
    __asm__ volatile(".long 0xbfff1234");
}

KERNEL trap(void)
{
    __builtin_trap();
}

KERNEL write_constant(void)
{
    *(volatile int *)&constants[0] = 1;
}

__attribute__((amdgpu_flat_work_group_size(1, 128))) KERNEL at_most_128(void)
{
}
