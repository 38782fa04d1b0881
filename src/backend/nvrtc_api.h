/* nvrtc_api.h - NVIDIA's run-time compiler. */
#ifndef KT_NVRTC_API_H
#define KT_NVRTC_API_H

#include "rtc_api.h"

/* Opened once for the process, never closed: the library that KTRACE_NVRTC_LIBRARY names; else the one that is loaded
 * already; else libnvrtc.so.13, .12 or .11.2 where the loader, CUDA's installers, conda or pip put it.
 * KTRACE_ERROR_UNSUPPORTED: there is none, and how to get it. */
int kt_nvrtc_open(const struct kt_rtc_api **out);

#endif
