/* golden_payloads.c - payloads of every type, bit by bit, from kernels in C, OpenCL C and HIP C++. */
#include "golden.h"

const char *const golden_group = "payloads";

static const uint64_t bits[] = {
    /* 0 */ 1,
    0,
    /* 2: char, short, int, long */ 0x80,
    0x8000,
    0x80000000,
    0x8000000000000000,
    0xFFFFFFFFFFFFFFFF,
    /* 7: float: -0, 1.5, inf, -inf, a NaN that signals, the smallest */ 0x80000000,
    0x3FC00000,
    0x7F800000,
    0xFF800000,
    0x7FA00001,
    1,
    /* 13: double: -0, -inf, a NaN that signals, the smallest */ 0x8000000000000000,
    0xFFF0000000000000,
    0x7FF4000000000001,
    1,
    /* 17: half: -0, the largest, the smallest, -inf */ 0x8000,
    0x7BFF,
    0x0001,
    0xFC00,
    /* 21: bfloat16: -3, a NaN */ 0xC040,
    0x7FC1};

#define WHOLE_NUMBERS \
    "absent zero=0 bool=true bool=false char=-128 schar=-128 uchar=128 short=-32768 ushort=32768 int=-2147483648 " \
    "uint=2147483648 long=-9223372036854775808 ulong=9223372036854775808 ulong=18446744073709551615 long=-1 "
#define LONG_LONGS "llong=-9223372036854775808 ullong=18446744073709551615 "
#define FLOATS \
    "float=-0/80000000 float=1.5/3fc00000 float=inf/7f800000 float=-inf/ff800000 float=nan/7fa00001 " \
    "float=1.4013e-45/00000001 double=-0/8000000000000000 double=-inf/fff0000000000000 double=nan/7ff4000000000001 " \
    "double=4.94066e-324/0000000000000001 half=-0/80000000 half=65504/477fe000 half=5.96046e-08/33800000 " \
    "half=-inf/ff800000"
#define BFLOATS " bfloat16=-3/c0400000 bfloat16=nan/7fc10000"

static void from_memory(struct test *t)
{
    OK(hipMemcpy(t->out, bits, sizeof bits, hipMemcpyHostToDevice));
    begin(t, NULL);
    launch(t, "from_memory", 1, 64, 0);
    end(t);
    expect_clean(t, 0, 0);
    /* OpenCL C has neither long long nor bfloat16 */
    expect(t, strstr(t->kernels, "_cl_") ? WHOLE_NUMBERS FLOATS : WHOLE_NUMBERS LONG_LONGS FLOATS BFLOATS);
}

/* Names and lines are those of the source. */
static void sources(struct test *t)
{
    begin(t, NULL);
    launch(t, "on_ranges", 1, 64, 1);
    end(t);
    const struct ktrace_event_info first = event_info(t, 0, 0), second = event_info(t, 0, 1), pop = event_info(t, 0, 2);
    CHECK(!strcmp(first.name, "scoped") && strstr(first.file, "kernels_payloads.c"), "%s in %s", first.name,
          first.file);
    CHECK(second.line == first.line + 1 && first.line > 10, "lines %u and %u", first.line, second.line);
    CHECK(!*pop.name && pop.kind == KTRACE_KIND_POP, "%s", pop.name);
}

static void like_slots(struct test *t)
{
    static const int sites[] = {0, 1, 2, 3, 0x60, 0xFFFF};
    const struct ktrace_capture_options options = sized(32, 0);
    begin(t, &options);
    for (size_t i = 0; i < sizeof sites / sizeof sites[0]; i++) {
        launch(t, "like_slots", 1, 64, sites[i]);
        t->is_brief = 1;
        read_trace(t);
        expect_clean(t, 0, 0);
        REQUIRE(info_of(t).waves == 1 && wave_info(t, 0).events == 12, "%u events", wave_info(t, 0).events);
        for (uint32_t k = 0; k < 12; k++) {
            const uint64_t wanted = (uint64_t)((2 * k + 2) << 16 | (uint32_t)sites[i]) << 32 | 0x12345678u;
            CHECK(event_info(t, 0, k).payload == wanted, "site 0x%x, event %u: 0x%llx", (unsigned)sites[i], k,
                  (unsigned long long)event_info(t, 0, k).payload);
        }
    }
}

static const struct golden_case cases[] = {
    RUNS(from_memory),
    RECORDS("constants", "constants", 1, 64, -5,
            "zero=0 minus one=-1 unsigned=4294967295 two to the 63=9223372036854775808 all ones=18446744073709551615 "
            "letter=107 float=2.5/40200000 minus zero=-0/80000000 double=2.5/4004000000000000 half=0.5/3f000000 n=-5"),
    RECORDS(
        "on_ranges", "on_ranges", 1, 64, 1,
        "scoped{=18446744073709551614 pushed{=0 }pushed }scoped +both=0 -both=-0/8000000000000000 +start=false -start "
        "+stop -stop=18446744073709551614 leader=30 leader=40/42200000"),
    RUNS(sources),
    RUNS(like_slots),
    NO_MORE};
const struct golden_case *const golden_cases = cases;
