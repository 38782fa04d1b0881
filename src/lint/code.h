/* code.h - functions of machine code, as a disassembler lists them, and the ways through them. Of any target. */
#ifndef LINT_CODE_H
#define LINT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINT_NONE UINT32_MAX

/* What an instruction does, as far as ranges are concerned. */
enum lint_weight {
    LINT_IDLE,    /* nothing, or a KTRACE_WAIT, which is not the kernel's own */
    LINT_CONTROL, /* goes elsewhere, or prepares that */
    LINT_CHEAP,   /* moves, integer arithmetic, predicates, what the wave is: what addresses and loops are made of */
    LINT_WORK     /* all else: memory, floating point, matrices, barriers, calls */
};

struct lint_instruction {
    uint64_t address;
    uint32_t bytes;
    uint8_t weight;
    bool ends;                           /* the next one does not follow */
    bool calls;                          /* and comes back */
    bool leaves;                         /* for where cannot be seen: a return, a computed jump */
    const char *guard;                   /* "!P0"; "": always executed */
    const char *opcode, *operands;       /* in the listing's text */
    uint32_t first_target, target_count; /* where it may go besides: in the function's targets */
    uint32_t event;                      /* whose it is; LINT_NONE: nobody's */
};

/* One execution of an annotation in the code. */
struct lint_event {
    const struct lint_site *site;
    uint32_t clock; /* the instruction that reads it: where the event is */
    uint32_t instructions, bytes;
    uint32_t first_start, start_count; /* of a stop and a next: events whose ranges it may end, as far as
                                           they could be followed, in the function's starts */
};

struct lint_code {
    const char *name;
    struct lint_instruction *items;
    size_t count, capacity;
    uint32_t *targets; /* instructions */
    size_t target_count, target_capacity;
    uint32_t *sources, *first_source; /* of instruction i: sources[first_source[i]] to sources[first_source[i + 1]] */
    struct lint_event *events;        /* in order of their clock reads */
    size_t event_count, event_capacity;
    uint32_t *starts; /* events */
    size_t start_count, start_capacity;
    uint32_t unnamed; /* events whose annotation cannot be told: a debug build keeps that in memory */
    bool begins_wave; /* it has KTRACE_KERNEL */
};

struct lint_listing {
    char *text; /* owned; cut into strings */
    struct lint_code *codes;
    size_t count, capacity;
};
void lint_listing_free(struct lint_listing *listing);

/* What the readers of listings use. They return KTRACE_OK or KTRACE_ERROR_MEMORY. */
struct lint_code *lint_add_code(struct lint_listing *listing, const char *name);
int lint_add_instruction(struct lint_code *code, const struct lint_instruction *instruction);
int lint_add_target(struct lint_code *code, uint32_t instruction,
                    uint32_t target); /* of the last one that got any, or later */
int lint_add_event(struct lint_code *code, const struct lint_event *event);
int lint_add_start(struct lint_code *code, struct lint_event *event, uint32_t start);
/* Once all targets are there: sources. */
int lint_link(struct lint_code *code);
/* The only instruction that can come before `at`; LINT_NONE: there are several, or none. */
uint32_t lint_only_source(const struct lint_code *code, uint32_t at);

/* The next line of a text, cut off it; NULL: there is none. */
char *lint_next_line(char **text);

/* ---- Listings ------------------------------------------------------------------------------------------------------ */

/* What `nvdisasm -c` and `llvm-objdump -d` print: `text` is the listing's from now on. Free `out` in any case. */
int lint_read_sass(struct lint_listing *out, char *text);
int lint_read_gcn(struct lint_listing *out, char *text);

#endif
