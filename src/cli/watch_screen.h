/* watch_screen.h - a text that stays in its place on a terminal and is shown anew from time to time. */
#ifndef KT_CLI_WATCH_SCREEN_H
#define KT_CLI_WATCH_SCREEN_H

#include "cli.h"

/* From here on the terminal shows its second screen: until the end nothing else may be written. */
void watch_screen_begin(void);
/* As much of it as there is room for. */
void watch_screen_show(const struct kt_string *text);
/* Back to the first screen, as it was. */
void watch_screen_end(void);

#endif
