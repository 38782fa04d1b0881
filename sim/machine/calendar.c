#include "calendar.h"

#include <string.h>

#define MASK (CALENDAR_CYCLES - 1)
#define HALF (CALENDAR_CYCLES / 2)

void calendar_init(struct calendar *calendar)
{
    memset(calendar, 0, sizeof *calendar);
    calendar->horizon = CALENDAR_CYCLES;
}

static void append(struct event_list *list, struct event *event)
{
    event->next = NULL;
    event->previous = list->last;
    if (list->last)
        list->last->next = event;
    else
        list->first = event;
    list->last = event;
}

static void unlink_from(struct event_list *list, struct event *event)
{
    if (event->previous)
        event->previous->next = event->next;
    else
        list->first = event->next;
    if (event->next)
        event->next->previous = event->previous;
    else
        list->last = event->previous;
}

static void add_to_ring(struct calendar *calendar, struct event *event)
{
    unsigned slot = event->cycle & MASK;
    append(&calendar->ring[slot], event);
    calendar->bits[slot / 64] |= 1ull << slot % 64;
    calendar->in_ring++;
    event->is_far = 0;
}

void calendar_add(struct calendar *calendar, struct event *event, uint64_t cycle)
{
    event->cycle = cycle;
    if (cycle < calendar->horizon) {
        add_to_ring(calendar, event);
        return;
    }
    event->is_far = 1;
    append(&calendar->far, event);
}

void calendar_remove(struct calendar *calendar, struct event *event)
{
    if (event->cycle == SIM_NEVER)
        return;
    if (event->is_far) {
        unlink_from(&calendar->far, event);
    } else {
        unsigned slot = event->cycle & MASK;
        unlink_from(&calendar->ring[slot], event);
        if (!calendar->ring[slot].first)
            calendar->bits[slot / 64] &= ~(1ull << slot % 64);
        calendar->in_ring--;
    }
    event->cycle = SIM_NEVER;
}

static void move_horizon(struct calendar *calendar, uint64_t horizon)
{
    calendar->horizon = horizon;
    for (struct event *event = calendar->far.first, *next; event; event = next) {
        next = event->next;
        if (event->cycle < horizon) {
            unlink_from(&calendar->far, event);
            add_to_ring(calendar, event);
        }
    }
}

static struct event *earliest_of(const struct event_list *list)
{
    struct event *earliest = list->first;
    for (struct event *event = list->first; event; event = event->next)
        if (event->cycle < earliest->cycle)
            earliest = event;
    return earliest;
}

struct event *calendar_first(const struct calendar *calendar)
{
    if (!calendar->in_ring)
        return earliest_of(&calendar->far);
    unsigned slot = calendar->now & MASK, word = slot / 64;
    uint64_t bits = calendar->bits[word] & ~0ull << slot % 64;
    while (!bits) {
        word = (word + 1) % (CALENDAR_CYCLES / 64);
        bits = calendar->bits[word];
    }
    return calendar->ring[word * 64 + (unsigned)__builtin_ctzll(bits)].first;
}

void calendar_advance(struct calendar *calendar, uint64_t cycle)
{
    calendar->now = cycle;
    uint64_t horizon = cycle / HALF * HALF + CALENDAR_CYCLES;
    if (horizon != calendar->horizon)
        move_horizon(calendar, horizon);
}
