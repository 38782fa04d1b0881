/* report.h - what there is to say of a file's annotated kernels. */
#ifndef LINT_REPORT_H
#define LINT_REPORT_H

#include "code.h"
#include "elf.h"
#include "ranges.h"
#include "resources.h"
#include "sites.h"

/* One annotation of one kernel, in all its copies. */
struct lint_row {
    const struct lint_site *site;
    uint32_t copies;
    uint32_t instructions; /* of the copy that has the most */
    uint64_t bytes;        /* of all copies */
    bool is_range;
    uint32_t examined;    /* copies whose range could be followed */
    uint32_t empty;       /* of them: with nothing inside */
    uint32_t least, most; /* instructions inside, of those examined */
    uint32_t least_work, most_work;
};

struct lint_function {
    const char *name;                 /* symbol */
    const struct lint_kernel *kernel; /* NULL: a function that kernels call */
    const struct lint_code *code;     /* NULL: it was not disassembled */
    bool is_traced;
    struct lint_row *rows; /* owned; by file and line */
    size_t row_count, row_capacity;
    uint32_t not_examined[LINT_TOO_DEEP + 1]; /* ranges, by enum lint_examined */
    const struct lint_kernel *untraced;       /* the same without annotations; NULL: it is not known */
};

/* One cubin or code object. */
struct lint_module {
    struct lint_elf elf;
    struct lint_sites sites;
    struct lint_kernels kernels;
    struct lint_listing listing;
    struct lint_function *functions; /* owned; kernels in the file's order, then other functions with events */
    size_t function_count;
    uint32_t ambiguous; /* traced kernels with several that could be their untraced instance */
};

/* Facts that need no disassembler: elf, sites and kernels. Free `out` in any case. */
int lint_module_open(struct lint_module *out, bool is_nvidia, const void *data, size_t bytes);
/* The rest of them, from what the disassembler wrote, which is the module's from now on. */
int lint_module_examine(struct lint_module *module, bool is_nvidia, char *listing);
/* Takes the kernels of the same name as the untraced ones; how many there are. */
size_t lint_module_compare(struct lint_module *module, const struct lint_kernels *untraced);
void lint_module_free(struct lint_module *module);

/* ---- What is wrong ------------------------------------------------------------------------------------------------- */

enum lint_severity { LINT_NOTE, LINT_WARNING };
struct lint_finding {
    enum lint_severity severity;
    const char *rule; /* "empty-range" */
    const struct lint_function *function;
    const struct lint_row *row; /* NULL: of the whole function */
    char *sentence;             /* owned */
};
struct lint_findings {
    struct lint_finding *findings; /* owned */
    size_t count, capacity, warnings;
};
/* Of a module, behind those that are there. */
int lint_judge(struct lint_findings *out, const struct lint_module *module);
void lint_findings_free(struct lint_findings *findings);

#endif
