// expect: ktrace: KTRACE_ENABLE=1, but this compiler does not target a device that ktrace records on
#define KTRACE_ENABLE 1
#include <ktrace/device.h>
