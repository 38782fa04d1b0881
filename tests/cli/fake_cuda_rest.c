/* What no test asks of fake_cuda.c, and libktrace looks for: not supported. */
#include "../../src/backend/cuda_api.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { NOT_SUPPORTED = 801 };

#define REST(field, exported, parameters) \
    __attribute__((visibility("default"), weak)) int exported parameters \
    { \
        return NOT_SUPPORTED; \
    }
KT_CUDA_FUNCTIONS(REST)
