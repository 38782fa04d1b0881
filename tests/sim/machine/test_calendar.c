/* The calendar against a list that is searched, with events near and far. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "machine/calendar.h"

enum { EVENTS = 300, STEPS = 200000 };

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 33;
}

/* Mostly a few cycles ahead, now and then in half a ring, a ring, or far beyond. */
static uint64_t ahead(uint64_t *random)
{
    static const uint64_t spans[] = {8, 8, 64, 600, CALENDAR_CYCLES / 2, CALENDAR_CYCLES, 3 * CALENDAR_CYCLES, 1000000};
    return next_random(random) % spans[next_random(random) % 8];
}

static void events_come_in_order(void **state)
{
    (void)state;
    struct calendar *calendar = malloc(sizeof *calendar);
    static struct event events[EVENTS];
    static uint64_t added[EVENTS]; /* when: events of one cycle come in this order */
    uint64_t random = 7, now = 0;
    calendar_init(calendar);
    for (int i = 0; i < EVENTS; i++)
        event_init(&events[i]);
    for (uint64_t step = 1; step < STEPS; step++) {
        int i = (int)(next_random(&random) % EVENTS);
        if (events[i].cycle == SIM_NEVER) {
            calendar_add(calendar, &events[i], now + ahead(&random));
            added[i] = step;
        } else if (next_random(&random) % 8 == 0) {
            calendar_remove(calendar, &events[i]);
            assert_int_equal(events[i].cycle, SIM_NEVER);
        }
        struct event *expected = NULL;
        for (int e = 0; e < EVENTS; e++)
            if (events[e].cycle != SIM_NEVER &&
                (!expected || events[e].cycle < expected->cycle ||
                 (events[e].cycle == expected->cycle && added[e] < added[expected - events])))
                expected = &events[e];
        struct event *first = calendar_first(calendar);
        assert_ptr_equal(first, expected);
        if (first && next_random(&random) % 2) {
            now = first->cycle;
            calendar_advance(calendar, now);
            calendar_remove(calendar, first);
        } else if (first && next_random(&random) % 16 == 0) { /* time passes, and nothing happens */
            now += next_random(&random) % (first->cycle - now + 1);
            calendar_advance(calendar, now);
        }
    }
    free(calendar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(events_come_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
