/* table.h - columns of text for a terminal, and how numbers look in them.
 *
 *     static const struct kt_table_column columns[] = {{"phase", KT_LEFT}, {"count", KT_RIGHT}};
 *     struct kt_table table = kt_table_of(columns, 2);
 *     kt_table_cell(&table, "mainloop");
 *     kt_table_cell(&table, kt_grouped(cell, 1024));
 *     kt_table_finish(text, &table);
 *
 * Every row begins with two spaces; a column without content is left out, but for the first. Cells cannot be refused: when
 * memory runs out the string says so in the end.
 */
#ifndef KT_TABLE_H
#define KT_TABLE_H

#include "string_builder.h"

#include <stdint.h>

enum kt_table_side { KT_LEFT, KT_RIGHT };
struct kt_table_column {
    const char *title;
    enum kt_table_side side;
};

struct kt_table_cell {
    char *text; /* owned */
    enum kt_style style;
};

struct kt_table {
    const struct kt_table_column *columns;
    size_t column_count;
    struct kt_table_cell *cells; /* row by row */
    size_t cell_count, capacity;
    int failed; /* memory ran out; sticky */
};
static inline struct kt_table kt_table_of(const struct kt_table_column *columns, size_t column_count)
{
    return (struct kt_table){columns, column_count, 0, 0, 0, 0};
}

/* The next cell of the row, or the first of the next row. The text is made fit for a terminal; NULL is empty. */
void kt_table_cell(struct kt_table *table, const char *text);
void kt_table_printf(struct kt_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The cell that was added last stands out: titles do anyway. Widths are the same. */
void kt_table_style(struct kt_table *table, enum kt_style style);
/* Of its lines. */
size_t kt_table_width(const struct kt_table *table);
/* Titles and rows behind `out`, nothing where there are no rows; the table is freed. */
void kt_table_finish(struct kt_string *out, struct kt_table *table);

/* ---- Cells ------------------------------------------------------------------------------------------------------ */

enum { KT_CELL_BYTES = 40 };
/* 4224 as "4,224" */
const char *kt_grouped(char cell[KT_CELL_BYTES], uint64_t number);
/* 12345.6 as "12.35 us" */
const char *kt_duration(char cell[KT_CELL_BYTES], double ns);
/* "" or "s" */
const char *kt_plural(uint64_t number);

#endif
