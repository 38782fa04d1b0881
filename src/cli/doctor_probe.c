/* doctor_probe.c - a vendor's library is asked in a child: a broken one crashes, exits or hangs as it is loaded. */
#include "../backend/hip_api.h"
#include "../backend/step.h"
#include "../backend_choice.h"
#include "child.h"
#include "doctor.h"

#include <stdio.h>
#include <string.h>

typedef struct kt_string text;

/* Shared with the child. */
struct probe {
    struct doctor_runtime runtime;
    char library[PATH_MAX]; /* in which it is */
    char action[32];        /* "loaded" */
    bool answered;          /* all that a capture needs: a library may end the child with exit status 0 */
};

static void keep(char *to, size_t bytes, const char *from)
{
    snprintf(to, bytes, "%s", from);
}

/* ---- In the child ------------------------------------------------------------------------------------------------ */

static struct probe *asked;

static void step(const char *library, const char *action)
{
    keep(asked->library, sizeof asked->library, library);
    keep(asked->action, sizeof asked->action, action);
}

static void ask_for_facts(struct doctor_runtime *runtime)
{
    struct kt_backend *backend;
    if (kt_backend_open(&backend, runtime->backend) < 0) {
        keep(runtime->reason, sizeof runtime->reason, ktrace_last_error());
        return;
    }
    runtime->usable = backend->ops->facts(&runtime->facts, backend) == KTRACE_OK;
    if (!runtime->usable)
        keep(runtime->reason, sizeof runtime->reason, ktrace_last_error());
    backend->ops->close(backend);
}

static int ask(void *context)
{
    struct probe *probe = context;
    struct doctor_runtime *runtime = &probe->runtime;
    const char *path;
    asked = probe;
    kt_step_listen(step);
    if (strcmp(runtime->backend, "hip") == 0 && ktrace_hip_library(&path) == KTRACE_OK) {
        keep(runtime->library, sizeof runtime->library, path);
        keep(runtime->passed_over, sizeof runtime->passed_over, kt_hip_api_passed_over());
        step(path, "asked for its devices");
    }
    ask_for_facts(runtime);
    step(probe->library, "asked for its devices");
    doctor_list_devices(runtime);
    probe->answered = true;
    if (runtime->usable)
        doctor_find_compiler(runtime);
    return CLI_OK;
}

/* ---- In the command ---------------------------------------------------------------------------------------------- */

/* The child did not come to its end: what a capture would not survive either. */
static void explain_end(struct doctor_runtime *runtime, const struct probe *probe, const struct cli_child *child,
                        int limit_s)
{
    text reason = KT_STRING_INIT, said = KT_STRING_INIT;
    const bool hip = strcmp(runtime->backend, "hip") == 0;
    kt_string_printf(&reason, "the library %s ", probe->library);
    cli_child_append_end(&reason, child, limit_s);
    kt_string_printf(&reason, " while it was being %s", probe->action);
    cli_child_append_last_line(&said, child);
    if (said.length)
        kt_string_printf(&reason, ", having said '%s'", kt_string_text(&said));
    kt_string_append(&reason, child->was_stopped ? ": --timeout waits longer, and a capture waits for ever"
                                                 : ": a capture would end its program with it");
    kt_string_append(&reason,
                     hip ? "; repair it, or set KTRACE_HIP_LIBRARY to the path of another, such as libktrace_sim.so"
                         : "; repair it, or set KTRACE_BACKEND to hip to do without it");
    runtime->usable = false;
    runtime->crashed = true;
    keep(runtime->reason, sizeof runtime->reason, kt_string_text(&reason));
    kt_string_destroy(&reason);
    kt_string_destroy(&said);
}

/* It did, for a capture, but not to the end of looking for the compiler. */
static void explain_compiler_end(struct doctor_runtime *runtime, const struct cli_child *child, int limit_s)
{
    text reason = KT_STRING_INIT;
    kt_string_append(&reason, "cannot be loaded: the process that did ");
    cli_child_append_end(&reason, child, limit_s);
    runtime->compiles = false;
    keep(runtime->compiler, sizeof runtime->compiler, kt_string_text(&reason));
    kt_string_destroy(&reason);
}

/* The child's memory is not to be relied on where a library may have written into it. */
static void end_texts(struct probe *probe)
{
    struct doctor_runtime *runtime = &probe->runtime;
    probe->library[sizeof probe->library - 1] = 0;
    probe->action[sizeof probe->action - 1] = 0;
    runtime->facts.name[sizeof runtime->facts.name - 1] = 0;
    runtime->library[sizeof runtime->library - 1] = 0;
    runtime->passed_over[sizeof runtime->passed_over - 1] = 0;
    runtime->reason[sizeof runtime->reason - 1] = 0;
    runtime->driver[sizeof runtime->driver - 1] = 0;
    runtime->compiler[sizeof runtime->compiler - 1] = 0;
    for (int i = 0; i < DOCTOR_DEVICES; i++)
        runtime->devices[i].name[sizeof runtime->devices[i].name - 1] = 0;
    if (runtime->listed < 0 || runtime->listed > DOCTOR_DEVICES)
        runtime->listed = 0;
}

int doctor_probe(struct doctor_runtime *out, const char *name, const char *backend, int limit_s)
{
    struct probe *probe = cli_child_share(sizeof *probe);
    if (!probe)
        return CLI_FAILURE;
    probe->runtime.name = name;
    probe->runtime.backend = backend;
    struct cli_child child = CLI_CHILD_INIT;
    child.verb = "asking";
    child.object = name;
    const int result = cli_child_run(&child, ask, probe, limit_s);
    if (result == 0) {
        end_texts(probe);
        *out = probe->runtime;
        out->name = name;
        out->backend = backend;
        if (!probe->answered)
            explain_end(out, probe, &child, limit_s);
        else if (!cli_child_exited_with(&child, CLI_OK))
            explain_compiler_end(out, &child, limit_s);
    }
    cli_child_destroy(&child);
    cli_child_unshare(probe, sizeof *probe);
    return result == 0 ? CLI_OK : CLI_FAILURE;
}
