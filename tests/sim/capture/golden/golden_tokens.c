/* golden_tokens.c - ranges that are told apart by tokens. Where lanes hold different ones, the latest start is meant. */
#include "golden.h"

const char *const golden_group = "tokens";

static const struct golden_case cases[] = {
    RECORDS("overlapping", "overlapping", 1, 64, 0, "+a +b=11 stack{ -a=12 }stack -b"),
    RECORDS("back_to_back_first", "back_to_back", 1, 64, 0, "+a +b +b -a=1 -b=2 -b=3"),
    RECORDS("back_to_back_last", "back_to_back", 1, 64, 1, "+a +b +b -b=1 -b=2 -a=3"),
    RECORDS_OPEN("both_start", "both_start", 1, 64, 0, "+high?=16 +low=0 -low after OR +low?=0 +high=16 -high after", 0,
                 1),
    RECORDS("both_stop", "both_stop", 1, 64, 0,
            "+token -?=16 high behind -token=0 low behind OR +token -?=0 low behind -token=16 high behind"),
    RECORDS("one_stops", "one_stops", 1, 64, 0, "+token -token=9 after"),
    RECORDS("loop", "loop", 1, 64, 1, "+turn=0 -turn +turn=1 -turn +turn=2 -turn +turn=3 behind -turn=99"),
    RECORDS("loop_without_lane_zero", "loop", 1, 64, 0, "+turn=0 -turn +turn=1 -turn +turn=2 behind -turn=99"),
    RECORDS("next_loop", "next_loop", 1, 64, 1, "+turn=0 -turn +turn=1 -turn +turn=2 -turn +turn=3 -turn"),
    RECORDS("next_chain", "next_chain", 1, 64, 0, "+load -load +compute=0 -compute +store -store=-7"),
    RECORDS("next_half_inactive", "next_half_inactive", 1, 64, 0, "+first=20 -first +second=0 -second"),
    RECORDS("inactive", "inactive", 1, 64, 0, "before +some=20 -some=0 after"),
    RECORDS("inactive_in_all", "inactive", 1, 64, 44, "before after"),
    RECORDS("select_first", "select", 1, 64, 1, "+a +b -a -b"),
    RECORDS("select_second", "select", 1, 64, 0, "+a +b -b -a"),
    RECORDS("select_by_lane", "select_by_lane", 1, 64, 0, "+a +b -a=7 seven -b=0 others"),
    RECORDS("crossing", "crossing", 1, 64, 0, "turn=0 +pipe=1 turn=1 -pipe=0 turn=2"),
    {.name = "all_inactive", .kernel = "all_inactive", .threads = 64, .expected = ""},
    NO_MORE};
const struct golden_case *const golden_cases = cases;
