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

static enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color;

bool cli_color_choose(const char *when)
{
    static const char *const words[] = {[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never"};
    for (int i = COLOR_AUTO; i <= COLOR_NEVER; i++)
        if (strcmp(when, words[i]) == 0) {
            color = i;
            return true;
        }
    return false;
}

bool cli_has_controls(int descriptor)
{
    const char *terminal = getenv("TERM");
    return isatty(descriptor) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

bool cli_color(int descriptor)
{
    const char *refusal = getenv("NO_COLOR");
    if (color != COLOR_AUTO)
        return color == COLOR_ALWAYS;
    return cli_has_controls(descriptor) && !(refusal && *refusal);
}

struct kt_string cli_text(void)
{
    struct kt_string text = KT_STRING_INIT;
    text.styled = cli_color(STDOUT_FILENO);
    return text;
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
