/* Every opcode of the formats that scalar_*.c, smem.c, ds*.c, flat.c and buffer.c implement has a function, apart from
 * those that are known to have none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "exec/exec.h"

/* Global wave sync, which compute kernels of one process have no use for; conversion of formats. */
static int is_not_implemented(const char *name)
{
    return strncmp(name, "ds_gws_", 7) == 0 || strstr(name, "_format_") != NULL;
}

static void every_opcode_has_a_function(void **state)
{
    (void)state;
    size_t count, checked = 0;
    const struct sim_opcode *opcodes = sim_opcodes(&count);
    for (size_t i = 0; i < count; i++) {
        switch (opcodes[i].format) {
        case SIM_SOP2:
        case SIM_SOPK:
        case SIM_SOP1:
        case SIM_SOPC:
        case SIM_SOPP:
        case SIM_SMEM:
        case SIM_DS:
        case SIM_FLAT:
        case SIM_MUBUF: break;
        default: continue;
        }
        const sim_execute execute = sim_bind(&opcodes[i]);
        if (is_not_implemented(opcodes[i].name))
            assert_null(execute);
        else if (!execute)
            fail_msg("%s has no function", opcodes[i].name);
        checked++;
    }
    assert_true(checked > 600);
}

static void names_that_are_no_opcodes_have_none(void **state)
{
    (void)state;
    const struct sim_opcode unknown = {.name = "s_add_u33"};
    assert_null(sim_bind(&unknown));
}

/* A name in two tables would be one that only one of them means. */
static void no_name_is_bound_twice(void **state)
{
    (void)state;
    static const struct sim_bindings *const tables[] = {
        &sim_scalar_alu, &sim_scalar_mask, &sim_scalar_flow, &sim_smem, &sim_ds, &sim_ds_lanes, &sim_flat, &sim_buffer};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        for (size_t i = 0; i < tables[t]->count; i++) {
            const struct sim_opcode opcode = {.name = tables[t]->entries[i].name};
            assert_ptr_equal(sim_bind(&opcode), tables[t]->entries[i].execute);
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(opcode.name, tables[t]->entries[j].name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_opcode_has_a_function),
        cmocka_unit_test(names_that_are_no_opcodes_have_none),
        cmocka_unit_test(no_name_is_bound_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
