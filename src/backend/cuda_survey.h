/* cuda_survey.h - the kernel that reads the clocks of an NVIDIA device for doctor. In a module of its own: captures need not have it
 * compiled. */
#ifndef KT_CUDA_SURVEY_H
#define KT_CUDA_SURVEY_H

#include "clock_survey.h"

/* PTX of ktrace_survey_clocks(survey): fills a struct kt_clock_survey, to_ns last. One that stays 0 says that the wall clock stood
 * still for some 20 ms. */
extern const char kt_cuda_survey_source[];

#endif
