/* calendar.h - what happens next: events in order of their cycle; events of one cycle in the order they were added.
 *
 * Nearly all events lie a few to a few thousand cycles ahead, so that they wait in a ring of lists, one a cycle, with a bit
 * for each list that is not empty. Events beyond the ring wait in one more list, which is looked through when half a ring
 * has passed.
 */
#ifndef SIM_CALENDAR_H
#define SIM_CALENDAR_H

#include <stdint.h>

#define CALENDAR_CYCLES 4096 /* a power of two */
#define SIM_NEVER UINT64_MAX

struct event {
    struct event *next, *previous;
    uint64_t cycle; /* SIM_NEVER: not in the calendar */
    int is_far;
};

struct event_list {
    struct event *first, *last;
};

struct calendar {
    uint64_t horizon; /* nearer events are in the ring */
    uint64_t now;     /* no event is earlier */
    uint64_t bits[CALENDAR_CYCLES / 64];
    uint64_t in_ring;
    struct event_list ring[CALENDAR_CYCLES];
    struct event_list far;
};

void calendar_init(struct calendar *calendar);
static inline void event_init(struct event *event)
{
    *event = (struct event){.cycle = SIM_NEVER};
}
/* The event is not in the calendar; `cycle` is not earlier than now. */
void calendar_add(struct calendar *calendar, struct event *event, uint64_t cycle);
void calendar_remove(struct calendar *calendar, struct event *event); /* nothing if it is not in the calendar */
/* The earliest event, which stays in the calendar; NULL: none. */
struct event *calendar_first(const struct calendar *calendar);
/* It is `cycle` now: not earlier than before, and no event is earlier. */
void calendar_advance(struct calendar *calendar, uint64_t cycle);

#endif
