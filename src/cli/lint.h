/* lint.h - the parts of `ktrace doctor --lint`. What it finds is src/lint's; here are files, disassemblers and what is said. */
#ifndef KT_CLI_LINT_H
#define KT_CLI_LINT_H

#include "cli.h"

#include "../lint/objects.h"
#include "../lint/report.h"

enum { LINT_FOUND = 3 }; /* exit status: warnings, and --strict */

struct lint_options {
    const char *path, *untraced_path; /* NULL: without */
    bool json, strict;
    int limit_s; /* for each disassembly */
};
/* An exit status. */
int cli_lint(const struct lint_options *options);

/* ---- Files and tools: lint_file.c, lint_tools.c -------------------------------------------------------------------- */

struct lint_file {
    const char *path;
    void *data;
    size_t bytes;
    struct lint_objects objects;
};
/* Both return CLI_OK or, after cli_error, CLI_FAILURE. Close `out` in any case. */
int lint_file_open(struct lint_file *out, const char *path, int limit_s);
void lint_file_close(struct lint_file *file);

/* What cuobjdump takes out of a file behind what is there, and whether there is PTX. */
int lint_extract_cubins(struct lint_objects *out, bool *has_ptx, const char *path, int limit_s);
/* `*listing` is the caller's. */
int lint_disassemble(char **listing, const struct lint_object *object, const char *path, const char *target,
                     int limit_s);

/* ---- Saying it: lint_text.c, lint_json.c --------------------------------------------------------------------------- */

struct lint_result {
    const struct lint_options *options;
    const struct lint_objects *objects; /* of the file */
    const struct lint_module *modules;
    size_t count;
    struct lint_findings findings;
};
/* The module that a finding is of. */
const struct lint_module *lint_module_of(const struct lint_result *result, const struct lint_finding *finding);
/* Ranges that were not examined, by enum lint_examined; how many. */
uint32_t lint_not_examined(uint32_t by_reason[LINT_TOO_DEEP + 1], const struct lint_result *result);
int lint_print_text(const struct lint_result *result);
int lint_print_json(const struct lint_result *result);

#endif
