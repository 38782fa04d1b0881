/* print_instructions.c - reads lines "CHIP WORD..." (chip 0 or 1, words in hexadecimal, 1 to 4 of them) and prints for each
 * "BYTES TEXT" of the instruction that they begin with, or "0". */
#include <stdio.h>
#include <stdlib.h>

#include "isa/isa.h"

int main(void)
{
    char line[128];
    while (fgets(line, sizeof line, stdin)) {
        char *at = line;
        enum sim_chip chip = strtoul(at, &at, 10) == 1 ? SIM_GFX950 : SIM_GFX942;
        uint32_t words[4];
        size_t count = 0;
        for (char *end; count < 4; at = end) {
            unsigned long word = strtoul(at, &end, 16);
            if (end == at)
                break;
            words[count++] = (uint32_t)word;
        }
        struct sim_instruction instruction;
        size_t bytes = sim_decode(&instruction, chip, words, count);
        char text[256] = "";
        if (bytes)
            sim_disassemble(text, sizeof text, &instruction);
        printf("%zu%s%s\n", bytes, bytes ? " " : "", text);
    }
    return 0;
}
