#include "name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Itanium C++ ABI, "External Names". */

struct output {
    char *text;
    size_t bytes, length;
    bool failed;
};

static void put(struct output *out, const char *text, size_t length)
{
    if (out->length + length >= out->bytes) {
        out->failed = true;
        return;
    }
    memcpy(out->text + out->length, text, length);
    out->length += length;
    out->text[out->length] = 0;
}

/* "4gemm" */
static const char *read_source_name(struct output *out, const char *at)
{
    char *end;
    const unsigned long length = strtoul(at, &end, 10);
    if (end == at || length == 0 || length > strlen(end)) {
        out->failed = true;
        return at;
    }
    if (strncmp(end, "_GLOBAL__N_", 11) == 0 || strncmp(end, "_INTERNAL_", 10) == 0)
        put(out, "(anonymous)", 11);
    else
        put(out, end, length);
    return end + length;
}

/* Of "ILb1ELi4EE": literals of bool and integers, and types of a letter. */
static const char *read_arguments(struct output *out, const char *at)
{
    static const char *const types[26] = {
        ['a' - 'a'] = "signed char",   ['b' - 'a'] = "bool",      ['c' - 'a'] = "char",
        ['d' - 'a'] = "double",        ['f' - 'a'] = "float",     ['h' - 'a'] = "unsigned char",
        ['i' - 'a'] = "int",           ['j' - 'a'] = "unsigned",  ['l' - 'a'] = "long",
        ['m' - 'a'] = "unsigned long", ['s' - 'a'] = "short",     ['t' - 'a'] = "unsigned short",
        ['v' - 'a'] = "void",          ['x' - 'a'] = "long long", ['y' - 'a'] = "unsigned long long"};
    const char *separator = "<";
    for (at++; *at && *at != 'E'; separator = ", ") {
        put(out, separator, strlen(separator));
        if (*at == 'L' && islower((unsigned char)at[1])) {
            const char *value = at + 2;
            const size_t length = strcspn(value, "E");
            if (at[1] == 'b')
                put(out, *value == '1' ? "true" : "false", *value == '1' ? 4 : 5);
            else if (*value == 'n') {
                put(out, "-", 1);
                put(out, value + 1, length ? length - 1 : 0);
            } else
                put(out, value, length);
            at = value + length + (value[length] == 'E');
        } else if (islower((unsigned char)*at) && types[*at - 'a']) {
            put(out, types[*at - 'a'], strlen(types[*at - 'a']));
            at++;
        } else {
            out->failed = true;
            return at;
        }
    }
    put(out, ">", 1);
    return *at ? at + 1 : at;
}

static void read_name(struct output *out, const char *at)
{
    const bool nested = *at == 'N';
    const char *separator = "";
    at += nested;
    while (!out->failed && (isdigit((unsigned char)*at) || *at == 'I' || *at == 'L')) {
        if (*at == 'I') {
            at = read_arguments(out, at);
            continue;
        }
        at += *at == 'L'; /* internal linkage */
        put(out, separator, strlen(separator));
        at = read_source_name(out, at);
        separator = "::";
        if (!nested && *at != 'I')
            break;
    }
    out->failed |= nested && *at != 'E';
    out->failed |= out->length == 0;
}

void lint_readable_name(char *out, size_t bytes, const char *symbol)
{
    struct output output = {.text = out, .bytes = bytes};
    *out = 0;
    if (strncmp(symbol, "_Z", 2) == 0)
        read_name(&output, symbol + 2);
    else
        output.failed = true;
    if (output.failed)
        snprintf(out, bytes, "%s", symbol);
}

bool lint_differ_in_one_bool(const char *a, const char *b)
{
    size_t at = 0;
    while (a[at] && a[at] == b[at])
        at++;
    return at >= 2 && a[at - 2] == 'L' && a[at - 1] == 'b' && (a[at] == '0' || a[at] == '1') &&
           (b[at] == '0' || b[at] == '1') && a[at + 1] == 'E' && strcmp(a + at + 1, b + at + 1) == 0;
}
