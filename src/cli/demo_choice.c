#include "demo.h"

#include <stdlib.h>
#include <string.h>

const struct demo_helper demo_helpers[DEMO_HELPERS] = {
    {"cuda",
     "CUDA",
     "ktrace-demo-cuda",
     {NULL},
     "this ktrace was built without ktrace-demo-cuda, which the preset demo builds where nvcc is",
     {"../libexec/ktrace/ktrace-demo-cuda", "ktrace-demo-cuda", "../examples/ktrace-demo-cuda"}},
    {"hip",
     "HIP",
     "ktrace-demo-hip",
     {"KTRACE_HIP_LIBRARY", "KTRACE_SIM_CHIP"},
     "this ktrace was built without ktrace-demo-hip, which the preset demo builds where clang-22 and lld-22 are",
     {"../libexec/ktrace/ktrace-demo-hip", "ktrace-demo-hip", "../examples/amdgcn/ktrace-demo-hip"}},
};

static const struct demo_helper *find(const char *on)
{
    for (int i = 0; i < DEMO_HELPERS; i++)
        if (strcmp(on, demo_helpers[i].on) == 0)
            return &demo_helpers[i];
    return NULL;
}

int demo_choose(struct demo_choice *out, const char *on)
{
    const char *environment = getenv("KTRACE_BACKEND");
    *out = (struct demo_choice){0};
    if (on) {
        out->who = "--on ";
        out->replay = strcmp(on, "replay") == 0;
        out->only = find(on);
        if (!out->replay && !out->only)
            return cli_error_usage(&cli_demo, "option '--on' takes cuda, hip or replay, not '%s'", on);
    } else if (environment && *environment) {
        out->who = "KTRACE_BACKEND=";
        out->only = find(environment);
        if (!out->only)
            return cli_error("KTRACE_BACKEND is '%s': set it to cuda or hip, or unset it", environment);
    }
    return CLI_OK;
}
