/* terminal.h - what standard output and standard error can show. */
#ifndef KT_CLI_TERMINAL_H
#define KT_CLI_TERMINAL_H

#include "../bar.h"

/* Of standard output: COLUMNS where the environment sets it, otherwise the terminal's; 0: not a terminal, any width will do. */
int cli_terminal_columns(void);

/* Blocks on a terminal whose locale (LC_ALL, LC_CTYPE, LANG) is in UTF-8. */
enum kt_bar_style cli_bar_style(void);

#endif
