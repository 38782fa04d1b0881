#include "watch_screen.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* xterm's control sequences, which terminals of today share: second screen, no cursor, lines that are too long are cut. */
#define BEGIN "\033[?1049h\033[?25l\033[?7l"
#define END "\033[?7h\033[?25h\033[?1049l"
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"

void watch_screen_begin(void)
{
    cli_print(BEGIN);
}

static size_t rows(void)
{
    enum { USUAL = 24 };
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : USUAL;
}

void watch_screen_show(const struct kt_string *text)
{
    size_t left = rows() - 1;
    cli_print(HOME);
    for (const char *at = kt_string_text(text); *at && left; left--) {
        const size_t length = strcspn(at, "\n");
        cli_write(at, length);
        cli_print(CLEAR_LINE "\n");
        at += length + (at[length] == '\n');
    }
    cli_print(CLEAR_BELOW);
    cli_flush();
}

void watch_screen_end(void)
{
    cli_print(END);
    cli_flush();
}
