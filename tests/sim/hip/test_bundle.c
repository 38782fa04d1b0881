/* test_bundle.c - offload bundles: which entry is chosen, and what is said when none can be. */
#include "fixture.h"

struct entry {
    const char *id;
    int has_code; /* 0: bytes that are no code object */
};

static unsigned char *code;
static size_t code_bytes;

static int read_code(void **state)
{
    (void)state;
    FILE *file = fopen(KERNELS, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        return -1;
    code_bytes = (size_t)ftell(file);
    rewind(file);
    code = malloc(code_bytes);
    const int is_read = code && fread(code, 1, code_bytes, file) == code_bytes;
    fclose(file);
    return is_read ? 0 : -1;
}

static int free_code(void **state)
{
    (void)state;
    free(code);
    return 0;
}

/* Layout of LLVM's ClangOffloadBundler document. */
static void *bundle(const struct entry *entries, uint64_t count)
{
    static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
    unsigned char *image = calloc(1, 4096 + count * code_bytes);
    assert_non_null(image);
    memcpy(image, magic, 24);
    memcpy(image + 24, &count, 8);
    unsigned char *at = image + 32;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t offset = 4096 + i * code_bytes, id_bytes = strlen(entries[i].id);
        const uint64_t bytes = entries[i].has_code ? code_bytes : 64;
        memcpy(at, &offset, 8);
        memcpy(at + 8, &bytes, 8);
        memcpy(at + 16, &id_bytes, 8);
        memcpy(at + 24, entries[i].id, id_bytes);
        at += 24 + id_bytes;
        memcpy(image + offset, entries[i].has_code ? code : (const unsigned char *)"junk",
               entries[i].has_code ? code_bytes : 4);
    }
    return image;
}

/* Load it; with success only if an entry with code was chosen. */
static hipError_t load(const struct entry *entries, uint64_t count)
{
    hipModule_t module = NULL;
    void *image = bundle(entries, count);
    const hipError_t status = hipModuleLoadData(&module, image);
    free(image);
    if (status == hipSuccess)
        ok(hipModuleUnload(module));
    return status;
}

static void the_entry_for_the_chip_is_chosen(void **state)
{
    (void)state;
    const struct entry plain[] = {{"host-x86_64-unknown-linux-gnu-", 0},
                                  {"hipv4-amdgcn-amd-amdhsa--gfx90a", 0},
                                  {"hipv4-amdgcn-amd-amdhsa--gfx942", 1}};
    ok(load(plain, 3));
    const struct entry specific[] = {{"hipv4-amdgcn-amd-amdhsa--gfx942:xnack+", 0},
                                     {"hipv4-amdgcn-amd-amdhsa--gfx942", 0},
                                     {"hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", 1},
                                     {"hipv4-amdgcn-amd-amdhsa--gfx942:xnack-", 0}};
    ok(load(specific, 4));
    const struct entry old[] = {{"hip-amdgcn-amd-amdhsa-gfx942", 1}};
    ok(load(old, 1));
}

static void no_entry_for_the_chip(void **state)
{
    (void)state;
    const struct entry others[] = {{"host-x86_64-unknown-linux-gnu-", 1},
                                   {"hipv4-amdgcn-amd-amdhsa--gfx90a", 1},
                                   {"hipv4-amdgcn-amd-amdhsa--gfx942:xnack+", 1},
                                   {"hipv4-amdgcn-amd-amdhsa--gfx9420", 1}};
    fails(load(others, 4), hipErrorNoBinaryForGpu, "which has: gfx90a, gfx942:xnack+, gfx9420.");
    fails(load(others, 1), hipErrorNoBinaryForGpu, "no device code");
    const struct entry junk[] = {{"hipv4-amdgcn-amd-amdhsa--gfx942", 0}};
    assert_int_equal(load(junk, 1), hipErrorInvalidImage);
}

static void malformed_tables(void **state)
{
    (void)state;
    const struct entry one[] = {{"hipv4-amdgcn-amd-amdhsa--gfx942", 1}};
    hipModule_t module;
    unsigned char *image = bundle(one, 1);
    memset(image + 48, 0xFF, 8); /* the id's length */
    fails(hipModuleLoadData(&module, image), hipErrorInvalidImage, "malformed");
    free(image);
    image = bundle(one, 1);
    memset(image + 24, 0xFF, 8); /* the count */
    fails(hipModuleLoadData(&module, image), hipErrorInvalidImage, "malformed");
    free(image);
}

int main(void)
{
    unsetenv("KTRACE_SIM_CHIP");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_entry_for_the_chip_is_chosen),
        cmocka_unit_test(no_entry_for_the_chip),
        cmocka_unit_test(malformed_tables),
    };
    return cmocka_run_group_tests(tests, read_code, free_code);
}
