#include "program_explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locks.h"

#define NAMED 3 /* of the others only how many */

struct dormant {
    struct dormant *next;
    const struct ktrace_program *program;
    uint32_t arch;
    char kernel[];
};

static struct dormant *first; /* in the order in which they were handed out; under the list lock */

static struct dormant **find(const struct ktrace_program *program, const char *kernel)
{
    struct dormant **link = &first;
    while (*link && ((*link)->program != program || strcmp((*link)->kernel, kernel) != 0))
        link = &(*link)->next;
    return link;
}

void kt_program_note(const struct ktrace_program *program, const char *kernel, uint32_t arch, int dormant)
{
    struct dormant *unused = NULL;
    const size_t bytes = strlen(kernel) + 1;
    kt_list_lock();
    struct dormant **link = find(program, kernel);
    if (!dormant && *link) {
        unused = *link;
        *link = unused->next;
    }
    const int add = dormant && *link == NULL;
    kt_list_unlock();
    free(unused);
    if (!add)
        return;
    struct dormant *entry = malloc(sizeof *entry + bytes);
    if (entry == NULL)
        return;
    *entry = (struct dormant){.program = program, .arch = arch};
    memcpy(entry->kernel, kernel, bytes);
    kt_list_lock();
    link = find(program, kernel);
    if (*link == NULL) {
        *link = entry;
        entry = NULL;
    }
    kt_list_unlock();
    free(entry); /* another thread was faster */
}

void kt_program_forget(const struct ktrace_program *program)
{
    struct dormant *gone = NULL;
    kt_list_lock();
    for (struct dormant **link = &first; *link;) {
        struct dormant *entry = *link;
        if (entry->program == program) {
            *link = entry->next;
            entry->next = gone;
            gone = entry;
        } else {
            link = &entry->next;
        }
    }
    kt_list_unlock();
    while (gone) {
        struct dormant *next = gone->next;
        free(gone);
        gone = next;
    }
}

__attribute__((format(printf, 4, 5))) static void put(char *text, size_t bytes, size_t *length, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int added = vsnprintf(text + *length, bytes - *length, format, arguments);
    va_end(arguments);
    if (added > 0)
        *length += (size_t)added < bytes - *length ? (size_t)added : bytes - *length - 1;
}

size_t kt_program_explain(char *text, size_t bytes, const char *separator, uint32_t arch)
{
    size_t length = 0;
    uint32_t count = 0, named = 0;
    if (bytes == 0)
        return 0;
    text[0] = 0;
    kt_list_lock();
    for (const struct dormant *entry = first; entry; entry = entry->next)
        count += arch == 0 || entry->arch == arch;
    if (count)
        put(text, bytes, &length, "%skernel%s", separator, count == 1 ? "" : "s");
    for (const struct dormant *entry = first; entry && named < NAMED; entry = entry->next)
        if (arch == 0 || entry->arch == arch)
            put(text, bytes, &length, "%s\"%.128s\"", named++ ? ", " : " ", entry->kernel);
    kt_list_unlock();
    if (count > named)
        put(text, bytes, &length, " and %u more", count - named);
    if (count)
        put(text, bytes, &length,
            " %s obtained before the capture and stay%s untraced: ask ktrace_program_kernel again inside it",
            count == 1 ? "was" : "were", count == 1 ? "s" : "");
    return length;
}
