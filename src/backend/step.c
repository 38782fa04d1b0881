#include "step.h"

#include <stddef.h>

static kt_step_listener *listening;

void kt_step_listen(kt_step_listener *listener)
{
    listening = listener;
}

void kt_step(const char *library, const char *action)
{
    if (listening != NULL)
        listening(library, action);
}
