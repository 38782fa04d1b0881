// expect: ktrace: KTRACE_ENABLE is defined without a value: give it 0 or 1
#define KTRACE_ENABLE
#include <ktrace/device.h>
