/* sim_speed - how many wave instructions a second the simulator executes, on one core: a loop of FMAs, a stream through
 * memory, a loop of MFMAs; by one wave, and by a chip full of them.
 *
 * Figures are medians over rounds of CPU time (user and system). Usage: sim_speed [--rounds N] [CODE_OBJECT]. Prints
 * Markdown.
 */
#include "machine/machine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("sim_speed: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static double cpu_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct device {
    struct sim_machine *machine;
    struct sim_module *module;
};

static struct device open_device(const char *path)
{
    static unsigned char image[1 << 20];
    FILE *stream = fopen(path, "rb");
    if (!stream)
        fail("%s cannot be opened", path);
    size_t bytes = fread(image, 1, sizeof image, stream);
    fclose(stream);
    struct sim_chip_config config;
    struct device device;
    sim_chip_config_init(&config, SIM_GFX942);
    if (sim_machine_create(&device.machine, &config) || sim_module_load(&device.module, device.machine, image, bytes))
        fail("%s", sim_error());
    return device;
}

static void *allocate(struct device *device, uint64_t bytes)
{
    void *address;
    if (sim_memory_allocate(&address, device->machine, bytes))
        fail("%s", sim_error());
    memset(address, 0, bytes);
    return address;
}

/* Instructions that a launch executes; *seconds of CPU time. */
static uint64_t launch(double *seconds, struct device *device, const char *kernel, uint32_t workgroups, uint32_t items,
                       const void *kernarg)
{
    struct sim_dispatch_config config = {.kernel = sim_module_kernel(device->module, kernel),
                                         .grid = {workgroups, 1, 1},
                                         .block = {items, 1, 1},
                                         .last_block = {items, 1, 1},
                                         .kernarg = kernarg};
    struct sim_dispatch *dispatch;
    uint64_t before = sim_machine_instructions(device->machine);
    double start = cpu_seconds();
    if (!config.kernel || sim_dispatch_start(&dispatch, device->machine, &config))
        fail("%s", sim_error());
    while (!sim_dispatch_state(dispatch))
        sim_machine_run(device->machine, UINT64_MAX);
    *seconds = cpu_seconds() - start;
    if (sim_dispatch_state(dispatch) < 0)
        fail("%s", sim_dispatch_error(dispatch));
    sim_dispatch_release(dispatch);
    return sim_machine_instructions(device->machine) - before;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { MAX_ROUNDS = 101, ITEMS = 256 };

static void measure(struct device *device, const char *what, const char *kernel, uint32_t workgroups, uint32_t items,
                    const void *kernarg, int rounds)
{
    double seconds[MAX_ROUNDS];
    uint64_t instructions = 0;
    for (int i = 0; i < rounds; i++)
        instructions = launch(&seconds[i], device, kernel, workgroups, items, kernarg);
    qsort(seconds, (size_t)rounds, sizeof *seconds, by_value);
    double median = seconds[rounds / 2];
    printf("| %s | %u | %" PRIu64 " | %.2f | %.0f |\n", what, workgroups * ((items + 63) / 64), instructions,
           (double)instructions / median / 1e6, median / (double)instructions * 1e9);
}

int main(int argc, char **argv)
{
    int rounds = 5;
    const char *path = SIM_SPEED_KERNELS;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
            rounds = atoi(argv[++i]);
        else if (argv[i][0] != '-')
            path = argv[i];
        else
            fail("usage: sim_speed [--rounds N] [CODE_OBJECT]");
    }
    if (rounds < 1 || rounds > MAX_ROUNDS)
        fail("--rounds takes 1 to %d", MAX_ROUNDS);
    struct device device = open_device(path);
    printf("| kernel | waves | wave instructions | million a second | ns each |\n|---|---|---|---|---|\n");
    static const struct {
        uint32_t workgroups, items, share;
    } sizes[] = {{1, 64, 1}, {304, ITEMS, 300}, {2432, ITEMS, 2400}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint32_t workgroups = sizes[s].workgroups, items = sizes[s].items, share = sizes[s].share;
        size_t lanes = (size_t)workgroups * ITEMS;
        struct {
            void *out;
            uint32_t rounds;
        } alu = {allocate(&device, lanes * 4), 60000 / share + 10}, matrix = {alu.out, 20000 / share + 4};
        uint32_t stream_rounds = share == 1 ? 2000 : 4;
        size_t stream_bytes = lanes * 16 * (stream_rounds + 1);
        struct {
            void *out, *a, *b;
            uint32_t rounds, stride;
        } stream = {allocate(&device, stream_bytes), allocate(&device, stream_bytes), allocate(&device, stream_bytes),
                    stream_rounds, workgroups * ITEMS};
        measure(&device, "FMA loop", "alu", workgroups, items, &alu, rounds);
        measure(&device, "memory stream", "stream", workgroups, items, &stream, rounds);
        measure(&device, "MFMA loop", "matrix", workgroups, items, &matrix, rounds);
    }
    sim_machine_destroy(device.machine);
    return 0;
}
