#include "terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int cli_terminal_columns(void)
{
    enum { WIDEST = 10000 };
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    char *end = NULL;
    const long wanted = columns ? strtol(columns, &end, 10) : 0;
    if (columns && *columns && *end == '\0' && wanted > 0 && wanted <= WIDEST)
        return (int)wanted;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* The locale is asked for, not set: numbers keep their points. */
enum kt_bar_style cli_bar_style(void)
{
    if (!isatty(STDOUT_FILENO))
        return KT_BAR_ASCII;
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (!locale)
        return KT_BAR_ASCII;
    const int utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return utf8 ? KT_BAR_BLOCKS : KT_BAR_ASCII;
}
