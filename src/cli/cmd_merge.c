/* cmd_merge.c - several traces become one file; standard error hears how their times were related. */
#include "cli.h"

#include "../array.h"
#include "../trace.h"
#include "merge_text.h"
#include "output.h"
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_OUTPUT "merged.ktrace"

/* What the command line asks for. */
struct merge {
    const char *output, *name, *align;
    const char **labels; /* as many as there are arguments fit */
    size_t label_count;
    int64_t *offsets_ns;
    uint64_t *offset_traces; /* from 1; one an offset */
    size_t offset_count;
    char *const *paths;
    size_t count;
};

/* ---- Arguments ---------------------------------------------------------------------------------------------------- */

/* "2=-1500": trace 2, by -1500 ns. */
static int parse_offset(uint64_t *trace, int64_t *offset_ns, const char *text)
{
    char *end;
    const char *equals = strchr(text, '=');
    errno = 0;
    *trace = strtoull(text, &end, 10);
    if (!equals || equals == text || end != equals || strspn(text, "0123456789") != (size_t)(equals - text) || errno ||
        *trace == 0)
        return cli_error_usage(&cli_merge,
                               "'--offset %s': it is N=NS, the number of a file, from 1 on, and nanoseconds", text);
    *offset_ns = strtoll(equals + 1, &end, 10);
    if (errno == ERANGE)
        return cli_error_usage(&cli_merge, "'--offset %s': '%s' nanoseconds are more than 292 years", text, equals + 1);
    if (end == equals + 1 || *end || errno || strchr(" \t\n", equals[1]))
        return cli_error_usage(&cli_merge, "'--offset %s': '%s' is no whole number of nanoseconds", text, equals + 1);
    return CLI_OK;
}

static int check_arguments(const struct merge *merge)
{
    if (merge->align && strcmp(merge->align, "host") != 0 && strcmp(merge->align, "start") != 0)
        return cli_error_usage(&cli_merge, "'--align %s': it can be host or start", merge->align);
    if (merge->count < 2)
        return cli_error_usage(&cli_merge, "name two .ktrace files or more");
    if (merge->label_count && merge->label_count != merge->count)
        return cli_error_usage(&cli_merge,
                               "there are %zu of '--label' for %zu files: give one for each, in their order, or none",
                               merge->label_count, merge->count);
    for (size_t i = 0; i < merge->offset_count; i++) {
        if (merge->offset_traces[i] > merge->count)
            return cli_error_usage(&cli_merge, "'--offset %" PRIu64 "=...': there are %zu files",
                                   merge->offset_traces[i], merge->count);
        for (size_t k = 0; k < i; k++)
            if (merge->offset_traces[k] == merge->offset_traces[i])
                return cli_error_usage(&cli_merge, "'--offset %" PRIu64 "=...' is there twice",
                                       merge->offset_traces[i]);
    }
    return CLI_OK;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* A name of another format would be a lie. */
static int check_suffix(const char *output)
{
    static const char *const others[] = {".pftrace.gz", ".pftrace", ".perfetto-trace", ".json", ".csv", ".html"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (ends_with(output, others[i]))
            return cli_error_usage(&cli_merge,
                                   "'-o %s': what is written is a .ktrace file; name it so, and make %s of it with "
                                   "'ktrace export'",
                                   output, others[i]);
    return CLI_OK;
}

static int check_output(const struct merge *merge)
{
    const char *output = merge->output ? merge->output : DEFAULT_OUTPUT;
    struct stat status;
    if (check_suffix(output) != CLI_OK)
        return CLI_USAGE;
    for (size_t i = 0; i < merge->count; i++)
        if (cli_same_file(merge->paths[i], output))
            return cli_error("%s: the output would replace an input: name another file with '-o'", output);
    if (cli_is_folder(output))
        return cli_error("%s: this is a folder: name a file in it with '-o'", output);
    if (!merge->output && stat(output, &status) == 0)
        return cli_error("%s: this file is there already: name another with '-o', which replaces what is there",
                         output);
    return CLI_OK;
}

/* ---- Merging ------------------------------------------------------------------------------------------------------ */

/* The library names traces by their number. */
static int fail_merge(const struct merge *merge)
{
    struct kt_string files = KT_STRING_INIT;
    enum { NAMED = 16 };
    for (size_t i = 0; i < merge->count && i < NAMED; i++)
        kt_string_printf(&files, "%s%zu %s", i ? ", " : "", i + 1, merge->paths[i]);
    const int status =
        cli_error("%s (files: %s%s)", ktrace_last_error(), kt_string_text(&files), merge->count > NAMED ? ", ..." : "");
    kt_string_destroy(&files);
    return status;
}

/* What a file whose trace does not say who recorded it is called by: its name without folder and suffix. `*out` is NULL where the
 * trace says more. */
static int label_of_file(char **out, const struct ktrace_trace *trace, const char *path)
{
    const struct kt_process *process = &trace->snapshot->processes[0];
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    *out = NULL;
    if (trace->snapshot->process_count > 1 || *process->label || process->pid)
        return 0;
    *out = strndup(name, strlen(name) - (ends_with(name, ".ktrace") ? strlen(".ktrace") : 0));
    return *out ? 0 : -1;
}

/* Of files that nobody gave one. */
static int label_files(struct merge *merge, char **names, const struct ktrace_trace *const *traces)
{
    for (size_t i = 0; i < merge->count; i++) {
        if (label_of_file(&names[i], traces[i], merge->paths[i]) < 0)
            return cli_error("out of memory");
        merge->labels[i] = names[i];
    }
    merge->label_count = merge->count;
    return CLI_OK;
}

static int merge_traces(struct ktrace_trace **out, const struct merge *merge, const struct ktrace_trace *const *traces)
{
    struct ktrace_merge_options options = KTRACE_MERGE_OPTIONS_INIT;
    int64_t *offsets_ns = kt_array_new_zeroed(merge->count, sizeof *offsets_ns);
    if (!offsets_ns)
        return cli_error("out of memory");
    for (size_t i = 0; i < merge->offset_count; i++)
        offsets_ns[merge->offset_traces[i] - 1] = merge->offsets_ns[i];
    options.name = merge->name;
    options.labels = merge->label_count ? merge->labels : NULL;
    options.label_count = merge->label_count;
    options.align = merge->align && strcmp(merge->align, "start") == 0 ? KTRACE_ALIGN_START : KTRACE_ALIGN_HOST;
    options.offsets_ns = merge->offset_count ? offsets_ns : NULL;
    options.offset_count = merge->count;
    cli_progress_begin("merging", merge->name ? merge->name : "traces");
    const int result = ktrace_trace_merge(out, traces, merge->count, &options);
    cli_progress_end();
    free(offsets_ns);
    return result < 0 ? fail_merge(merge) : CLI_OK;
}

static int write_merged(const struct ktrace_trace *trace, const char *output)
{
    cli_progress_begin("writing", output);
    const int result = ktrace_trace_save(trace, output);
    cli_progress_end();
    if (result < 0)
        return cli_error_library();
    struct kt_string text = KT_STRING_INIT;
    kt_string_append(&text, "wrote ");
    kt_string_append_visible(&text, output);
    kt_string_append(&text, "\n");
    return cli_print_string(&text);
}

static int merge_files(struct merge *merge)
{
    struct ktrace_trace **traces = kt_array_new_zeroed(merge->count, sizeof *traces), *merged = NULL;
    char **names = kt_array_new_zeroed(merge->count, sizeof *names);
    int status = traces && names ? CLI_OK : cli_error("out of memory");
    for (size_t i = 0; i < merge->count && status == CLI_OK; i++)
        status = cli_load(&traces[i], merge->paths[i]);
    if (status == CLI_OK && merge->label_count == 0)
        status = label_files(merge, names, (const struct ktrace_trace *const *)traces);
    if (status == CLI_OK)
        status = merge_traces(&merged, merge, (const struct ktrace_trace *const *)traces);
    for (size_t i = 0; i < merge->count; i++) {
        ktrace_trace_destroy(traces ? traces[i] : NULL);
        free(names ? names[i] : NULL);
    }
    free(traces);
    free(names);
    if (status == CLI_OK)
        status = write_merged(merged, merge->output ? merge->output : DEFAULT_OUTPUT);
    if (status == CLI_OK)
        status = merge_say_relations(merged);
    ktrace_trace_destroy(merged);
    return status;
}

static int parse(struct merge *merge, int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"name", required_argument, NULL, 'n'},
                                            {"label", required_argument, NULL, 'l'},
                                            {"align", required_argument, NULL, 'a'},
                                            {"offset", required_argument, NULL, 'O'},
                                            CLI_HELP_OPTION,
                                            {0}};
    for (int option; (option = cli_option(&cli_merge, argc, argv, ":ho:n:l:a:O:", options)) != -1;) {
        switch (option) {
        case 'o': merge->output = optarg; break;
        case 'n': merge->name = optarg; break;
        case 'l': merge->labels[merge->label_count++] = optarg; break;
        case 'a': merge->align = optarg; break;
        case 'O':
            if (parse_offset(&merge->offset_traces[merge->offset_count], &merge->offsets_ns[merge->offset_count],
                             optarg) != CLI_OK)
                return CLI_USAGE;
            merge->offset_count++;
            break;
        case 'h': return CLI_OK;
        default: return CLI_USAGE;
        }
    }
    merge->paths = argv + optind;
    merge->count = (size_t)(argc - optind);
    if (merge->output && (!*merge->output || strcmp(merge->output, "-") == 0))
        return cli_error_usage(&cli_merge, "option '-o' needs the name of a file");
    int status = check_arguments(merge);
    if (status == CLI_OK)
        status = check_output(merge);
    return status == CLI_OK ? merge_files(merge) : status;
}

static int run(int argc, char **argv)
{
    struct merge merge = {.count = 0};
    const size_t most = (size_t)argc;
    merge.labels = kt_array_new(most, sizeof *merge.labels);
    merge.offsets_ns = kt_array_new(most, sizeof *merge.offsets_ns);
    merge.offset_traces = kt_array_new(most, sizeof *merge.offset_traces);
    const int status = merge.labels && merge.offsets_ns && merge.offset_traces ? parse(&merge, argc, argv)
                                                                               : cli_error("out of memory");
    free(merge.labels);
    free(merge.offsets_ns);
    free(merge.offset_traces);
    return status;
}

const struct cli_command cli_merge = {
    .name = "merge",
    .brief = "put traces of several processes, devices or reads onto one timeline",
    .help = "Usage: ktrace merge [-o OUT] [--name NAME] [--label TEXT]... [--align host | start]\n"
            "                    [--offset N=NS]... FILE.ktrace FILE.ktrace ...\n"
            "\n"
            "Makes one trace of several: of the ranks of a program, of processes that share a device, of\n"
            "consecutive reads of one capture. It is a trace as any other: look at it, export it, merge it\n"
            "again. Its devices are called \"rank 3 #0\", by KTRACE_LABEL of the process that recorded, the\n"
            "rank that its launcher gave it (RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID, ...), or its\n"
            "pid, and by their number there; of a file of an older ktrace, by its name.\n"
            "\n"
            "Times are those of the first file. Others are related to them\n"
            "\n"
            "  by the clock of a device that both recorded: as exact as within one file\n"
            "  by the clock of the host that both ran on: to within some microseconds, which are stated\n"
            "  by CLOCK_REALTIME of two hosts: as good as these were synchronized, which is not known\n"
            "\n"
            "and what none relates, as two simulated processes, is refused unless '--align start' says how to\n"
            "lay it beside. Standard error is told what holds for each process. Nothing is counted twice: files\n"
            "that have a read in common are refused.\n"
            "\n"
            "Options:\n"
            "  -o, --output OUT   write OUT, replacing it, but none of the inputs. Without this option:\n"
            "                     merged.ktrace in the current folder, where that is not there yet\n"
            "  -n, --name NAME    of the merged trace. Without: that of the first file's\n"
            "  -l, --label TEXT   what the process of a file is called; once for each file, in their order\n"
            "  -a, --align HOW    host, the default: by clocks, as above. start: each file's first wave is at\n"
            "                     the begin, whatever clocks say\n"
            "  -O, --offset N=NS  move the times of the Nth file by NS nanoseconds besides\n"
            "  -h, --help         print this\n"
            "\n"
            "Examples:\n"
            "  ktrace merge -o step.ktrace rank*.ktrace && ktrace export step.ktrace\n"
            "  ktrace merge --label before --label after --align start a.ktrace b.ktrace\n",
    .run = run,
};
