/* event.h - events: the mark that was recorded last, or the place in a capture. */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include "capture.h"

struct ihipEvent_t {
    unsigned flags;
    struct sim_command *command;
    struct sim_captured_event captured;
};

hipError_t sim_event_check(hipEvent_t event); /* is it one? */

#endif
