/* errors.c - error codes: the thread's last one, their names and their texts. */
#include "runtime.h"

static const struct {
    hipError_t code;
    const char *name, *text;
} errors[] = {
#define ERROR(code, text) \
    { \
        code, #code, text \
    }
    ERROR(hipSuccess, "no error"),
    ERROR(hipErrorInvalidValue, "invalid argument"),
    ERROR(hipErrorOutOfMemory, "out of memory"),
    ERROR(hipErrorNotInitialized, "the simulator could not start: ktrace_simulator_error() says why"),
    ERROR(hipErrorInvalidConfiguration, "invalid launch configuration"),
    ERROR(hipErrorInvalidPitchValue, "a pitch smaller than the width"),
    ERROR(hipErrorInvalidSymbol, "no such device variable"),
    ERROR(hipErrorInvalidDevicePointer, "invalid device pointer"),
    ERROR(hipErrorInvalidMemcpyDirection, "the kind of the copy does not fit its addresses"),
    ERROR(hipErrorMissingConfiguration, "a launch without its configuration"),
    ERROR(hipErrorInvalidDeviceFunction, "no such kernel on this device"),
    ERROR(hipErrorNoDevice, "no device"),
    ERROR(hipErrorInvalidDevice, "no device with this number"),
    ERROR(hipErrorInvalidImage, "not a code object that can be loaded"),
    ERROR(hipErrorInvalidContext, "invalid context"),
    ERROR(hipErrorNoBinaryForGpu, "no code for this device's architecture"),
    ERROR(hipErrorFileNotFound, "file not found"),
    ERROR(hipErrorInvalidHandle, "invalid handle"),
    ERROR(hipErrorIllegalState, "not allowed in the object's state"),
    ERROR(hipErrorNotFound, "no such name"),
    ERROR(hipErrorNotReady, "not finished yet"),
    ERROR(hipErrorIllegalAddress, "a kernel used an illegal address"),
    ERROR(hipErrorLaunchOutOfResources, "too many resources for a launch"),
    ERROR(hipErrorLaunchTimeOut, "a kernel did not end"),
    ERROR(hipErrorHostMemoryAlreadyRegistered, "host memory is registered already"),
    ERROR(hipErrorHostMemoryNotRegistered, "host memory is not registered"),
    ERROR(hipErrorLaunchFailure, "a kernel failed"),
    ERROR(hipErrorCooperativeLaunchTooLarge, "too many workgroups for a cooperative launch"),
    ERROR(hipErrorNotSupported, "not supported"),
    ERROR(hipErrorStreamCaptureUnsupported, "not permitted while a stream is being captured"),
    ERROR(hipErrorStreamCaptureInvalidated, "the capture was invalidated by an earlier error"),
    ERROR(hipErrorStreamCaptureMerge, "two captures would be merged"),
    ERROR(hipErrorStreamCaptureUnmatched, "the capture did not begin on this stream"),
    ERROR(hipErrorStreamCaptureUnjoined, "a forked stream was not joined to the captured one"),
    ERROR(hipErrorStreamCaptureIsolation, "a dependency would cross the border of the capture"),
    ERROR(hipErrorStreamCaptureImplicit, "an implicit dependency of the legacy stream on a captured one"),
    ERROR(hipErrorCapturedEvent, "not permitted on an event that was recorded in a capture"),
    ERROR(hipErrorStreamCaptureWrongThread, "the capture was begun by another thread"),
    ERROR(hipErrorUnknown, "unknown error"),
#undef ERROR
};

static size_t find(hipError_t code)
{
    const size_t count = sizeof errors / sizeof errors[0];
    for (size_t i = 0; i < count; i++)
        if (errors[i].code == code)
            return i;
    return count - 1;
}

const char *hipGetErrorName(hipError_t error)
{
    return errors[find(error)].name;
}

const char *hipGetErrorString(hipError_t error)
{
    return errors[find(error)].text;
}

hipError_t hipGetLastError(void)
{
    const hipError_t error = sim_thread.last_error;
    sim_thread.last_error = hipSuccess;
    return error;
}

hipError_t hipPeekAtLastError(void)
{
    return sim_thread.last_error;
}

const char *ktrace_simulator_error(void)
{
    return sim_thread.sentence;
}
