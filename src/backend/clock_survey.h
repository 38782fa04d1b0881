/* clock_survey.h - readings of a device's clocks by one thread of it, as fast as it can: what `ktrace doctor` measures. */
#ifndef KT_CLOCK_SURVEY_H
#define KT_CLOCK_SURVEY_H

#include <stdint.h>

#define KT_SURVEY_READINGS 4096
#define KT_SURVEY_CYCLES 16

struct kt_clock_survey {
    uint64_t wall_ns[KT_SURVEY_READINGS]; /* of the wall clock, one after the other */
    /* Both clocks as the wall clock changed, before and at least a millisecond later. 0: events are stamped with the wall clock. */
    uint64_t from_ns, from_cycles, to_ns, to_cycles;
    uint32_t cycles[KT_SURVEY_CYCLES]; /* of the clock that events are stamped with, one after the other */
};

#endif
