/* Who executes next. Every SIMD with something to do waits in the calendar at the cycle at which it may issue; so does every
 * XCC whose dispatcher may start a workgroup. Instructions take effect when they issue, all of them in order of simulated
 * time; what issues in one cycle, in the order it was queued. Nothing depends on addresses or on the host's time.
 *
 * Instructions that nothing outside of their SIMD can see (arithmetic, branches, waits, clock reads) may be executed ahead of
 * that order, for a few hundred cycles: their waves' registers stay in the host's caches meanwhile. Only a wave that another
 * SIMD's wave makes ready, or that starts, within those cycles can tell: it issues up to RUN_AHEAD_CYCLES later. */
#include "internal.h"

#include "../exec/exec.h"

/* ---- SIMDs -------------------------------------------------------------------------------------------------------------- */

/* The wave that has waited longest; of those that have waited as long, the one in the first slot. */
static unsigned first_ready(const struct simd *simd, unsigned slots)
{
    unsigned first = 0;
    for (unsigned slot = 1; slot < slots; slot++)
        if (simd->ready[slot] < simd->ready[first])
            first = slot;
    return first;
}

/* When the SIMD issues next; SIM_NEVER: nothing is ready to. */
static uint64_t next_issue(const struct simd *simd, uint64_t ready)
{
    return ready == SIM_NEVER || ready > simd->free_cycle ? ready : simd->free_cycle;
}

/* A chip full of waves does not fit into the host's caches: what the SIMD behind this one in the calendar will need is asked
 * for while this one executes. */
static void prefetch_follower(const struct simd *simd)
{
    const struct agent *follower = (const struct agent *)simd->agent.event.next;
    if (!follower || follower->kind != EVENT_SIMD)
        return;
    const struct resident *resident = ((const struct simd *)follower)->upcoming;
    __builtin_prefetch(&resident->wave.sgpr[SIM_EXEC_LO]);
    __builtin_prefetch(&resident->wave.pc);
    __builtin_prefetch(&resident->instruction);
    __builtin_prefetch(&((const struct simd *)follower)->residents);
    if (follower->event.next)
        __builtin_prefetch(follower->event.next);
}

void simd_wake(struct sim_machine *machine, struct simd *simd)
{
    unsigned slot = first_ready(simd, machine->config.waves_per_simd);
    uint64_t cycle = next_issue(simd, simd->ready[slot]);
    simd->upcoming = simd->residents[slot];
    if (cycle < machine->now)
        cycle = machine->now;
    if (cycle == simd->agent.event.cycle)
        return;
    calendar_remove(&machine->calendar, &simd->agent.event);
    if (cycle != SIM_NEVER)
        calendar_add(&machine->calendar, &simd->agent.event, cycle);
}

static void execute_indexed(struct sim_wave *wave, const struct sim_instruction *instruction)
{
    struct sim_instruction moved;
    if (sim_index_registers(wave, &moved, instruction))
        moved.execute(wave, &moved);
}

static int is_vector_alu(const struct sim_instruction *instruction)
{
    return instruction->opcode->format >= SIM_VOP2 && instruction->opcode->format <= SIM_VOP3P;
}

/* One instruction of the wave in this slot, at this cycle. */
static void issue(struct sim_machine *machine, struct simd *simd, unsigned slot, uint64_t cycle)
{
    struct resident *resident = simd->residents[slot];
    struct sim_wave *wave = &resident->wave;
    resident->pc_of_instruction = wave->pc;
    resident->instruction = NULL;
    const struct sim_instruction *instruction = code_fetch(resident);
    if (!instruction) {
        fault_report(resident);
        return;
    }
    resident->instruction = instruction;
    if (instruction->cost >= COST_FIRST_THAT_WAITS) {
        uint64_t later = cost_issue_cycle(resident, instruction, cycle);
        if (later > cycle) {
            simd->ready[slot] = later;
            return;
        }
    }
    wave->now_cycle = cycle;
    wave->lines_touched = 0;
    wave->lane = SIM_LANES;
    wave->pc += instruction->bytes;
    if (wave->mode & SIM_MODE_GPR_INDEXING && is_vector_alu(instruction))
        execute_indexed(wave, instruction);
    else
        instruction->execute(wave, instruction);
    machine->instructions++;
    struct sim_dispatch *dispatch = wave->workgroup->dispatch;
    if (++dispatch->instructions > dispatch->instruction_limit)
        fault_endless(resident);
    uint64_t ready = cost_charge(resident, instruction, cycle);
    if (wave->faulted) {
        fault_report(resident);
        return;
    }
    simd->ready[slot] = ready;
    if (wave->state == SIM_WAVE_AT_BARRIER)
        wave_arrive_at_barrier(resident, ready);
    else if (wave->state == SIM_WAVE_ENDED)
        wave_leave(resident, ready);
}

#define RUN_AHEAD_CYCLES 256

static int is_local(const struct resident *resident)
{
    const struct sim_instruction *instruction = code_decoded(resident);
    return instruction && cost_is_local(instruction->cost);
}

/* Issues at the SIMD's cycle and goes on as long as nothing else comes first, nor `until`, or nothing else can tell. */
static void run_simd(struct sim_machine *machine, struct simd *simd, uint64_t until)
{
    unsigned slots = machine->config.waves_per_simd;
    unsigned slot = first_ready(simd, slots);
    uint64_t begin = simd->agent.event.cycle, cycle = begin;
    prefetch_follower(simd);
    calendar_remove(&machine->calendar, &simd->agent.event);
    for (;;) {
        issue(machine, simd, slot, cycle);
        slot = first_ready(simd, slots);
        cycle = next_issue(simd, simd->ready[slot]);
        /* Starting waves or a barrier may have put it into the calendar meanwhile. */
        calendar_remove(&machine->calendar, &simd->agent.event);
        if (cycle == SIM_NEVER)
            return;
        const struct event *other = calendar_first(&machine->calendar);
        int in_order = cycle < until && (!other || other->cycle > cycle);
        if (in_order && !machine->finished) {
            calendar_advance(&machine->calendar, cycle);
            machine->now = cycle;
        } else if (machine->finished || cycle - begin > RUN_AHEAD_CYCLES || !is_local(simd->residents[slot])) {
            simd->upcoming = simd->residents[slot];
            calendar_add(&machine->calendar, &simd->agent.event, cycle);
            return;
        }
    }
}

/* ---- XCCs --------------------------------------------------------------------------------------------------------------- */

void xcc_wake(struct sim_machine *machine, struct xcc *xcc, uint64_t cycle)
{
    cycle = cycle > xcc->next_cycle ? cycle : xcc->next_cycle;
    if (xcc->agent.event.cycle <= cycle)
        return;
    calendar_remove(&machine->calendar, &xcc->agent.event);
    calendar_add(&machine->calendar, &xcc->agent.event, cycle);
}

/* Starts one workgroup of the oldest dispatch that has one which fits. Workgroups of a dispatch start in order. */
static void run_xcc(struct sim_machine *machine, struct xcc *xcc)
{
    unsigned index = (unsigned)(xcc - machine->xccs);
    calendar_remove(&machine->calendar, &xcc->agent.event);
    for (struct sim_dispatch *dispatch = machine->dispatches; dispatch; dispatch = dispatch->next) {
        uint64_t linear_id = dispatch->next_workgroup[index];
        if (!dispatch->started || linear_id >= dispatch->workgroups)
            continue;
        uint32_t id[3], items[3];
        workgroup_id(id, dispatch, linear_id);
        workgroup_items(items, dispatch, id);
        uint32_t waves = workgroup_wave_count(items);
        uint32_t lds = place_lds_allocated(machine, dispatch->lds_bytes);
        struct simd *simds[SIM_MAX_WORKGROUP_WAVES];
        struct cu *cu = place_workgroup(simds, machine, xcc, waves, &dispatch->kernel->descriptor, lds);
        if (!cu)
            continue;
        dispatch->next_workgroup[index] += machine->config.xccs;
        if (workgroup_start(dispatch, cu, simds, waves, linear_id, lds))
            dispatch_fail(dispatch, SIM_FAILURE_OTHER, sim_error());
        xcc->next_cycle = machine->now + cost_workgroup_cycles();
        xcc_wake(machine, xcc, xcc->next_cycle);
        return;
    }
}

/* ---- All ------------------------------------------------------------------------------------------------------------------ */

static void run_dispatch(struct sim_machine *machine, struct sim_dispatch *dispatch)
{
    calendar_remove(&machine->calendar, &dispatch->agent.event);
    if (dispatch->started) {
        dispatch_finish(dispatch);
        return;
    }
    dispatch->started = 1;
    for (uint32_t i = 0; i < machine->config.xccs; i++)
        xcc_wake(machine, &machine->xccs[i], machine->now);
}

uint64_t sim_machine_run(struct sim_machine *machine, uint64_t cycle)
{
    machine->finished = 0;
    while (!machine->finished) {
        struct event *event = calendar_first(&machine->calendar);
        if (!event && machine->dispatches) {
            fault_stuck(machine->dispatches);
            break;
        }
        if (!event || event->cycle >= cycle) {
            if (cycle != SIM_NEVER && cycle > machine->now)
                machine->now = cycle;
            if (machine->now > machine->calendar.now)
                calendar_advance(&machine->calendar, machine->now);
            return cycle;
        }
        machine->now = event->cycle;
        calendar_advance(&machine->calendar, event->cycle);
        struct agent *agent = (struct agent *)event;
        switch (agent->kind) {
        case EVENT_SIMD: run_simd(machine, (struct simd *)agent, cycle); break;
        case EVENT_XCC: run_xcc(machine, (struct xcc *)agent); break;
        case EVENT_DISPATCH: run_dispatch(machine, (struct sim_dispatch *)agent); break;
        }
    }
    return machine->now;
}

uint64_t sim_machine_now(const struct sim_machine *machine)
{
    return machine->now;
}

uint64_t sim_machine_instructions(const struct sim_machine *machine)
{
    return machine->instructions;
}
