/* Code objects that are not what they should be: other targets, cut off at every byte, damaged at every byte. */
#include "fixture.h"

#include <stdio.h>

static struct sim_machine *create(enum sim_chip chip)
{
    struct sim_chip_config config;
    sim_chip_config_init(&config, chip);
    config.xccs = config.ses_per_xcc = config.cus_per_sh = config.simds_per_cu = 1; /* small ones are made quickly */
    config.active_cus_per_xcc = 0;
    config.max_wave_instructions = 2000;
    struct sim_machine *machine;
    if (sim_machine_create(&machine, &config))
        fail_msg("%s", sim_error());
    return machine;
}

static void expect_refused(struct sim_machine *machine, const void *image, size_t bytes, const char *part)
{
    struct sim_module *module;
    assert_int_equal(sim_module_load(&module, machine, image, bytes), -1);
    expect_error(part);
}

/* One byte of the ELF header changed. */
static void expect_header_refused(size_t at, unsigned char value, const char *part)
{
    struct sim_machine *machine = create(SIM_GFX942);
    struct file file = fixture_read(SIM_GFX942, "v6");
    file.data[at] = value;
    expect_refused(machine, file.data, file.bytes, part);
    free(file.data);
    sim_machine_destroy(machine);
}

static void headers_of_other_files_are_refused(void **state)
{
    (void)state;
    expect_header_refused(0, 0, "does not begin as an ELF file");
    expect_header_refused(4, 1, "not a 64-bit ELF file");
    expect_header_refused(5, 2, "not little-endian");
    expect_header_refused(7, 0, "not for amdhsa");
    expect_header_refused(8, 1, "ABI version is 1");
    expect_header_refused(8, 5, "ABI version is 5");
    expect_header_refused(16, 1, "not linked");
    expect_header_refused(18, 62, "for machine 62");
    expect_header_refused(48, 0x4F, "is for gfx950, this device is gfx942");
    expect_header_refused(48, 0x3F, "is for gfx90a, this device is gfx942");
    expect_header_refused(48, 0x5F, "generic target gfx9-4-generic");
    expect_header_refused(48, 0xFE, "unknown chip (0xFE)");
    expect_header_refused(49, 0x07, "xnack+");
    expect_header_refused(49, 0x09, "sramecc-");
}

static void things_that_are_no_elf_file(void **state)
{
    (void)state;
    struct sim_machine *machine = create(SIM_GFX950);
    expect_refused(machine, "", 0, "no code object");
    expect_refused(machine, NULL, 10, "no code object");
    expect_refused(machine, "__CLANG_OFFLOAD_BUNDLE__ and more", 33, "bundle of code objects");
    expect_refused(machine, "#include <stdio.h>", 18, "does not begin as an ELF file");
    struct file other = fixture_read(SIM_GFX942, "v5");
    expect_refused(machine, other.data, other.bytes, "is for gfx942, this device is gfx950");
    free(other.data);
    sim_machine_destroy(machine);
}

/* In memory of exactly that size, so that a sanitizer sees a read past the end. */
static int load_copy(struct sim_machine *machine, struct sim_module **module, const unsigned char *data, size_t bytes)
{
    unsigned char *copy = malloc(bytes ? bytes : 1);
    memcpy(copy, data, bytes);
    int status = sim_module_load(module, machine, copy, bytes);
    free(copy);
    return status;
}

static void cut_off_at_every_byte(void **state)
{
    (void)state;
    struct sim_machine *machine = create(SIM_GFX942);
    struct file file = fixture_read(SIM_GFX942, "v5");
    size_t refused = 0;
    for (size_t bytes = 0; bytes < file.bytes; bytes++) {
        struct sim_module *module;
        if (load_copy(machine, &module, file.data, bytes)) {
            assert_true(strlen(sim_error()) > 20);
            refused++;
        } else {
            sim_module_unload(module);
        }
    }
    /* What comes behind the last segment (section headers, static symbols) is not needed. */
    assert_true(refused > file.bytes / 2 && refused < file.bytes);
    free(file.data);
    sim_machine_destroy(machine);
}

/* Everything that a module which loaded can be asked, and some of its kernels run: whatever happens, it is no crash. */
static void use(struct sim_machine *machine, struct sim_module *module)
{
    void *address;
    uint64_t bytes;
    sim_module_symbol(&address, &bytes, module, "table");
    sim_module_symbol(&address, &bytes, module, "no such symbol");
    for (size_t i = 0; i < sim_module_kernel_count(module); i += 5) {
        const struct sim_kernel *kernel = sim_module_kernel_at(module, i);
        void *kernarg = calloc(1, sim_kernel_facts(kernel)->kernarg_bytes + 1);
        struct sim_dispatch_config config = {
            .kernel = kernel, .grid = {1, 1, 1}, .block = {70, 1, 1}, .last_block = {70, 1, 1}, .kernarg = kernarg};
        struct sim_dispatch *dispatch;
        if (!sim_dispatch_start(&dispatch, machine, &config)) {
            while (!sim_dispatch_state(dispatch))
                sim_machine_run(machine, UINT64_MAX);
            if (sim_dispatch_state(dispatch) < 0)
                assert_true(strlen(sim_dispatch_error(dispatch)) > 20);
            sim_dispatch_release(dispatch);
        }
        free(kernarg);
    }
}

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 33;
}

static void damaged(const char *variant, size_t rounds, unsigned most_changes)
{
    struct sim_machine *machine = create(SIM_GFX942);
    struct file file = fixture_read(SIM_GFX942, variant);
    unsigned char *copy = malloc(file.bytes);
    uint64_t random = 20261130;
    size_t refused = 0, loaded = 0;
    for (size_t round = 0; round < rounds; round++) {
        memcpy(copy, file.data, file.bytes);
        for (uint64_t n = next_random(&random) % most_changes + 1; n; n--) {
            /* Headers, tables and metadata lie in the first eighth; the code is most of the rest. */
            size_t within = next_random(&random) % 3 ? 8192 : file.bytes;
            copy[next_random(&random) % (within < file.bytes ? within : file.bytes)] ^=
                (unsigned char)(next_random(&random) % 2 ? 1u << next_random(&random) % 8 : next_random(&random));
        }
        struct sim_module *module;
        if (load_copy(machine, &module, copy, file.bytes)) {
            refused++;
            assert_true(strlen(sim_error()) > 20);
        } else {
            loaded++;
            use(machine, module);
            sim_module_unload(module);
        }
    }
    assert_true(refused > rounds / 50 && loaded > rounds / 50);
    free(copy);
    free(file.data);
    sim_machine_destroy(machine);
}

static void damaged_at_random(void **state)
{
    (void)state;
    damaged("v4", 300, 1);
    damaged("v5", 600, 3);
    damaged("preload", 300, 2);
}

/* Every byte of the headers, tables and metadata with each bit flipped. */
static void damaged_at_every_byte(void **state)
{
    (void)state;
    struct sim_machine *machine = create(SIM_GFX942);
    struct file file = fixture_read(SIM_GFX942, "v6");
    for (size_t at = 0; at < 2048; at++) {
        file.data[at] ^= (unsigned char)(1u << at % 8);
        struct sim_module *module;
        if (!load_copy(machine, &module, file.data, file.bytes))
            sim_module_unload(module);
        file.data[at] ^= (unsigned char)(1u << at % 8);
    }
    struct sim_module *module;
    assert_int_equal(load_copy(machine, &module, file.data, file.bytes), 0);
    free(file.data);
    sim_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_of_other_files_are_refused),
        cmocka_unit_test(things_that_are_no_elf_file),
        cmocka_unit_test(cut_off_at_every_byte),
        cmocka_unit_test(damaged_at_random),
        cmocka_unit_test(damaged_at_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
