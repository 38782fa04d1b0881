/* report.c - the page: page.html, with style, scripts and data where it has these markers. */
#include "report_parts.h"

#include "../error.h"

#include <string.h>

#define MARKER "<!-- ktrace:"

static const char *asset(const char *name)
{
    for (const struct kt_report_asset *found = kt_report_assets; found->name; found++)
        if (strcmp(found->name, name) == 0)
            return found->text;
    return "";
}

static void append_scripts(struct kt_string *out)
{
    for (const struct kt_report_asset *found = kt_report_assets; found->name; found++) {
        const size_t length = strlen(found->name);
        if (length > 3 && strcmp(found->name + length - 3, ".js") == 0)
            kt_string_append(out, found->text);
    }
}

static int append_data(struct kt_string *out, const struct ktrace_trace *trace)
{
    struct kt_string json = KT_STRING_INIT;
    struct kt_report_detail detail;
    int status = kt_report_detail_make(&detail, trace);
    if (status == 0)
        status = kt_report_append_data(&json, trace, &detail);
    kt_report_detail_free(&detail);
    if (status == 0)
        kt_report_append_harmless(out, kt_string_text(&json));
    out->failed |= json.failed;
    kt_string_destroy(&json);
    return status;
}

static int append_part(struct kt_string *out, const char *marker, const struct ktrace_trace *trace)
{
    if (strncmp(marker, "style", 5) == 0)
        kt_string_append(out, asset("page.css"));
    else if (strncmp(marker, "scripts", 7) == 0)
        append_scripts(out);
    else
        return append_data(out, trace);
    return 0;
}

static int append_page(struct kt_string *out, const struct ktrace_trace *trace)
{
    const char *at = asset("page.html");
    for (const char *marker; (marker = strstr(at, MARKER)); at = strstr(marker, "-->") + 3) {
        kt_string_append_bytes(out, at, (size_t)(marker - at));
        const int status = append_part(out, marker + strlen(MARKER), trace);
        if (status < 0)
            return status;
    }
    kt_string_append(out, at);
    return 0;
}

int kt_report_write(struct kt_sink *sink, const struct ktrace_trace *trace)
{
    struct kt_string page = KT_STRING_INIT;
    int status = append_page(&page, trace);
    if (status == 0 && page.failed)
        status = kt_fail_memory(page.length);
    if (status == 0)
        status = sink->write(sink, kt_string_text(&page), page.length);
    kt_string_destroy(&page);
    return status;
}
