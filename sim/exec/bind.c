/* bind.c - execute functions by name: a hash table over the tables of all files, made at the first question. */
#include <pthread.h>
#include <string.h>

#include "exec.h"

static const struct sim_bindings *const tables[] = {
    &sim_scalar_alu,
    &sim_scalar_mask,
    &sim_scalar_flow,
    &sim_smem,
    &sim_ds,
    &sim_ds_lanes,
    &sim_flat,
    &sim_buffer,
    &sim_vector_integer,
    &sim_vector_bits,
    &sim_vector_compare,
    &sim_vector_lane,
    &sim_vector_float,
    &sim_vector_float_order,
    &sim_vector_float_round,
    &sim_vector_float_math,
    &sim_vector_float_divide,
    &sim_vector_convert,
    &sim_vector_convert_scaled,
    &sim_vector_packed,
    &sim_vector_dot,
    &sim_matrix,
};

/* Open addressing; more than twice the number of gfx950's opcodes. */
#define SLOTS 4096u
static const struct sim_binding *slots[SLOTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The slot that holds the name, or the empty one where it belongs. */
static const struct sim_binding **find(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    while (slots[hash % SLOTS] && strcmp(slots[hash % SLOTS]->name, name) != 0)
        hash++;
    return &slots[hash % SLOTS];
}

static void fill(void)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t i = 0; i < tables[t]->count; i++)
            *find(tables[t]->entries[i].name) = &tables[t]->entries[i];
}

sim_execute sim_bind(const struct sim_opcode *opcode)
{
    pthread_once(&once, fill);
    const struct sim_binding *binding = *find(opcode->name);
    return binding ? binding->execute : NULL;
}
