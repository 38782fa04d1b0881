/* handles.h - which pointers that callers hand in are live objects of ours. */
#ifndef SIM_HANDLES_H
#define SIM_HANDLES_H

enum sim_handle {
    SIM_HANDLE_STREAM = 1,
    SIM_HANDLE_EVENT,
    SIM_HANDLE_MODULE,
    SIM_HANDLE_FUNCTION,
    SIM_HANDLE_GRAPH,
    SIM_HANDLE_NODE,
    SIM_HANDLE_EXEC
};

int sim_handle_add(enum sim_handle kind, const void *object); /* -1 with sim_error set: out of memory */
void sim_handle_remove(const void *object);
int sim_handle_is(enum sim_handle kind, const void *object);

#endif
