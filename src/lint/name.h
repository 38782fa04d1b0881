/* name.h - a kernel's name as its source has it. */
#ifndef LINT_NAME_H
#define LINT_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* "layers::relax<true>" of _ZN6layers5relaxILb1EEEvPf: names, and template arguments that are numbers or bools. What else a name can be
 * mangled to stays as it is. Always terminated. */
void lint_readable_name(char *out, size_t bytes, const char *symbol);

/* Whether two symbols are the same but for one bool of a template's arguments. */
bool lint_differ_in_one_bool(const char *a, const char *b);

#endif
