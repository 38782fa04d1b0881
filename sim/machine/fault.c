#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

void sim_fault(struct sim_wave *wave, const char *format, ...)
{
    struct sim_machine *machine = wave->machine;
    if (wave->faulted)
        return;
    wave->faulted = 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(machine->fault, sizeof machine->fault, format, arguments);
    va_end(arguments);
}

static void disassemble(char *text, size_t bytes, const struct resident *resident)
{
    const struct sim_instruction *instruction = resident->instruction;
    int length = 0;
    if (!instruction) {
        snprintf(text, bytes, "no instruction");
        return;
    }
    for (unsigned i = 0; i < instruction->bytes / 4u; i++)
        length += snprintf(text + length, bytes - (size_t)length, "%08" PRIX32 " ", instruction->words[i]);
    sim_disassemble(text + length, bytes - (size_t)length, instruction);
}

void fault_report(struct resident *resident)
{
    struct sim_machine *machine = resident->wave.machine;
    const struct sim_workgroup *workgroup = resident->wave.workgroup;
    struct sim_dispatch *dispatch = workgroup->dispatch;
    const struct sim_kernel *kernel = dispatch->kernel;
    uint64_t pc = resident->pc_of_instruction, start = kernel->code_address;
    char instruction[192], sentence[1024];
    disassemble(instruction, sizeof instruction, resident);
    snprintf(sentence, sizeof sentence,
             "kernel '%s', workgroup (%u, %u, %u), wave %u: %s; at 0x%" PRIx64 " (%s%s0x%" PRIx64 "): %s", kernel->name,
             workgroup->id[0], workgroup->id[1], workgroup->id[2], resident->wave.index, machine->fault, pc,
             kernel->name, pc < start ? "-" : "+", pc < start ? start - pc : pc - start, instruction);
    enum sim_failure failure = machine->failure ? machine->failure : SIM_FAILURE_OTHER;
    machine->failure = SIM_FAILURE_NONE;
    dispatch_fail(dispatch, failure, sentence);
}

struct counts {
    uint64_t waves, at_barrier, started;
};

static struct counts count_waves(const struct sim_dispatch *dispatch)
{
    const struct sim_machine *machine = dispatch->machine;
    struct counts counts = {0};
    for (size_t i = 0; i < machine->resident_count; i++) {
        const struct sim_wave *wave = &machine->residents[i].wave;
        if (!wave->workgroup || wave->workgroup->dispatch != dispatch)
            continue;
        counts.waves++;
        counts.at_barrier += wave->state == SIM_WAVE_AT_BARRIER;
    }
    for (uint32_t i = 0; i < machine->config.xccs; i++)
        counts.started += dispatch->next_workgroup[i] / machine->config.xccs;
    return counts;
}

void fault_endless(struct resident *resident)
{
    const struct sim_dispatch *dispatch = resident->wave.workgroup->dispatch;
    struct counts counts = count_waves(dispatch);
    resident->wave.machine->failure = SIM_FAILURE_ENDLESS;
    sim_fault(&resident->wave,
              "the kernel does not end: %" PRIu64 " wave instructions are the limit, %" PRIu64 " of its %" PRIu64
              " waves that run wait at a barrier, %" PRIu64 " of %" PRIu64 " workgroups have not started; if it only "
              "takes long, set KTRACE_SIM_MAX_INSTRUCTIONS",
              dispatch->instruction_limit, counts.at_barrier, counts.waves, dispatch->workgroups - counts.started,
              dispatch->workgroups);
}

void fault_stuck(struct sim_dispatch *dispatch)
{
    struct counts counts = count_waves(dispatch);
    char sentence[512];
    snprintf(sentence, sizeof sentence,
             "kernel '%s' cannot go on: %" PRIu64 " of its %" PRIu64 " waves that run wait at a barrier, %" PRIu64
             " of %" PRIu64 " workgroups have not started",
             dispatch->kernel->name, counts.at_barrier, counts.waves, dispatch->workgroups - counts.started,
             dispatch->workgroups);
    dispatch_fail(dispatch, SIM_FAILURE_ENDLESS, sentence);
}
