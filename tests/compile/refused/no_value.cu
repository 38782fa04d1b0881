// expect: ktrace: KTRACE_ENABLE is defined without a value
#define KTRACE_ENABLE
#include <ktrace/device.h>
