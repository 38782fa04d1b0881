/* cuda_service.h - the kernels that libktrace itself runs on NVIDIA devices, compiled by the driver. */
#ifndef KT_CUDA_SERVICE_H
#define KT_CUDA_SERVICE_H

#include "cuda_api.h"
#include "service_shape.h"

/* PTX of two kernels:
 *   ktrace_read_clock(result)                        result[0] the wall clock, result[1] the smallest step in 16 changes of it
 *   ktrace_exchange_counters(counters, claims, before) puts every counter to what a half begins with and hands over what was
 *                                                    there, in one step for each; a thread a line, 257 of them
 * The last two are struct ktrace_counters. */
extern const char kt_cuda_service_source[];

#endif
