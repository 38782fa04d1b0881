/* kinds.h - how the command calls kinds of annotations and types of payloads. */
#ifndef KT_CLI_KINDS_H
#define KT_CLI_KINDS_H

#include "ktrace/ktrace.h"

enum { CLI_KINDS = KTRACE_KIND_NEXT + 1 };
static inline const char *cli_kind_name(uint32_t kind)
{
    static const char *const names[CLI_KINDS] = {"?", "kernel", "mark", "push", "pop", "start", "stop", "next"};
    return kind < CLI_KINDS ? names[kind] : "?";
}

static inline const char *cli_payload_name(uint32_t type)
{
    static const char *const names[] = {"-", "bool", "int64", "uint64", "float32", "float64", "int32", "uint32"};
    return type < sizeof names / sizeof *names ? names[type] : "?";
}

#endif
