/* HIP's words, and what linked.hip calls of linked_second.hip. */
#ifndef LINKED_H
#define LINKED_H

#include "../../compile/amdgcn/hip.h"

extern "C" hipError_t hipMalloc(void **memory, size_t bytes);

void launch_second(int *out);

#endif
