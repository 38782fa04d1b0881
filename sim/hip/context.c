/* context.c - hipCtx* and hipDevicePrimaryCtx*: a context is a device, and the current one the thread's device. */
#include "runtime.h"

static hipError_t is_null(const char *function)
{
    return sim_hip_error(hipErrorInvalidValue, "%s: the pointer that receives the answer is NULL", function);
}

static struct sim_device *device_of(hipCtx_t context)
{
    for (int i = 0; i < sim_runtime.device_count; i++)
        if (&sim_runtime.devices[i].context == context)
            return &sim_runtime.devices[i];
    sim_hip_error(hipErrorInvalidContext, "%p is no context", (void *)context);
    return NULL;
}

static hipError_t push(int device)
{
    if (sim_thread.context_count == SIM_CONTEXTS)
        return sim_hip_error(hipErrorInvalidContext, "more than %d contexts pushed", SIM_CONTEXTS);
    sim_thread.contexts[sim_thread.context_count++] = sim_thread.device;
    sim_thread.device = device;
    return hipSuccess;
}

static hipError_t create(hipCtx_t *context, int index)
{
    struct sim_device *device = sim_device_at(index);
    if (!device)
        return hipErrorInvalidDevice;
    if (!context)
        return is_null("hipCtxCreate");
    device->is_used = 1;
    *context = &device->context;
    return push(index);
}

hipError_t hipCtxCreate(hipCtx_t *context, unsigned int flags, hipDevice_t device)
{
    (void)flags; /* how to wait on the host: simulated time has no such thing */
    SIM_CALL(SIM_CALL_ALLOCATE, create(context, device));
}

static hipError_t pop(hipCtx_t *context)
{
    if (!sim_thread.context_count)
        return sim_hip_error(hipErrorInvalidContext, "no context was pushed");
    if (context)
        *context = &sim_current_device()->context;
    sim_thread.device = sim_thread.contexts[--sim_thread.context_count];
    return hipSuccess;
}

static hipError_t destroy(hipCtx_t context)
{
    if (!device_of(context))
        return hipErrorInvalidContext;
    /* A current context that was pushed is popped, as HIP does. */
    return sim_thread.context_count && context == &sim_current_device()->context ? pop(NULL) : hipSuccess;
}

hipError_t hipCtxDestroy(hipCtx_t context)
{
    SIM_CALL(SIM_CALL_ALLOCATE, destroy(context));
}

hipError_t hipCtxPushCurrent(hipCtx_t context)
{
    SIM_CALL(SIM_CALL_QUERY, device_of(context) ? push(context->device) : hipErrorInvalidContext);
}

hipError_t hipCtxPopCurrent(hipCtx_t *context)
{
    SIM_CALL(SIM_CALL_QUERY, pop(context));
}

static hipError_t set_current(hipCtx_t context)
{
    if (!context) /* none: HIP's threads are on device 0 then */
        sim_thread.device = 0;
    else if (device_of(context))
        sim_thread.device = context->device;
    else
        return hipErrorInvalidContext;
    return hipSuccess;
}

hipError_t hipCtxSetCurrent(hipCtx_t context)
{
    SIM_CALL(SIM_CALL_QUERY, set_current(context));
}

static hipError_t get_current(hipCtx_t *context)
{
    if (!context)
        return is_null("hipCtxGetCurrent");
    *context = &sim_current_device()->context;
    return hipSuccess;
}

hipError_t hipCtxGetCurrent(hipCtx_t *context)
{
    SIM_CALL(SIM_CALL_QUERY, get_current(context));
}

static hipError_t get_device(hipDevice_t *device)
{
    if (!device)
        return is_null("hipCtxGetDevice");
    *device = sim_thread.device;
    return hipSuccess;
}

hipError_t hipCtxGetDevice(hipDevice_t *device)
{
    SIM_CALL(SIM_CALL_QUERY, get_device(device));
}

static hipError_t retain(hipCtx_t *context, int index)
{
    struct sim_device *device = sim_device_at(index);
    if (!device)
        return hipErrorInvalidDevice;
    if (!context)
        return is_null("hipDevicePrimaryCtxRetain");
    device->contexts_retained++;
    *context = &device->context;
    return hipSuccess;
}

hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *context, hipDevice_t device)
{
    SIM_CALL(SIM_CALL_QUERY, retain(context, device));
}

static hipError_t release(int index)
{
    struct sim_device *device = sim_device_at(index);
    if (!device)
        return hipErrorInvalidDevice;
    if (!device->contexts_retained)
        return sim_hip_error(hipErrorInvalidContext, "the primary context of device %d was not retained", index);
    device->contexts_retained--;
    return hipSuccess;
}

hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device)
{
    SIM_CALL(SIM_CALL_QUERY, release(device));
}

static hipError_t get_state(int index, unsigned *flags, int *active)
{
    const struct sim_device *device = sim_device_at(index);
    if (!device)
        return hipErrorInvalidDevice;
    if (flags)
        *flags = 0;
    if (active)
        *active = device->is_used || device->contexts_retained;
    return hipSuccess;
}

hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned int *flags, int *active)
{
    SIM_CALL(SIM_CALL_QUERY, get_state(device, flags, active));
}
