/* test_devices.c - facts of devices, several of them, contexts, and functions by name. */
#include "fixture.h"

static void facts_of_a_device(void **state)
{
    (void)state;
    hipDeviceProp_tR0600 now;
    hipDeviceProp_tR0000 old;
    int value = 0, major = 0, minor = 0;
    size_t bytes = 0;
    char name[256] = "", small[4], bus[16];
    ok(hipInit(0));
    ok(hipGetDevicePropertiesR0600(&now, 1));
    ok(hipGetDeviceProperties(&old, 1));
    ok(hipDeviceGetName(name, sizeof name, 1));
    ok(hipDeviceTotalMem(&bytes, 1));
    ok(hipDeviceComputeCapability(&major, &minor, 1));
    assert_non_null(strstr(name, "MI300X"));
    assert_string_equal(now.name, name);
    assert_string_equal(old.name, name);
    assert_string_equal(now.gcnArchName, "gfx942:sramecc+:xnack-");
    assert_string_equal(old.gcnArchName, "gfx942:sramecc+:xnack-");
    assert_int_equal(old.gcnArch, 942);
    assert_int_equal(now.totalGlobalMem, bytes);
    assert_int_equal(old.totalGlobalMem, bytes);
    assert_int_equal(major * 10 + minor, 94);
    assert_int_equal(now.multiProcessorCount, 304);
    assert_int_equal(now.sharedMemPerBlock, 64 * 1024);
    assert_int_equal(now.maxThreadsPerMultiProcessor, 2048);
    ok(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 1));
    assert_int_equal(value, 64);
    ok(hipDeviceGetAttribute(&value, hipDeviceAttributeClockRate, 1));
    assert_int_equal(value, now.clockRate);
    ok(hipDeviceGetAttribute(&value, hipDeviceAttributeWallClockRate, 1));
    assert_int_equal(value, 100000);
    ok(hipDeviceGetPCIBusId(bus, sizeof bus, 1));
    assert_string_equal(bus, "0000:02:00.0");
    assert_int_equal(now.pciBusID, 2);
    ok(hipDeviceGetName(small, sizeof small, 1));
    assert_int_equal(strlen(small), 3);
    ok(hipRuntimeGetVersion(&value));
    assert_in_range(value, 60000000, 69999999);
    fails(hipDeviceGetAttribute(&value, (hipDeviceAttribute_t)12345, 1), hipErrorInvalidValue, "12345");
    fails(hipDeviceGetAttribute(NULL, hipDeviceAttributeWarpSize, 1), hipErrorInvalidValue, "NULL");
    fails(hipGetDevicePropertiesR0600(&now, 2), hipErrorInvalidDevice, "device 2");
    fails(hipSetDevice(-1), hipErrorInvalidDevice, "device -1");
    fails(hipInit(1), hipErrorInvalidValue, "flags");
    assert_non_null(strstr(ktrace_simulator(), "2 x "));
    assert_non_null(strstr(ktrace_simulator(), "time is simulated"));
}

static void devices_run_side_by_side(void **state)
{
    (void)state;
    hipModule_t modules[2];
    hipStream_t streams[2];
    uint64_t *out[2], ticks = SPIN_100_US, times[2][2];
    for (int i = 0; i < 2; i++) {
        ok(hipSetDevice(i));
        modules[i] = load_kernels();
        ok(hipStreamCreate(&streams[i]));
        out[i] = device_zeros(16);
        ok(hipDeviceSynchronize());
    }
    for (int i = 0; i < 2; i++)
        ok(launch(kernel_named(modules[i], "spin"), 1, 64, streams[i], &out[i], &ticks));
    for (int i = 0; i < 2; i++) {
        ok(hipStreamSynchronize(streams[i]));
        ok(hipMemcpy(times[i], out[i], 16, hipMemcpyDeviceToHost));
    }
    assert_true(times[0][0] < times[1][1] && times[1][0] < times[0][1]);

    /* Across devices by an event. */
    hipEvent_t event;
    ok(hipSetDevice(0));
    ok(hipEventCreate(&event));
    ok(launch(kernel_named(modules[0], "spin"), 1, 64, streams[0], &out[0], &ticks));
    ok(hipEventRecord(event, streams[0]));
    ok(hipStreamWaitEvent(streams[1], event, 0));
    ok(launch(kernel_named(modules[1], "spin"), 1, 64, streams[1], &out[1], &ticks));
    ok(hipStreamSynchronize(streams[1]));
    for (int i = 0; i < 2; i++)
        ok(hipMemcpy(times[i], out[i], 16, hipMemcpyDeviceToHost));
    assert_true(times[0][1] < times[1][0]);

    fails(launch(kernel_named(modules[0], "spin"), 1, 64, streams[1], &out[0], &ticks), hipErrorInvalidHandle,
          "device 0");
    ok(hipEventDestroy(event));
    for (int i = 0; i < 2; i++) {
        ok(hipStreamDestroy(streams[i]));
        ok(hipFree(out[i]));
        ok(hipModuleUnload(modules[i]));
    }
}

static void copies_between_devices(void **state)
{
    (void)state;
    void *memory[2];
    int can = 7;
    char text[16];
    for (int i = 0; i < 2; i++) {
        ok(hipSetDevice(i));
        memory[i] = device_zeros(16);
    }
    ok(hipMemcpy(memory[0], "from device one", 16, hipMemcpyHostToDevice));
    ok(hipMemcpyPeer(memory[1], 1, memory[0], 0, 16));
    ok(hipMemcpy(text, memory[1], 16, hipMemcpyDeviceToHost));
    assert_string_equal(text, "from device one");
    fails(hipMemcpyPeer(memory[1], 0, memory[0], 0, 16), hipErrorInvalidValue, "device 0");
    fails(hipMemcpyPeer(memory[1], 1, memory[0], 5, 16), hipErrorInvalidDevice, "device 5");
    ok(hipDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 0);
    for (int i = 0; i < 2; i++)
        ok(hipFree(memory[i]));
}

static void contexts_are_devices(void **state)
{
    (void)state;
    hipCtx_t first, second, current;
    int device = 7, active = 0;
    ok(hipSetDevice(0));
    ok(hipDevicePrimaryCtxRetain(&first, 0));
    ok(hipCtxCreate(&second, 0, 1));
    ok(hipCtxGetDevice(&device));
    assert_int_equal(device, 1);
    ok(hipCtxPopCurrent(&current));
    assert_ptr_equal(current, second);
    ok(hipCtxGetCurrent(&current));
    assert_ptr_equal(current, first);
    ok(hipCtxPushCurrent(second));
    ok(hipGetDevice(&device));
    assert_int_equal(device, 1);
    ok(hipCtxSynchronize());
    ok(hipCtxDestroy(second));
    ok(hipGetDevice(&device));
    assert_int_equal(device, 0);
    ok(hipCtxSetCurrent(second));
    ok(hipGetDevice(&device));
    assert_int_equal(device, 1);
    ok(hipDevicePrimaryCtxGetState(0, NULL, &active));
    assert_int_equal(active, 1);
    ok(hipDevicePrimaryCtxRelease(0));
    fails(hipDevicePrimaryCtxRelease(0), hipErrorInvalidContext, "not retained");
    fails(hipCtxPopCurrent(&current), hipErrorInvalidContext, "no context");
    fails(hipCtxPushCurrent((hipCtx_t)&current), hipErrorInvalidContext, "no context");
}

static void functions_by_name(void **state)
{
    (void)state;
    void *function = NULL;
    hipDriverProcAddressQueryResult result;
    ok(hipGetProcAddress("hipMalloc", &function, 60300000, 0, &result));
    assert_ptr_equal(function, (void *)(uintptr_t)hipMalloc);
    assert_int_equal(result, HIP_GET_PROC_ADDRESS_SUCCESS);
    fails(hipGetProcAddress("hipFromTheFuture", &function, 60300000, 0, &result), hipErrorInvalidValue, "Future");
    assert_int_equal(result, HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_null(function);
}

static void errors_are_remembered(void **state)
{
    (void)state;
    assert_int_equal(hipGetLastError(), hipSuccess);
    assert_int_equal(hipSetDevice(99), hipErrorInvalidDevice);
    int device;
    ok(hipGetDevice(&device)); /* a success does not forget it */
    assert_int_equal(hipPeekAtLastError(), hipErrorInvalidDevice);
    assert_int_equal(hipGetLastError(), hipErrorInvalidDevice);
    assert_int_equal(hipGetLastError(), hipSuccess);
    assert_string_equal(hipGetErrorName(hipErrorInvalidDevice), "hipErrorInvalidDevice");
    assert_string_equal(hipGetErrorString(hipSuccess), "no error");
    assert_string_equal(hipGetErrorName((hipError_t)123456), "hipErrorUnknown");
}

/* Asking about a device does not use it, nor does making it current. */
static void devices_are_active_once_used(void **state)
{
    (void)state;
    int count = 0, active[2] = {7, 7};
    unsigned flags = 7;
    hipDeviceProp_tR0600 properties;
    size_t free_bytes;
    ok(hipGetDeviceCount(&count));
    assert_int_equal(count, 2);
    for (int i = 0; i < 2; i++) {
        ok(hipSetDevice(i));
        ok(hipGetDevicePropertiesR0600(&properties, i));
        ok(hipMemGetInfo(&free_bytes, NULL));
        ok(hipDeviceSynchronize());
        ok(hipDevicePrimaryCtxGetState(i, &flags, &active[i]));
        assert_int_equal(active[i], 0);
        assert_int_equal(flags, 0);
    }
    hipStream_t stream; /* on device 1, which is current */
    ok(hipStreamCreate(&stream));
    ok(hipSetDevice(0));
    ok(hipDevicePrimaryCtxGetState(0, NULL, &active[0]));
    ok(hipDevicePrimaryCtxGetState(1, NULL, &active[1]));
    assert_int_equal(active[0], 0);
    assert_int_equal(active[1], 1);
    hipCtx_t context; /* a retained context is active as long as it is */
    ok(hipDevicePrimaryCtxRetain(&context, 0));
    ok(hipDevicePrimaryCtxGetState(0, NULL, &active[0]));
    assert_int_equal(active[0], 1);
    ok(hipDevicePrimaryCtxRelease(0));
    ok(hipDevicePrimaryCtxGetState(0, NULL, &active[0]));
    assert_int_equal(active[0], 0);
    ok(hipStreamDestroy(stream));
    hipModule_t module = load_kernels();
    ok(hipModuleUnload(module));
    for (int i = 0; i < 2; i++) { /* and stays so */
        ok(hipDevicePrimaryCtxGetState(i, NULL, &active[i]));
        assert_int_equal(active[i], 1);
    }
    fails(hipDevicePrimaryCtxGetState(2, NULL, &active[0]), hipErrorInvalidDevice, "device 2");
}

/* Code that is loaded on two devices is two modules, each with its own variables, functions and null stream. */
static void each_device_has_its_own(void **state)
{
    (void)state;
    hipModule_t modules[2];
    hipDeviceptr_t counters[2];
    uint32_t *out[2], value;
    size_t bytes;
    int device;
    for (int i = 0; i < 2; i++) {
        ok(hipSetDevice(i));
        modules[i] = load_kernels();
        ok(hipModuleGetGlobal(&counters[i], &bytes, modules[i], "counter"));
        out[i] = device_zeros(4);
        ok(hipStreamGetDevice(NULL, &device));
        assert_int_equal(device, i);
    }
    assert_ptr_not_equal(counters[0], counters[1]);
    for (int i = 0; i < 2; i++) {
        uint32_t by = 10 + (uint32_t)i;
        ok(hipSetDevice(i));
        ok(launch(kernel_named(modules[i], "add_counter"), 1, 64, NULL, &out[i], &by));
        fails(launch(kernel_named(modules[1 - i], "add_counter"), 1, 64, NULL, &out[i], &by), hipErrorInvalidHandle,
              i ? "device 0" : "device 1");
    }
    for (int i = 0; i < 2; i++) { /* copies reach all devices, whichever is current */
        ok(hipMemcpy(&value, counters[i], 4, hipMemcpyDeviceToHost));
        assert_int_equal(value, 7 + 10 + i);
        ok(hipMemcpy(&value, out[i], 4, hipMemcpyDeviceToHost));
        assert_int_equal(value, 7 + 10 + i);
    }
    for (int i = 0; i < 2; i++) {
        hipPointerAttribute_t attributes;
        ok(hipPointerGetAttributes(&attributes, out[i]));
        assert_int_equal(attributes.device, i);
        ok(hipFree(out[i]));
        ok(hipModuleUnload(modules[i]));
    }
    ok(hipSetDevice(0));
}

/* s_memrealtime counts from the same instant everywhere: what the host did one after another has such times, on whichever
 * device, and work on one lets the clock of an idle one go on. */
static void one_clock_for_all(void **state)
{
    (void)state;
    hipModule_t modules[2];
    uint64_t *out[2], ticks = SPIN_10_US, times[2], end = 0;
    for (int i = 0; i < 2; i++) {
        ok(hipSetDevice(i));
        modules[i] = load_kernels();
        out[i] = device_zeros(16);
        ok(hipDeviceSynchronize());
    }
    for (int round = 0; round < 6; round++) {
        const int device = round % 3 == 2; /* 0 0 1 0 0 1 */
        ok(hipSetDevice(device));
        ok(launch(kernel_named(modules[device], "spin"), 1, 64, NULL, &out[device], &ticks));
        ok(hipMemcpy(times, out[device], 16, hipMemcpyDeviceToHost));
        assert_true(times[0] > end && times[1] >= times[0] + ticks);
        assert_true(!end || times[0] - end < 10 * SPIN_10_US);
        end = times[1];
    }
    for (int i = 0; i < 2; i++) {
        ok(hipFree(out[i]));
        ok(hipModuleUnload(modules[i]));
    }
    ok(hipSetDevice(0));
}

/* Last: device 1 is lost. A kernel does not reach another device's memory, and the other device goes on. */
static void a_failure_is_its_devices(void **state)
{
    (void)state;
    hipModule_t modules[2];
    uint32_t *out[2];
    uint64_t offset = 0;
    for (int i = 0; i < 2; i++) {
        ok(hipSetDevice(i));
        modules[i] = load_kernels();
        out[i] = device_zeros(4);
        ok(launch(kernel_named(modules[i], "store_at"), 1, 64, NULL, &out[i], &offset));
        ok(hipDeviceSynchronize());
    }
    ok(launch(kernel_named(modules[1], "store_at"), 1, 64, NULL, &out[0], &offset));
    fails(hipDeviceSynchronize(), hipErrorIllegalAddress, "store_at");
    fails(hipDeviceSynchronize(), hipErrorIllegalAddress, "store_at");
    ok(hipSetDevice(0));
    uint32_t value = 0;
    ok(launch(kernel_named(modules[0], "store_at"), 1, 64, NULL, &out[0], &offset));
    ok(hipMemcpy(&value, out[0], 4, hipMemcpyDeviceToHost));
    assert_int_equal(value, 1);
}

int main(void)
{
    setenv("KTRACE_SIM_QUIET", "1", 1);
    setenv("KTRACE_SIM_DEVICES", "2", 1);
    unsetenv("KTRACE_SIM_CHIP");
    unsetenv("KTRACE_SIM_TOPOLOGY");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_active_once_used), /* first: nothing was used before */
        cmocka_unit_test(errors_are_remembered),
        cmocka_unit_test(facts_of_a_device),
        cmocka_unit_test(devices_run_side_by_side),
        cmocka_unit_test(each_device_has_its_own),
        cmocka_unit_test(one_clock_for_all),
        cmocka_unit_test(copies_between_devices),
        cmocka_unit_test(contexts_are_devices),
        cmocka_unit_test(functions_by_name),
        cmocka_unit_test(a_failure_is_its_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
