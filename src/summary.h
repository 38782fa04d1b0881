/* summary.h - durations of every phase, and a decoded trace as text and as JSON.
 *
 * The public functions ktrace_trace_phase, ktrace_trace_phase_count, ktrace_trace_summary_text and
 * ktrace_trace_summary_json are implemented beside this.
 */
#ifndef KT_SUMMARY_H
#define KT_SUMMARY_H

#include "bar.h"
#include "json.h"
#include "table.h"
#include "trace.h"

/* Fill trace->statistics, one a phase, from paired events: the last step of making a trace. The array is the trace's to
 * free(). Fails with KTRACE_ERROR_MEMORY only. */
int kt_summarize(struct ktrace_trace *trace);
/* The same of one launch alone: fills one entry for each phase of its kernel (kt_phases_of_kernel). */
int kt_summarize_launch(struct ktrace_phase_info *statistics, const struct ktrace_trace *trace,
                        const struct kt_launch *launch);
/* What a caller of another version knows of `info`. */
int kt_answer_phase(struct ktrace_phase_info *out, const struct ktrace_phase_info *info, const char *function);

/* Of a phase, as text and JSON call it: "mark", "token" or "range". */
static inline const char *kt_phase_kind_name(uint32_t kind)
{
    return kind == KTRACE_KIND_MARK ? "mark" : kind == KTRACE_KIND_START ? "token" : "range";
}

/* The table of phases: one row of it. */
enum { KT_PHASE_COLUMNS = 11 };
extern const struct kt_table_column kt_phase_columns[KT_PHASE_COLUMNS];
void kt_phase_row(struct kt_table *table, const struct ktrace_phase_info *phase);

/* How the summary is shown: plain where all is 0. */
struct kt_summary_view {
    int with_shares; /* of its kernel's, or launch's, wave time: as a number and a bar behind each phase */
    enum kt_bar_style bars;
    int columns;     /* that the bars may fill the lines to; 0: any */
    int each_launch; /* tables of launches instead of kernels */
};
int kt_append_summary(struct kt_string *text, const struct ktrace_trace *trace, const struct kt_summary_view *view);

/* The text of `ktrace launches`. */
int kt_append_launches(struct kt_string *text, const struct ktrace_trace *trace);
/* An empty line and "warning: " with the trace's warning, if it has one. */
void kt_append_warning(struct kt_string *text, const struct ktrace_trace *trace);

/* Room for bars behind lines of `width`, of which `columns` are there (0: any); 0: too little. */
int kt_bar_room(size_t width, int columns);
/* Two columns for the ends of tables that have shares, and their cells: "12.3 %", and a bar of that length, or another, unless
 * there is no room. */
extern const struct kt_table_column kt_share_columns[2];
void kt_share_cells(struct kt_table *table, double share, double length, int room, enum kt_bar_style bars);

/* "SMs", "CUs" or "places". */
static inline const char *kt_places_word(uint32_t arch)
{
    return arch == KTRACE_ARCH_NVIDIA ? "SMs" : arch == KTRACE_ARCH_AMDGCN ? "CUs" : "places";
}

/* What AMD calls a device of that version: "gfx942"; NULL: none that is known. */
static inline const char *kt_target_name(uint32_t capability)
{
    return capability == 94 ? "gfx942" : capability == 95 ? "gfx950" : NULL;
}

/* How a device's times compare with those of the others: "within 4.54 us of the host's clock", "cannot be compared", "of one
 * clock". */
void kt_device_times(struct kt_string *text, const struct ktrace_trace *trace, uint32_t device);
/* The table of devices, with an empty line before it; nothing of one device. */
void kt_append_devices(struct kt_string *text, const struct ktrace_trace *trace);
/* The members "devices" and "processes" of an object that is open; nothing of one device, or process. */
int kt_json_devices(struct kt_json *json, const struct ktrace_trace *trace);
/* Of enum ktrace_relation, in JSON: "host". */
const char *kt_relation_name(uint32_t relation);

/* The members of an object that is open. */
void kt_json_trace_info(struct kt_json *json, const struct ktrace_trace_info *info);
void kt_json_launch(struct kt_json *json, const struct ktrace_launch_info *launch, uint32_t arch);
void kt_json_phase(struct kt_json *json, const struct ktrace_phase_info *phase);

#endif
