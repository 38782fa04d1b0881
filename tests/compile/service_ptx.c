/* Prints the PTX of the library's own kernels, for ptxas. */
#include <stdio.h>

#include "backend/cuda_service.h"

int main(void)
{
    return fputs(kt_cuda_service_source, stdout) < 0;
}
