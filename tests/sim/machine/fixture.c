#include "fixture.h"

#include <stdio.h>

static const char *const chip_names[SIM_CHIPS] = {"gfx942", "gfx950"};

struct file fixture_read(enum sim_chip chip, const char *variant)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/kernels_%s_%s.hsaco", SIM_TEST_CODE_OBJECTS, chip_names[chip], variant);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        fail_msg("%s cannot be opened", path);
    struct file file = {.data = malloc(1 << 20)};
    file.bytes = fread(file.data, 1, 1 << 20, stream);
    fclose(stream);
    return file;
}

struct fixture fixture_open(enum sim_chip chip, const char *variant, const struct sim_chip_config *config)
{
    struct fixture fixture = {.file = fixture_read(chip, variant)};
    struct sim_chip_config defaults;
    sim_chip_config_init(&defaults, chip);
    if (sim_machine_create(&fixture.machine, config ? config : &defaults))
        fail_msg("%s", sim_error());
    if (sim_module_load(&fixture.module, fixture.machine, fixture.file.data, fixture.file.bytes))
        fail_msg("%s", sim_error());
    return fixture;
}

void fixture_close(struct fixture *fixture)
{
    sim_machine_destroy(fixture->machine);
    free(fixture->file.data);
    *fixture = (struct fixture){0};
}

void *fixture_allocate(struct fixture *fixture, uint64_t bytes)
{
    void *address;
    if (sim_memory_allocate(&address, fixture->machine, bytes))
        fail_msg("%s", sim_error());
    return address;
}

struct sim_dispatch *fixture_launch(struct fixture *fixture, struct sim_dispatch_config config, const char *kernel,
                                    const void *arguments, size_t bytes)
{
    unsigned char kernarg[1024] = {0};
    struct sim_dispatch *dispatch;
    config.kernel = sim_module_kernel(fixture->module, kernel);
    if (!config.kernel)
        fail_msg("%s", sim_error());
    assert_true(sim_kernel_facts(config.kernel)->kernarg_bytes <= sizeof kernarg);
    if (bytes)
        memcpy(kernarg, arguments, bytes);
    config.kernarg = kernarg;
    if (sim_dispatch_start(&dispatch, fixture->machine, &config))
        return NULL;
    return dispatch;
}

struct sim_dispatch *fixture_start(struct fixture *fixture, const char *kernel, uint32_t workgroups, uint32_t items,
                                   const void *arguments, size_t bytes)
{
    struct sim_dispatch_config config = {
        .grid = {workgroups, 1, 1}, .block = {items, 1, 1}, .last_block = {items, 1, 1}};
    return fixture_launch(fixture, config, kernel, arguments, bytes);
}

uint64_t fixture_finish(struct fixture *fixture, struct sim_dispatch *dispatch)
{
    if (!dispatch)
        fail_msg("%s", sim_error());
    while (!sim_dispatch_state(dispatch))
        sim_machine_run(fixture->machine, UINT64_MAX);
    if (sim_dispatch_state(dispatch) != 1)
        fail_msg("%s", sim_dispatch_error(dispatch));
    uint64_t end = sim_dispatch_end_cycle(dispatch);
    sim_dispatch_release(dispatch);
    return end;
}

uint64_t fixture_run(struct fixture *fixture, const char *kernel, uint32_t workgroups, uint32_t items,
                     const void *arguments, size_t bytes)
{
    return fixture_finish(fixture, fixture_start(fixture, kernel, workgroups, items, arguments, bytes));
}

void fixture_expect_failure(struct fixture *fixture, struct sim_dispatch *dispatch, enum sim_failure failure, ...)
{
    if (!dispatch)
        fail_msg("%s", sim_error());
    while (!sim_dispatch_state(dispatch))
        sim_machine_run(fixture->machine, UINT64_MAX);
    assert_int_equal(sim_dispatch_state(dispatch), -1);
    va_list parts;
    va_start(parts, failure);
    for (const char *part; (part = va_arg(parts, const char *));)
        if (sim_dispatch_state(dispatch) != -1 || !strstr(sim_dispatch_error(dispatch), part))
            fail_msg("'%s' is not in: %s", part, sim_dispatch_error(dispatch));
    va_end(parts);
    assert_int_equal(sim_dispatch_failure(dispatch), failure);
    sim_dispatch_release(dispatch);
}

void expect_error(const char *part)
{
    if (!strstr(sim_error(), part))
        fail_msg("'%s' is not in: %s", part, sim_error());
}
