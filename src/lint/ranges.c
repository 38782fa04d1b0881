#include "ranges.h"

#include "../array.h"
#include "ktrace/record.h"

enum { MOST_DEPTH = 63 };

struct place {
    uint32_t at;
    uint32_t depth; /* ranges of the stack that were opened since */
};

struct walk {
    const struct lint_code *code;
    uint32_t *event_at; /* of instruction i: the event whose clock it reads; LINT_NONE */
    uint64_t *seen;     /* of instruction i: bit d: it was reached with depth d */
    uint32_t *touched;  /* instructions that were seen, to forget them */
    size_t touched_count;
    struct place *waiting;
    size_t waiting_count, waiting_capacity;
};

static int reach(struct walk *walk, uint32_t at, uint32_t depth)
{
    if (walk->seen[at] >> depth & 1)
        return KTRACE_OK;
    const int status =
        kt_array_reserve(&walk->waiting, &walk->waiting_capacity, walk->waiting_count + 1, sizeof *walk->waiting);
    if (status < 0)
        return status;
    if (walk->seen[at] == 0)
        walk->touched[walk->touched_count++] = at;
    walk->seen[at] |= (uint64_t)1 << depth;
    walk->waiting[walk->waiting_count++] = (struct place){at, depth};
    return KTRACE_OK;
}

static int reach_next(struct walk *walk, uint32_t at, uint32_t depth)
{
    const struct lint_instruction *instruction = &walk->code->items[at];
    int status = KTRACE_OK;
    for (uint32_t i = 0; i < instruction->target_count && status == KTRACE_OK; i++)
        status = reach(walk, walk->code->targets[instruction->first_target + i], depth);
    if (!instruction->ends && at + 1 < walk->code->count && status == KTRACE_OK)
        status = reach(walk, at + 1, depth);
    return status;
}

static bool is_token(const struct lint_event *event)
{
    return event->site->kind == KTRACE_KIND_START || event->site->kind == KTRACE_KIND_NEXT;
}

static bool may_end(const struct lint_code *code, const struct lint_event *event, uint32_t begin)
{
    for (uint32_t i = 0; i < event->start_count; i++)
        if (code->starts[event->first_start + i] == begin)
            return true;
    return false;
}

/* Whether an event ends the range; else how many of the stack are open behind it. */
static bool is_end(uint32_t *depth, struct lint_range *range, const struct lint_code *code,
                   const struct lint_event *event)
{
    if (is_token(&code->events[range->begin]))
        return may_end(code, event, range->begin);
    if (event->site->kind == KTRACE_KIND_PUSH) {
        if (*depth == MOST_DEPTH)
            range->examined = LINT_TOO_DEEP;
        else
            ++*depth;
    }
    if (event->site->kind != KTRACE_KIND_POP)
        return false;
    if (*depth == 0)
        return true;
    --*depth;
    return false;
}

static int examine(struct lint_range *range, struct walk *walk)
{
    const struct lint_code *code = walk->code;
    int status = reach_next(walk, code->events[range->begin].clock, 0);
    while (walk->waiting_count > 0 && status == KTRACE_OK) {
        struct place place = walk->waiting[--walk->waiting_count];
        const struct lint_instruction *instruction = &code->items[place.at];
        const uint32_t event = walk->event_at[place.at];
        if (event != LINT_NONE && is_end(&place.depth, range, code, &code->events[event])) {
            range->ends++;
            continue;
        }
        if (instruction->leaves)
            range->examined = LINT_LEFT;
        status = reach_next(walk, place.at, place.depth);
    }
    for (size_t i = 0; i < walk->touched_count; i++) {
        const struct lint_instruction *instruction = &code->items[walk->touched[i]];
        if (instruction->event == LINT_NONE && instruction->weight >= LINT_CHEAP) {
            range->inside++;
            range->work += instruction->weight == LINT_WORK;
        }
        walk->seen[walk->touched[i]] = 0;
    }
    walk->touched_count = walk->waiting_count = 0;
    if (range->examined == LINT_EXAMINED && range->ends == 0)
        range->examined = is_token(&code->events[range->begin]) ? LINT_TOKEN : LINT_NO_END;
    if (code->unnamed > 0)
        range->examined = LINT_NOT_NAMED;
    return status;
}

static int examine_all(struct lint_range *ranges, size_t count, struct walk *walk)
{
    int status = KTRACE_OK;
    for (size_t i = 0; i < walk->code->count; i++)
        walk->event_at[i] = LINT_NONE;
    for (uint32_t i = 0; i < walk->code->event_count; i++)
        walk->event_at[walk->code->events[i].clock] = i;
    for (size_t i = 0; i < count && status == KTRACE_OK; i++)
        status = examine(&ranges[i], walk);
    return status;
}

int lint_find_ranges(struct lint_range **out, size_t *count, const struct lint_code *code)
{
    struct lint_range *ranges = kt_array_new_zeroed(code->event_count, sizeof *ranges);
    struct walk walk = {.code = code,
                        .event_at = kt_array_new(code->count, sizeof *walk.event_at),
                        .seen = kt_array_new_zeroed(code->count, sizeof *walk.seen),
                        .touched = kt_array_new(code->count, sizeof *walk.touched)};
    int status = ranges && walk.event_at && walk.seen && walk.touched ? KTRACE_OK : KTRACE_ERROR_MEMORY;
    *count = 0;
    for (uint32_t i = 0; i < code->event_count && status == KTRACE_OK; i++) {
        const uint8_t kind = code->events[i].site->kind;
        if (kind == KTRACE_KIND_PUSH || kind == KTRACE_KIND_START || kind == KTRACE_KIND_NEXT)
            ranges[(*count)++].begin = i;
    }
    if (status == KTRACE_OK)
        status = examine_all(ranges, *count, &walk);
    free(walk.event_at);
    free(walk.seen);
    free(walk.touched);
    free(walk.waiting);
    if (status < 0) {
        free(ranges);
        return status;
    }
    *out = ranges;
    return KTRACE_OK;
}
