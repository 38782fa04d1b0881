/* hip_words.h - the words of HIP that a kernel needs. A program that is compiled by hipcc includes hip/hip_runtime.h. */
#ifndef EXAMPLES_AMDGCN_HIP_WORDS_H
#define EXAMPLES_AMDGCN_HIP_WORDS_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))

#endif
