/* events.h - which instructions are events, of which annotation, and what they cost. */
#ifndef LINT_EVENTS_H
#define LINT_EVENTS_H

#include "code.h"
#include "sites.h"

/* Finds the events of a function: code->events, and whose each instruction is. */
int lint_find_sass_events(struct lint_code *code, const struct lint_sites *sites, const struct lint_elf *elf);
int lint_find_gcn_events(struct lint_code *code, const struct lint_sites *sites);

/* Part of the first: the starts of one event, of which `word` is what it stores behind the clock. */
struct sass_word;
int lint_find_sass_starts(struct lint_code *code, struct lint_event *event, const struct sass_word *word);

#endif
