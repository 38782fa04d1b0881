/* Settings: what each variable takes, the sentence of each malformed value, and that options come before the environment, and
 * the environment before the defaults. */
#include "settings.h"

#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const variables[] = {
    "KTRACE_ENABLE",   "KTRACE_BUFFER_BYTES", "KTRACE_EVENTS_PER_WAVE", "KTRACE_EVENTS_PER_LANE", "KTRACE_BLOCKS",
    "KTRACE_DUMP_DIR", "KTRACE_DEVICES",      "KTRACE_KEEP_LAST",       "KTRACE_BACKEND",         "KTRACE_WATCH"};
static char directory[256];

static int clear_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
    return 0;
}

static struct kt_settings make(const struct ktrace_capture_options *options)
{
    struct kt_settings settings;
    if (kt_settings_make(&settings, options) != KTRACE_OK)
        fail_msg("%s", ktrace_last_error());
    return settings;
}

static struct kt_settings make_with(const char *variable, const char *value)
{
    setenv(variable, value, 1);
    struct kt_settings settings = make(NULL);
    unsetenv(variable);
    return settings;
}

/* ---- Variables -------------------------------------------------------------------------------------------------- */

static void assert_defaults(const struct kt_settings *settings)
{
    assert_int_equal(settings->enable, 0);
    assert_string_equal(settings->name, "ktrace");
    assert_int_equal(settings->buffer_bytes, 0);
    assert_int_equal(settings->events_per_wave, 0);
    assert_int_equal(settings->events_per_lane, 0);
    assert_int_equal(settings->keep_last, 0);
    assert_int_equal(settings->stay_armed, 0);
    assert_true(kt_filter_is_open(&settings->filter.wire));
    assert_int_equal(settings->filter.place_word, KT_PLACE_NOT_NAMED);
    assert_null(settings->directory);
    assert_int_equal(settings->devices.kind, KT_DEVICES_ACTIVE);
    assert_null(settings->backend);
}

static void test_defaults(void **state)
{
    const struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    (void)state;
    struct kt_settings settings = make(NULL);
    assert_defaults(&settings);
    kt_settings_release(&settings);
    settings = make(&options);
    assert_defaults(&settings);
    kt_settings_release(&settings);
    kt_settings_release(&settings); /* nothing is left to release */
}

static void test_empty_variables_are_not_set(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        setenv(variables[i], "", 1);
    struct kt_settings settings = make(NULL);
    assert_defaults(&settings);
    kt_settings_release(&settings);
}

static void test_flags(void **state)
{
    static const struct {
        const char *text;
        int value;
    } cases[] = {{"1", 1},  {"0", 0},    {"true", 1}, {"FALSE", 0}, {"Yes", 1},
                 {"no", 0}, {" on ", 1}, {"off", 0},  {"\t1\n", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kt_settings settings = make_with("KTRACE_ENABLE", cases[i].text);
        assert_int_equal(settings.enable, cases[i].value);
        assert_int_equal(settings.keep_last, 0);
        kt_settings_release(&settings);
        settings = make_with("KTRACE_KEEP_LAST", cases[i].text);
        assert_int_equal(settings.keep_last, cases[i].value);
        assert_int_equal(settings.enable, 0);
        kt_settings_release(&settings);
        settings = make_with("KTRACE_WATCH", cases[i].text);
        assert_int_equal(settings.watch, cases[i].value);
        assert_int_equal(settings.enable, 0);
        kt_settings_release(&settings);
    }
}

static void test_sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"1", 1},
                 {"67108864", 67108864},
                 {"64MiB", 64ull << 20},
                 {"64m", 64ull << 20},
                 {" 64 M ", 64ull << 20},
                 {"3 gib", 3ull << 30}, /* over 2 GiB */
                 {"512K", 512ull << 10},
                 {"512KiB", 512ull << 10},
                 {"80G", 80ull << 30},
                 {"2T", 2ull << 40},
                 {"1TiB", 1ull << 40},
                 {"18446744073709551615", UINT64_MAX},
                 {"16777215T", 16777215ull << 40}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kt_settings settings = make_with("KTRACE_BUFFER_BYTES", cases[i].text);
        assert_int_equal(settings.buffer_bytes, cases[i].bytes);
        kt_settings_release(&settings);
    }
}

static void test_counts(void **state)
{
    (void)state;
    struct kt_settings settings = make_with("KTRACE_EVENTS_PER_WAVE", "4096");
    assert_int_equal(settings.events_per_wave, 4096);
    assert_int_equal(settings.events_per_lane, 0);
    kt_settings_release(&settings);
    settings = make_with("KTRACE_EVENTS_PER_LANE", " 4294967295 ");
    assert_int_equal(settings.events_per_lane, UINT32_MAX);
    assert_int_equal(settings.events_per_wave, 0);
    kt_settings_release(&settings);
}

static void test_blocks(void **state)
{
    (void)state;
    struct kt_settings settings = make_with("KTRACE_BLOCKS", "1,2,3 xcc:4");
    assert_int_equal(settings.filter.wire.block_first[2], 3);
    assert_int_equal(settings.filter.wire.place_last, 4);
    assert_int_equal(settings.filter.place_word, KT_PLACE_XCC);
    assert_int_equal(kt_filter_check(&settings.filter, KTRACE_ARCH_NVIDIA), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(),
                        "KTRACE_BLOCKS names XCCs (xcc:), but the capture is of an NVIDIA device: write sm:");
    kt_settings_release(&settings);
}

/* ---- Devices ---------------------------------------------------------------------------------------------------- */

static void test_device_words(void **state)
{
    (void)state;
    struct kt_settings settings = make_with("KTRACE_DEVICES", "all");
    assert_int_equal(settings.devices.kind, KT_DEVICES_ALL);
    assert_true(kt_device_chosen(&settings.devices, 5, 0));
    assert_int_equal(kt_device_choice_check(&settings.devices, 1), KTRACE_OK);
    kt_settings_release(&settings);
    settings = make_with("KTRACE_DEVICES", "active");
    assert_int_equal(settings.devices.kind, KT_DEVICES_ACTIVE);
    assert_true(kt_device_chosen(&settings.devices, 5, 1));
    assert_false(kt_device_chosen(&settings.devices, 5, 0));
    kt_settings_release(&settings);
}

static void test_device_lists(void **state)
{
    static const struct {
        const char *text;
        uint64_t low; /* devices 0 to 63 */
        uint32_t largest;
        int last; /* device 255 */
    } cases[] = {{"0", 1, 0, 0},      {"0,2-3", 0xD, 3, 0},    {"3,0", 9, 3, 0},          {"-2", 7, 2, 0},
                 {"2-", ~3ull, 2, 1}, {"*", UINT64_MAX, 0, 1}, {"63", 1ull << 63, 63, 0}, {"255", 0, 255, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kt_settings settings = make_with("KTRACE_DEVICES", cases[i].text);
        const struct kt_device_choice *devices = &settings.devices;
        assert_int_equal(devices->kind, KT_DEVICES_LIST);
        assert_int_equal(devices->list[0], cases[i].low);
        assert_int_equal(devices->largest, cases[i].largest);
        for (uint32_t device = 0; device < 64; device++)
            assert_int_equal(kt_device_chosen(devices, device, 1), cases[i].low >> device & 1);
        assert_int_equal(kt_device_chosen(devices, 255, 1), cases[i].last);
        assert_false(kt_device_chosen(devices, 256, 1));
        kt_settings_release(&settings);
    }
}

static void test_devices_that_are_not_there(void **state)
{
    (void)state;
    struct kt_settings settings = make_with("KTRACE_DEVICES", "0,2-3");
    assert_int_equal(kt_device_choice_check(&settings.devices, 4), KTRACE_OK);
    assert_int_equal(kt_device_choice_check(&settings.devices, 3), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(), "KTRACE_DEVICES names device 3, but there are only devices 0 to 2");
    assert_int_equal(kt_device_choice_check(&settings.devices, 1), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(), "KTRACE_DEVICES names device 3, but there is only device 0");
    kt_settings_release(&settings);
    settings = make_with("KTRACE_DEVICES", "2-"); /* what an open end reaches need not be there */
    assert_int_equal(kt_device_choice_check(&settings.devices, 3), KTRACE_OK);
    kt_settings_release(&settings);
}

/* ---- What is malformed ------------------------------------------------------------------------------------------ */

#define FLAG "set it to 1 (or true, yes, on) or 0 (or false, no, off)"
#define SIZE "a size is a number of bytes, or one with KiB, MiB, GiB or TiB (or K, M, G, T) behind it"
#define DEVICE_KINDS "devices are active, all, or numbers and ranges such as 0,2-3"
#define DEVICE "a device is a number, a range such as 2-5, 2- or -5, or *"

static void test_malformed_values(void **state)
{
    static const struct {
        const char *variable, *value, *sentence;
    } cases[] = {
        {"KTRACE_ENABLE", "2", "KTRACE_ENABLE is \"2\": " FLAG},
        {"KTRACE_ENABLE", "yes please", "KTRACE_ENABLE is \"yes please\": " FLAG},
        {"KTRACE_ENABLE", " ", "KTRACE_ENABLE is \" \": " FLAG},
        {"KTRACE_KEEP_LAST", "tru", "KTRACE_KEEP_LAST is \"tru\": " FLAG},
        {"KTRACE_WATCH", "process", "KTRACE_WATCH is \"process\": " FLAG},
        {"KTRACE_BUFFER_BYTES", "lots", "KTRACE_BUFFER_BYTES is \"lots\": a size is a decimal number"},
        {"KTRACE_BUFFER_BYTES", "-1", "KTRACE_BUFFER_BYTES is \"-1\": a size is a decimal number"},
        {"KTRACE_BUFFER_BYTES", "0",
         "KTRACE_BUFFER_BYTES is \"0\": a size is at least 1; leave it unset for the default"},
        {"KTRACE_BUFFER_BYTES", " 0G",
         "KTRACE_BUFFER_BYTES is \" 0G\", at character 2 (\"0G\"): a size is at least 1; leave it unset for the "
         "default"},
        {"KTRACE_BUFFER_BYTES", "64MB", "KTRACE_BUFFER_BYTES is \"64MB\", at character 3 (\"MB\"): " SIZE},
        {"KTRACE_BUFFER_BYTES", "1.5G", "KTRACE_BUFFER_BYTES is \"1.5G\", at character 2 (\".5G\"): " SIZE},
        {"KTRACE_BUFFER_BYTES", "64 M 2", "KTRACE_BUFFER_BYTES is \"64 M 2\", at character 4 (\"M\"): " SIZE},
        {"KTRACE_BUFFER_BYTES", "1Ki", "KTRACE_BUFFER_BYTES is \"1Ki\", at character 2 (\"Ki\"): " SIZE},
        {"KTRACE_BUFFER_BYTES", "18446744073709551616",
         "KTRACE_BUFFER_BYTES is \"18446744073709551616\": a size is at most 18446744073709551615"},
        {"KTRACE_BUFFER_BYTES", "16777216T",
         "KTRACE_BUFFER_BYTES is \"16777216T\": a size is at most 18446744073709551615 bytes"},
        {"KTRACE_EVENTS_PER_WAVE", "0",
         "KTRACE_EVENTS_PER_WAVE is \"0\": it is at least 1; leave it unset for the default"},
        {"KTRACE_EVENTS_PER_WAVE", "many", "KTRACE_EVENTS_PER_WAVE is \"many\": it is a decimal number"},
        {"KTRACE_EVENTS_PER_WAVE", "1k",
         "KTRACE_EVENTS_PER_WAVE is \"1k\", at character 2 (\"k\"): nothing follows the number"},
        {"KTRACE_EVENTS_PER_LANE", "4294967296", "KTRACE_EVENTS_PER_LANE is \"4294967296\": it is at most 4294967295"},
        {"KTRACE_BLOCKS", "0,0,",
         "KTRACE_BLOCKS is \"0,0,\", at its end: a coordinate is a number, a range such as 2-5, 2- "
         "or -5, or *"},
        {"KTRACE_DEVICES", "some", "KTRACE_DEVICES is \"some\": " DEVICE_KINDS},
        {"KTRACE_DEVICES", "all ", "KTRACE_DEVICES is \"all \": " DEVICE_KINDS},
        {"KTRACE_DEVICES", "0,", "KTRACE_DEVICES is \"0,\", at its end: " DEVICE},
        {"KTRACE_DEVICES", "0;1", "KTRACE_DEVICES is \"0;1\", at character 2: " DEVICE_KINDS},
        {"KTRACE_DEVICES", "256", "KTRACE_DEVICES is \"256\": a device is at most 255"},
        {"KTRACE_BACKEND", "HIP", "KTRACE_BACKEND asks for the backend \"HIP\": there are \"cuda\" and \"hip\""},
        {"KTRACE_DEVICES", "3-1", "KTRACE_DEVICES is \"3-1\": the range runs backwards: write 1-3"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kt_settings settings = {.enable = 77};
        setenv(cases[i].variable, cases[i].value, 1);
        assert_int_equal(kt_settings_make(&settings, NULL), KTRACE_ERROR_ARGUMENT);
        assert_string_equal(ktrace_last_error(), cases[i].sentence);
        assert_int_equal(settings.enable, 77);
        unsetenv(cases[i].variable);
    }
}

static void test_malformed_options(void **state)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct kt_settings settings;
    (void)state;
    options.blocks = "everything";
    assert_int_equal(kt_settings_make(&settings, &options), KTRACE_ERROR_ARGUMENT);
    assert_ptr_equal(strstr(ktrace_last_error(), "ktrace_capture_options.blocks is \"everything\": terms are "),
                     ktrace_last_error());
    options.blocks = NULL;
    options.devices = "0-x";
    assert_int_equal(kt_settings_make(&settings, &options), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(),
                        "ktrace_capture_options.devices is \"0-x\", at character 3 (\"x\"): devices "
                        "are active, all, or numbers and ranges such as 0,2-3");
}

/* A malformed variable is said even where an option overrides it. */
static void test_an_option_does_not_hide_a_malformed_variable(void **state)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct kt_settings settings;
    (void)state;
    options.blocks = "0,0,0";
    options.buffer_bytes = 1 << 20;
    setenv("KTRACE_BUFFER_BYTES", "big", 1);
    assert_int_equal(kt_settings_make(&settings, &options), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(), "KTRACE_BUFFER_BYTES is \"big\": a size is a decimal number");
    unsetenv("KTRACE_BUFFER_BYTES");

    options.backend = "hip";
    setenv("KTRACE_BACKEND", "rocm", 1);
    assert_int_equal(kt_settings_make(&settings, &options), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(),
                        "KTRACE_BACKEND asks for the backend \"rocm\": there are \"cuda\" and \"hip\"");
}

/* ---- Directories ------------------------------------------------------------------------------------------------ */

static void test_directories(void **state)
{
    char path[400], sentence[900];
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct kt_settings settings = make_with("KTRACE_DUMP_DIR", directory);
    (void)state;
    assert_string_equal(settings.directory, directory);
    kt_settings_release(&settings);

    snprintf(path, sizeof path, "%s/none", directory);
    setenv("KTRACE_DUMP_DIR", path, 1);
    assert_int_equal(kt_settings_make(&settings, NULL), KTRACE_ERROR_IO);
    snprintf(sentence, sizeof sentence,
             "KTRACE_DUMP_DIR is \"%s\": exports cannot go there (No such file or directory): make it, or name another "
             "directory",
             path);
    assert_string_equal(ktrace_last_error(), sentence);

    options.directory = directory; /* the variable's is not used */
    settings = make(&options);
    assert_string_equal(settings.directory, directory);
    kt_settings_release(&settings);

    unsetenv("KTRACE_DUMP_DIR");
    snprintf(path, sizeof path, "%s/file", directory);
    fclose(fopen(path, "w"));
    options.directory = path;
    assert_int_equal(kt_settings_make(&settings, &options), KTRACE_ERROR_IO);
    snprintf(sentence, sizeof sentence,
             "ktrace_capture_options.directory is \"%s\": exports cannot go there (Not a directory): make it, or name "
             "another directory",
             path);
    assert_string_equal(ktrace_last_error(), sentence);
}

static void test_a_directory_that_takes_no_files(void **state)
{
    enum { NOBODY = 65534 };
    char path[400];
    struct kt_settings settings;
    (void)state;
    snprintf(path, sizeof path, "%s/closed", directory);
    assert_int_equal(mkdir(path, 0555), 0);
    setenv("KTRACE_DUMP_DIR", path, 1);
    const int is_root = geteuid() == 0; /* who may write everywhere */
    if (is_root)
        assert_int_equal(chmod(directory, 0755) + seteuid(NOBODY), 0);
    const int status = kt_settings_make(&settings, NULL);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(status, KTRACE_ERROR_IO);
    assert_non_null(
        strstr(ktrace_last_error(), "/closed\": exports cannot go there (Permission denied): make it, or "));
}

/* ---- Which comes first ------------------------------------------------------------------------------------------ */

/* Every combination of options and variables that are set: bit i of each stands for a setting. */
enum { BYTES, WAVE, LANE, KEEP, BLOCKS, DEVICES, DIRECTORY, SETTINGS };

static void test_options_before_environment_before_defaults(void **state)
{
    (void)state;
    for (unsigned given = 0; given < 1u << SETTINGS; given++)
        for (unsigned set = 0; set < 1u << SETTINGS; set++) {
            struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
            clear_environment(NULL);
            if (given & 1u << BYTES)
                options.buffer_bytes = 1000;
            if (given & 1u << WAVE)
                options.events_per_wave = 100;
            if (given & 1u << LANE)
                options.events_per_lane = 10;
            if (given & 1u << KEEP)
                options.keep_last = set & 1 ? 1 : -1;
            if (given & 1u << BLOCKS)
                options.blocks = "1";
            if (given & 1u << DEVICES)
                options.devices = "1";
            if (given & 1u << DIRECTORY)
                options.directory = directory;
            static const char *const values[SETTINGS] = {
                [BYTES] = "2000", [WAVE] = "200",  [LANE] = "20",    [KEEP] = "1",
                [BLOCKS] = "2",   [DEVICES] = "2", [DIRECTORY] = "."};
            static const char *const names[SETTINGS] = {
                [BYTES] = "KTRACE_BUFFER_BYTES", [WAVE] = "KTRACE_EVENTS_PER_WAVE", [LANE] = "KTRACE_EVENTS_PER_LANE",
                [KEEP] = "KTRACE_KEEP_LAST",     [BLOCKS] = "KTRACE_BLOCKS",        [DEVICES] = "KTRACE_DEVICES",
                [DIRECTORY] = "KTRACE_DUMP_DIR"};
            for (int i = 0; i < SETTINGS; i++)
                if (set & 1u << i)
                    setenv(names[i], values[i], 1);
            const struct kt_settings settings = make(&options);
            /* 1: the option's, 2: the environment's, 0: the default */
#define WHICH(setting) (given & 1u << (setting) ? 1u : set & 1u << (setting) ? 2u : 0u)
            assert_int_equal(settings.buffer_bytes, WHICH(BYTES) * 1000);
            assert_int_equal(settings.events_per_wave, WHICH(WAVE) * 100);
            assert_int_equal(settings.events_per_lane, WHICH(LANE) * 10);
            assert_int_equal(settings.keep_last, WHICH(KEEP) == 1 ? (int)(set & 1) : WHICH(KEEP) == 2);
            assert_int_equal(settings.filter.wire.block_first[0], WHICH(BLOCKS));
            assert_int_equal(settings.devices.list[0], WHICH(DEVICES) ? 1u << WHICH(DEVICES) : 0);
            if (WHICH(DIRECTORY))
                assert_string_equal(settings.directory, WHICH(DIRECTORY) == 1 ? directory : ".");
            else
                assert_null(settings.directory);
            struct kt_settings made = settings;
            kt_settings_release(&made);
        }
}

static void test_options_without_a_variable(void **state)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_filter filter = KTRACE_FILTER_INIT;
    char name[] = "gemm";
    (void)state;
    filter.workgroup_step = 5;
    setenv("KTRACE_BLOCKS", "sm:1", 1);
    options.name = name;
    options.backend = "hip";
    options.filter = &filter;
    options.blocks = "not even looked at";
    options.stay_armed = 2;
    struct kt_settings settings = make(&options);
    name[0] = 'X';
    assert_string_equal(settings.name, "gemm");
    assert_string_equal(settings.backend, "hip");
    assert_memory_equal(&settings.filter.wire, &filter, sizeof filter);
    assert_int_equal(settings.filter.place_word, KT_PLACE_NOT_NAMED); /* nothing of KTRACE_BLOCKS is left */
    assert_int_equal(settings.stay_armed, 1);
    kt_settings_release(&settings);
    options.filter = NULL;
    options.blocks = "all";
    settings = make(&options);
    assert_true(kt_filter_is_open(&settings.filter.wire));
    kt_settings_release(&settings);
}

static void test_empty_options_are_not_given(void **state)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    (void)state;
    options.name = options.backend = options.blocks = options.directory = options.devices = "";
    struct kt_settings settings = make(&options);
    assert_defaults(&settings);
    kt_settings_release(&settings);
    setenv("KTRACE_BLOCKS", "7", 1);
    settings = make(&options);
    assert_int_equal(settings.filter.wire.block_last[0], 7);
    kt_settings_release(&settings);
}

/* ---- Callers of other versions ---------------------------------------------------------------------------------- */

static void test_older_callers(void **state)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    (void)state;
    options.backend = "hip";
    options.blocks = (const char *)1; /* what lies behind an older struct is not its own */
    options.directory = options.devices = (const char *)1;
    options.stay_armed = 1;
    options.struct_size = offsetof(struct ktrace_capture_options, blocks);
    struct kt_settings settings = make(&options);
    assert_string_equal(settings.backend, "hip");
    assert_true(kt_filter_is_open(&settings.filter.wire));
    assert_null(settings.directory);
    assert_int_equal(settings.stay_armed, 0);
    kt_settings_release(&settings);

    options.struct_size = sizeof options.struct_size;
    assert_int_equal(kt_settings_make(&settings, &options), KTRACE_ERROR_ARGUMENT);
    assert_string_equal(ktrace_last_error(),
                        "ktrace_capture_options.struct_size is 8: start from KTRACE_CAPTURE_OPTIONS_INIT");
}

static void test_newer_callers(void **state)
{
    struct {
        struct ktrace_capture_options options;
        uint64_t unknown;
    } newer = {KTRACE_CAPTURE_OPTIONS_INIT, 0};
    (void)state;
    newer.options.struct_size = sizeof newer;
    newer.options.events_per_wave = 9;
    struct kt_settings settings = make(&newer.options);
    assert_int_equal(settings.events_per_wave, 9);
    kt_settings_release(&settings);
    newer.unknown = 1;
    assert_int_equal(kt_settings_make(&settings, &newer.options), KTRACE_ERROR_VERSION);
    assert_non_null(strstr(ktrace_last_error(), "that this library (" KTRACE_VERSION_STRING ") does not know"));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, clear_environment)
    const struct CMUnitTest tests[] = {
        TEST(test_defaults),
        TEST(test_empty_variables_are_not_set),
        TEST(test_flags),
        TEST(test_sizes),
        TEST(test_counts),
        TEST(test_blocks),
        TEST(test_device_words),
        TEST(test_device_lists),
        TEST(test_devices_that_are_not_there),
        TEST(test_malformed_values),
        TEST(test_malformed_options),
        TEST(test_an_option_does_not_hide_a_malformed_variable),
        TEST(test_directories),
        TEST(test_a_directory_that_takes_no_files),
        TEST(test_options_before_environment_before_defaults),
        TEST(test_options_without_a_variable),
        TEST(test_empty_options_are_not_given),
        TEST(test_older_callers),
        TEST(test_newer_callers),
    };
    if (make_scratch(directory, sizeof directory) != 0)
        return 1;
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    return failures + (system(command) != 0);
}
