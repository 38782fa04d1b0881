#include "style.h"

const char *kt_style_code(enum kt_style style)
{
    static const char *const codes[KT_STYLES] = {
        [KT_STYLE_PLAIN] = "\033[0m",    [KT_STYLE_TITLE] = "\033[1m", [KT_STYLE_GOOD] = "\033[32m",
        [KT_STYLE_WARNING] = "\033[33m", [KT_STYLE_BAD] = "\033[31m",  [KT_STYLE_ERROR] = "\033[1;31m",
        [KT_STYLE_LITTLE] = "\033[36m",  [KT_STYLE_MUCH] = "\033[33m", [KT_STYLE_MOST] = "\033[31m"};
    return codes[style];
}
