/* test_launch.c - modules, kernels and their arguments. */
#include "fixture.h"

#define COUNT 1000

static void kernels_compute_what_the_host_does(void **state)
{
    (void)state;
    hipModule_t module = load_kernels();
    hipFunction_t affine = kernel_named(module, "affine");
    uint32_t in[COUNT], out[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        in[i] = i * i;
    void *device_in = device_zeros(sizeof in), *device_out = device_zeros(sizeof out);
    ok(hipMemcpy(device_in, in, sizeof in, hipMemcpyHostToDevice));
    uint32_t a = 3, count = COUNT;
    uint8_t b = 200;
    ok(launch(affine, (COUNT + 63) / 64, 64, NULL, &device_out, &device_in, &a, &b, &count));
    ok(hipMemcpy(out, device_out, sizeof out, hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(out[i], 3 * i * i + 200);

    /* The same by a buffer in the layout of the argument segment. */
    struct {
        void *out, *in;
        uint32_t a;
        uint8_t b;
        uint32_t count;
    } arguments = {device_out, device_in, 5, 1, COUNT};
    size_t bytes = sizeof arguments;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     HIP_LAUNCH_PARAM_END};
    ok(hipModuleLaunchKernel(affine, (COUNT + 63) / 64, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    ok(hipMemcpy(out, device_out, sizeof out, hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(out[i], 5 * i * i + 1);
    ok(hipFree(device_in));
    ok(hipFree(device_out));
    ok(hipModuleUnload(module));
}

static void workgroups_share_memory(void **state)
{
    (void)state;
    hipModule_t module = load_kernels();
    void *out = device_zeros(8 * sizeof(uint32_t));
    ok(launch(kernel_named(module, "reduce"), 8, 256, NULL, &out));
    uint32_t sums[8];
    ok(hipMemcpy(sums, out, sizeof sums, hipMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        assert_int_equal(sums[i], 255 * 256 / 2);
    ok(hipFree(out));
    ok(hipModuleUnload(module));
}

static void variables_have_addresses(void **state)
{
    (void)state;
    hipModule_t module = load_kernels();
    hipDeviceptr_t counter = NULL, table = NULL;
    size_t bytes = 0;
    ok(hipModuleGetGlobal(&counter, &bytes, module, "counter"));
    assert_int_equal(bytes, 4);
    ok(hipModuleGetGlobal(&table, &bytes, module, "table"));
    assert_int_equal(bytes, 16);
    uint32_t values[4];
    ok(hipMemcpyDtoH(values, table, sizeof values));
    assert_int_equal(values[0] + values[1] + values[2] + values[3], 10);

    void *out = device_zeros(4);
    uint32_t by = 5, value = 30;
    ok(launch(kernel_named(module, "add_counter"), 1, 64, NULL, &out, &by));
    ok(hipMemcpyDtoH(&value, out, 4));
    assert_int_equal(value, 12);
    value = 100;
    ok(hipMemcpyHtoD(counter, &value, 4));
    ok(launch(kernel_named(module, "add_counter"), 1, 64, NULL, &out, &by));
    ok(hipMemcpyDtoH(&value, counter, 4));
    assert_int_equal(value, 105);

    fails(hipModuleGetGlobal(&counter, &bytes, module, "countess"), hipErrorNotFound, "countess");
    fails(hipMemcpyDtoH(values, (char *)table + 4, 16), hipErrorInvalidValue, "leaves its allocation");
    ok(hipFree(out));
    ok(hipModuleUnload(module));
}

/* The segments that hold a variable: the address of any byte there has content on the host. */
static void the_loader_gives_static_content(void **state)
{
    (void)state;
    hipModule_t module = load_kernels();
    hipDeviceptr_t table = NULL;
    size_t bytes;
    ok(hipModuleGetGlobal(&table, &bytes, module, "table"));
    int (*query)(const void *, const void **) = NULL;
    assert_int_equal(hsa_system_get_major_extension_table(0x201, 1, sizeof query, &query), 0);
    const void *host = NULL;
    assert_int_equal(query((char *)table + 8, &host), 0);
    uint32_t value;
    memcpy(&value, host, sizeof value);
    assert_int_equal(value, 3);
    int on_stack;
    assert_int_equal(query(&on_stack, &host), 0x1001);
    assert_null(host);
    assert_int_equal(hsa_system_get_major_extension_table(0x202, 1, sizeof query, &query), 0x1001);
    assert_int_equal(hsa_system_get_major_extension_table(0x201, 2, sizeof query, &query), 0x1001);
    ok(hipModuleUnload(module));
}

/* Each stream is a queue, and the queue numbers its kernels. */
static void queues_number_their_dispatches(void **state)
{
    (void)state;
    hipModule_t module = load_kernels();
    hipFunction_t identity = kernel_named(module, "identity");
    hipStream_t streams[2];
    uint64_t *out[4];
    for (int i = 0; i < 4; i++)
        out[i] = device_zeros(16);
    for (int i = 0; i < 2; i++)
        ok(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
    for (int i = 0; i < 4; i++)
        ok(launch(identity, 1, 64, streams[i & 1], &out[i]));
    ok(hipDeviceSynchronize());
    uint64_t values[4][2];
    for (int i = 0; i < 4; i++)
        ok(hipMemcpy(values[i], out[i], 16, hipMemcpyDeviceToHost));
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(values[i][0], i / 2);
    assert_int_equal(values[0][1], values[2][1]);
    assert_int_equal(values[1][1], values[3][1]);
    assert_int_not_equal(values[0][1], values[1][1]);
    for (int i = 0; i < 4; i++)
        ok(hipFree(out[i]));
    for (int i = 0; i < 2; i++)
        ok(hipStreamDestroy(streams[i]));
    ok(hipModuleUnload(module));
}

static void facts_of_kernels(void **state)
{
    (void)state;
    hipModule_t module = load_kernels();
    hipFunction_t reduce = kernel_named(module, "reduce");
    assert_ptr_equal(reduce, kernel_named(module, "reduce"));
    int value = 0;
    ok(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, reduce));
    assert_int_equal(value, 1024);
    ok(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, reduce));
    assert_in_range(value, 1, 512);
    ok(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, reduce));
    assert_int_equal(value, 1024);
    int blocks = 0;
    ok(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reduce, 256, 0));
    assert_int_equal(blocks, 8); /* 32 waves of a compute unit, 4 a workgroup */
    ok(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reduce, 256, 31 * 1024));
    assert_int_equal(blocks, 2); /* 64 KiB of LDS */
    fails(hipFuncGetAttribute(&value, (hipFunction_attribute)77, reduce), hipErrorInvalidValue, "77");
    fails(hipFuncGetAttribute(NULL, HIP_FUNC_ATTRIBUTE_NUM_REGS, reduce), hipErrorInvalidValue, "NULL");
    fails(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reduce, 0, 0), hipErrorInvalidValue,
          "no workitems");
    ok(hipModuleUnload(module));
    fails(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, reduce), hipErrorInvalidHandle, "unloaded");
}

static void launches_are_checked(void **state)
{
    (void)state;
    hipModule_t module = load_kernels();
    hipFunction_t function = kernel_named(module, "reduce");
    void *out = device_zeros(4096);
    void *arguments[] = {&out};
    fails(launch(function, 0, 64, NULL, &out), hipErrorInvalidConfiguration, "empty");
    fails(launch(function, 1, 0, NULL, &out), hipErrorInvalidConfiguration, "empty");
    fails(launch(function, 1, 1025, NULL, &out), hipErrorInvalidConfiguration, "1024");
    fails(launch(function, 0x7fffffff, 64, NULL, &out), hipErrorInvalidConfiguration, "2^32");
    fails(launch((hipFunction_t)&out, 1, 64, NULL, &out), hipErrorInvalidHandle, "no function");
    fails(launch(NULL, 1, 64, NULL, &out), hipErrorInvalidHandle, "no function");
    fails(launch(function, 1, 64, (hipStream_t)&out, &out), hipErrorInvalidHandle, "no stream");
    fails(launch(function, 1, 64, NULL, NULL), hipErrorInvalidValue, "argument 0");
    fails(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), hipErrorInvalidValue, "array");
    fails(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 64 * 1024, NULL, arguments, NULL), hipErrorInvalidValue,
          "shared memory");
    size_t bytes = 4096;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     HIP_LAUNCH_PARAM_END};
    fails(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra), hipErrorInvalidValue, "at most");
    fails(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, extra), hipErrorInvalidValue,
          "exclude");
    void *unknown[] = {(void *)9, NULL, HIP_LAUNCH_PARAM_END};
    fails(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, unknown), hipErrorInvalidValue, "unknown");
    int compute_units;
    ok(hipDeviceGetAttribute(&compute_units, hipDeviceAttributeMultiprocessorCount, 0));
    fails(hipModuleLaunchCooperativeKernel(function, 8 * (unsigned)compute_units + 1, 1, 1, 256, 1, 1, 0, NULL,
                                           arguments),
          hipErrorCooperativeLaunchTooLarge, "at a time");
    ok(hipModuleLaunchCooperativeKernel(function, 4, 1, 1, 256, 1, 1, 0, NULL, arguments));
    ok(hipDeviceSynchronize());
    ok(hipFree(out));
    ok(hipModuleUnload(module));
}

static void modules_are_checked(void **state)
{
    (void)state;
    hipModule_t module = NULL;
    fails(hipModuleLoad(&module, "/nowhere.hsaco"), hipErrorFileNotFound, "/nowhere.hsaco");
    fails(hipModuleLoad(NULL, KERNELS), hipErrorInvalidValue, "NULL");
    fails(hipModuleLoadData(&module, NULL), hipErrorInvalidValue, "NULL");
    static const char text[128] = "#!/bin/sh";
    fails(hipModuleLoadData(&module, text), hipErrorInvalidImage, "23 21 2f 62");
    static const char compressed[128] = "CCOB";
    fails(hipModuleLoadData(&module, compressed), hipErrorInvalidImage, "--no-offload-compress");
    assert_null(module);
    fails(hipModuleUnload((hipModule_t)&module), hipErrorInvalidHandle, "no module");
    module = load_kernels();
    hipFunction_t function;
    fails(hipModuleGetFunction(&function, module, "fine"), hipErrorNotFound, "fine");
    fails(hipModuleGetFunction(&function, module, NULL), hipErrorInvalidValue, "NULL");
    ok(hipModuleUnload(module));
    fails(hipModuleUnload(module), hipErrorInvalidHandle, "unloaded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_compute_what_the_host_does),
        cmocka_unit_test(workgroups_share_memory),
        cmocka_unit_test(variables_have_addresses),
        cmocka_unit_test(the_loader_gives_static_content),
        cmocka_unit_test(queues_number_their_dispatches),
        cmocka_unit_test(facts_of_kernels),
        cmocka_unit_test(launches_are_checked),
        cmocka_unit_test(modules_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
