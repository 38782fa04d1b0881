/* The untraced twin of the kernels in test_truth.cu. */
#undef KTRACE_ENABLE
#define KTRACE_ENABLE 0
#include "check.h"

#include <ktrace/device.h>

namespace untraced
{
#include "test_truth_kernels.inc"
}
