#include "../../compile/amdgcn/hip.h"
#include <ktrace/device.h>

#define LANE __builtin_amdgcn_workitem_id_x()
#define WAIT_FOR_ALL() __builtin_amdgcn_s_barrier()
#include "kernels.h"
