#include "code.h"

#include "../array.h"

void lint_listing_free(struct lint_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        struct lint_code *code = &listing->codes[i];
        free(code->items);
        free(code->targets);
        free(code->sources);
        free(code->first_source);
        free(code->events);
        free(code->starts);
    }
    free(listing->codes);
    free(listing->text);
    *listing = (struct lint_listing){0};
}

struct lint_code *lint_add_code(struct lint_listing *listing, const char *name)
{
    if (kt_array_reserve(&listing->codes, &listing->capacity, listing->count + 1, sizeof *listing->codes) < 0)
        return NULL;
    struct lint_code *code = &listing->codes[listing->count++];
    *code = (struct lint_code){.name = name};
    return code;
}

int lint_add_instruction(struct lint_code *code, const struct lint_instruction *instruction)
{
    const int status = kt_array_reserve(&code->items, &code->capacity, code->count + 1, sizeof *code->items);
    if (status < 0)
        return status;
    code->items[code->count] = *instruction;
    code->items[code->count++].event = LINT_NONE;
    return KTRACE_OK;
}

int lint_add_target(struct lint_code *code, uint32_t instruction, uint32_t target)
{
    const int status =
        kt_array_reserve(&code->targets, &code->target_capacity, code->target_count + 1, sizeof *code->targets);
    if (status < 0)
        return status;
    struct lint_instruction *from = &code->items[instruction];
    if (from->target_count == 0)
        from->first_target = (uint32_t)code->target_count;
    from->target_count++;
    code->targets[code->target_count++] = target;
    return KTRACE_OK;
}

int lint_add_event(struct lint_code *code, const struct lint_event *event)
{
    const int status =
        kt_array_reserve(&code->events, &code->event_capacity, code->event_count + 1, sizeof *code->events);
    if (status == KTRACE_OK)
        code->events[code->event_count++] = *event;
    return status;
}

int lint_add_start(struct lint_code *code, struct lint_event *event, uint32_t start)
{
    const int status =
        kt_array_reserve(&code->starts, &code->start_capacity, code->start_count + 1, sizeof *code->starts);
    if (status < 0)
        return status;
    if (event->start_count == 0)
        event->first_start = (uint32_t)code->start_count;
    event->start_count++;
    code->starts[code->start_count++] = start;
    return KTRACE_OK;
}

/* Calls visit(from, to) for every edge: twice, to count and to store. */
static void each_edge(struct lint_code *code, uint32_t *place, bool store)
{
    for (uint32_t i = 0; i < code->count; i++) {
        const struct lint_instruction *from = &code->items[i];
        const bool falls = !from->ends && i + 1 < code->count;
        for (uint32_t t = 0; t < from->target_count + falls; t++) {
            const uint32_t to = t < from->target_count ? code->targets[from->first_target + t] : i + 1;
            if (store)
                code->sources[place[to]] = i;
            place[to]++;
        }
    }
}

int lint_link(struct lint_code *code)
{
    code->first_source = kt_array_new_zeroed(code->count + 1, sizeof *code->first_source);
    uint32_t *place = kt_array_new_zeroed(code->count + 1, sizeof *place);
    if (code->first_source && place) {
        each_edge(code, place, false);
        for (size_t i = 0; i < code->count; i++) {
            code->first_source[i + 1] = code->first_source[i] + place[i];
            place[i] = code->first_source[i];
        }
        code->sources = kt_array_new(code->first_source[code->count], sizeof *code->sources);
        if (code->sources)
            each_edge(code, place, true);
    }
    free(place);
    return code->sources ? KTRACE_OK : KTRACE_ERROR_MEMORY;
}

uint32_t lint_only_source(const struct lint_code *code, uint32_t at)
{
    const uint32_t first = code->first_source[at];
    return code->first_source[at + 1] - first == 1 ? code->sources[first] : LINT_NONE;
}

char *lint_next_line(char **text)
{
    char *line = *text;
    if (!*line)
        return NULL;
    char *end = strchr(line, '\n');
    if (end)
        *end = 0;
    *text = end ? end + 1 : line + strlen(line);
    return line;
}
