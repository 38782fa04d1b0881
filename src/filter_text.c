#include "filter_text.h"

#include "error.h"
#include "scan.h"
#include "string_builder.h"

#include <inttypes.h>
#include <string.h>

enum { WAVE_BITS = 64 };

static const char allowed[] =
    "terms are x,y,z (each *, 3, 2-5, 2- or -5; those left out are *), sm:N or sm:N-M, xcc:N or xcc:N-M, every:N, "
    "waves:0,2-3, and all alone";

/* ---- Parsing ---------------------------------------------------------------------------------------------------- */

enum term { BLOCKS, PLACES, EVERY, WAVES, ALL, TERMS };
static const char *const term_nouns[TERMS] = {"workgroups", "SMs or XCCs", "every:N", "waves", "all"};

struct parser {
    struct kt_scan scan;
    struct kt_filter filter;
    unsigned seen; /* bit i: enum term i */
};

static int parse_blocks(struct parser *parser)
{
    int status = KTRACE_OK;
    for (int i = 0; i < 3 && status == KTRACE_OK; i++) {
        struct kt_range range;
        if (i > 0 && !kt_scan_skip(&parser->scan, ","))
            break;
        status = kt_scan_range(&range, &parser->scan, UINT32_MAX, "a coordinate");
        if (status == KTRACE_OK) {
            parser->filter.wire.block_first[i] = (uint32_t)range.first;
            parser->filter.wire.block_last[i] = (uint32_t)range.last;
        }
    }
    if (status == KTRACE_OK && *parser->scan.at == ',')
        return kt_scan_fail(&parser->scan, parser->scan.at, "a workgroup has three coordinates, x,y,z");
    return status;
}

static int parse_places(struct parser *parser, enum kt_place_word word)
{
    struct kt_range range;
    const int status =
        kt_scan_range(&range, &parser->scan, UINT32_MAX, word == KT_PLACE_SM ? "the SM's number" : "the XCC's number");
    if (status == KTRACE_OK) {
        parser->filter.wire.place_first = (uint32_t)range.first;
        parser->filter.wire.place_last = (uint32_t)range.last;
        parser->filter.place_word = word;
    }
    return status;
}

static int parse_every(struct parser *parser)
{
    const char *start = parser->scan.at;
    uint64_t step = 0;
    const int status = kt_scan_number(&step, &parser->scan, UINT32_MAX, "the step of every:N");
    if (status < 0)
        return status;
    if (step == 0)
        return kt_scan_fail(&parser->scan, start, "the step of every:N is at least 1, which is every workgroup");
    parser->filter.wire.workgroup_step = (uint32_t)step;
    return KTRACE_OK;
}

static int parse_waves(struct parser *parser)
{
    uint64_t mask = 0;
    do {
        const char *start = parser->scan.at;
        struct kt_range range;
        int status = kt_scan_range(&range, &parser->scan, UINT32_MAX, "a wave");
        if (status < 0)
            return status;
        /* an open end goes on for ever, and so does wave 63 */
        if (range.first >= WAVE_BITS || (range.last >= WAVE_BITS && range.last != UINT32_MAX))
            return kt_scan_fail(&parser->scan, start,
                                "waves are told apart up to 62; 63 stands for it and all that follow: write 63-");
        if (range.last >= WAVE_BITS)
            range.last = WAVE_BITS - 1;
        for (uint64_t wave = range.first; wave <= range.last; wave++)
            mask |= 1ull << wave;
    } while (kt_scan_skip(&parser->scan, ","));
    parser->filter.wire.wave_mask_low = (uint32_t)mask;
    parser->filter.wire.wave_mask_high = (uint32_t)(mask >> 32);
    return KTRACE_OK;
}

static int parse_term(struct parser *parser)
{
    static const struct {
        const char *word;
        enum term term;
    } words[] = {{"sm:", PLACES}, {"xcc:", PLACES}, {"every:", EVERY}, {"waves:", WAVES}, {"all", ALL}};
    const char *start = parser->scan.at;
    enum term term = strchr("0123456789*-,", *start) ? BLOCKS : TERMS;
    size_t word = 0;
    while (term == TERMS && word < sizeof words / sizeof words[0])
        if (kt_scan_skip(&parser->scan, words[word].word))
            term = words[word].term;
        else
            word++;
    if (term == TERMS)
        return kt_scan_fail(&parser->scan, start, "%s", allowed);
    if (parser->seen & 1u << term)
        return kt_scan_fail(&parser->scan, start, "this is a second term of %s: a filter has one at most",
                            term_nouns[term]);
    if (parser->seen && (term == ALL || parser->seen & 1u << ALL))
        return kt_scan_fail(&parser->scan, start, "all stands alone");
    parser->seen |= 1u << term;
    switch (term) {
    case BLOCKS: return parse_blocks(parser);
    case PLACES: return parse_places(parser, word == 0 ? KT_PLACE_SM : KT_PLACE_XCC);
    case EVERY: return parse_every(parser);
    case WAVES: return parse_waves(parser);
    default: return KTRACE_OK;
    }
}

int kt_filter_parse(struct kt_filter *out, const char *text, const char *who)
{
    struct parser parser = {.scan = kt_scan_of(who, text), .filter = {.wire = KTRACE_FILTER_INIT, .who = who}};
    while (*parser.scan.at) {
        if (kt_scan_at_term_end(&parser.scan)) {
            parser.scan.at++;
            continue;
        }
        int status = parse_term(&parser);
        if (status == KTRACE_OK && !kt_scan_at_term_end(&parser.scan))
            status =
                kt_scan_fail(&parser.scan, parser.scan.at, "a term ends here, and a blank or ; follows; %s", allowed);
        if (status < 0)
            return status;
    }
    *out = parser.filter;
    return KTRACE_OK;
}

int ktrace_filter_parse(struct ktrace_filter *out, const char *text)
{
    struct kt_filter filter;
    if (!out || !text)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_filter_parse: an argument is NULL");
    const int status = kt_filter_parse(&filter, text, "the filter");
    if (status == KTRACE_OK)
        *out = filter.wire;
    return status;
}

/* ---- Checking --------------------------------------------------------------------------------------------------- */

int kt_filter_is_open(const struct ktrace_filter *filter)
{
    const struct ktrace_filter every_wave = KTRACE_FILTER_INIT;
    return memcmp(filter, &every_wave, sizeof every_wave) == 0;
}

int kt_filter_check(const struct kt_filter *filter, uint32_t arch)
{
    static const char axis[] = "xyz";
    const struct ktrace_filter *wire = &filter->wire;
    const char *who = filter->who ? filter->who : "the filter";
    const int amd = arch == KTRACE_ARCH_AMDGCN;
    for (int i = 0; i < 3; i++)
        if (wire->block_first[i] > wire->block_last[i])
            return kt_fail(KTRACE_ERROR_ARGUMENT, "the filter's block range in %c is empty: %u to %u", axis[i],
                           wire->block_first[i], wire->block_last[i]);
    if (wire->place_first > wire->place_last)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "the filter's %s range is empty: %u to %u", amd ? "XCC" : "SM",
                       wire->place_first, wire->place_last);
    if (filter->place_word == KT_PLACE_SM && amd)
        return kt_fail(KTRACE_ERROR_ARGUMENT,
                       "%s names SMs (sm:), but the capture is of an AMD device: write xcc:", who);
    if (filter->place_word == KT_PLACE_XCC && !amd)
        return kt_fail(KTRACE_ERROR_ARGUMENT,
                       "%s names XCCs (xcc:), but the capture is of an NVIDIA device: write sm:", who);
    if ((wire->wave_mask_low | wire->wave_mask_high) == 0)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "the filter's wave mask is empty: start from KTRACE_FILTER_INIT");
    return KTRACE_OK;
}

/* ---- Formatting ------------------------------------------------------------------------------------------------- */

/* Bounds that reach the largest number have an open end. */
static void put_range(struct kt_string *text, uint32_t first, uint32_t last, uint32_t most)
{
    if (first == 0 && last == most)
        kt_string_append_char(text, '*');
    else if (last == most)
        kt_string_printf(text, "%" PRIu32 "-", first);
    else if (first == last)
        kt_string_printf(text, "%" PRIu32, first);
    else
        kt_string_printf(text, "%" PRIu32 "-%" PRIu32, first, last);
}

static void put_term(struct kt_string *text, const char *word)
{
    kt_string_append(text, text->length ? " " : "");
    kt_string_append(text, word);
}

static void put_blocks(struct kt_string *text, const struct ktrace_filter *filter)
{
    int bounded = 0;
    for (int i = 0; i < 3; i++)
        bounded |= filter->block_first[i] > 0 || filter->block_last[i] < UINT32_MAX;
    if (!bounded)
        return;
    for (int i = 0; i < 3; i++) { /* all three, so that nobody has to know what follows from one */
        kt_string_append(text, i ? "," : "");
        put_range(text, filter->block_first[i], filter->block_last[i], UINT32_MAX);
    }
}

static void put_waves(struct kt_string *text, uint64_t mask)
{
    const char *separator = "waves:";
    for (uint32_t first = 0; first < WAVE_BITS; first++) {
        uint32_t last = first;
        if (!(mask >> first & 1))
            continue;
        while (last + 1 < WAVE_BITS && mask >> (last + 1) & 1)
            last++;
        if (*separator == 'w')
            put_term(text, separator);
        else
            kt_string_append(text, separator);
        put_range(text, first, last, WAVE_BITS - 1);
        separator = ",";
        first = last;
    }
}

int ktrace_filter_format(char **out, const struct ktrace_filter *filter, uint32_t arch)
{
    if (!out || !filter)
        return kt_fail(KTRACE_ERROR_ARGUMENT, "ktrace_filter_format: an argument is NULL");
    const struct kt_filter checked = {.wire = *filter};
    const int status = kt_filter_check(&checked, arch);
    if (status < 0)
        return status;
    struct kt_string text = KT_STRING_INIT;
    const uint64_t mask = (uint64_t)filter->wave_mask_high << 32 | filter->wave_mask_low;
    put_blocks(&text, filter);
    if (filter->place_first > 0 || filter->place_last < UINT32_MAX) {
        put_term(&text, arch == KTRACE_ARCH_AMDGCN ? "xcc:" : "sm:");
        put_range(&text, filter->place_first, filter->place_last, UINT32_MAX);
    }
    if (filter->workgroup_step > 1)
        kt_string_printf(&text, "%severy:%" PRIu32, text.length ? " " : "", filter->workgroup_step);
    if (mask != UINT64_MAX)
        put_waves(&text, mask);
    if (text.length == 0)
        kt_string_append(&text, "all");
    return kt_string_take(out, &text);
}
