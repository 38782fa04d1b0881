/* golden_branches.c - lanes that part. Both sides of a branch run one after the other, in an order that the compiler chooses. */
#include "golden.h"

const char *const golden_group = "branches";

#define CALLED(depth) "outer function{=" depth " inner function{=1 in inner function }inner function }outer function"
#define CALLED_INNER "inner function{=1 in inner function }inner function"
#define WAY(n) "way " n "{=" n " }way " n " "
#define TURN(n) "turn{=" n " }turn "

static const struct golden_case cases[] = {
    RECORDS("if_else", "if_else", 1, 64, 0, "before low=0 high=20 after OR before high=20 low=0 after"),
    RECORDS("if_only", "if_else", 1, 64, 44, "before low=0 after"),
    RECORDS("else_only", "if_else", 1, 64, -20, "before high=0 after"),
    RECORDS("nested", "nested", 1, 64, 0,
            "even{=0 even high=40 62=62 }even odd{=1 odd high=33 odd low{=1 }odd low }odd after=0 OR "
            "odd{=1 odd high=33 odd low{=1 }odd low }odd even{=0 even high=40 62=62 }even after=0"),
    RECORDS("switch_ways", "switch_ways", 1, 64, 0,
            "before " WAY("3") WAY("2") WAY("1") WAY("0") "after OR "
                                                          "before " WAY("3") WAY("2") WAY("0") WAY("1") "after"),
    RECORDS("single_lanes", "single_lanes", 1, 64, 0,
            "five=5 last{ inside=63 }last zero=0 two=5 all=0 OR last{ inside=63 }last five=5 two=5 zero=0 all=0"),
    RECORDS("no_lane", "no_lane", 1, 64, 0, "ten=10"),
    RECORDS("not_lane_zero", "not_lane_zero", 1, 64, 0, "outer{ inner{=8 deep }inner +token -token=1 }outer"),
    RECORDS("late_kernel", "late_kernel", 1, 64, 5, "thread=5"),
    RECORDS("trip_marks", "trip_marks", 1, 64, 0, "before turn=10 turn=11 turn=12 turn=13 turn=14 after"),
    RECORDS("trip_ranges", "trip_ranges", 1, 64, 0,
            "loop{ turn{=0 middle=1 }turn turn{=1 middle=1 }turn turn{=2 middle=1 }turn turn{=3 middle=1 }turn "
            "turn{=4 middle=1 }turn }loop"),
    RECORDS("nested_loops", "nested_loops", 1, 64, 0,
            "outer{=0 inner=32 }outer outer{=1 inner=0 inner=32 }outer outer{=2 inner=1 inner=1 inner=33 }outer"),
    RECORDS("break_out", "break_out", 1, 64, 0, "loop{ " TURN("0") TURN("1") TURN("2") TURN("3") "}loop"),
    RECORDS("continue_out", "continue_out", 1, 64, 0,
            "turn{=0 goes on=1 }turn turn{=1 goes on=0 }turn turn{=2 goes on=0 }turn"),
    RECORDS("goto_out", "goto_out", 1, 64, 0,
            "outer{ " TURN("0") TURN("1") TURN("2") "end of outer=0 }outer between=0 behind=0"),
    RECORDS("early_return_low", "early_return", 1, 64, 1,
            "all=0 leaves=0 stay{=32 }stay OR all=0 stay{=32 }stay leaves=0"),
    RECORDS("early_return_high", "early_return", 1, 64, 0,
            "all=0 leaves=32 stay{=0 }stay OR all=0 stay{=0 }stay leaves=32"),
    /* The lanes that leave and those that stay meet where the ranges end. */
    RECORDS("early_return_from_ranges_low", "early_return_from_ranges", 1, 64, 1,
            "outer{ inner{=0 stays=32 leaves=0 }inner behind=32 }outer"),
    RECORDS("early_return_from_ranges_high", "early_return_from_ranges", 1, 64, 0,
            "outer{ inner{=0 stays=0 leaves=32 }inner behind=0 }outer"),
    RECORDS("return_in_loop", "return_in_loop", 1, 64, 0, TURN("0") TURN("1") TURN("2") TURN("3") "behind=4"),
    /* A pop closes what is innermost in its wave, whichever lanes reach it: docs/decisions.md, "a second stop by one token, on AMD". */
    RECORDS_OPEN("both_pop", "both_pop", 1, 64, 0, "inner{ high }inner high behind low }? low behind after", 1, 0),
    RECORDS_OPEN("both_pop_inner", "both_pop", 1, 64, 1,
                 "outer{ inner{ high }inner high behind low }outer low behind after }?", 1, 0),
    RECORDS("low_pops", "one_pops", 1, 64, 1, "range{ pops }range after"),
    RECORDS("high_pops", "one_pops", 1, 64, 0, "range{ pops }range after"),
    RECORDS_OPEN("dangling", "dangling", 1, 64, 0, "}? between whole{ }whole }? open{? +open token? last", 2, 2),
    RECORDS("calls", "calls", 1, 64, 0,
            CALLED("1") " " CALLED("2") " " CALLED_INNER " after OR " CALLED("1") " " CALLED_INNER
                                                                                  " " CALLED("2") " after"),
    NO_MORE};
const struct golden_case *const golden_cases = cases;
