#include "wave_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

void skip_without_llvm_mc(void)
{
    if (access(TEST_LLVM_MC, X_OK) == 0)
        return;
    printf("skipped: llvm-mc-22 was not found when this was configured; install llvm-22\n");
    exit(77);
}

uint64_t fixture_random(struct fixture *fixture)
{
    uint64_t z = fixture->random += 0x9E3779B97F4A7C15; /* splitmix64 */
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

void fixture_init(struct fixture *fixture)
{
    stub_machine_reset();
    memset(fixture, 0, sizeof *fixture);
    for (size_t i = 0; i < SIM_VGPRS; i++)
        for (size_t lane = 0; lane < SIM_LANES; lane++)
            fixture->vector[i][lane] = (uint32_t)fixture_random(fixture);
    struct sim_wave *wave = &fixture->wave;
    for (size_t i = 0; i < 128; i++)
        wave->sgpr[i] = (uint32_t)fixture_random(fixture);
    sim_set_sgpr64(wave, SIM_EXEC_LO, UINT64_MAX);
    wave->mode = 0x3F0;
    wave->vgpr = fixture->vector;
    wave->vgpr_limit = FIXTURE_VGPRS;
    wave->acc_limit = FIXTURE_ACCS;
    wave->sgpr_limit = SIM_SGPR_LAST + 1;
}

/* The words of llvm-mc's "encoding: [0x01,0x02,...]". */
static size_t parse_encoding(uint32_t *words, size_t limit, const char *line)
{
    static const char marker[] = "encoding: [";
    const char *at = strstr(line, marker);
    if (!at)
        return 0;
    at += sizeof marker - 1;
    size_t bytes = 0;
    while (*at != ']' && bytes < 4 * limit) {
        char *end;
        const unsigned long byte = strtoul(at, &end, 16);
        words[bytes / 4] = (bytes % 4 ? words[bytes / 4] : 0) | (uint32_t)byte << 8 * (bytes % 4);
        bytes++;
        at = *end == ',' ? end + 1 : end;
    }
    return bytes / 4;
}

void assemble(struct sim_instruction *out, enum sim_chip chip, const char *const *texts, size_t count)
{
    char path[256], command[1024], line[512];
    const char *parent = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/ktrace-assemble-XXXXXX", parent && *parent ? parent : P_tmpdir);
    const int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *source = fdopen(file, "w");
    assert_non_null(source);
    for (size_t i = 0; i < count; i++)
        fprintf(source, "%s\n", texts[i]);
    assert_int_equal(fclose(source), 0);
    snprintf(command, sizeof command, "'%s' -arch=amdgcn -mcpu=%s -show-encoding '%s'", TEST_LLVM_MC,
             chip == SIM_GFX942 ? "gfx942" : "gfx950", path);
    FILE *assembled = popen(command, "r");
    assert_non_null(assembled);
    size_t done = 0;
    while (fgets(line, sizeof line, assembled)) {
        uint32_t words[4];
        const size_t found = parse_encoding(words, 4, line);
        if (!found)
            continue;
        assert_true(done < count);
        if (sim_decode(&out[done], chip, words, found) != 4 * found)
            fail_msg("%s: sim_decode does not take what llvm-mc made of it", texts[done]);
        out[done].execute = sim_bind(out[done].opcode);
        if (!out[done].execute)
            fail_msg("%s: %s has no function", texts[done], out[done].opcode->name);
        done++;
    }
    const int status = pclose(assembled);
    unlink(path);
    assert_int_equal(status, 0);
    assert_int_equal(done, count);
}

void fixture_execute(struct fixture *fixture, const struct sim_instruction *instruction)
{
    instruction->execute(&fixture->wave, instruction);
}

void fixture_run(struct fixture *fixture, const char *text)
{
    struct sim_instruction instruction;
    assemble(&instruction, SIM_GFX950, &text, 1);
    fixture_execute(fixture, &instruction);
}

void save_registers(struct registers *out, const struct fixture *fixture)
{
    memcpy(out->sgpr, fixture->wave.sgpr, sizeof out->sgpr);
    out->scc = fixture->wave.scc;
    memcpy(out->vector, fixture->vector, sizeof out->vector);
}
