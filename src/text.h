/* text.h - sentences put together in an array of fixed size; what does not fit is cut off. */
#ifndef KT_TEXT_H
#define KT_TEXT_H

#include <stdarg.h>
#include <stdio.h>

struct kt_text {
    char text[1024];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static inline void kt_put(struct kt_text *text, const char *format, ...)
{
    const size_t room = sizeof text->text - text->length;
    va_list arguments;
    va_start(arguments, format);
    const int wanted = vsnprintf(text->text + text->length, room, format, arguments);
    va_end(arguments);
    if (wanted > 0)
        text->length += (size_t)wanted < room ? (size_t)wanted : room - 1;
}

#endif
