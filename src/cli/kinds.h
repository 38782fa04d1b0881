/* kinds.h - how the command calls annotations, their kinds and the types of their payloads. */
#ifndef KT_CLI_KINDS_H
#define KT_CLI_KINDS_H

#include "../snapshot.h"

#include <stdbool.h>

enum { CLI_KINDS = KTRACE_KIND_NEXT + 1 };
const char *cli_kind_name(uint32_t kind);
const char *cli_payload_name(uint32_t type); /* "-": none */

/* Of an end, which has no name of its own, what it is; "-": nothing. */
const char *cli_site_name(const struct kt_site *site);
/* Where a range ends need not be a place in the user's source: a scope's end is known as a line of ktrace's own header, or on AMD,
 * where ends keep no file, as a line of none. */
bool cli_site_has_place(const struct kt_site *site);

#endif
