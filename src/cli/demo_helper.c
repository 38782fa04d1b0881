#include "child.h"
#include "demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { HELPER_NO_DEVICE = 77, REPEATED_LINES = 20 };

static const char otherwise[] = "'ktrace doctor' says what it finds here, 'ktrace demo --on replay' does without it";

struct execution {
    const char *path, *backend, *trace_path;
    int *error; /* shared: errno, where the program cannot be run */
};

/* Of what the caller's programs are told: which library and which simulator. How much they record, where and of what, and whether
 * without being asked, is not for the helper, which begins its own capture. */
static bool is_for_helper(const char *variable)
{
    static const char *const kept[] = {"KTRACE_HIP_LIBRARY=", "KTRACE_SIM_"};
    bool is_kept = strncmp(variable, "KTRACE_", 7) != 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        is_kept = is_kept || strncmp(variable, kept[i], strlen(kept[i])) == 0;
    return is_kept;
}

static void set_environment(const char *backend)
{
    char **to = environ;
    for (char **from = environ; *from; from++)
        if (is_for_helper(*from))
            *to++ = *from;
    *to = NULL;
    setenv("KTRACE_BACKEND", backend, 1);
}

static int execute(void *context)
{
    const struct execution *execution = context;
    set_environment(execution->backend);
    char *const arguments[] = {(char *)execution->path, (char *)execution->trace_path, NULL};
    execv(execution->path, arguments);
    *execution->error = errno;
    return CLI_FAILURE;
}

/* The variable that asks for this helper's device; NULL: none does. */
static const char *find_wish(const struct demo_helper *helper)
{
    for (size_t i = 0; i < sizeof helper->wishes / sizeof *helper->wishes; i++) {
        const char *value = helper->wishes[i] ? getenv(helper->wishes[i]) : NULL;
        if (value && *value)
            return helper->wishes[i];
    }
    return NULL;
}

/* There is no device, or no helper: a reason for another demo, unless this one was asked for. */
static enum demo_made pass_over(struct kt_string *why, const struct demo_helper *helper, const char *reason)
{
    const char *wish = find_wish(helper);
    if (!wish) {
        kt_string_append(why, reason);
        return DEMO_NOT_MADE;
    }
    cli_error("%s is '%s', but %s; %s", wish, getenv(wish), reason, otherwise);
    return DEMO_FAILED;
}

static bool is_empty(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_size == 0;
}

/* What a helper that failed wrote before the line that the error quotes, as a runtime's own words about its kernel; of many
 * lines the last. */
static void repeat_words(const struct demo_helper *helper, const struct cli_child *child)
{
    struct kt_string before = KT_STRING_INIT;
    cli_child_append_lines_before_last(&before, child);
    char *text = NULL, *state;
    int surplus = -REPEATED_LINES;
    if (kt_string_take(&text, &before) < 0)
        return;
    for (const char *at = text; *at; at++)
        surplus += *at == '\n' && at[1] != '\n';
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
        if (surplus-- <= 0)
            cli_error("%s: %s", helper->name, line);
    free(text);
}

static enum demo_made judge(struct kt_string *why, const struct demo_helper *helper, const char *trace_path,
                            const struct cli_child *child, int limit_s)
{
    struct kt_string line = KT_STRING_INIT, end = KT_STRING_INIT, visible = KT_STRING_INIT;
    cli_child_append_last_line(&line, child);
    cli_child_append_end(&end, child, limit_s);
    const char *said = line.length ? kt_string_text(&line) : "it said nothing";
    enum demo_made made = DEMO_FAILED;
    if (cli_child_exited_with(child, HELPER_NO_DEVICE)) {
        made = pass_over(why, helper, said);
    } else if (cli_child_exited_with(child, 0) && !is_empty(trace_path)) {
        kt_string_append_visible(&visible, kt_string_text(&line));
        cli_print(kt_string_text(&visible));
        cli_print(visible.length ? "\n" : "");
        made = DEMO_MADE;
    } else if (cli_child_exited_with(child, 0)) {
        repeat_words(helper, child);
        cli_error("%s ended without a trace: %s; %s", helper->name, said, otherwise);
    } else {
        repeat_words(helper, child);
        cli_error("%s %s%s: %s; %s", helper->name, kt_string_text(&end),
                  child->was_stopped ? " (--timeout waits longer)" : "", said, otherwise);
    }
    kt_string_destroy(&line);
    kt_string_destroy(&end);
    kt_string_destroy(&visible);
    return made;
}

static enum demo_made run(struct kt_string *why, const struct demo_helper *helper, struct execution *execution,
                          int limit_s)
{
    struct cli_child child = CLI_CHILD_INIT;
    enum demo_made made = DEMO_FAILED;
    child.verb = "running";
    child.object = helper->name;
    if (cli_child_run(&child, execute, execution, limit_s) == 0) {
        if (*execution->error)
            cli_error("%s: cannot run: %s", execution->path, strerror(*execution->error));
        else
            made = judge(why, helper, execution->trace_path, &child, limit_s);
    }
    cli_child_destroy(&child);
    return made;
}

enum demo_made demo_run_helper(struct kt_string *why, const struct demo_helper *helper, const char *trace_path,
                               int limit_s)
{
    char *path = demo_find_helper(helper);
    if (!path)
        return pass_over(why, helper, helper->missing);
    struct execution execution = {.path = path, .backend = helper->on, .trace_path = trace_path};
    execution.error = cli_child_share(sizeof *execution.error);
    const enum demo_made made = execution.error ? run(why, helper, &execution, limit_s) : DEMO_FAILED;
    cli_child_unshare(execution.error, sizeof *execution.error);
    free(path);
    return made;
}
