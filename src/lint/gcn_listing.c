/* Reads what `llvm-objdump -d` prints of a code object:
 *
 *      0000000000002500 <gemm>:
 *              s_cbranch_scc1 12            // 000000002CE0: BF85000C <gemm+0x814>
 */
#include "code.h"

#include "../error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 4 };

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Integer arithmetic and moves of vectors: "v_add_u32_e32", "v_lshl_add_u64". */
static bool is_cheap_vector(const char *opcode)
{
    static const char *const starts[] = {
        "v_mov_",     "v_and_",   "v_or_",      "v_or3_",      "v_xor_",       "v_not_",
        "v_lshl",     "v_lshr",   "v_ashr",     "v_bfe_",      "v_bfi_",       "v_bfrev_",
        "v_perm_",    "v_alignb", "v_cndmask_", "v_readlane_", "v_writelane_", "v_readfirstlane_",
        "v_accvgpr_", "v_mbcnt_", "v_xad_",     "v_nop",       "v_swap_",      "v_and_or_",
        "v_ffb"};
    static const char *const types[] = {"_u32", "_i32", "_u16", "_i16", "_u64", "_i64",
                                        "_u24", "_i24", "_co_", "_b32", "_b64"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (begins_with(opcode, starts[i]))
            return true;
    if (begins_with(opcode, "v_cvt") || begins_with(opcode, "v_mfma") || begins_with(opcode, "v_smfmac") ||
        begins_with(opcode, "v_dot") || strstr(opcode, "_f32") || strstr(opcode, "_f16") || strstr(opcode, "_f64"))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strstr(opcode, types[i]))
            return true;
    return false;
}

static enum lint_weight weigh(const char *opcode)
{
    static const char *const waits_and_memory[] = {
        "s_waitcnt", "s_barrier", "s_sleep",   "s_load",   "s_store", "s_buffer", "s_atomic", "s_scratch", "s_mem",
        "s_dcache",  "s_icache",  "s_sendmsg", "s_swappc", "s_call",  "s_trap",   "s_setreg", "s_wait"};
    static const char *const control[] = {"s_branch",      "s_cbranch",  "s_endpgm",  "s_setpc",        "s_setprio",
                                          "s_set_gpr_idx", "s_setvskip", "s_setkill", "s_inst_prefetch"};
    if (begins_with(opcode, "s_nop") || begins_with(opcode, "s_code_end"))
        return LINT_IDLE;
    for (size_t i = 0; i < sizeof control / sizeof *control; i++)
        if (begins_with(opcode, control[i]))
            return LINT_CONTROL;
    for (size_t i = 0; i < sizeof waits_and_memory / sizeof *waits_and_memory; i++)
        if (begins_with(opcode, waits_and_memory[i]))
            return LINT_WORK;
    if (begins_with(opcode, "s_"))
        return LINT_CHEAP;
    return is_cheap_vector(opcode) ? LINT_CHEAP : LINT_WORK;
}

/* The address and the words behind "//": false where that is none. */
static bool read_encoding(struct lint_instruction *out, uint32_t *first_word, const char *comment)
{
    char *end;
    out->address = strtoull(comment, &end, 16);
    if (end == comment || *end != ':')
        return false;
    for (end++, out->bytes = 0;; out->bytes += WORD_BYTES) {
        end += strspn(end, " ");
        const char *word = end;
        const uint32_t value = (uint32_t)strtoul(word, &end, 16);
        if (end - word != 2 * WORD_BYTES)
            return out->bytes > 0;
        if (out->bytes == 0)
            *first_word = value;
    }
}

static int add(struct lint_code *code, char *line)
{
    struct lint_instruction instruction = {.guard = ""};
    uint32_t word = 0;
    char *comment = strstr(line, "//");
    if (!comment || !read_encoding(&instruction, &word, comment + 2 + strspn(comment + 2, " ")))
        return KTRACE_OK;
    *comment = 0;
    char *opcode = line + strspn(line, " \t");
    char *operands = opcode + strcspn(opcode, " \t");
    if (*operands)
        *operands++ = 0;
    operands += strspn(operands, " \t");
    for (size_t length = strlen(operands); length > 0 && isspace((unsigned char)operands[length - 1]);)
        operands[--length] = 0;
    instruction.opcode = opcode;
    instruction.operands = operands;
    instruction.weight = weigh(opcode);
    instruction.calls = begins_with(opcode, "s_swappc") || begins_with(opcode, "s_call");
    instruction.leaves = begins_with(opcode, "s_setpc") || begins_with(opcode, "s_rfe");
    instruction.ends = instruction.leaves || begins_with(opcode, "s_branch") || begins_with(opcode, "s_endpgm");
    /* Until the function's end is read, where a branch goes stands in `first_target`: the distance in words. */
    if (begins_with(opcode, "s_branch") || begins_with(opcode, "s_cbranch"))
        instruction.first_target = word & 0xFFFF;
    return lint_add_instruction(code, &instruction);
}

static uint32_t find_address(const struct lint_code *code, uint64_t address)
{
    size_t low = 0, high = code->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (code->items[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < code->count && code->items[low].address == address ? (uint32_t)low : LINT_NONE;
}

static int finish(struct lint_code *code)
{
    int status = KTRACE_OK;
    for (uint32_t i = 0; code && i < code->count && status == KTRACE_OK; i++) {
        struct lint_instruction *from = &code->items[i];
        if (!begins_with(from->opcode, "s_branch") && !begins_with(from->opcode, "s_cbranch"))
            continue;
        const int64_t words = (int16_t)from->first_target;
        const uint32_t target = find_address(code, from->address + from->bytes + (uint64_t)(words * WORD_BYTES));
        if (target == LINT_NONE)
            from->leaves = true;
        else
            status = lint_add_target(code, i, target);
    }
    return status < 0 || !code ? status : lint_link(code);
}

/* "0000000000002500 <gemm>:" */
static char *function_name(char *line)
{
    char *end;
    (void)strtoull(line, &end, 16);
    const size_t length = strlen(line);
    if (end == line || strncmp(end, " <", 2) != 0 || length < 3 || strcmp(line + length - 2, ">:") != 0)
        return NULL;
    line[length - 2] = 0;
    return end + 2;
}

int lint_read_gcn(struct lint_listing *out, char *text)
{
    struct lint_code *code = NULL;
    int status = KTRACE_OK;
    *out = (struct lint_listing){.text = text};
    for (char *line; status == KTRACE_OK && (line = lint_next_line(&text)) != NULL;) {
        char *name = isxdigit((unsigned char)*line) ? function_name(line) : NULL;
        if (name) {
            status = finish(code);
            if (status == KTRACE_OK && !(code = lint_add_code(out, name)))
                status = KTRACE_ERROR_MEMORY;
        } else if (code && (*line == '\t' || *line == ' ')) {
            status = add(code, line);
        }
    }
    return status < 0 ? status : finish(code);
}
