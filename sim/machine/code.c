/* Instructions of a module, decoded when they are first reached. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../exec/exec.h"
#include "module.h"

#define CODE_CHUNK 256

/* Chunks never move: waves hold pointers into them. */
struct code_chunk {
    struct code_chunk *next;
    struct sim_instruction instructions[CODE_CHUNK];
};

void code_free(struct code *code)
{
    for (struct code_chunk *chunk = code->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(code->decoded);
}

static struct sim_instruction *new_instruction(struct code *code)
{
    if (!code->chunks || code->chunk_used == CODE_CHUNK) {
        struct code_chunk *chunk = malloc(sizeof *chunk);
        if (!chunk)
            return NULL;
        chunk->next = code->chunks;
        code->chunks = chunk;
        code->chunk_used = 0;
    }
    return &code->chunks->instructions[code->chunk_used++];
}

static const struct sim_instruction *decode(struct resident *resident, struct code *code, size_t index)
{
    struct sim_wave *wave = &resident->wave;
    enum sim_chip chip = wave->machine->config.chip;
    const uint32_t *words = (const uint32_t *)(uintptr_t)code->base + index;
    size_t left = code->bytes / 4 - index;
    struct sim_instruction *instruction = new_instruction(code);
    if (!instruction) {
        sim_fault(wave, "the host has no memory for decoded instructions");
        return NULL;
    }
    if (!sim_decode(instruction, chip, words, left)) {
        code->chunk_used--;
        sim_fault(wave, "no instruction of the chip is encoded as 0x%08" PRIx32 "%s", words[0],
                  left == 1 ? ", and the code ends here" : "");
        return NULL;
    }
    instruction->execute = sim_bind(instruction->opcode);
    instruction->cost = cost_classify(instruction, chip);
    code->decoded[index] = instruction;
    return instruction;
}

/* The code that holds the pc, looked for in all modules: a wave may call what another module defines. */
static struct code *find_code(const struct sim_machine *machine, uint64_t pc)
{
    for (const struct sim_module *module = machine->modules; module; module = module->next) {
        struct code *code = module_code(module, pc);
        if (code)
            return code;
    }
    return NULL;
}

/* The pc is a multiple of 4: kernels begin at one, and exec/ drops the low bits of jumps as hardware does. */
const struct sim_instruction *code_fetch(struct resident *resident)
{
    struct sim_wave *wave = &resident->wave;
    uint64_t offset = wave->pc - resident->code->base;
    if (offset >= resident->code->bytes) {
        struct code *code = find_code(wave->machine, wave->pc);
        if (!code) {
            sim_fault(wave, "the wave went to 0x%" PRIx64 ", where no code is", wave->pc);
            return NULL;
        }
        resident->code = code;
        offset = wave->pc - code->base;
    }
    const struct sim_instruction *instruction = resident->code->decoded[offset / 4];
    if (!instruction)
        instruction = decode(resident, resident->code, offset / 4);
    if (instruction && !instruction->execute) {
        sim_fault(wave, "this instruction is not implemented");
        return NULL;
    }
    return instruction;
}
