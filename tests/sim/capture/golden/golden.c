/* golden.c - runs a group of cases, each in a process of its own, and compares what their traces say with a golden file.
 *
 *     PROGRAM --kernels CODE_OBJECT [--golden FILE [--compiler VERSION] [--update]] [--only CASE] [--save FOLDER]
 *     PROGRAM --list
 *
 * --golden    the file; without it only what the cases themselves expect is checked
 * --compiler  what compiled the kernels. Another version makes other code, and so other times: if the golden file is that of
 *             another one, times are not compared, and the program says so
 * --update    write the file
 * --save      every trace as FOLDER/<case>.ktrace, <case>_2.ktrace ...
 */
#include "golden.h"

#include <ctype.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Checks ------------------------------------------------------------------------------------------------------------ */

void test_fail(struct test *t, const char *file, int line, const char *what, const char *format, ...)
{
    va_list arguments;
    const char *name = strrchr(file, '/');
    t->failures++;
    printf("%s:%d: %s: %s: ", name ? name + 1 : file, line, t->name, what);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

struct ktrace_trace_info info_of(struct test *t)
{
    struct ktrace_trace_info info = {.struct_size = sizeof info};
    MUST(ktrace_trace_get_info(&info, t->trace));
    return info;
}

struct ktrace_launch_info launch_info(struct test *t, uint64_t launch)
{
    struct ktrace_launch_info info = {.struct_size = sizeof info};
    MUST(ktrace_trace_launch(&info, t->trace, launch));
    return info;
}

struct ktrace_wave_info wave_info(struct test *t, uint64_t wave)
{
    struct ktrace_wave_info info = {.struct_size = sizeof info};
    MUST(ktrace_trace_wave(&info, t->trace, wave));
    return info;
}

struct ktrace_event_info event_info(struct test *t, uint64_t wave, uint32_t event)
{
    struct ktrace_event_info info = {.struct_size = sizeof info, .name = "(no such event)"};
    MUST(ktrace_trace_event(&info, t->trace, wave, event));
    return info;
}

/* Alternatives are separated by " OR ". */
static int is_one_of(const char *actual, const char *events)
{
    const size_t length = strlen(actual);
    for (const char *at = events; at; at = strstr(at, " OR ") ? strstr(at, " OR ") + 4 : NULL)
        if (!strncmp(at, actual, length) && (at[length] == 0 || !strncmp(at + length, " OR ", 4)))
            return 1;
    return 0;
}

void expect_wave(struct test *t, uint64_t wave, const char *events)
{
    char *actual = short_text(t, wave);
    if (!is_one_of(actual, events))
        test_fail(t, __FILE__, __LINE__, "events", "wave %llu\n  holds    %s\n  expected %s", (unsigned long long)wave,
                  actual, events);
    free(actual);
}

void expect(struct test *t, const char *events)
{
    const uint64_t waves = info_of(t).waves;
    CHECK(waves > 0, "no wave recorded");
    for (uint64_t wave = 0; wave < waves; wave++)
        expect_wave(t, wave, events);
}

void expect_clean(struct test *t, uint64_t unmatched, uint64_t unclosed)
{
    const struct ktrace_trace_info info = info_of(t);
    CHECK(info.simulated && info.arch == KTRACE_ARCH_AMDGCN, "not of a simulated AMD device");
    CHECK(info.waves_dropped == 0 && info.waves_unfinished == 0 && info.slots_lost == 0 && info.slots_corrupt == 0 &&
              info.clocks_ambiguous == 0,
          "something is lost");
    CHECK(info.ends_unmatched == unmatched, "%llu", (unsigned long long)info.ends_unmatched);
    CHECK(info.ranges_unclosed == unclosed, "%llu", (unsigned long long)info.ranges_unclosed);
    for (uint64_t i = 0; i < info.launches; i++)
        CHECK(launch_info(t, i).waves + info.waves_filtered >= launch_info(t, i).waves_launched,
              "launch %llu is not whole", (unsigned long long)i);
}

/* ---- Captures ---------------------------------------------------------------------------------------------------------- */

void launch_shape(struct test *t, const char *kernel, struct shape shape, int n, hipStream_t stream)
{
    hipFunction_t function;
    OK(hipModuleGetFunction(&function, t->module, kernel));
    void *arguments[] = {&t->out, &n};
    OK(hipModuleLaunchKernel(function, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1],
                             shape.block[2], 0, stream, arguments, NULL));
}

void launch(struct test *t, const char *kernel, uint32_t groups, uint32_t threads, int n)
{
    launch_shape(t, kernel, (struct shape){{groups, 1, 1}, {threads, 1, 1}}, n, NULL);
}

void launch_of(struct test *t, hipModule_t module, const char *kernel, uint32_t groups, uint32_t threads, int n)
{
    const hipModule_t own = t->module;
    t->module = module;
    launch(t, kernel, groups, threads, n);
    t->module = own;
}

struct ktrace_capture_options sized(uint32_t events_per_wave, uint64_t buffer_bytes)
{
    struct ktrace_capture_options options = KTRACE_CAPTURE_OPTIONS_INIT;
    options.events_per_wave = events_per_wave;
    options.buffer_bytes = buffer_bytes ? buffer_bytes : 1 << 20;
    return options;
}

void begin(struct test *t, const struct ktrace_capture_options *options)
{
    const struct ktrace_capture_options roomy = sized(0, 0);
    MUST(ktrace_capture_begin(&t->capture, options ? options : &roomy));
}

static void taken(struct test *t, int status, struct ktrace_trace *trace)
{
    MUST(status);
    if (status < 0)
        return;
    ktrace_trace_destroy(t->trace);
    t->trace = trace;
    write_trace(t->text, t);
    if (t->save) {
        char path[4096];
        t->saved++;
        snprintf(path, sizeof path, t->saved > 1 ? "%s/%s_%d.ktrace" : "%s/%s.ktrace", t->save, t->name, t->saved);
        MUST(ktrace_trace_save(trace, path));
    }
}

void read_trace(struct test *t)
{
    struct ktrace_trace *trace = NULL;
    const int status = ktrace_capture_read(&trace, t->capture);
    taken(t, status, trace);
}

void peek_trace(struct test *t)
{
    struct ktrace_trace *trace = NULL;
    const int status = ktrace_capture_peek(&trace, t->capture);
    taken(t, status, trace);
}

void end(struct test *t)
{
    struct ktrace_trace *trace = NULL;
    const int status = ktrace_capture_end(&trace, t->capture);
    t->capture = NULL;
    taken(t, status, trace);
}

uint64_t overflows(struct test *t, const char *option)
{
    struct ktrace_trace *trace = NULL;
    char key[64];
    const int status = ktrace_capture_read(&trace, t->capture);
    CHECK(status == KTRACE_ERROR_OVERFLOW && !trace, "%s", ktrace_status_name(status));
    if (status != KTRACE_ERROR_OVERFLOW)
        return 0;
    fprintf(t->text, "%s: %s\n", ktrace_status_name(status), ktrace_last_error());
    snprintf(key, sizeof key, "%s >= ", option);
    const char *at = strstr(ktrace_last_error(), key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

void read_out(struct test *t, int *values, size_t count)
{
    OK(hipMemcpy(values, t->out, count * sizeof *values, hipMemcpyDeviceToHost));
}

void read_control(struct test *t, struct ktrace_control *control, struct ktrace_counters *counters)
{
    hipDeviceptr_t address;
    size_t bytes;
    OK(hipModuleGetGlobal(&address, &bytes, t->module, "ktrace_control_block"));
    CHECK(bytes == sizeof(struct ktrace_control_amdgcn), "%zu bytes", bytes);
    OK(hipMemcpy(control, address, sizeof *control, hipMemcpyDeviceToHost));
    OK(hipMemcpy(counters, (void *)(uintptr_t)control->counters, sizeof *counters, hipMemcpyDeviceToHost));
}

/* ---- Running ----------------------------------------------------------------------------------------------------------- */

static void run_plainly(struct test *t, const struct golden_case *c)
{
    begin(t, NULL);
    launch(t, c->kernel, c->groups ? c->groups : 1, c->threads, c->n);
    end(t);
    if (!t->trace)
        return;
    expect(t, c->expected);
    expect_clean(t, c->unmatched, c->unclosed);
}

static void run_case(struct test *t, const struct golden_case *c)
{
    if (c->environment)
        putenv((char *)(uintptr_t)c->environment);
    OK(hipModuleLoad(&t->module, t->kernels));
    OK(hipMalloc((void **)&t->out, OUT_WORDS * sizeof(int)));
    MUST(ktrace_attach_hip_module(t->module));
    if (t->failures)
        return;
    if (c->run)
        c->run(t);
    else
        run_plainly(t, c);
    ktrace_trace_destroy(t->trace);
    ktrace_capture_destroy(t->capture);
}

/* In a process of its own; its text. NULL: it failed and has said why. */
static char *text_of_case(const struct golden_case *c, const char *kernels, const char *save)
{
    int ends[2], status;
    char *text = NULL, buffer[4096];
    size_t bytes;
    fflush(NULL);
    if (pipe(ends))
        return NULL;
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        struct test test = {.text = fdopen(ends[1], "w"), .name = c->name, .kernels = kernels, .save = save};
        run_case(&test, c);
        fflush(NULL);
        _exit(test.failures != 0);
    }
    close(ends[1]);
    FILE *out = open_memstream(&text, &bytes);
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
        fwrite(buffer, 1, (size_t)got, out);
    fclose(out);
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status)) {
        if (child < 0 || !WIFEXITED(status))
            printf("%s: the process crashed\n", c->name);
        free(text);
        return NULL;
    }
    return text;
}

/* ---- Golden files ------------------------------------------------------------------------------------------------------ */

static char *read_file(const char *path)
{
    char *text = NULL;
    size_t bytes;
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    FILE *out = open_memstream(&text, &bytes);
    for (int c; (c = fgetc(file)) != EOF;)
        fputc(c, out);
    fclose(out);
    fclose(file);
    return text;
}

static void without_times(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        const char c = *to++ = *from++;
        if (c == '@')
            while (isdigit((unsigned char)*from) || *from == '-')
                from++;
    }
    *to = 0;
}

/* The part of the golden file that belongs to a case. */
static char *section_of(const char *golden, const char *name)
{
    char heading[128];
    snprintf(heading, sizeof heading, "\n== %s\n", name);
    const char *at = golden ? strstr(golden, heading) : NULL;
    if (!at)
        return NULL;
    at += strlen(heading);
    const char *next = strstr(at, "\n== ");
    return next ? strndup(at, (size_t)(next - at)) : strdup(at);
}

static int same(const char *name, const char *expected, const char *actual)
{
    for (int line = 1, shown = 0; *expected || *actual; line++) {
        const size_t a = strcspn(expected, "\n"), b = strcspn(actual, "\n");
        if (a != b || memcmp(expected, actual, a) != 0) {
            printf(
                "%s: line %d of the case differs from the golden file (--update accepts it)\n  golden %.*s\n  now    "
                "%.*s\n",
                name, line, (int)a, expected, (int)b, actual);
            if (++shown == 3)
                return 0;
        }
        expected += a + (expected[a] == '\n');
        actual += b + (actual[b] == '\n');
        if (shown && !*expected && !*actual)
            return 0;
    }
    return 1;
}

static int compare(const char *golden, const struct golden_case *c, char *text, int with_times)
{
    char *expected = section_of(golden, c->name);
    if (!expected) {
        printf("%s: is not in the golden file (--update writes it)\n", c->name);
        return 0;
    }
    if (!with_times) {
        without_times(expected);
        without_times(text);
    }
    const int equal = same(c->name, expected, text);
    free(expected);
    return equal;
}

int main(int argc, char **argv)
{
    const char *kernels = NULL, *path = NULL, *compiler = "", *only = NULL, *save = NULL;
    int update = 0, failed = 0, count = 0;
    for (int i = 1; i < argc; i++) {
        const char *const value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--kernels"))
            kernels = value, i++;
        else if (!strcmp(argv[i], "--golden"))
            path = value, i++;
        else if (!strcmp(argv[i], "--compiler"))
            compiler = value, i++;
        else if (!strcmp(argv[i], "--only"))
            only = value, i++;
        else if (!strcmp(argv[i], "--save"))
            save = value, i++;
        else if (!strcmp(argv[i], "--update"))
            update = 1;
        else if (!strcmp(argv[i], "--list")) {
            for (const struct golden_case *c = golden_cases; c->name; c++)
                puts(c->name);
            return 0;
        } else {
            printf("unknown option %s: see the top of golden.c\n", argv[i]);
            return 2;
        }
    }
    if (!kernels || (update && (!path || only))) {
        puts("--kernels is needed, and --update goes with --golden and without --only");
        return 2;
    }
    char *golden = path && !update ? read_file(path) : NULL, *whole = NULL, heading[256];
    size_t bytes;
    FILE *written = open_memstream(&whole, &bytes);
    snprintf(heading, sizeof heading, "%s; kernels by %s\n", golden_group, compiler);
    fputs(heading, written);
    const int with_times = golden && !strncmp(golden, heading, strlen(heading));
    if (golden && !with_times)
        printf("times are not compared: the kernels are by %s, and %s is of %.*s", compiler, path,
               (int)strcspn(golden, "\n") + 1, golden);
    for (const struct golden_case *c = golden_cases; c->name; c++) {
        if (only && strcmp(only, c->name) != 0)
            continue;
        char *text = text_of_case(c, kernels, save);
        count++;
        if (text && update)
            fprintf(written, "\n== %s\n%s", c->name, text);
        if (!text || (path && !update && !compare(golden, c, text, with_times)))
            failed++;
        free(text);
    }
    fclose(written);
    if (update && !failed) {
        FILE *file = fopen(path, "w");
        if (!file || fputs(whole, file) < 0 || fclose(file)) {
            printf("%s cannot be written\n", path);
            failed++;
        }
    }
    printf("%s: %d of %d cases as expected\n", golden_group, count - failed, count);
    free(golden);
    free(whole);
    return failed || !count;
}
