#include "vocabulary.h"

#include <inttypes.h>
#include <stdio.h>

static void sm_name(char *text, size_t capacity_bytes, uint32_t place)
{
    snprintf(text, capacity_bytes, "SM %" PRIu32, place);
}

/* The place of an amdgcn wave: bits 14:8 of HW_ID (SE 14:13, SH 12, CU 11:8) and the XCC in bits 19:16. */
static void cu_name(char *text, size_t capacity_bytes, uint32_t place)
{
    snprintf(text, capacity_bytes, "XCD%" PRIu32 "/SE%" PRIu32 "/SH%" PRIu32 "/CU%" PRIu32, place >> 16 & 15,
             place >> 13 & 3, place >> 12 & 1, place >> 8 & 15);
}

static void cpu_name(char *text, size_t capacity_bytes, uint32_t place)
{
    snprintf(text, capacity_bytes, "CPU %" PRIu32, place);
}

static const struct kt_vocabulary vocabularies[] = {
    {KTRACE_ARCH_NVIDIA, sm_name, "CTA", "Warp ", "warps", "Warp Span", "SMs"},
    {KTRACE_ARCH_AMDGCN, cu_name, "WG", "Wave", "waves", "Wave Span", "CUs"},
    {KTRACE_ARCH_HOST, cpu_name, "WG", "Wave", "waves", "Wave Span", "CPUs"}, /* the last one also serves the unknown */
};

const struct kt_vocabulary *kt_vocabulary_of(uint32_t arch)
{
    const size_t last = sizeof vocabularies / sizeof vocabularies[0] - 1;
    size_t i = 0;
    while (i < last && vocabularies[i].arch != arch)
        i++;
    return &vocabularies[i];
}
