/* define_cases.h - the functions and the table of CASES_FILE; see check_cases.h. To be included by a test once for each file,
 * with CASES_NAME the table's name. */
#define NAME_2(table, line) table##_##line
#define NAME_1(table, line) NAME_2(table, line)
#define CASE(text, value) CASE_BIT(text, value, 0)
#define CASE_BIT(text, value_of_lane, bit_of_lane) \
    static struct lane_output NAME_1(CASES_NAME, __LINE__)(const struct lane_input *in) \
    { \
        const uint64_t a = in->a, b = in->b, c = in->c; \
        const wide old = in->old; \
        const uint32_t s = in->s; \
        const unsigned lane = in->lane, carry = in->carry; \
        (void)a, (void)b, (void)c, (void)old, (void)s, (void)lane, (void)carry; \
        return (struct lane_output){(wide)(value_of_lane), (bit_of_lane)}; \
    }
#include CASES_FILE
#undef CASE_BIT
#define CASE_BIT(text, value_of_lane, bit_of_lane) {text, NAME_1(CASES_NAME, __LINE__)},
static const struct check_case CASES_NAME[] = {
#include CASES_FILE
};
#undef CASE_BIT
#undef CASE
#undef NAME_1
#undef NAME_2
#undef CASES_FILE
#undef CASES_NAME
