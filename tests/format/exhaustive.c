/* exhaustive.c - small .ktrace files, damaged in every way that one byte can be: an error with a sentence, or an answer.
 *
 *     exhaustive FILE.ktrace...
 *
 * Of each file: cut off at every byte; every byte with each of its bits flipped, and set to 0x00 and 0xFF; and each of these again with
 * checksums and length made right, so that the damage reaches what lies behind them; and many pairs of bytes. What is
 * loaded is looked at with all that reads a trace (tests/fuzz/look.h). Without right checksums what is loaded has to be what the undamaged file
 * gives, and a file that is cut off gives nothing. A case that runs for 20 seconds of processor time hangs. */
#include "../fuzz/look.h"
#include "../fuzz/repair.h"
#include "error.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

enum { HANGS_S = 20, PAIRS = 3000, FULL_LOOKS = 48 /* every how many cases all is looked at, not the facts alone */ };

/* The case that runs, for who hears of a crash or a hang. */
static struct {
    const char *file;
    const char *what;
    size_t at, second;
    unsigned value;
} now;

static unsigned long long cases, answers;

static void fail(const char *sentence)
{
    fprintf(stderr, "%s: %s at byte %zu (%zu), value 0x%02x: %s\n", now.file, now.what, now.at, now.second, now.value,
            sentence);
    exit(1);
}

static void hangs(int signal)
{
    static char text[512];
    int length = snprintf(text, sizeof text, "%s: %s at byte %zu (%zu), value 0x%02x: still not done (signal %d)\n",
                          now.file, now.what, now.at, now.second, now.value, signal);
    (void)!write(STDERR_FILENO, text, (size_t)length);
    _exit(1);
}

static void begin_case(const char *what, size_t at, size_t second, unsigned value)
{
    const struct itimerval limit = {.it_value = {.tv_sec = HANGS_S}};
    now.what = what;
    now.at = at;
    now.second = second;
    now.value = value;
    setitimer(ITIMER_PROF, &limit, NULL);
    cases++;
}

/* The trace, or NULL; then there is a sentence. */
static struct ktrace_trace *load(const uint8_t *data, size_t bytes)
{
    struct ktrace_trace *trace = NULL;
    (void)kt_fail(KTRACE_ERROR_STATE, "%s", "");
    int status = ktrace_trace_load_memory(&trace, data, bytes);
    if (status == 0)
        return trace;
    if (status != KTRACE_ERROR_FORMAT && status != KTRACE_ERROR_VERSION)
        fail(ktrace_status_name(status));
    if (trace || strlen(ktrace_last_error()) < 10)
        fail("an error without a sentence, or with a trace");
    return NULL;
}

/* Damage that reaches the decoder. `data` is repaired here. */
static void try_repaired(uint8_t *data, size_t bytes)
{
    repair(data, bytes);
    struct ktrace_trace *trace = load(data, bytes);
    if (!trace)
        return;
    answers++;
    look_at(trace, cases % FULL_LOOKS == 0 ? LOOK_ALL : LOOK_FACTS);
    ktrace_trace_destroy(trace);
}

/* Damage that nobody hid: nothing else than `whole` may come of it. */
static void try_as_it_is(const uint8_t *data, size_t bytes, uint64_t whole)
{
    struct ktrace_trace *trace = load(data, bytes);
    if (trace && look_at(trace, LOOK_FACTS | LOOK_TEXTS) != whole)
        fail("a damaged file was taken for a whole one");
    ktrace_trace_destroy(trace);
}

/* A copy of exactly this length, so that a sanitizer sees the end. */
static uint8_t *copy_of(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        fail("no memory");
    memcpy(copy, data, bytes);
    return copy;
}

static void cut_off_everywhere(const uint8_t *data, size_t bytes)
{
    for (size_t length = 0; length < bytes; length++) {
        uint8_t *shorter = copy_of(data, length);
        begin_case("cut off", length, 0, 0);
        if (load(shorter, length))
            fail("a file that is cut off was taken for a whole one");
        begin_case("cut off and repaired", length, 0, 0);
        try_repaired(shorter, length);
        free(shorter);
    }
}

static void change_every_byte(const uint8_t *data, size_t bytes, uint64_t whole)
{
    for (size_t at = 0; at < bytes; at++) {
        for (unsigned way = 0; way < 10; way++) {
            const uint8_t value = way < 8 ? (uint8_t)(data[at] ^ 1u << way) : way == 8 ? 0 : 0xFF;
            if (value == data[at])
                continue;
            uint8_t *changed = copy_of(data, bytes);
            changed[at] = value;
            begin_case("changed", at, 0, value);
            try_as_it_is(changed, bytes, whole);
            begin_case("changed and repaired", at, 0, value);
            try_repaired(changed, bytes);
            free(changed);
        }
    }
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void change_pairs(const uint8_t *data, size_t bytes)
{
    uint32_t state = 2463534242;
    for (unsigned i = 0; i < PAIRS; i++) {
        const size_t first = next_random(&state) % bytes;
        /* mostly in the same record */
        const size_t second = (i % 2 ? first + 1 + next_random(&state) % 32 : next_random(&state)) % bytes;
        uint8_t *changed = copy_of(data, bytes);
        changed[first] = (uint8_t)next_random(&state);
        changed[second] ^= (uint8_t)(1u << next_random(&state) % 8);
        begin_case("a pair changed and repaired", first, second, changed[first]);
        try_repaired(changed, bytes);
        free(changed);
    }
}

static void damage(const char *path)
{
    void *data;
    size_t bytes;
    now.file = path;
    begin_case("nothing", 0, 0, 0);
    if (kt_file_read(&data, &bytes, path) < 0)
        fail(ktrace_last_error());
    struct ktrace_trace *trace = load(data, bytes);
    if (!trace)
        fail(ktrace_last_error());
    const uint64_t whole = look_at(trace, LOOK_FACTS | LOOK_TEXTS);
    look_at(trace, LOOK_ALL | LOOK_PAGE);
    ktrace_trace_destroy(trace);
    cut_off_everywhere(data, bytes);
    change_every_byte(data, bytes, whole);
    change_pairs(data, bytes);
    free(data);
}

int main(int argc, char **argv)
{
    signal(SIGPROF, hangs);
    for (int i = 1; i < argc; i++) {
        const unsigned long long cases_before = cases, answers_before = answers;
        damage(argv[i]);
        printf("%s: %llu cases, %llu answers\n", argv[i], cases - cases_before, answers - answers_before);
        fflush(stdout);
    }
    return argc > 1 && answers ? 0 : 1;
}
