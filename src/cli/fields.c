#include "fields.h"

#include <string.h>

void cli_heading(struct kt_string *out, const char *title)
{
    kt_string_append(out, "\n");
    kt_string_append_styled(out, KT_STYLE_TITLE, title);
    kt_string_append(out, "\n");
}

void cli_label(struct kt_string *out, int columns, const char *label)
{
    if (strlen(label) > (size_t)columns)
        kt_string_printf(out, "  %s\n  %-*s ", label, columns, "");
    else
        kt_string_printf(out, "  %-*s ", columns, label);
}

void cli_field(struct kt_string *out, int columns, const char *label, const char *format, ...)
{
    va_list arguments;
    cli_label(out, columns, label);
    va_start(arguments, format);
    kt_string_vprintf(out, format, arguments);
    va_end(arguments);
    kt_string_append_char(out, '\n');
}

void cli_field_visible(struct kt_string *out, int columns, const char *label, const char *value)
{
    cli_label(out, columns, label);
    kt_string_append_visible(out, value && *value ? value : "-");
    kt_string_append_char(out, '\n');
}

void cli_field_styled(struct kt_string *out, int columns, const char *label, enum kt_style style, const char *value)
{
    cli_label(out, columns, label);
    kt_string_append_visible_styled(out, style, value && *value ? value : "-");
    kt_string_append_char(out, '\n');
}
