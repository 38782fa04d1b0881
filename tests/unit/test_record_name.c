/* What a program is called in a recording. */
#include "record_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8 };

static void check(const char *wanted, const char *const arguments[MOST])
{
    char name[64] = "untouched";
    size_t count = 0;
    while (count < MOST && arguments[count])
        count++;
    kt_record_program_name(name, sizeof name, arguments, count);
    assert_string_equal(name, wanted);
}
#define CHECK(wanted, ...) check(wanted, (const char *const[MOST]){__VA_ARGS__})

static void test_programs(void **state)
{
    (void)state;
    CHECK("gemm", "gemm");
    CHECK("gemm", "./build/gemm", "4096");
    CHECK("gemm.py", "./gemm.py");
    CHECK("my program", "/opt/my program");
    CHECK("pythonic", "pythonic", "train.py");
    CHECK("", NULL);
    CHECK("", "");
}

static void test_python_scripts(void **state)
{
    (void)state;
    CHECK("train", "python", "train.py");
    CHECK("train", "/usr/bin/python3", "src/train.py", "--epochs", "3");
    CHECK("train", "python3.11", "-u", "train.py");
    CHECK("train", "python3", "-uB", "-X", "dev", "-W", "error", "train.py");
    CHECK("train", "python3", "-Xdev", "--check-hash-based-pycs=default", "train.py");
    CHECK("train", "python3", "-uX", "dev", "train.py");
    CHECK("train.txt", "python3", "train.txt");
    CHECK(".py", "python3", ".py");
}

static void test_python_modules(void **state)
{
    (void)state;
    CHECK("torch.distributed.run", "python3", "-m", "torch.distributed.run", "train.py");
    CHECK("venv", "python3", "-mvenv", "folder");
    CHECK("venv", "python3", "-um", "venv", "folder");
}

static void test_python_itself(void **state)
{
    (void)state;
    CHECK("python3", "python3");
    CHECK("python3", "python3", "-c", "import torch", "train.py");
    CHECK("python3", "python3", "-uc", "import torch");
    CHECK("python3", "python3", "-");
    CHECK("python3", "python3", "-m");
    CHECK("python3", "python3", "-X");
}

static void test_cut(void **state)
{
    char name[5];
    (void)state;
    kt_record_program_name(name, sizeof name, (const char *const[]){"/bin/longer"}, 1);
    assert_string_equal(name, "long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_python_scripts),
        cmocka_unit_test(test_python_modules),
        cmocka_unit_test(test_python_itself),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
