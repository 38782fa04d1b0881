#include "scan.h"

#include "error.h"
#include "string_builder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

enum { QUOTED_BYTES = 160, WORD_BYTES = 40 }; /* of a value and of a word of it in a sentence */

static int is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- What is wrong ---------------------------------------------------------------------------------------------- */

/* Between quotes, as a terminal may see it, and not all of it where it is long. */
static void quote(struct kt_string *out, const char *text, size_t bytes, size_t most)
{
    char shown[QUOTED_BYTES + 1];
    const int cut = bytes > most;
    if (cut)
        bytes = most;
    memcpy(shown, text, bytes);
    shown[bytes] = '\0';
    kt_string_append_char(out, '"');
    kt_string_append_visible(out, shown);
    kt_string_append(out, cut ? "...\"" : "\"");
}

static const char *end_of_word(const char *at)
{
    while (*at && *at != ';' && !is_blank(*at))
        at++;
    return at;
}

int kt_scan_fail(const struct kt_scan *scan, const char *at, const char *format, ...)
{
    struct kt_string sentence = KT_STRING_INIT;
    const size_t word_bytes = (size_t)(end_of_word(at) - at);
    kt_string_printf(&sentence, "%s is ", scan->who);
    quote(&sentence, scan->text, strlen(scan->text), QUOTED_BYTES);
    if (at == scan->text) {
        kt_string_append(&sentence, ": ");
    } else if (*at == '\0') {
        kt_string_append(&sentence, ", at its end: ");
    } else {
        kt_string_printf(&sentence, ", at character %zu", (size_t)(at - scan->text) + 1);
        if (word_bytes > 0) {
            kt_string_append(&sentence, " (");
            quote(&sentence, at, word_bytes, WORD_BYTES);
            kt_string_append(&sentence, ")");
        }
        kt_string_append(&sentence, ": ");
    }
    va_list arguments;
    va_start(arguments, format);
    kt_string_vprintf(&sentence, format, arguments);
    va_end(arguments);
    const int status = kt_fail(KTRACE_ERROR_ARGUMENT, "%s", kt_string_text(&sentence));
    kt_string_destroy(&sentence);
    return status;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------ */

int kt_scan_skip(struct kt_scan *scan, const char *word)
{
    const size_t bytes = strlen(word);
    if (strncmp(scan->at, word, bytes) != 0)
        return 0;
    scan->at += bytes;
    return 1;
}

int kt_scan_at_term_end(const struct kt_scan *scan)
{
    return *scan->at == '\0' || *scan->at == ';' || is_blank(*scan->at);
}

int kt_scan_number(uint64_t *out, struct kt_scan *scan, uint64_t most, const char *what)
{
    const char *start = scan->at;
    uint64_t value = 0;
    int too_large = 0;
    if (!is_digit(*start))
        return kt_scan_fail(scan, start, "%s is a decimal number", what);
    while (is_digit(*scan->at)) {
        too_large |= __builtin_mul_overflow(value, 10u, &value);
        too_large |= __builtin_add_overflow(value, (uint64_t)(*scan->at - '0'), &value);
        scan->at++;
    }
    if (too_large || value > most)
        return kt_scan_fail(scan, start, "%s is at most %" PRIu64, what, most);
    *out = value;
    return KTRACE_OK;
}

int kt_scan_range(struct kt_range *out, struct kt_scan *scan, uint64_t most, const char *what)
{
    const char *start = scan->at;
    struct kt_range range = {0, most};
    int status = KTRACE_OK;
    if (kt_scan_skip(scan, "*")) {
        *out = range;
        return KTRACE_OK;
    }
    if (!is_digit(*start) && !(start[0] == '-' && is_digit(start[1])))
        return kt_scan_fail(scan, start, "%s is a number, a range such as 2-5, 2- or -5, or *", what);
    if (is_digit(*start)) {
        status = kt_scan_number(&range.first, scan, most, what);
        range.last = range.first;
    }
    if (status == KTRACE_OK && kt_scan_skip(scan, "-")) {
        range.last = most;
        if (is_digit(*scan->at))
            status = kt_scan_number(&range.last, scan, most, what);
    }
    if (status == KTRACE_OK && range.first > range.last)
        status =
            kt_scan_fail(scan, start, "the range runs backwards: write %" PRIu64 "-%" PRIu64, range.last, range.first);
    if (status == KTRACE_OK)
        *out = range;
    return status;
}

/* ---- Whole texts ------------------------------------------------------------------------------------------------ */

static void skip_blanks(struct kt_scan *scan)
{
    while (is_blank(*scan->at))
        scan->at++;
}

static int is_at_end(struct kt_scan *scan)
{
    skip_blanks(scan);
    return *scan->at == '\0';
}

int kt_parse_flag(int *out, const char *who, const char *text)
{
    static const struct {
        const char *word;
        int value;
    } words[] = {{"0", 0}, {"1", 1}, {"false", 0}, {"true", 1}, {"no", 0}, {"yes", 1}, {"off", 0}, {"on", 1}};
    struct kt_scan scan = kt_scan_of(who, text);
    skip_blanks(&scan);
    const char *word = scan.at;
    scan.at = end_of_word(word);
    const size_t bytes = is_at_end(&scan) ? (size_t)(end_of_word(word) - word) : 0;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].word) == bytes && strncasecmp(word, words[i].word, bytes) == 0) {
            *out = words[i].value;
            return KTRACE_OK;
        }
    return kt_scan_fail(&scan, text, "set it to 1 (or true, yes, on) or 0 (or false, no, off)");
}

int kt_parse_count(uint64_t *out, const char *who, const char *text, uint64_t most)
{
    struct kt_scan scan = kt_scan_of(who, text);
    uint64_t value = 0;
    skip_blanks(&scan);
    const char *start = scan.at;
    int status = kt_scan_number(&value, &scan, most, "it");
    if (status < 0)
        return status;
    if (!is_at_end(&scan))
        return kt_scan_fail(&scan, scan.at, "nothing follows the number");
    if (value == 0)
        return kt_scan_fail(&scan, start, "it is at least 1; leave it unset for the default");
    *out = value;
    return KTRACE_OK;
}

/* "", "K", "KiB", ...: how far to shift; -1: no unit. */
static int unit_of(const char *unit, size_t bytes)
{
    static const char letters[] = "KMGT";
    if (bytes == 0)
        return 0;
    for (int i = 0; letters[i]; i++)
        if (strncasecmp(unit, &letters[i], 1) == 0 &&
            (bytes == 1 || (bytes == 3 && strncasecmp(unit + 1, "iB", 2) == 0)))
            return 10 * (i + 1);
    return -1;
}

int kt_parse_bytes(uint64_t *out, const char *who, const char *text)
{
    struct kt_scan scan = kt_scan_of(who, text);
    uint64_t value = 0;
    skip_blanks(&scan);
    const char *start = scan.at;
    int status = kt_scan_number(&value, &scan, UINT64_MAX, "a size");
    if (status < 0)
        return status;
    skip_blanks(&scan);
    const char *unit = scan.at;
    scan.at = end_of_word(unit);
    const int shift = unit_of(unit, (size_t)(scan.at - unit));
    if (shift < 0 || !is_at_end(&scan))
        return kt_scan_fail(&scan, unit,
                            "a size is a number of bytes, or one with KiB, MiB, GiB or TiB (or K, M, G, T) behind it");
    if (value == 0)
        return kt_scan_fail(&scan, start, "a size is at least 1; leave it unset for the default");
    if (value > UINT64_MAX >> shift)
        return kt_scan_fail(&scan, start, "a size is at most %" PRIu64 " bytes", UINT64_MAX);
    *out = value << shift;
    return KTRACE_OK;
}
