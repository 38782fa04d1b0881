/* style.h - how parts of a text stand out on a terminal: escape sequences, only in strings that are styled (kt_string.styled).
 *
 * Of the eight basic colours, which terminals let their users choose. What is said never depends on them.
 */
#ifndef KT_STYLE_H
#define KT_STYLE_H

enum kt_style {
    KT_STYLE_PLAIN, /* ends any other: they do not nest */
    KT_STYLE_TITLE,
    KT_STYLE_GOOD,
    KT_STYLE_WARNING,
    KT_STYLE_BAD,
    KT_STYLE_ERROR,
    KT_STYLE_LITTLE, /* bars, by share */
    KT_STYLE_MUCH,
    KT_STYLE_MOST,
    KT_STYLES
};

/* The escape sequence (ECMA-48's SGR). */
const char *kt_style_code(enum kt_style style);

#endif
