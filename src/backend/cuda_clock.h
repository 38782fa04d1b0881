/* cuda_clock.h - host and device clock read together, to within a round trip over the bus. */
#ifndef KT_CUDA_CLOCK_H
#define KT_CUDA_CLOCK_H

#include "../snapshot.h"
#include "cuda_api.h"

/* PTX of ktrace_answer_clock(mailbox): a thread that answers KT_CLOCK_QUESTIONS questions with the wall clock, and gives up where
 * none comes for about a second. */
extern const char kt_cuda_clock_source[];
#define KT_CLOCK_QUESTIONS 16u
#define KT_CLOCK_MAILBOX_BYTES 256u

/* Asks a thread of `kernel`, which runs on `stream` beside all others, and keeps the answer that came fastest. `mailbox`: pinned
 * memory of KT_CLOCK_MAILBOX_BYTES, for this alone, since a thread that was given up may still come. The driver's error; KT_CU_ERROR_TIMEOUT: no answer for a
 * second, as where the device is full of kernels that do not end. */
kt_cu_result kt_cuda_ask_clock(struct kt_host_anchor *out, const struct kt_cuda_api *api, kt_cu_function kernel,
                               kt_cu_stream stream, void *mailbox);

#endif
