/* terminal.h - what standard output and standard error can show. */
#ifndef KT_CLI_TERMINAL_H
#define KT_CLI_TERMINAL_H

#include "../bar.h"
#include "../string_builder.h"

#include <stdbool.h>

/* Of standard output: COLUMNS where the environment sets it, otherwise the terminal's; 0: not a terminal, any width will do. */
int cli_terminal_columns(void);

/* Blocks on a terminal whose locale (LC_ALL, LC_CTYPE, LANG) is in UTF-8. */
enum kt_bar_style cli_bar_style(void);

/* What --color was given: "auto", "always" or "never". False: it is none of them, and nothing is changed. */
bool cli_color_choose(const char *when);
/* Whether what is written to the descriptor is styled. "auto", the beginning: where that has controls, unless NO_COLOR
 * is set and not empty (https://no-color.org). */
bool cli_color(int descriptor);
/* Whether the descriptor is a terminal that understands control sequences: TERM is set, and not dumb. */
bool cli_has_controls(int descriptor);
/* An empty string for standard output, styled where that is. */
struct kt_string cli_text(void);

#endif
