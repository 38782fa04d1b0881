#include "bar.h"

#include <string.h>

const char *kt_bar(char bar[KT_BAR_BYTES], double share, int columns, enum kt_bar_style style)
{
    static const char eighths[][4] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int steps = style == KT_BAR_BLOCKS ? 8 : 1;
    if (columns > KT_BAR_COLUMNS)
        columns = KT_BAR_COLUMNS;
    if (!(share > 0))
        share = 0;
    if (share > 1)
        share = 1;
    const int filled = (int)(share * columns * steps + 0.5);
    char *at = bar;
    for (int i = 0; i < filled / steps; i++) {
        const char *whole = style == KT_BAR_BLOCKS ? "█" : "#";
        memcpy(at, whole, strlen(whole));
        at += strlen(whole);
    }
    strcpy(at, eighths[filled % steps]);
    return bar;
}
