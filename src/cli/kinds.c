#include "kinds.h"

#include <string.h>

const char *cli_kind_name(uint32_t kind)
{
    static const char *const names[CLI_KINDS] = {"?", "kernel", "mark", "push", "pop", "start", "stop", "next"};
    return kind < CLI_KINDS ? names[kind] : "?";
}

const char *cli_payload_name(uint32_t type)
{
    static const char *const names[] = {"-", "bool", "int64", "uint64", "float32", "float64", "int32", "uint32"};
    return type < sizeof names / sizeof *names ? names[type] : "?";
}

bool cli_site_has_place(const struct kt_site *site)
{
    return *site->file && (*site->name || !strstr(site->file, "ktrace/device/"));
}

const char *cli_site_name(const struct kt_site *site)
{
    if (*site->name)
        return site->name;
    return site->kind == KTRACE_KIND_POP    ? "(end of a range)"
           : site->kind == KTRACE_KIND_STOP ? "(end of a token)"
                                            : "-";
}
