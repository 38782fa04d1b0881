#include "table.h"

#include "array.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- Cells ------------------------------------------------------------------------------------------------------ */

const char *kt_grouped(char cell[KT_CELL_BYTES], uint64_t number)
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number), used = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            cell[used++] = ',';
        cell[used++] = digits[i];
    }
    cell[used] = '\0';
    return cell;
}

const char *kt_duration(char cell[KT_CELL_BYTES], double ns)
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t unit = 0;
    while (unit < 3 && fabs(ns) < units[unit].ns * 0.99995)
        unit++; /* 999.96 ns is shown as 1.00 us */
    double value = ns / units[unit].ns;
    snprintf(cell, KT_CELL_BYTES, "%.*f %s", fabs(value) < 99.995 ? 2 : 1, value, units[unit].name);
    return cell;
}

const char *kt_plural(uint64_t number)
{
    return number == 1 ? "" : "s";
}

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

static void add(struct kt_table *table, struct kt_string *cell)
{
    char *text = NULL;
    if (table->failed || kt_string_take(&text, cell) < 0 ||
        kt_array_reserve(&table->cells, &table->capacity, table->cell_count + 1, sizeof *table->cells) < 0) {
        free(text);
        kt_string_destroy(cell);
        table->failed = 1;
        return;
    }
    table->cells[table->cell_count++] = (struct kt_table_cell){text, KT_STYLE_PLAIN};
}

void kt_table_cell(struct kt_table *table, const char *text)
{
    struct kt_string cell = KT_STRING_INIT;
    kt_string_append_visible(&cell, text);
    add(table, &cell);
}

void kt_table_printf(struct kt_table *table, const char *format, ...)
{
    struct kt_string cell = KT_STRING_INIT;
    va_list arguments;
    va_start(arguments, format);
    kt_string_vprintf(&cell, format, arguments);
    va_end(arguments);
    kt_table_cell(table, kt_string_text(&cell));
    table->failed |= cell.failed;
    kt_string_destroy(&cell);
}

void kt_table_style(struct kt_table *table, enum kt_style style)
{
    if (!table->failed && table->cell_count > 0)
        table->cells[table->cell_count - 1].style = style;
}

static void append_cell(struct kt_string *out, const char *cell, enum kt_style style, enum kt_table_side side,
                        size_t width)
{
    size_t columns = kt_utf8_columns(cell), padding = width > columns ? width - columns : 0;
    if (width == 0)
        return;
    kt_string_append(out, "  ");
    if (side == KT_RIGHT)
        kt_string_append_repeated(out, ' ', padding);
    if (style != KT_STYLE_PLAIN && *cell)
        kt_string_append_styled(out, style, cell);
    else
        kt_string_append(out, cell);
    if (side == KT_LEFT)
        kt_string_append_repeated(out, ' ', padding);
}

static void end_line(struct kt_string *out)
{
    while (!out->failed && out->length > 0 && out->text[out->length - 1] == ' ')
        out->length--;
    kt_string_append_char(out, '\n');
}

/* 0: the column has no content. */
static size_t width_of(const struct kt_table *table, size_t column)
{
    size_t widest = 0, title = kt_utf8_columns(table->columns[column].title);
    for (size_t i = column; i < table->cell_count; i += table->column_count) {
        size_t columns = kt_utf8_columns(table->cells[i].text);
        if (columns > widest)
            widest = columns;
    }
    if (widest == 0 && column > 0)
        return 0;
    return widest > title ? widest : title;
}

static void append_rows(struct kt_string *out, const struct kt_table *table, const size_t *widths)
{
    for (size_t i = 0; i < table->column_count; i++)
        append_cell(out, table->columns[i].title, KT_STYLE_TITLE, table->columns[i].side, widths[i]);
    end_line(out);
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t column = i % table->column_count;
        append_cell(out, table->cells[i].text, table->cells[i].style, table->columns[column].side, widths[column]);
        if (column + 1 == table->column_count)
            end_line(out);
    }
}

size_t kt_table_width(const struct kt_table *table)
{
    size_t width = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        const size_t column = width_of(table, i);
        width += column ? column + 2 : 0;
    }
    return width;
}

void kt_table_finish(struct kt_string *out, struct kt_table *table)
{
    size_t *widths = kt_array_new(table->column_count, sizeof *widths);
    if (!widths || table->failed) {
        out->failed = 1;
    } else if (table->cell_count > 0) {
        for (size_t i = 0; i < table->column_count; i++)
            widths[i] = width_of(table, i);
        append_rows(out, table, widths);
    }
    free(widths);
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i].text);
    free(table->cells);
    *table = kt_table_of(table->columns, table->column_count);
}
