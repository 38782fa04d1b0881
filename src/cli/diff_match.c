/* diff_match.c - which phases of A and B are the same, what became of each, and which matter most. */
#include "diff.h"

#include "../array.h"
#include "../summary.h"

#include <math.h>

double diff_percent(double a, double b)
{
    return (b - a) / a * 100;
}

const char *diff_verdict_word(enum diff_verdict verdict)
{
    static const char *const words[] = {
        [DIFF_SLOWER] = "slower",   [DIFF_FASTER] = "faster", [DIFF_ONLY_A] = "only in A",  [DIFF_ONLY_B] = "only in B",
        [DIFF_TOO_FEW] = "too few", [DIFF_SAME] = "same",     [DIFF_COUNTED] = "count only"};
    return words[verdict];
}

/* ---- Matching ----------------------------------------------------------------------------------------------------- */

static bool is_one_phase(const struct diff_row *row, const struct ktrace_trace *trace, uint32_t phase)
{
    const struct kt_phase *other = &trace->phases[phase];
    return row->kind == other->kind && strcmp(row->name, other->name) == 0 &&
           strcmp(row->kernel, trace->kernels[other->kernel].name) == 0;
}

/* By what they are called: their number, and where there are several processes their process. */
static bool is_one_device(const struct kt_trace_device *a, const struct kt_trace_device *b)
{
    return a == b || (a && b && strcmp(a->number, b->number) == 0);
}

static struct diff_row *find_row(struct diff *diff, const struct ktrace_trace *trace, uint32_t phase,
                                 const struct kt_trace_device *device)
{
    for (size_t i = 0; i < diff->row_count; i++)
        if (is_one_device(diff->rows[i].device, device) && is_one_phase(&diff->rows[i], trace, phase))
            return &diff->rows[i];
    return NULL;
}

static int match(struct diff *diff)
{
    size_t most = 0;
    bool several = false, of_processes = false;
    for (int side = 0; side < DIFF_SIDES; side++) {
        most += (size_t)diff->samples[side].device_count * diff->samples[side].phase_count;
        several |= diff->samples[side].device_count > 1;
        of_processes |= diff->trace[side]->snapshot->process_count > 1;
    }
    diff->rows = kt_array_new_zeroed(most, sizeof *diff->rows);
    if (!diff->rows)
        return -1;
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct ktrace_trace *trace = diff->trace[side];
        const struct diff_samples *samples = &diff->samples[side];
        for (size_t i = 0; i < (size_t)samples->device_count * samples->phase_count; i++) {
            const uint32_t phase = (uint32_t)(i % samples->phase_count);
            const uint32_t index = (uint32_t)(i / samples->phase_count);
            const struct kt_trace_device *device = several ? &trace->devices[index] : NULL;
            const struct diff_sample *sample = &samples->samples[i];
            if (!sample->count && !sample->unclosed)
                continue;
            struct diff_row *row = find_row(diff, trace, phase, device);
            if (!row) {
                row = &diff->rows[diff->row_count++];
                row->kernel = trace->kernels[trace->phases[phase].kernel].name;
                row->name = trace->phases[phase].name;
                row->kind = trace->phases[phase].kind;
                row->device = device;
                row->ordinal = trace->snapshot->devices[index].ordinal;
                row->of_processes = of_processes;
            }
            row->sample[side] = sample;
        }
    }
    return 0;
}

/* ---- Verdicts ----------------------------------------------------------------------------------------------------- */

/* Everything but the verdict of a test, which wants the other tests' p. */
static int test_row(struct diff_row *row, const struct diff_options *options)
{
    const struct diff_sample *a = row->sample[DIFF_A], *b = row->sample[DIFF_B];
    if (!a || !b) {
        row->verdict = a ? DIFF_ONLY_A : DIFF_ONLY_B;
        return 0;
    }
    if (row->kind == KTRACE_KIND_MARK) {
        row->verdict = DIFF_COUNTED;
        return 0;
    }
    const size_t count_a = a->observation_count, count_b = b->observation_count;
    if (count_a && count_b) {
        const double median_ns = (a->observations_ns[(count_a - 1) / 2] + a->observations_ns[count_a / 2]) / 2;
        row->shift_ns = diff_shift(a->observations_ns, count_a, b->observations_ns, count_b);
        row->shift_percent = row->shift_ns == 0 ? 0 : row->shift_ns / median_ns * 100;
    }
    if (count_a < DIFF_FEWEST || count_b < DIFF_FEWEST || diff_rank_test_least_p(count_a, count_b) >= options->alpha) {
        row->verdict = DIFF_TOO_FEW;
        return 0;
    }
    row->tested = true;
    return diff_rank_test(&row->test, a->observations_ns, count_a, b->observations_ns, count_b);
}

/* The shift and the test ask the same of the ranks; where many values are equal the shift can be 0 although U is not: then there
 * is no change that one could state. */
static enum diff_verdict verdict_of(const struct diff_row *row, const struct diff_options *options)
{
    if (row->adjusted_p >= options->alpha || row->shift_ns == 0 ||
        fabs(row->shift_percent) < options->min_effect_percent)
        return DIFF_SAME;
    return row->shift_ns > 0 ? DIFF_SLOWER : DIFF_FASTER;
}

static int judge(struct diff *diff)
{
    double *p = kt_array_new(diff->row_count, sizeof *p);
    int status = p ? 0 : -1;
    for (size_t i = 0; status == 0 && i < diff->row_count; i++) {
        status = test_row(&diff->rows[i], &diff->options);
        if (diff->rows[i].tested)
            p[diff->tests++] = diff->rows[i].test.p;
    }
    if (status == 0)
        status = diff_holm(p, diff->tests);
    for (size_t i = 0, test = 0; status == 0 && i < diff->row_count; i++) {
        struct diff_row *row = &diff->rows[i];
        if (row->tested) {
            row->adjusted_p = p[test++];
            row->verdict = verdict_of(row, &diff->options);
        }
        diff->changed += row->verdict <= DIFF_ONLY_B;
        diff->counts_differ +=
            row->sample[DIFF_A] && row->sample[DIFF_B] && row->sample[DIFF_A]->count != row->sample[DIFF_B]->count;
    }
    free(p);
    return status;
}

/* ---- Order -------------------------------------------------------------------------------------------------------- */

static double total_ns(const struct diff_row *row, int side)
{
    return row->sample[side] ? row->sample[side]->total_ns : 0;
}

/* Changes first, then what is on one side only, then the rest; in each what moved the most time, then what took the most. Names
 * last, so that the order is the same wherever it is made. */
static int by_weight(const void *left, const void *right)
{
    static const int group[] = {[DIFF_SLOWER] = 0,  [DIFF_FASTER] = 0, [DIFF_ONLY_A] = 1, [DIFF_ONLY_B] = 1,
                                [DIFF_TOO_FEW] = 2, [DIFF_SAME] = 2,   [DIFF_COUNTED] = 3};
    const struct diff_row *a = left, *b = right;
    const double moved_a = fabs(total_ns(a, DIFF_B) - total_ns(a, DIFF_A));
    const double moved_b = fabs(total_ns(b, DIFF_B) - total_ns(b, DIFF_A));
    const double all_a = total_ns(a, DIFF_A) + total_ns(a, DIFF_B), all_b = total_ns(b, DIFF_A) + total_ns(b, DIFF_B);
    if (group[a->verdict] != group[b->verdict])
        return group[a->verdict] - group[b->verdict];
    if (moved_a != moved_b)
        return moved_a < moved_b ? 1 : -1;
    if (all_a != all_b)
        return all_a < all_b ? 1 : -1;
    int order = strcmp(a->kernel, b->kernel);
    order = order ? order : strcmp(a->name, b->name);
    order = order ? order : (int)a->kind - (int)b->kind;
    order = order ? order : (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
    return order || !a->device || !b->device ? order : strcmp(a->device->number, b->device->number);
}

int diff_make(struct diff *diff)
{
    for (int side = 0; side < DIFF_SIDES; side++)
        if (diff_samples_make(&diff->samples[side], diff->trace[side], diff->options.unit) < 0)
            return -1;
    if (match(diff) < 0 || judge(diff) < 0)
        return -1;
    qsort(diff->rows, diff->row_count, sizeof *diff->rows, by_weight);
    return 0;
}

void diff_destroy(struct diff *diff)
{
    for (int side = 0; side < DIFF_SIDES; side++)
        diff_samples_destroy(&diff->samples[side]);
    free(diff->rows);
}
