/* program.c - what watch.py watches: hangs in a kernel on the simulator until it is told to go on.
 *
 *     program CODE_OBJECT capture|end|process-wide|fork
 *
 * Lines of standard input are commands, and each is answered by one on standard output: "begin" a capture, "launch" the kernel and
 * wait for it, "go" on (which may come while it waits), "end" the capture. With `end` it is ktrace_capture_end that waits, with
 * `fork` a child is there after the launch whose process id "launch" answers with. The end of standard input ends the program.
 */
#include <ktrace/ktrace.h>

#include "hip/hip_api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKGROUPS 6
#define STUCK 4

static int *flag; /* in device memory: the kernel waits for it */
static hipStream_t beside;
static struct ktrace_capture *capture;
static hipFunction_t kernel;
static pthread_t waiting;
static const char *how;

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s %s\n", what, ktrace_last_error(), ktrace_simulator_error());
    exit(1);
}

static void say(const char *line)
{
    printf("%s\n", line);
    fflush(stdout);
}

/* Whatever runs. */
static void set_flag(int value)
{
    must(hipMemcpyAsync(flag, &value, sizeof value, hipMemcpyHostToDevice, beside) == hipSuccess &&
             hipStreamSynchronize(beside) == hipSuccess,
         "setting the flag");
}

static void *wait_for_kernel(void *unused)
{
    (void)unused;
    if (strcmp(how, "end") == 0) {
        struct ktrace_trace *trace = NULL;
        must(ktrace_capture_end(&trace, capture) == 0, "ktrace_capture_end");
        capture = NULL;
        ktrace_trace_destroy(trace);
    } else {
        must(hipDeviceSynchronize() == hipSuccess, "hipDeviceSynchronize");
    }
    return NULL;
}

static void launch(void)
{
    int stuck = STUCK;
    void *parameters[] = {&flag, &stuck};
    pid_t child = 0;
    char answer[64] = "launched";
    set_flag(0);
    must(hipModuleLaunchKernel(kernel, WORKGROUPS, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL) == hipSuccess,
         "launching");
    must(pthread_create(&waiting, NULL, wait_for_kernel, NULL) == 0, "pthread_create");
    if (strcmp(how, "fork") == 0) {
        child = fork();
        if (child == 0) {
            for (int i = 0; i < 3; i++)
                close(i);
            pause();
            _exit(0);
        }
        snprintf(answer, sizeof answer, "%ld", (long)child);
    }
    say(answer);
}

static void go(void)
{
    set_flag(1);
    pthread_join(waiting, NULL);
    say("gone on");
}

int main(int argc, char **argv)
{
    hipModule_t module;
    char line[64];
    if (argc != 3)
        return 2;
    how = argv[2];
    must(hipModuleLoad(&module, argv[1]) == hipSuccess, "hipModuleLoad");
    must(hipModuleGetFunction(&kernel, module, "pipeline") == hipSuccess, "hipModuleGetFunction");
    must(hipMalloc((void **)&flag, sizeof *flag) == hipSuccess, "hipMalloc");
    must(hipStreamCreateWithFlags(&beside, hipStreamNonBlocking) == hipSuccess, "hipStreamCreateWithFlags");
    must(ktrace_attach_hip_module(module) == 0, "ktrace_attach_hip_module");
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "begin\n") == 0) {
            struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
            options.name = "watched";
            must(ktrace_capture_begin(&capture, &options) == 0, "ktrace_capture_begin");
            say("begun");
        } else if (strcmp(line, "launch\n") == 0) {
            launch();
        } else if (strcmp(line, "go\n") == 0) {
            go();
        } else if (strcmp(line, "end\n") == 0) {
            must(ktrace_capture_end(NULL, capture) == 0, "ktrace_capture_end");
            capture = NULL;
            say("ended");
        } else {
            return 2;
        }
    }
    return 0;
}
