/* report_detail.c - what of a trace's waves goes into the page, and what is known of launches from all of them. */
#include "report_parts.h"

#include "../array.h"

enum { CUT_RANGES = 64 }; /* a wave has at least so many of its ranges in the page, or all */

/* ---- Sharing ------------------------------------------------------------------------------------------------------ */

static int by_count(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The share that each may have so that all together have no more than `budget`, where nobody takes more than `wants`, which are
 * put in order. */
static uint64_t fair_share(uint64_t *wants, size_t count, uint64_t budget)
{
    qsort(wants, count, sizeof *wants, by_count);
    for (size_t i = 0; i < count; i++) {
        const uint64_t share = budget / (count - i);
        if (wants[i] > share)
            return share;
        budget -= wants[i];
    }
    return UINT64_MAX;
}

/* ---- Launches ----------------------------------------------------------------------------------------------------- */

struct ranked {
    double weight;
    uint64_t index;
};

/* Heaviest first, of equal ones the first. */
static int by_weight(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    return (a->index > b->index) - (a->index < b->index);
}

static int by_index(const void *left, const void *right)
{
    const struct kt_report_launch *a = left, *b = right;
    return (a->index > b->index) - (a->index < b->index);
}

static int choose_launches(struct kt_report_detail *out, const struct ktrace_trace *trace)
{
    struct ranked *ranked = kt_array_new((size_t)trace->launch_count, sizeof *ranked);
    out->launch_count = trace->launch_count < KT_REPORT_LAUNCHES ? trace->launch_count : KT_REPORT_LAUNCHES;
    out->launches = kt_array_new_zeroed((size_t)out->launch_count, sizeof *out->launches);
    const int status = ranked && out->launches ? 0 : KTRACE_ERROR_MEMORY;
    for (uint64_t i = 0; status == 0 && i < trace->launch_count; i++)
        ranked[i] = (struct ranked){(double)kt_launch_duration_ps(&trace->launches[i]), i};
    if (status == 0)
        qsort(ranked, (size_t)trace->launch_count, sizeof *ranked, by_weight);
    for (uint64_t i = 0; status == 0 && i < out->launch_count; i++) {
        out->launches[i].index = ranked[i].index;
        const int64_t duration_ps = kt_launch_duration_ps(&trace->launches[ranked[i].index]);
        out->launches[i].tick_ps = duration_ps > 0 ? duration_ps / UINT32_MAX + 1 : 1;
    }
    if (status == 0)
        qsort(out->launches, (size_t)out->launch_count, sizeof *out->launches, by_index);
    free(ranked);
    return status;
}

/* ---- Places ------------------------------------------------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
    const struct kt_report_place *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* Waves are ordered by launch, then place: each run of a place once. */
static int list_places(struct kt_report_detail *out, const struct ktrace_trace *trace)
{
    size_t capacity = 0;
    for (uint64_t i = 0; i < trace->wave_count; i++) {
        const struct kt_wave *wave = &trace->waves[i];
        const struct kt_report_place place = {trace->launches[wave->launch].device, wave->place};
        if (i > 0 && wave->launch == trace->waves[i - 1].launch && wave->place == trace->waves[i - 1].place)
            continue;
        if (kt_array_reserve(&out->places, &capacity, out->place_count + 1, sizeof *out->places) < 0)
            return KTRACE_ERROR_MEMORY;
        out->places[out->place_count++] = place;
    }
    if (out->place_count)
        qsort(out->places, out->place_count, sizeof *out->places, by_place);
    size_t kept = 0;
    for (size_t i = 0; i < out->place_count; i++)
        if (kept == 0 || by_place(&out->places[kept - 1], &out->places[i]) != 0)
            out->places[kept++] = out->places[i];
    out->place_count = kept;
    return 0;
}

static uint32_t place_index(const struct kt_report_detail *detail, const struct ktrace_trace *trace,
                            const struct kt_wave *wave)
{
    const struct kt_report_place place = {trace->launches[wave->launch].device, wave->place};
    const struct kt_report_place *found = bsearch(&place, detail->places, detail->place_count, sizeof place, by_place);
    return (uint32_t)(found - detail->places);
}

/* ---- Columns ------------------------------------------------------------------------------------------------------ */

const struct kt_report_column_kind kt_report_column_kinds[KT_REPORT_COLUMNS] = {
    [KT_REPORT_WAVE_BEGIN] = {"wave_begin", 4},   [KT_REPORT_WAVE_END] = {"wave_end", 4},
    [KT_REPORT_WAVE_PLACE] = {"wave_place", 4},   [KT_REPORT_WAVE_WORKGROUP] = {"wave_workgroup", 4},
    [KT_REPORT_WAVE_RANGES] = {"wave_ranges", 4}, [KT_REPORT_WAVE_NUMBER] = {"wave_number", 2},
    [KT_REPORT_WAVE_FLAGS] = {"wave_flags", 1},   [KT_REPORT_RANGE_BEGIN] = {"range_begin", 4},
    [KT_REPORT_RANGE_END] = {"range_end", 4},     [KT_REPORT_RANGE_PHASE] = {"range_phase", 2},
    [KT_REPORT_RANGE_SHAPE] = {"range_shape", 1}, [KT_REPORT_BUSY_PLACE] = {"busy_place", 4},
    [KT_REPORT_BUSY_WAVES] = {"busy_waves", 4},   [KT_REPORT_BUSY_TIME] = {"busy_time", 4}};

/* Little-endian; what does not fit is the largest that does. */
static void put(struct kt_report_detail *detail, enum kt_report_column column, uint64_t value)
{
    const size_t bytes = kt_report_column_kinds[column].bytes;
    const uint64_t most = (1ull << 8 * bytes) - 1;
    uint8_t data[8];
    value = value < most ? value : most;
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(value >> 8 * i);
    kt_string_append_bytes(&detail->columns[column], data, bytes);
}

static uint64_t ticks(const struct kt_report_launch *launch, int64_t from_ps, int64_t to_ps)
{
    return to_ps > from_ps ? ((uint64_t)to_ps - (uint64_t)from_ps) / (uint64_t)launch->tick_ps : 0;
}

static int64_t wave_duration_ps(const struct kt_wave *wave)
{
    int64_t duration_ps;
    if (wave->end_ps <= wave->begin_ps)
        return 0;
    return __builtin_sub_overflow(wave->end_ps, wave->begin_ps, &duration_ps) ? INT64_MAX : duration_ps;
}

/* ---- A launch's waves --------------------------------------------------------------------------------------------- */

enum { KEPT = 1, WITH_RANGES = 2, CRITICAL = 4 };

/* Scratch of one launch after the other. */
struct work {
    const struct ktrace_trace *trace;
    struct kt_report_detail *detail;
    struct ranked *ranked; /* as many as the largest launch has waves */
    uint8_t *chosen;       /* the same, of KEPT and others */
    struct kt_report_range *ranges;
    size_t range_capacity;
    uint64_t wave_share, range_share; /* of a launch */
};

/* Marks the first of `ranked` as critical; their numbers within the launch. */
static uint32_t take_critical(struct work *work, uint64_t numbers[KT_REPORT_CRITICAL], uint64_t count)
{
    const uint32_t critical = (uint32_t)(count < KT_REPORT_CRITICAL ? count : KT_REPORT_CRITICAL);
    for (uint32_t i = 0; i < critical; i++) {
        numbers[i] = work->ranked[i].index;
        work->chosen[numbers[i]] = KEPT | WITH_RANGES | CRITICAL;
    }
    return critical;
}

static void rank_waves(struct work *work, struct kt_report_launch *out, const struct kt_launch *launch)
{
    const struct kt_wave *waves = &work->trace->waves[launch->first_wave];
    const uint64_t count = launch->wave_count;
    double sum_ps = 0;
    for (uint64_t i = 0; i < count; i++) {
        work->ranked[i] = (struct ranked){(double)wave_duration_ps(&waves[i]), i};
        sum_ps += work->ranked[i].weight;
    }
    qsort(work->ranked, (size_t)count, sizeof *work->ranked, by_weight);
    out->longest_count = take_critical(work, out->longest, count);
    out->mean_ps = sum_ps / (double)count;
    out->max_ps = work->ranked[0].weight;
    out->p50_ps = work->ranked[count - (count + 1) / 2].weight; /* nearest rank, counted from the other end */
    for (uint64_t i = 0; i < count; i++)
        work->ranked[i] = (struct ranked){(double)waves[i].end_ps, i};
    qsort(work->ranked, (size_t)count, sizeof *work->ranked, by_weight);
    out->last_count = take_critical(work, out->last, count);
    out->tail_ps = work->ranked[0].weight - work->ranked[count / 10].weight;
}

/* The others: each k-th of the launch, by steps that need not be whole. */
static void choose_waves(struct work *work, const struct kt_launch *launch)
{
    const uint64_t count = launch->wave_count, share = work->wave_share < count ? work->wave_share : count;
    for (uint64_t i = 0; i < count; i++)
        if ((i + 1) * (double)share / (double)count >= 1 &&
            (uint64_t)((double)(i + 1) * (double)share / (double)count) !=
                (uint64_t)((double)i * (double)share / (double)count))
            work->chosen[i] |= KEPT;
}

static uint64_t events_of(const struct work *work, const struct kt_launch *launch, uint64_t wave)
{
    return work->trace->waves[launch->first_wave + wave].event_count;
}

/* Waves whose ranges are there: critical ones first, then evenly as long as there is room. A wave has about as many ranges as
 * events at most; the share is therefore kept. */
static void choose_ranges(struct work *work, const struct kt_launch *launch)
{
    uint64_t wanted = 0, taken = 0;
    const uint64_t cut = work->range_share / (4 * KT_REPORT_CRITICAL);
    for (uint64_t i = 0; i < launch->wave_count; i++) {
        const uint64_t events = events_of(work, launch, i);
        if (work->chosen[i] & CRITICAL)
            taken += launch->event_count > work->range_share && events > cut ? cut : events;
        else if (work->chosen[i] & KEPT)
            wanted += events;
    }
    const uint64_t room = taken < work->range_share ? work->range_share - taken : 0;
    double credit = 0;
    for (uint64_t i = 0; i < launch->wave_count; i++) {
        const uint64_t events = events_of(work, launch, i);
        if (!(work->chosen[i] & KEPT) || work->chosen[i] & CRITICAL)
            continue;
        credit += room < wanted ? (double)room / (double)wanted * (double)events : (double)events;
        if (credit < (double)events * (1 - 1e-9))
            continue;
        credit -= (double)events;
        work->chosen[i] |= WITH_RANGES;
    }
}

static int put_ranges(struct work *work, struct kt_report_launch *out, const struct kt_launch *launch,
                      const struct kt_wave *wave, uint8_t *flags)
{
    struct kt_report_detail *detail = work->detail;
    const int64_t count = kt_report_ranges(&work->ranges, &work->range_capacity, work->trace, wave);
    if (count < 0)
        return (int)count;
    uint64_t most = work->range_share / (4 * KT_REPORT_CRITICAL);
    most = most > CUT_RANGES ? most : CUT_RANGES;
    const bool cut = launch->event_count > work->range_share && (uint64_t)count > most;
    const uint64_t kept = cut ? most : (uint64_t)count;
    *flags |= cut ? KT_REPORT_WAVE_CUT : 0;
    for (uint64_t i = 0; i < kept; i++) {
        const struct kt_report_range *range = &work->ranges[i];
        put(detail, KT_REPORT_RANGE_BEGIN, ticks(out, launch->begin_ps, range->begin_ps));
        put(detail, KT_REPORT_RANGE_END, ticks(out, launch->begin_ps, range->end_ps));
        put(detail, KT_REPORT_RANGE_PHASE, range->phase);
        put(detail, KT_REPORT_RANGE_SHAPE, range->shape);
    }
    put(detail, KT_REPORT_WAVE_RANGES, kept);
    out->range_count += kept;
    return 0;
}

static int put_wave(struct work *work, struct kt_report_launch *out, const struct kt_launch *launch, uint64_t number)
{
    struct kt_report_detail *detail = work->detail;
    const struct kt_wave *wave = &work->trace->waves[launch->first_wave + number];
    const uint64_t workgroup =
        wave->workgroup[0] +
        (uint64_t)launch->grid[0] * (wave->workgroup[1] + (uint64_t)launch->grid[1] * wave->workgroup[2]);
    uint8_t flags = wave->unfinished ? KT_REPORT_WAVE_UNFINISHED : 0;
    if (work->chosen[number] & WITH_RANGES) {
        const int status = put_ranges(work, out, launch, wave, &flags);
        if (status < 0)
            return status;
    } else {
        put(detail, KT_REPORT_WAVE_RANGES, 0);
        flags |= wave->event_count ? KT_REPORT_WAVE_WITHOUT : 0;
    }
    put(detail, KT_REPORT_WAVE_BEGIN, ticks(out, launch->begin_ps, wave->begin_ps));
    put(detail, KT_REPORT_WAVE_END, ticks(out, launch->begin_ps, wave->end_ps));
    put(detail, KT_REPORT_WAVE_PLACE, place_index(detail, work->trace, wave));
    put(detail, KT_REPORT_WAVE_WORKGROUP, workgroup);
    put(detail, KT_REPORT_WAVE_NUMBER, wave->wave);
    put(detail, KT_REPORT_WAVE_FLAGS, flags);
    for (uint32_t i = 0; i < KT_REPORT_CRITICAL; i++) {
        if (i < out->longest_count && out->longest[i] == number)
            out->longest[i] = out->wave_count;
        if (i < out->last_count && out->last[i] == number)
            out->last[i] = out->wave_count;
    }
    out->wave_count++;
    return 0;
}

/* ---- How busy its places were ------------------------------------------------------------------------------------- */

static int by_begin(const void *left, const void *right)
{
    const struct kt_wave *const *a = left, *const *b = right;
    return ((*a)->begin_ps > (*b)->begin_ps) - ((*a)->begin_ps < (*b)->begin_ps);
}

/* While at least one of the waves was there. */
static uint64_t union_ps(const struct kt_wave **waves, size_t count)
{
    uint64_t busy_ps = 0;
    int64_t until_ps = INT64_MIN;
    qsort(waves, count, sizeof *waves, by_begin);
    for (size_t i = 0; i < count; i++) {
        const int64_t from_ps = waves[i]->begin_ps > until_ps ? waves[i]->begin_ps : until_ps;
        if (waves[i]->end_ps > from_ps) {
            busy_ps += (uint64_t)waves[i]->end_ps - (uint64_t)from_ps;
            until_ps = waves[i]->end_ps;
        }
    }
    return busy_ps;
}

static int put_busy(struct work *work, struct kt_report_launch *out, const struct kt_launch *launch)
{
    const struct kt_wave *waves = &work->trace->waves[launch->first_wave];
    const struct kt_wave **here = kt_array_new((size_t)launch->wave_count, sizeof *here);
    if (!here)
        return KTRACE_ERROR_MEMORY;
    double sum_ps = 0;
    for (uint64_t first = 0; first < launch->wave_count;) {
        uint64_t count = 0;
        for (; first + count < launch->wave_count && waves[first + count].place == waves[first].place; count++)
            here[count] = &waves[first + count];
        const uint64_t busy_ps = union_ps(here, (size_t)count);
        put(work->detail, KT_REPORT_BUSY_PLACE, place_index(work->detail, work->trace, &waves[first]));
        put(work->detail, KT_REPORT_BUSY_WAVES, count);
        put(work->detail, KT_REPORT_BUSY_TIME, busy_ps / (uint64_t)out->tick_ps);
        sum_ps += (double)busy_ps;
        out->busy_max_ps = (double)busy_ps > out->busy_max_ps ? (double)busy_ps : out->busy_max_ps;
        out->busy_count++;
        first += count;
    }
    out->busy_mean_ps = sum_ps / (double)out->busy_count;
    free(here);
    return 0;
}

/* ---- All together ------------------------------------------------------------------------------------------------- */

static int put_launch(struct work *work, struct kt_report_launch *out)
{
    struct kt_report_detail *detail = work->detail;
    const struct kt_launch *launch = &work->trace->launches[out->index];
    out->first_wave = detail->waves;
    out->first_range = detail->ranges;
    out->first_busy = detail->columns[KT_REPORT_BUSY_PLACE].length / 4;
    if (!launch->wave_count)
        return 0;
    memset(work->chosen, 0, (size_t)launch->wave_count);
    rank_waves(work, out, launch);
    choose_waves(work, launch);
    choose_ranges(work, launch);
    int status = put_busy(work, out, launch);
    for (uint64_t i = 0; status == 0 && i < launch->wave_count; i++)
        if (work->chosen[i] & KEPT)
            status = put_wave(work, out, launch, i);
    detail->waves += out->wave_count;
    detail->ranges += out->range_count;
    return status;
}

static int share(struct work *work)
{
    const struct kt_report_detail *detail = work->detail;
    uint64_t most = 0;
    uint64_t *waves = kt_array_new((size_t)detail->launch_count, sizeof *waves);
    uint64_t *events = kt_array_new((size_t)detail->launch_count, sizeof *events);
    if (waves && events) {
        for (uint64_t i = 0; i < detail->launch_count; i++) {
            const struct kt_launch *launch = &work->trace->launches[detail->launches[i].index];
            waves[i] = launch->wave_count;
            events[i] = launch->event_count;
            most = launch->wave_count > most ? launch->wave_count : most;
        }
        work->wave_share = fair_share(waves, (size_t)detail->launch_count, KT_REPORT_WAVES);
        work->range_share = fair_share(events, (size_t)detail->launch_count, KT_REPORT_RANGES);
        work->ranked = kt_array_new((size_t)most, sizeof *work->ranked);
        work->chosen = kt_array_new((size_t)most, sizeof *work->chosen);
    }
    free(waves);
    free(events);
    return work->ranked && work->chosen ? 0 : KTRACE_ERROR_MEMORY;
}

int kt_report_detail_make(struct kt_report_detail *out, const struct ktrace_trace *trace)
{
    *out = (struct kt_report_detail){0};
    for (uint32_t i = 0; i < trace->phase_count; i++)
        out->range_total += trace->statistics[i].count + trace->statistics[i].unclosed;
    struct work work = {.trace = trace, .detail = out};
    int status = choose_launches(out, trace);
    if (status == 0)
        status = list_places(out, trace);
    if (status == 0)
        status = share(&work);
    for (uint64_t i = 0; status == 0 && i < out->launch_count; i++)
        status = put_launch(&work, &out->launches[i]);
    free(work.ranked);
    free(work.chosen);
    free(work.ranges);
    return status;
}

void kt_report_detail_free(struct kt_report_detail *detail)
{
    for (int i = 0; i < KT_REPORT_COLUMNS; i++)
        kt_string_destroy(&detail->columns[i]);
    free(detail->launches);
    free(detail->places);
}
