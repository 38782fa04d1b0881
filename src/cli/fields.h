/* fields.h - lines that name a fact and say it, of the commands that print many:
 *
 *       device      AMD Instinct MI300X (simulated) (gfx942), 304 CUs
 *
 * `columns` is the width of the labels. One that is longer has a line of its own, and its value lies below it.
 */
#ifndef KT_CLI_FIELDS_H
#define KT_CLI_FIELDS_H

#include "../string_builder.h"

/* An empty line and a title. */
void cli_heading(struct kt_string *out, const char *title);
/* Up to the value: the caller appends that, and a newline. */
void cli_label(struct kt_string *out, int columns, const char *label);
void cli_field(struct kt_string *out, int columns, const char *label, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A value from elsewhere, as a terminal may see it; "" and NULL: "-". */
void cli_field_visible(struct kt_string *out, int columns, const char *label, const char *value);
/* The same of what stands out. */
void cli_field_styled(struct kt_string *out, int columns, const char *label, enum kt_style style, const char *value);

#endif
