/* disassemble.c - text of instructions, as LLVM's assembler reads and its disassembler prints it. */
#include "disassemble.h"

#include <stdarg.h>
#include <stdio.h>

void sim_text_add(struct sim_text *text, const char *format, ...)
{
    size_t room = text->length < text->bytes ? text->bytes - text->length : 0;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(room ? text->start + text->length : NULL, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length += (size_t)length;
}

void sim_text_bits(struct sim_text *text, const char *name, unsigned bits, unsigned count)
{
    sim_text_add(text, " %s:[", name);
    for (unsigned i = 0; i < count; i++)
        sim_text_add(text, "%s%u", i ? "," : "", bits >> i & 1);
    sim_text_add(text, "]");
}

static const char *suffix(const struct sim_instruction *instruction)
{
    const struct sim_opcode *opcode = instruction->opcode;
    if (instruction->is_sdwa)
        return "_sdwa";
    if (instruction->is_dpp)
        return "_dpp";
    if (!(opcode->flags & SIM_OP_SUFFIX))
        return "";
    return opcode->format == SIM_VOP3 || opcode->format == SIM_VOP3P ? "_e64" : "_e32";
}

size_t sim_disassemble(char *out, size_t bytes, const struct sim_instruction *instruction)
{
    struct sim_text text = {out, bytes, 0};
    if (bytes)
        out[0] = '\0';
    sim_text_add(&text, "%s%s", instruction->opcode->name, suffix(instruction));
    switch (instruction->opcode->format) {
    case SIM_SOP2:
    case SIM_SOPK:
    case SIM_SOP1:
    case SIM_SOPC:
    case SIM_SOPP: sim_text_scalar(&text, instruction); break;
    case SIM_VOP2:
    case SIM_VOP1:
    case SIM_VOPC:
    case SIM_VOP3:
    case SIM_VOP3P: sim_text_vector(&text, instruction); break;
    default: sim_text_memory(&text, instruction);
    }
    return text.length;
}
