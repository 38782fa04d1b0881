/* Compiled programs in files. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_program.h"
#include "ktrace/ktrace.h"
#include "program/cache.h"
#include "program/cache_room.h"
#include "program/program.h"
#include "scratch.h"

static char scratch[512];
static const unsigned char key_a[KT_SHA256_BYTES] = {0xAB, 1, 2, 3}, key_b[KT_SHA256_BYTES] = {0xCD};

static int set_up(void **state)
{
    (void)state;
    fake_program_reset();
    return make_scratch(scratch, sizeof scratch);
}

static int tear_down(void **state)
{
    (void)state;
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

static struct kt_binary make_binary(const char *image, size_t bytes)
{
    struct kt_binary binary = {.image_bytes = bytes, .log = strdup("careful\n")};
    binary.image = malloc(bytes);
    memcpy(binary.image, image, bytes);
    assert_int_equal(kt_program_texts_add(&binary.kernels, "gemm<float>"), 0);
    assert_int_equal(kt_program_texts_add(&binary.lowered, "_Z4gemm"), 0);
    return binary;
}

static void put(const unsigned char *key, const char *image, size_t bytes, uint64_t limit)
{
    struct kt_binary binary = make_binary(image, bytes);
    if (kt_cache_write(scratch, key, &binary, limit) < 0)
        fail_msg("%s", ktrace_last_error());
    kt_binary_free(&binary);
}

static int is_there(const unsigned char *key)
{
    struct kt_binary binary;
    const int status = kt_cache_read(&binary, scratch, key);
    if (status == KTRACE_OK)
        kt_binary_free(&binary);
    else
        assert_int_equal(status, KTRACE_ERROR_NOT_FOUND);
    return status == KTRACE_OK;
}

static void path_of(char path[1024], const unsigned char *key)
{
    char text[KT_SHA256_TEXT_BYTES];
    kt_sha256_text(text, key);
    snprintf(path, 1024, "%s/%s.ktrace-program", scratch, text);
}

static size_t read_entry(unsigned char *data, size_t bytes, const unsigned char *key)
{
    char path[1024];
    path_of(path, key);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    bytes = fread(data, 1, bytes, file);
    fclose(file);
    return bytes;
}

static void write_entry(const unsigned char *data, size_t bytes, const unsigned char *key)
{
    char path[1024];
    path_of(path, key);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

static int files(void)
{
    int count = 0;
    DIR *folder = opendir(scratch);
    for (const struct dirent *item = readdir(folder); item; item = readdir(folder))
        count += item->d_name[0] != '.' || strlen(item->d_name) > 2;
    closedir(folder);
    return count;
}

/* ---- One file ---------------------------------------------------------------------------------------------------- */

static void test_round_trip(void **state)
{
    (void)state;
    struct kt_binary binary;
    assert_false(is_there(key_a));
    put(key_a, "im\0age", 6, KT_CACHE_BYTES);
    assert_false(is_there(key_b));
    assert_int_equal(kt_cache_read(&binary, scratch, key_a), 0);
    assert_int_equal(binary.image_bytes, 6);
    assert_memory_equal(binary.image, "im\0age", 6);
    assert_string_equal(binary.log, "careful\n");
    assert_int_equal(binary.kernels.count, 1);
    assert_string_equal(binary.kernels.texts[0], "gemm<float>");
    assert_string_equal(binary.lowered.texts[0], "_Z4gemm");
    kt_binary_free(&binary);
    assert_int_equal(files(), 1);
}

/* Every bit of it counts, and its length. What is damaged is written anew. */
static void test_damage(void **state)
{
    (void)state;
    unsigned char data[512];
    put(key_a, "image", 5, KT_CACHE_BYTES);
    const size_t bytes = read_entry(data, sizeof data, key_a);
    for (size_t i = 0; i < bytes; i++) {
        data[i] ^= (unsigned char)(1 << i % 8);
        write_entry(data, bytes, key_a);
        if (is_there(key_a))
            fail_msg("byte %zu of %zu may be anything", i, bytes);
        data[i] ^= (unsigned char)(1 << i % 8);
        write_entry(data, i, key_a);
        if (is_there(key_a))
            fail_msg("%zu of %zu bytes are enough", i, bytes);
    }
    data[bytes] = 0;
    write_entry(data, bytes + 1, key_a);
    assert_false(is_there(key_a));
    write_entry(data, bytes, key_a);
    assert_true(is_there(key_a));
    write_entry(data, bytes, key_b); /* another's name */
    assert_false(is_there(key_b));
    put(key_b, "other", 5, KT_CACHE_BYTES);
    assert_true(is_there(key_b));
}

/* A right checksum does not make lengths right. */
static void test_wrong_inside(void **state)
{
    (void)state;
    unsigned char data[512];
    put(key_a, "image", 5, KT_CACHE_BYTES);
    const size_t bytes = read_entry(data, sizeof data, key_a), header = 88;
    for (size_t i = header; i < bytes; i++) {
        for (int value = 0; value < 256; value += 51) {
            const unsigned char before = data[i];
            struct kt_sha256 hash;
            data[i] = (unsigned char)value;
            kt_sha256_begin(&hash);
            kt_sha256_add(&hash, data + header, bytes - header);
            kt_sha256_end(&hash, data + 48);
            write_entry(data, bytes, key_a);
            is_there(key_a); /* or not: it must not crash, which sanitizers watch */
            data[i] = before;
        }
    }
}

static void test_files_of_others(void **state)
{
    (void)state;
    char path[1024], other[1024];
    put(key_a, "image", 5, KT_CACHE_BYTES);
    path_of(path, key_a);
    assert_int_equal(chmod(path, 0666), 0); /* anybody may have written it */
    assert_false(is_there(key_a));
    assert_int_equal(chmod(path, 0600), 0);
    assert_true(is_there(key_a));
    snprintf(other, sizeof other, "%s/elsewhere", scratch);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_false(is_there(key_a));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(is_there(key_a));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(is_there(key_a));
    put(key_a, "image", 5, KT_CACHE_BYTES);
    assert_true(is_there(key_a));
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_false(is_there(key_a));
    }
}

/* ---- Room -------------------------------------------------------------------------------------------------------- */

static void set_age(const unsigned char *key, long seconds)
{
    char path[1024];
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds}};
    path_of(path, key);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_oldest_go_first(void **state)
{
    (void)state;
    unsigned char keys[5][KT_SHA256_BYTES] = {{1}, {2}, {3}, {4}, {5}};
    static const char image[1000];
    char path[1024];
    snprintf(path, sizeof path, "%s/README", scratch);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 4000; i++)
        fputs("not ours", file);
    fclose(file);
    for (int i = 0; i < 4; i++) {
        put(keys[i], image, sizeof image, KT_CACHE_BYTES);
        set_age(keys[i], 1000 - 100 * i);
    }
    assert_true(is_there(keys[0])); /* which is a use */
    put(keys[4], image, sizeof image, 4000);
    assert_true(is_there(keys[4]));
    assert_true(is_there(keys[0]));
    assert_false(is_there(keys[1]));
    assert_false(is_there(keys[2]));
    assert_true(is_there(keys[3]));
    assert_int_equal(access(path, F_OK), 0);
    struct kt_binary binary = make_binary(image, sizeof image);
    assert_int_equal(kt_cache_write(scratch, key_a, &binary, 500), KTRACE_ERROR_IO); /* more than all */
    kt_binary_free(&binary);
    assert_int_equal(files(), 4);
}

static void test_half_written(void **state)
{
    (void)state;
    char old[1024], new[1024];
    snprintf(old, sizeof old, "%s/.ktrace-program-abcdef", scratch);
    snprintf(new, sizeof new, "%s/.ktrace-program-ghijkl", scratch);
    const int files[2] = {open(old, O_CREAT | O_WRONLY, 0600), open(new, O_CREAT | O_WRONLY, 0600)};
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - 7200}};
    assert_int_equal(futimens(files[0], times), 0);
    close(files[0]);
    close(files[1]);
    kt_cache_make_room(scratch, KT_CACHE_BYTES);
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(access(new, F_OK), 0); /* somebody is at it */
}

/* ---- Several at once --------------------------------------------------------------------------------------------- */

/* Four processes write and evict what each reads: nobody ever sees half a file. */
static void test_processes_at_once(void **state)
{
    (void)state;
    static char image[20000];
    memset(image, 'x', sizeof image);
    pid_t children[4];
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            unsigned char keys[3][KT_SHA256_BYTES] = {{1}, {2}, {3}};
            int wrong = 0;
            for (int round = 0; round < 60; round++) {
                struct kt_binary binary = make_binary(image, sizeof image), read;
                wrong |= kt_cache_write(scratch, keys[(round + i) % 3], &binary, 45000) < 0;
                kt_binary_free(&binary);
                if (kt_cache_read(&read, scratch, keys[round % 3]) == KTRACE_OK) {
                    wrong |= read.image_bytes != sizeof image || memcmp(read.image, image, sizeof image) != 0;
                    kt_binary_free(&read);
                }
            }
            _exit(wrong);
        }
    }
    for (int i = 0; i < 4; i++) {
        int result;
        assert_int_equal(waitpid(children[i], &result, 0), children[i]);
        assert_int_equal(result, 0);
    }
    assert_true(files() >= 1 && files() <= 2); /* two of 20000 in 45000; no temporary one */
}

/* ---- Where ------------------------------------------------------------------------------------------------------- */

static void check_directory(const char *wanted, const char *expected)
{
    char *directory;
    assert_int_equal(kt_cache_directory(&directory, wanted), 0);
    if (expected)
        assert_string_equal(directory, expected);
    else
        assert_null(directory);
    free(directory);
}

static void test_directory(void **state)
{
    (void)state;
    setenv("HOME", "/home/me", 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("KTRACE_CACHE_DIR");
    unsetenv("KTRACE_CACHE");
    check_directory(NULL, "/home/me/.cache/ktrace");
    setenv("XDG_CACHE_HOME", "relative", 1);
    check_directory(NULL, "/home/me/.cache/ktrace");
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    check_directory(NULL, "/xdg/ktrace");
    setenv("KTRACE_CACHE_DIR", "mine", 1);
    check_directory(NULL, "mine");
    check_directory("/explicit", "/explicit");
    check_directory("", NULL);
    setenv("KTRACE_CACHE", "1", 1);
    check_directory(NULL, "mine");
    setenv("KTRACE_CACHE", "0", 1);
    check_directory(NULL, NULL);
    check_directory("/explicit", "/explicit"); /* options win over the environment */
    setenv("KTRACE_CACHE", "off", 1);
    check_directory(NULL, NULL);
    setenv("KTRACE_CACHE", "", 1);
    check_directory(NULL, "mine");
    setenv("KTRACE_CACHE", "never", 1);
    char *directory;
    assert_int_equal(kt_cache_directory(&directory, "/explicit"), KTRACE_ERROR_ARGUMENT);
    assert_non_null(strstr(ktrace_last_error(), "KTRACE_CACHE is \"never\""));
    unsetenv("KTRACE_CACHE");
    unsetenv("KTRACE_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    check_directory(NULL, NULL);
}

static void test_directories_are_made(void **state)
{
    (void)state;
    char deep[600];
    struct kt_binary binary = make_binary("image", 5);
    snprintf(deep, sizeof deep, "%s/a/b//c", scratch);
    assert_int_equal(kt_cache_write(deep, key_a, &binary, KT_CACHE_BYTES), 0);
    kt_binary_free(&binary);
    struct stat facts;
    assert_int_equal(stat(deep, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */

static struct ktrace_program_info use(const char *source, const char *directory, const char *option)
{
    struct ktrace_program_options options = KTRACE_PROGRAM_OPTIONS_INIT;
    struct ktrace_program_info info = {.struct_size = sizeof info};
    struct ktrace_program *program;
    void *function;
    static char reason[256];
    options.trace = KTRACE_PROGRAM_TRACE_ALWAYS;
    options.cache_directory = directory;
    options.compiler_options = &option;
    options.compiler_option_count = option != NULL;
    assert_int_equal(kt_program_create_for(&program, source, &options, &fake_target), 0);
    if (ktrace_program_kernel(&function, program, "gemm<1>") < 0)
        fail_msg("%s", ktrace_last_error());
    assert_non_null(strstr(fake_image_of(function), "kernel _Zgemm<1>;"));
    if (strstr(source, "WARNING"))
        assert_string_equal(ktrace_program_log(program), "program.cu(1): warning: careful\n");
    assert_int_equal(ktrace_program_get_info(&info, program), 0);
    snprintf(reason, sizeof reason, "%s", info.not_cached);
    info.not_cached = reason;
    ktrace_program_destroy(program);
    return info;
}

static void test_programs_are_kept(void **state)
{
    (void)state;
    struct ktrace_program_info info = use("text WARNING", scratch, NULL);
    assert_int_equal(info.compilations, 1);
    assert_int_equal(info.disk_writes, 1);
    info = use("text WARNING", scratch, NULL);
    assert_int_equal(info.compilations, 0);
    assert_int_equal(info.disk_hits, 1);
    assert_string_equal(info.not_cached, "");
    info = use("text WARNING", scratch, "-O1");
    assert_int_equal(info.compilations, 1);
    assert_int_equal(fake.compilations, 2);
    info = use("text WARNING", scratch, "-I.");
    assert_int_equal(info.compilations, 1);
    assert_int_equal(info.disk_writes, 0);
    assert_string_equal(info.not_cached, "the compiler option \"-I.\" may read files");
    info = use("text WARNING", "", NULL);
    assert_int_equal(info.compilations, 1);
    assert_int_equal(info.disk_writes, 0);
    assert_int_equal(info.disk_failures, 0);
}

static int sentences;
static char last_sentence[1024];

static void hear(void *context, const char *sentence)
{
    (void)context;
    sentences++;
    snprintf(last_sentence, sizeof last_sentence, "%s", sentence);
}

/* It works all the same, and says so once in a process. */
static void test_nowhere_to_keep_them(void **state)
{
    (void)state;
    char file[600], below[700];
    snprintf(file, sizeof file, "%s/file", scratch);
    snprintf(below, sizeof below, "%s/cache", file);
    fclose(fopen(file, "w"));
    ktrace_set_log(hear, NULL);
    for (int i = 0; i < 2; i++) {
        const struct ktrace_program_info info = use("text", below, NULL);
        assert_int_equal(info.compilations, 1);
        assert_int_equal(info.disk_failures, 1);
    }
    ktrace_set_log(NULL, NULL);
    assert_int_equal(sentences, 1);
    assert_non_null(strstr(last_sentence, "the disk cache cannot be written: "));
    assert_non_null(strstr(last_sentence, "Not a directory"));
}

static void *use_in_thread(void *source)
{
    fake_program_go(1, "sm_90");
    use(source, scratch, NULL);
    return NULL;
}

static void test_threads_with_programs_of_their_own(void **state)
{
    (void)state;
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, use_in_thread, (void *)(i % 2 ? "one" : "two"));
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(files(), 2);
    assert_int_equal(use("one", scratch, NULL).disk_hits, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_inside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_of_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_oldest_go_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_half_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_processes_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directories_are_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_programs_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nowhere_to_keep_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads_with_programs_of_their_own, set_up, tear_down),
        cmocka_unit_test(test_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
