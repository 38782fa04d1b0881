/* hiprtc_api.h - the run-time compiler of the HIP runtime in use: ROCm's, or the simulator's. */
#ifndef KT_HIPRTC_API_H
#define KT_HIPRTC_API_H

#include "rtc_api.h"

/* Opened once for the process, never closed: libhiprtc beside the library that ktrace_hip_library names or where the loader
 * finds it; else that library itself, as the simulator and HIP 5 have it. KTRACE_ERROR_UNSUPPORTED: there is none. */
int kt_hiprtc_open(const struct kt_rtc_api **out);

#endif
