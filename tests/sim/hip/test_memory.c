/* test_memory.c - allocations, copies, fills, and what is refused of them. */
#include "fixture.h"

#include <sys/wait.h>
#include <unistd.h>

static void allocations_are_counted(void **state)
{
    (void)state;
    size_t before, free_bytes, total;
    ok(hipMemGetInfo(&before, &total));
    void *memory = NULL;
    ok(hipMalloc(&memory, 1 << 20));
    ok(hipMemGetInfo(&free_bytes, NULL));
    assert_int_equal(before - free_bytes, 1 << 20);
    ok(hipFree(memory));
    ok(hipMemGetInfo(&free_bytes, NULL));
    assert_int_equal(before, free_bytes);
    fails(hipMalloc(&memory, total + 1), hipErrorOutOfMemory, "do not fit");
    assert_null(memory);
    fails(hipMalloc(NULL, 1), hipErrorInvalidValue, "NULL");
    ok(hipMalloc(&memory, 0));
    assert_null(memory);
    ok(hipFree(NULL));
    int on_stack = 0;
    fails(hipFree(&on_stack), hipErrorInvalidValue, "hipMalloc");
    ok(hipMalloc(&memory, 64));
    fails(hipFree((char *)memory + 8), hipErrorInvalidValue, "hipMalloc");
    fails(hipHostFree(memory), hipErrorInvalidValue, "hipHostMalloc");
    ok(hipFree(memory));
    fails(hipFree(memory), hipErrorInvalidValue, "freed");
}

static void addresses_have_ranges_and_kinds(void **state)
{
    (void)state;
    void *device = device_zeros(1000), *host, *managed, *base = NULL, *alias = NULL;
    static char registered[8192];
    int on_stack = 0;
    ok(hipHostMalloc(&host, 1000, 0));
    ok(hipMallocManaged(&managed, 1000, hipMemAttachGlobal));
    ok(hipHostRegister(registered, sizeof registered, 0));
    size_t bytes = 0;
    ok(hipMemGetAddressRange(&base, &bytes, (char *)device + 999));
    assert_ptr_equal(base, device);
    assert_int_equal(bytes, 1000);
    fails(hipMemGetAddressRange(&base, &bytes, &on_stack), hipErrorNotFound, "no allocation");
    const struct {
        const void *address;
        hipMemoryType type;
    } cases[] = {{device, hipMemoryTypeDevice},
                 {host, hipMemoryTypeHost},
                 {managed, hipMemoryTypeManaged},
                 {registered + 100, hipMemoryTypeHost},
                 {&on_stack, hipMemoryTypeUnregistered}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hipPointerAttribute_t attributes;
        ok(hipPointerGetAttributes(&attributes, cases[i].address));
        assert_int_equal(attributes.type, cases[i].type);
    }
    fails(hipPointerGetAttributes(NULL, device), hipErrorInvalidValue, "NULL");
    ok(hipHostGetDevicePointer(&alias, registered + 8, 0));
    assert_ptr_equal(alias, registered + 8);
    fails(hipHostGetDevicePointer(&alias, &on_stack, 0), hipErrorInvalidValue, "hipHostRegister");
    fails(hipHostRegister(registered + 4096, 4096, 0), hipErrorHostMemoryAlreadyRegistered, "overlap");
    fails(hipHostUnregister(&on_stack), hipErrorHostMemoryNotRegistered, "hipHostRegister");
    fails(hipMallocManaged(&managed, 10, 9), hipErrorInvalidValue, "0x9");

    /* A kernel uses each of them. */
    hipModule_t module = load_kernels();
    void *const targets[] = {device, host, managed, registered};
    for (size_t i = 0; i < 4; i++)
        ok(launch(kernel_named(module, "reduce"), 1, 256, NULL, (void *)&targets[i]));
    ok(hipDeviceSynchronize());
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(*(const uint32_t *)targets[i], 255 * 256 / 2);
    ok(hipModuleUnload(module));
    ok(hipHostUnregister(registered));
    ok(hipHostFree(host));
    ok(hipFree(managed));
    ok(hipFree(device));
}

static void copies_of_all_kinds(void **state)
{
    (void)state;
    char *a = device_zeros(256), *b = device_zeros(256);
    char in[256], out[256] = "", pinned_in[256];
    for (int i = 0; i < 256; i++)
        in[i] = (char)(i * 7);
    ok(hipMemcpy(a, in, 256, hipMemcpyDefault));
    ok(hipMemcpyDtoD(b, a, 256));
    ok(hipMemcpy(out, b, 256, hipMemcpyDefault));
    assert_memory_equal(in, out, 256);
    ok(hipMemcpy(pinned_in, in, 256, hipMemcpyHostToHost));
    assert_memory_equal(in, pinned_in, 256);

    /* Rows: every second 16 bytes of a, packed. */
    memset(out, 0, sizeof out);
    ok(hipMemcpy2D(out, 16, a, 32, 16, 8, hipMemcpyDeviceToHost));
    for (int row = 0; row < 8; row++)
        assert_memory_equal(out + 16 * row, in + 32 * row, 16);
    /* And back to the other halves. */
    ok(hipMemcpy2DAsync(a + 16, 32, out, 16, 16, 8, hipMemcpyHostToDevice, NULL));
    memset(out, 0, sizeof out);                /* pageable memory: the bytes were taken */
    ok(hipMemcpyDtoHAsync(out, a, 256, NULL)); /* and are there on return */
    for (int row = 0; row < 8; row++)
        assert_memory_equal(out + 32 * row + 16, in + 32 * row, 16);

    fails(hipMemcpy(a, in, 257, hipMemcpyHostToDevice), hipErrorInvalidValue, "leaves its allocation");
    fails(hipMemcpy2D(a, 32, in, 16, 16, 9, hipMemcpyHostToDevice), hipErrorInvalidValue, "leaves its allocation");
    fails(hipMemcpy2D(a, 8, in, 16, 16, 2, hipMemcpyHostToDevice), hipErrorInvalidPitchValue, "pitch");
    fails(hipMemcpy(a, in, 16, (hipMemcpyKind)9), hipErrorInvalidMemcpyDirection, "hipMemcpyKind");
    fails(hipMemcpy(a, in, 16, hipMemcpyDeviceToHost), hipErrorInvalidMemcpyDirection, "hipMemcpyDeviceToHost");
    fails(hipMemcpy(out, in, 16, hipMemcpyHostToDevice), hipErrorInvalidValue, "no device memory");
    fails(hipMemcpy(NULL, in, 16, hipMemcpyHostToDevice), hipErrorInvalidValue, "NULL");
    fails(hipMemcpyAsync(a, in, 16, hipMemcpyHostToDevice, (hipStream_t)out), hipErrorInvalidHandle, "no stream");
    ok(hipMemcpy(NULL, NULL, 0, hipMemcpyDefault));
    ok(hipFree(a));
    ok(hipFree(b));
}

static void fills_of_all_widths(void **state)
{
    (void)state;
    unsigned char *memory = device_zeros(64), out[64];
    ok(hipMemset(memory, 0x1AB, 16));
    ok(hipMemsetD16(memory + 16, 0x1234, 8));
    ok(hipMemsetD32Async(memory + 32, 0x789ABCDE, 2, NULL));
    ok(hipMemset2D(memory + 48, 8, 0x55, 4, 2));
    ok(hipMemcpy(out, memory, 64, hipMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++) {
        assert_int_equal(out[i], 0xAB);
        assert_int_equal(out[16 + i], i & 1 ? 0x12 : 0x34);
        assert_int_equal(out[32 + i], i < 8 ? (0x789ABCDEu >> (i % 4 * 8) & 0xFF) : 0);
        assert_int_equal(out[48 + i], i / 4 % 2 ? 0 : 0x55);
    }
    fails(hipMemset(memory, 0, 65), hipErrorInvalidValue, "leaves its allocation");
    fails(hipMemsetD32(memory + 1, 0, 1), hipErrorInvalidValue, "aligned");
    fails(hipMemset(out, 0, 1), hipErrorInvalidValue, "no device memory");
    ok(hipFree(memory));
    unsigned char *host;
    ok(hipHostMalloc((void **)&host, 16, 0));
    ok(hipMemset(host, 9, 16)); /* of host memory: done on return */
    assert_int_equal(host[15], 9);
    ok(hipHostFree(host));
}

static uint64_t resident_bytes(void)
{
    unsigned long long all, resident;
    FILE *file = fopen("/proc/self/statm", "r"); /* in pages */
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu %llu", &all, &resident), 2);
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A device has more memory than the host: what was allocated, cleared and not written takes none of the host's. */
static void unused_memory_is_free(void **state)
{
    (void)state;
    const uint64_t bytes = 100ull << 30, offsets[] = {0, 4095, 4096, bytes / 2 + 5, bytes - 1};
    unsigned char *memory, byte;
    const uint64_t before = resident_bytes();
    ok(hipMalloc((void **)&memory, bytes));
    ok(hipMemset(memory, 0, bytes));
    for (size_t i = 0; i < 5; i++) {
        ok(hipMemset(memory + offsets[i], 7, 1));
        ok(hipMemcpy(&byte, memory + offsets[i], 1, hipMemcpyDeviceToHost));
        assert_int_equal(byte, 7);
    }
    ok(hipMemset(memory + 1, 0, bytes - 2)); /* from the middle of a page to the middle of another */
    for (size_t i = 0; i < 5; i++) {
        ok(hipMemcpy(&byte, memory + offsets[i], 1, hipMemcpyDeviceToHost));
        assert_int_equal(byte, i == 0 || i == 4 ? 7 : 0);
    }
    assert_true(resident_bytes() < before + (100 << 20));
    ok(hipFree(memory));
}

static void memory_in_stream_order(void **state)
{
    (void)state;
    hipModule_t module = load_kernels();
    hipStream_t stream;
    ok(hipStreamCreate(&stream));
    uint32_t *memory, sum = 0;
    ok(hipMallocAsync((void **)&memory, 4, stream));
    ok(launch(kernel_named(module, "reduce"), 1, 256, stream, &memory));
    ok(hipMemcpyAsync(&sum, memory, 4, hipMemcpyDeviceToHost, stream));
    assert_int_equal(sum, 255 * 256 / 2);
    ok(launch(kernel_named(module, "reduce"), 1, 256, stream, &memory));
    ok(hipFreeAsync(memory, stream)); /* behind the kernel that uses it */
    ok(hipStreamSynchronize(stream));
    fails(hipFreeAsync(memory, stream), hipErrorInvalidValue, "freed");
    ok(hipStreamDestroy(stream));
    ok(hipModuleUnload(module));
}

static void a_child_has_no_devices(void **state)
{
    (void)state;
    int count = -1;
    ok(hipGetDeviceCount(&count));
    assert_int_equal(count, 1);
    const pid_t child = fork();
    if (!child) {
        const hipError_t status = hipGetDeviceCount(&count);
        _exit(status == hipErrorNoDevice && !count && strstr(ktrace_simulator_error(), "fork") ? 0 : 1);
    }
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    ok(hipGetDeviceCount(&count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_has_no_devices),
        cmocka_unit_test(allocations_are_counted),
        cmocka_unit_test(addresses_have_ranges_and_kinds),
        cmocka_unit_test(copies_of_all_kinds),
        cmocka_unit_test(fills_of_all_widths),
        cmocka_unit_test(unused_memory_is_free),
        cmocka_unit_test(memory_in_stream_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
