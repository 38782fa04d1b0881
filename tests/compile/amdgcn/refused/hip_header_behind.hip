// expect: ktrace: include HIP's headers before ktrace/device.h
#define KTRACE_ENABLE 1
#include <ktrace/device.h>

#include "hip.h"
