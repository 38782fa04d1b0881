#include "key.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Options and libraries that compilers find there: hipRTC's own, and those of the clang in it. */
static const char *const environment[] = {"HIPRTC_COMPILE_OPTIONS_APPEND",
                                          "HIPRTC_LINK_OPTIONS_APPEND",
                                          "CCC_OVERRIDE_OPTIONS",
                                          "CLANG_CONFIG_FILE_SYSTEM_DIR",
                                          "CLANG_CONFIG_FILE_USER_DIR",
                                          "NVRTC_APPEND_FLAGS",
                                          "NVRTC_PREPEND_FLAGS",
                                          "ROCM_PATH",
                                          "HIP_PATH",
                                          "HIP_DEVICE_LIB_PATH"};

/* With its length before it, so that no two lists of texts look alike. */
static void add_text(struct kt_sha256 *hash, const char *text)
{
    const uint64_t length = text ? strlen(text) : UINT64_MAX;
    kt_sha256_add(hash, &length, sizeof length);
    if (text)
        kt_sha256_add(hash, text, (size_t)length);
}

static void add_texts(struct kt_sha256 *hash, const struct kt_program_texts *texts)
{
    const uint64_t count = texts->count;
    kt_sha256_add(hash, &count, sizeof count);
    for (size_t i = 0; i < texts->count; i++)
        add_text(hash, texts->texts[i]);
}

void kt_program_key(unsigned char key[KT_SHA256_BYTES], const struct kt_compilation *compilation)
{
    const uint32_t wire = KTRACE_WIRE_VERSION;
    struct kt_sha256 hash;
    kt_sha256_begin(&hash);
    add_text(&hash, "ktrace program, 1");
    add_text(&hash, KTRACE_VERSION_STRING);
    kt_sha256_add(&hash, &wire, sizeof wire);
    add_text(&hash, compilation->compiler->label);
    add_text(&hash, compilation->compiler->identity);
    for (size_t i = 0; i < sizeof environment / sizeof environment[0]; i++)
        add_text(&hash, getenv(environment[i]));
    add_text(&hash, compilation->name);
    add_text(&hash, compilation->text);
    add_texts(&hash, &compilation->header_names);
    add_texts(&hash, &compilation->header_texts);
    add_texts(&hash, &compilation->options);
    add_texts(&hash, &compilation->kernels);
    kt_sha256_end(&hash, key);
}
