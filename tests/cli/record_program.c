/* record_program - what tests of `ktrace record` run: does what its arguments say, one after the other, on the simulator.
 *
 *     load, load_untraced      a code object, and make it known to libktrace
 *     launch, launch=N         a kernel with one range, N times
 *     many=N                   one with N marks
 *     begin=NAME, read, snapshot, clear, stop, end, drop, destroy
 *                              a capture of its own; drop is an end that wants no trace
 *     enable, disable, collect process-wide collection, by calls
 *     say=WORD                 on standard output, at once
 *     handle, ignore           SIGTERM: ends a pause, and the program with 5; or is ignored
 *     pause                    for ever
 *     fork                     the rest is done by a child, which is waited for
 *     leave                    the rest is done by a child, which is left behind when it comes to the word apart
 *     become                   the rest is done by this program, executed anew
 *     raise=N, abort, crash, exit=N, _exit=N, quick_exit=N
 */
#include "../../examples/common.h"

#include "../../examples/amdgcn/hip.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static void *module, *values;
static struct ktrace_capture *capture;

static void check(int status, const char *what)
{
    if (status < 0)
        fail("%s: %s", what, ktrace_last_error());
}

static void load(const char *name)
{
    char path[HIP_PATH_BYTES];
    if (values == NULL) {
        hip_open();
        values = hip_allocate(64);
    }
    hip_code_path(path, name, "gfx942");
    HIP(hipModuleLoad, &module, path);
    if (ktrace_attach_hip_module(module) < 0)
        fprintf(stderr, "%s\n", ktrace_last_error());
}

static void launch(const char *name, int count)
{
    void *arguments[] = {&count, &values};
    void *kernel = hip_kernel(module, name);
    HIP(hipModuleLaunchKernel, kernel, 2, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL);
    check_hip(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
}

static void use_capture(const char *word, const char *name)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    struct ktrace_trace *trace = NULL;
    options.name = name;
    options.backend = "hip";
    if (strcmp(word, "begin") == 0)
        check(ktrace_capture_begin(&capture, &options), word);
    else if (strcmp(word, "read") == 0)
        check(ktrace_capture_read(&trace, capture), word);
    else if (strcmp(word, "snapshot") == 0)
        check(ktrace_capture_snapshot(&trace, capture), word);
    else if (strcmp(word, "clear") == 0)
        check(ktrace_capture_clear(capture), word);
    else if (strcmp(word, "stop") == 0)
        check(ktrace_capture_stop(capture), word);
    else if (strcmp(word, "end") == 0)
        check(ktrace_capture_end(&trace, capture), word);
    else if (strcmp(word, "drop") == 0)
        check(ktrace_capture_end(NULL, capture), word);
    else if (strcmp(word, "destroy") == 0)
        ktrace_capture_destroy(capture);
    else if (strcmp(word, "enable") == 0)
        check(ktrace_enable(&options), word);
    else if (strcmp(word, "disable") == 0)
        check(ktrace_disable(), word);
    else if (strcmp(word, "collect") == 0)
        check(ktrace_collect_trace(&trace), word);
    else
        example_usage(word, " WORD...: see its source");
    ktrace_trace_destroy(trace);
}

static volatile sig_atomic_t is_handled;

static void note(int number)
{
    (void)number;
    is_handled = 1;
}

static void wait_for_ever(void)
{
    while (!is_handled)
        usleep(1000);
    exit(5);
}

static void crash(void)
{
    static int *volatile nowhere;
    *nowhere = 1;
}

static int to_parent[2];

static void fork_and_wait(void)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        return;
    if (child < 0 || waitpid(child, &status, 0) != child)
        fail("fork: %s", strerror(errno));
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXAMPLE_FAILED);
}

static void fork_and_leave(void)
{
    char byte;
    const pid_t child = pipe(to_parent) == 0 ? fork() : -1;
    if (child == 0)
        return;
    if (child < 0 || read(to_parent[0], &byte, 1) != 1)
        fail("fork: %s", strerror(errno));
    exit(0);
}

static void end(const char *word, int number)
{
    if (strcmp(word, "raise") == 0)
        raise(number);
    else if (strcmp(word, "abort") == 0)
        abort();
    else if (strcmp(word, "crash") == 0)
        crash();
    else if (strcmp(word, "exit") == 0)
        exit(number);
    else if (strcmp(word, "_exit") == 0)
        _exit(number);
    else if (strcmp(word, "quick_exit") == 0)
        quick_exit(number);
    else
        use_capture(word, NULL);
}

int main(int argc, char **argv)
{
    example.name = "record_program";
    for (int i = 1; i < argc; i++) {
        char *word = argv[i], *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        const int number = value ? atoi(value) : 1;
        if (strcmp(word, "load") == 0)
            load("record_kernels");
        else if (strcmp(word, "load_untraced") == 0)
            load("record_kernels_untraced");
        else if (strcmp(word, "launch") == 0)
            for (int k = 0; k < number; k++)
                launch("layer", k);
        else if (strcmp(word, "many") == 0)
            launch("marks", number);
        else if (strcmp(word, "say") == 0)
            (void)!write(STDOUT_FILENO, value, strlen(value));
        else if (strcmp(word, "handle") == 0 || strcmp(word, "ignore") == 0)
            signal(SIGTERM, *word == 'h' ? note : SIG_IGN);
        else if (strcmp(word, "pause") == 0)
            wait_for_ever();
        else if (strcmp(word, "fork") == 0)
            fork_and_wait();
        else if (strcmp(word, "leave") == 0)
            fork_and_leave();
        else if (strcmp(word, "apart") == 0)
            (void)!write(to_parent[1], "", 1);
        else if (strcmp(word, "become") == 0)
            execv("/proc/self/exe", argv + i);
        else if (value && strcmp(word, "begin") == 0)
            use_capture(word, value);
        else
            end(word, number);
    }
    return 0;
}
