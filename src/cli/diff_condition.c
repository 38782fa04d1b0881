/* diff_condition.c - `--fail-if`: [KERNEL/]PHASE QUANTITY OP LIMIT.
 *
 *     mainloop p50 > +3%              B's median is over 3 % longer than A's
 *     gemm/mainloop mean > +200ns     ... B's mean over 200 ns longer
 *     'k tile' p99 >= 12us            ... of B alone
 */
#include "diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../summary.h"
#include "../table.h"

static const char *const quantities[] = {[DIFF_P50] = "p50",   [DIFF_P90] = "p90",     [DIFF_P99] = "p99",
                                         [DIFF_MEAN] = "mean", [DIFF_TOTAL] = "total", [DIFF_COUNT] = "count"};
static const char *const operators[] = {
    [DIFF_GREATER] = ">", [DIFF_GREATER_EQUAL] = ">=", [DIFF_LESS] = "<", [DIFF_LESS_EQUAL] = "<="};
enum { QUANTITIES = sizeof quantities / sizeof *quantities, OPERATORS = sizeof operators / sizeof *operators };

/* ---- Parsing ------------------------------------------------------------------------------------------------------ */

static void skip_blanks(const char **at)
{
    *at += strspn(*at, " \t");
}

__attribute__((format(printf, 4, 5))) static int refuse(struct kt_string *why, const char *text, const char *at,
                                                        const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kt_string_printf(why, "condition \"%s\": ", text);
    kt_string_vprintf(why, format, arguments);
    va_end(arguments);
    if (*at)
        kt_string_printf(why, ", at \"%s\"", at);
    else
        kt_string_append(why, ", at its end");
    return -1;
}

/* A name in ' or ", where \ takes the next character as it is, or else everything up to a blank, a slash or a quote. NULL:
 * there is none, the quote is not closed, or memory ran out. */
static char *take_name(const char **at)
{
    struct kt_string name = KT_STRING_INIT;
    const char quote = **at == '\'' || **at == '"' ? *(*at)++ : '\0';
    if (!quote) {
        const size_t length = strcspn(*at, " \t/'\"");
        kt_string_append_bytes(&name, *at, length);
        *at += length;
    }
    for (; quote && **at && **at != quote; ++*at) {
        if (**at == '\\' && (*at)[1])
            ++*at;
        kt_string_append_char(&name, **at);
    }
    char *text = NULL;
    const bool closed = !quote || *(*at)++ == quote;
    if (name.length && closed && kt_string_take(&text, &name) == 0)
        return text;
    kt_string_destroy(&name);
    return NULL;
}

static int take_names(struct diff_condition *out, const char **at, struct kt_string *why)
{
    const char *begin = *at;
    out->phase = take_name(at);
    if (out->phase && **at == '/') {
        begin = ++*at;
        out->kernel = out->phase;
        out->phase = take_name(at);
    }
    if (!out->phase)
        return refuse(why, out->text, begin, "a name is missing, or its quote is not closed");
    return 0;
}

/* Which of the words `at` begins with, the longest; -1: none. */
static int take_word(const char **at, const char *const *words, int count, const char *letters)
{
    const size_t length = strspn(*at, letters);
    for (int i = 0; i < count; i++) {
        if (strlen(words[i]) == length && strncmp(*at, words[i], length) == 0) {
            *at += length;
            return i;
        }
    }
    return -1;
}

/* A decimal number: none of the other forms that strtod takes. */
static bool take_number(const char **at, double *number)
{
    const char *digits = *at + strspn(*at, "+-");
    const size_t length = strspn(digits, "0123456789.");
    if (!length || digits - *at > 1 || !strpbrk(digits, "0123456789") || *digits == '.' || length > 40)
        return false;
    char text[48];
    memcpy(text, *at, (size_t)(digits - *at) + length);
    text[(size_t)(digits - *at) + length] = '\0';
    char *end;
    *number = strtod(text, &end);
    if (*end)
        return false;
    *at = digits + length;
    return true;
}

static int take_limit(struct diff_condition *out, const char **at, struct kt_string *why)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const char *begin = *at;
    const bool is_change = **at == '+' || **at == '-';
    if (!take_number(at, &out->limit))
        return refuse(why, out->text, begin, "a number is missing, such as +3%%, +200ns or 12us");
    skip_blanks(at);
    out->measure = is_change ? DIFF_CHANGE : DIFF_VALUE;
    if (**at == '%') {
        ++*at;
        out->measure = DIFF_CHANGE_PERCENT;
    } else if (out->quantity != DIFF_COUNT) {
        const size_t length = strspn(*at, "abcdefghijklmnopqrstuvwxyz");
        size_t unit = 0;
        while (unit < 4 && (strlen(units[unit].name) != length || strncmp(*at, units[unit].name, length) != 0))
            unit++;
        if (unit == 4)
            return refuse(why, out->text, *at, "a unit is missing: %%, ns, us, ms or s");
        *at += length;
        out->limit *= units[unit].ns;
    }
    skip_blanks(at);
    if (**at)
        return refuse(why, out->text, *at, "there is something behind the condition");
    return 0;
}

int diff_condition_parse(struct diff_condition *out, const char *text, struct kt_string *why)
{
    const char *at = text;
    *out = (struct diff_condition){.text = text};
    skip_blanks(&at);
    if (take_names(out, &at, why) < 0)
        return -1;
    skip_blanks(&at);
    const int quantity = take_word(&at, quantities, QUANTITIES, "abcdefghijklmnopqrstuvwxyz0123456789");
    if (quantity < 0)
        return refuse(why, text, at, "a quantity is missing: p50, p90, p99, mean, total or count");
    out->quantity = (enum diff_quantity)quantity;
    skip_blanks(&at);
    const int relation = take_word(&at, operators, OPERATORS, "<>=!");
    if (relation < 0)
        return refuse(why, text, at, "an operator is missing: >, >=, < or <=");
    out->relation = (enum diff_operator)relation;
    skip_blanks(&at);
    return take_limit(out, &at, why);
}

void diff_condition_free(struct diff_condition *condition)
{
    free(condition->kernel);
    free(condition->phase);
}

/* ---- Evaluating --------------------------------------------------------------------------------------------------- */

static double quantity_of(const struct diff_sample *sample, enum diff_quantity quantity)
{
    switch (quantity) {
    case DIFF_P50: return sample->p50_ns;
    case DIFF_P90: return sample->p90_ns;
    case DIFF_P99: return sample->p99_ns;
    case DIFF_MEAN: return sample->mean_ns;
    case DIFF_TOTAL: return sample->total_ns;
    case DIFF_COUNT: return (double)sample->count;
    }
    return NAN;
}

static double measure(const struct diff_condition *condition, const struct diff_row *row)
{
    const double a = quantity_of(row->sample[DIFF_A], condition->quantity);
    const double b = quantity_of(row->sample[DIFF_B], condition->quantity);
    if (condition->measure == DIFF_VALUE)
        return b;
    if (condition->measure == DIFF_CHANGE)
        return b - a;
    return a == b ? 0 : diff_percent(a, b);
}

static bool holds(const struct diff_condition *condition, double value)
{
    switch (condition->relation) {
    case DIFF_GREATER: return value > condition->limit;
    case DIFF_GREATER_EQUAL: return value >= condition->limit;
    case DIFF_LESS: return value < condition->limit;
    case DIFF_LESS_EQUAL: return value <= condition->limit;
    }
    return false;
}

static bool is_nearer(const struct diff_condition *condition, double value)
{
    const bool upwards = condition->relation == DIFF_GREATER || condition->relation == DIFF_GREATER_EQUAL;
    return upwards ? value > condition->value : value < condition->value;
}

static bool is_meant(const struct diff_condition *condition, const struct diff_row *row)
{
    return strcmp(condition->phase, row->name) == 0 &&
           (!condition->kernel || strcmp(condition->kernel, row->kernel) == 0);
}

/* Why a row cannot be measured; NULL: it can. */
static const char *reason_against(const struct diff_condition *condition, const struct diff_row *row)
{
    if (!row->sample[DIFF_A])
        return "it is in B only";
    if (!row->sample[DIFF_B])
        return "it is in A only";
    if (condition->quantity == DIFF_COUNT)
        return NULL;
    if (row->kind == KTRACE_KIND_MARK)
        return "a mark has a count and no duration";
    if (!row->sample[DIFF_A]->count)
        return "none of its ranges in A is closed";
    if (!row->sample[DIFF_B]->count)
        return "none of its ranges in B is closed";
    return NULL;
}

int diff_condition_evaluate(struct diff_condition *condition, const struct diff *diff, struct kt_string *why)
{
    const char *reason = "no phase of either trace has that name; 'ktrace summary' lists them";
    bool one_sided = false;
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        if (!is_meant(condition, row))
            continue;
        const char *against = reason_against(condition, row);
        if (against) {
            one_sided |= !row->sample[DIFF_A] || !row->sample[DIFF_B];
            reason = against;
            continue;
        }
        const double value = measure(condition, row);
        if (condition->row && !is_nearer(condition, value))
            continue;
        condition->row = row;
        condition->value = value;
    }
    if (condition->row && !one_sided) {
        condition->holds = holds(condition, condition->value);
        return 0;
    }
    kt_string_printf(why, "condition \"%s\": phase '%s%s%s' cannot be compared: %s", condition->text,
                     condition->kernel ? condition->kernel : "", condition->kernel ? "/" : "", condition->phase,
                     reason);
    return -1;
}

void diff_condition_append_value(struct kt_string *out, const struct diff_condition *condition)
{
    char cell[KT_CELL_BYTES];
    const char *sign = condition->measure != DIFF_VALUE && condition->value >= 0 ? "+" : "";
    if (condition->measure == DIFF_CHANGE_PERCENT)
        kt_string_printf(out, "%s%.2f %%", sign, condition->value);
    else if (condition->quantity == DIFF_COUNT)
        kt_string_printf(out, "%s%.0f", sign, condition->value);
    else
        kt_string_printf(out, "%s%s", sign, kt_duration(cell, condition->value));
}
