/* bar.h - a share as a bar of characters, in tables. */
#ifndef KT_BAR_H
#define KT_BAR_H

enum kt_bar_style { KT_BAR_ASCII, KT_BAR_BLOCKS /* UTF-8: eighths of a column */ };

enum { KT_BAR_COLUMNS = 20, KT_BAR_BYTES = KT_BAR_COLUMNS * 3 + 1 };

/* `share` of `columns`, which is at most KT_BAR_COLUMNS; more than all is shown as all, less than the smallest step as nothing. */
const char *kt_bar(char bar[KT_BAR_BYTES], double share, int columns, enum kt_bar_style style);

#endif
