/* fuzz_collect.c - device memory that anything wrote to: a capture peeks, reads, decodes and exports it. */
#include "hostile_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hostile_memory(data, bytes);
    return 0;
}
