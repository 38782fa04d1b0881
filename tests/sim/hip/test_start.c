/* test_start.c - what keeps the simulator from starting is said, by every call. Each case is a process of its own. */
#include "fixture.h"

#include <sys/wait.h>
#include <unistd.h>

/* In a child with this variable set: 0 if calls fail with a sentence that quotes name and value. */
static int refused(const char *name, const char *value)
{
    setenv(name, value, 1);
    for (int i = 0; i < 2; i++) {
        int count = 5;
        if (hipGetDeviceCount(&count) != hipErrorNotInitialized || count)
            return 1;
        if (!strstr(ktrace_simulator_error(), name) || !strstr(ktrace_simulator_error(), value))
            return 2;
    }
    return strstr(ktrace_simulator(), "could not start") ? 0 : 3;
}

static void malformed_environment(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"KTRACE_SIM_DEVICES", "many"},         {"KTRACE_SIM_DEVICES", "0"},
                                           {"KTRACE_SIM_DEVICES", "17"},           {"KTRACE_SIM_DEVICES", "2x"},
                                           {"KTRACE_SIM_CHIP", "gfx1100"},         {"KTRACE_SIM_TOPOLOGY", "1,2,3"},
                                           {"KTRACE_SIM_MAX_INSTRUCTIONS", "lots"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pid_t child = fork();
        if (!child)
            _exit(refused(cases[i][0], cases[i][1]));
        int result = -1;
        assert_int_equal(waitpid(child, &result, 0), child);
        if (!WIFEXITED(result) || WEXITSTATUS(result))
            fail_msg("%s=%s: %d", cases[i][0], cases[i][1], result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(malformed_environment)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
