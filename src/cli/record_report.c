#include "record.h"

#include "../table.h"
#include "terminal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Sentences ------------------------------------------------------------------------------------------------------ */

/* "ktrace: SENTENCE" on standard error. The sentence is destroyed. */
static void say(struct kt_string *sentence, enum kt_style style)
{
    struct kt_string line = KT_STRING_INIT;
    line.styled = cli_color(STDERR_FILENO);
    kt_string_append_styled(&line, style, "ktrace:");
    kt_string_append(&line, " ");
    kt_string_append_visible(&line, kt_string_text(sentence));
    fprintf(stderr, "%s\n", sentence->failed || line.failed ? "ktrace: out of memory" : kt_string_text(&line));
    kt_string_destroy(&line);
    kt_string_destroy(sentence);
}

/* "layers (process 4711, rank 0)" */
static void put_process(struct kt_string *out, const struct record_process *process)
{
    kt_string_printf(out, "%s (process %ld", *process->program ? process->program : "a program", process->id);
    if (process->rank >= 0)
        kt_string_printf(out, ", rank %ld", process->rank);
    kt_string_append(out, ")");
}

static void put_count(struct kt_string *out, const char *before, unsigned long long count, const char *one,
                      const char *many)
{
    char cell[KT_CELL_BYTES];
    kt_string_printf(out, "%s%s %s", before, kt_grouped(cell, count), count == 1 ? one : many);
}

/* As a shell takes it for one word. */
static void put_word(struct kt_string *out, const char *word)
{
    static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:,@%";
    if (*word && strspn(word, harmless) == strlen(word)) {
        kt_string_append(out, word);
        return;
    }
    kt_string_append(out, "'");
    for (; *word; word++)
        if (*word == '\'')
            kt_string_append(out, "'\\''");
        else
            kt_string_append_char(out, *word);
    kt_string_append(out, "'");
}

static void put_signal(struct kt_string *out, int number)
{
    kt_string_printf(out, "signal %d (%s)", number, strsignal(number));
}

/* ---- Traces --------------------------------------------------------------------------------------------------------- */

enum { MOST_SAID = 20 };

/* `process`: of several; NULL: there is nothing to tell apart. */
static void say_trace(const struct record_process *process, const struct record_trace *trace, const char *path)
{
    struct kt_string text = KT_STRING_INIT;
    kt_string_printf(&text, "wrote %s: ", path);
    put_count(&text, "", trace->numbers.launches, "launch", "launches");
    put_count(&text, ", ", trace->numbers.waves, "wave", "waves");
    put_count(&text, ", ", trace->numbers.events, "event", "events");
    if (process) {
        kt_string_printf(&text, " of \"%s\" in ", trace->name);
        put_process(&text, process);
    }
    if (trace->numbers.waves_dropped)
        put_count(&text, "; ", trace->numbers.waves_dropped, "wave dropped", "waves dropped");
    if (trace->numbers.slots_lost)
        put_count(&text, "; ", trace->numbers.slots_lost, "slot overwritten", "slots overwritten");
    if (trace->numbers.waves_unfinished)
        put_count(&text, "; ", trace->numbers.waves_unfinished, "wave unfinished", "waves unfinished");
    say(&text, KT_STYLE_GOOD);
    if (trace->warning) {
        kt_string_printf(&text, "%s: %s", path, trace->warning);
        say(&text, KT_STYLE_WARNING);
    }
}

static void say_next(const struct record_placed *placed, size_t count)
{
    struct kt_string text = KT_STRING_INIT;
    kt_string_append(&text, "look at it: ktrace summary ");
    put_word(&text, placed[0].path);
    kt_string_append(&text, count > 1 ? " and so on; on one timeline: ktrace merge, or record with --merge" : "");
    say(&text, KT_STYLE_GOOD);
}

/* ---- What was lost -------------------------------------------------------------------------------------------------- */

/* "; again with --events-per-wave 64 --buffer-bytes 134217728", of the options that an overflow's sentence names. */
static void put_again(struct kt_string *out, const char *sentence)
{
    static const char *const options[][2] = {{"events_per_wave >= ", "--events-per-wave"},
                                             {"events_per_lane >= ", "--events-per-lane"},
                                             {"buffer_bytes >= ", "--buffer-bytes"}};
    bool has_any = false;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *at = strstr(sentence, options[i][0]);
        if (at == NULL)
            continue;
        at += strlen(options[i][0]);
        kt_string_printf(out, "%s %s %.*s", has_any ? "" : ": record again with", options[i][1],
                         (int)strspn(at, "0123456789"), at);
        has_any = true;
    }
}

static void say_said(const struct record_process *process, const struct record_said *said)
{
    struct kt_string text = KT_STRING_INIT;
    put_process(&text, process);
    kt_string_printf(&text, ": %s", said->sentence);
    if (said->word == KT_RECORD_OVERFLOW)
        put_again(&text, said->sentence);
    say(&text, said->word == KT_RECORD_NOTE ? KT_STYLE_WARNING : KT_STYLE_ERROR);
}

/* Whether a later process has its id: it became that one's program. */
static bool became_another(const struct record_session *session, const struct record_process *process)
{
    for (size_t i = 0; i < session->count; i++)
        if (session->processes[i].id == process->id && session->processes[i].begin_ns > process->begin_ns)
            return true;
    return false;
}

/* It ended in a way that nobody can be told of. */
static bool has_vanished(const struct record_process *process)
{
    return process->is_collecting && !process->has_ended && !process->signal;
}

static void say_vanished(const struct record_session *session, const struct record_process *process,
                         const struct record_program *program)
{
    struct kt_string text = KT_STRING_INIT;
    put_process(&text, process);
    if (became_another(session, process)) {
        kt_string_append(&text, " became another program by exec");
    } else if (process->id == program->process && WIFSIGNALED(program->status)) {
        kt_string_append(&text, " was killed by ");
        put_signal(&text, WTERMSIG(program->status));
    } else {
        kt_string_append(&text, " ended by _exit, or a signal that cannot be handled,");
    }
    kt_string_append(&text, " before it could hand over its trace: what it had not handed over is lost");
    say(&text, KT_STYLE_ERROR);
}

static void say_died(const struct record_process *process)
{
    struct kt_string text = KT_STRING_INIT;
    put_process(&text, process);
    kt_string_append(&text, " ended by ");
    put_signal(&text, process->signal);
    kt_string_append(&text, process->trace_count ? ": what it had recorded by then is saved"
                                                 : ": it had recorded nothing by then");
    say(&text, KT_STYLE_WARNING);
}

/* ---- Everything ----------------------------------------------------------------------------------------------------- */

/* Not all of hundreds. */
static void say_traces(const struct record_session *session, const struct record_placed *placed, size_t count)
{
    struct kt_string text = KT_STRING_INIT;
    size_t next = 0;
    for (size_t i = 0; i < session->count; i++)
        for (size_t k = 0; k < session->processes[i].trace_count; k++, next++)
            if (placed[next].path && (next < MOST_SAID || next == count - 1))
                say_trace(count > 1 ? &session->processes[i] : NULL, &session->processes[i].traces[k],
                          placed[next].path);
    if (count <= MOST_SAID + 1)
        return;
    put_count(&text, "wrote ", count, "trace", "traces");
    kt_string_append(&text, " in all");
    say(&text, KT_STYLE_GOOD);
}

static void say_losses(const struct record_session *session, const struct record_program *program)
{
    for (size_t i = 0; i < session->count; i++) {
        const struct record_process *process = &session->processes[i];
        for (size_t k = 0; k < process->said_count; k++)
            if (process->said[k].word != KT_RECORD_NOTE)
                say_said(process, &process->said[k]);
        if (has_vanished(process))
            say_vanished(session, process, program);
        else if (process->signal && !program->quiet)
            say_died(process);
    }
}

void record_report(const struct record_session *session, const struct record_program *program,
                   const struct record_placed *placed, size_t count, const struct record_trace *merged)
{
    if (!program->quiet && merged && placed[0].path)
        say_trace(NULL, merged, placed[0].path);
    else if (!program->quiet && !merged)
        say_traces(session, placed, count);
    say_losses(session, program);
    if (!program->quiet && count && placed[0].path)
        say_next(placed, count);
}

static bool was_said_before(const struct record_session *session, const struct record_said *said)
{
    for (size_t i = 0; i < session->count; i++)
        for (size_t k = 0; k < session->processes[i].said_count; k++) {
            const struct record_said *other = &session->processes[i].said[k];
            if (other == said)
                return false;
            if (other->word == said->word && strcmp(other->sentence, said->sentence) == 0)
                return true;
        }
    return false;
}

void record_report_nothing(const struct record_session *session, const struct record_program *program)
{
    struct kt_string text = KT_STRING_INIT;
    bool has_reason = false;
    for (size_t i = 0; i < session->count; i++) {
        const struct record_process *process = &session->processes[i];
        for (size_t k = 0; k < process->said_count; k++) {
            has_reason = true;
            if (process->said[k].word == KT_RECORD_NOTE && !was_said_before(session, &process->said[k]))
                say_said(process, &process->said[k]);
        }
        has_reason |= has_vanished(process) || process->signal;
    }
    kt_string_printf(&text, "nothing was recorded of %s", program->command[0]);
    if (session->count == 0)
        kt_string_append(&text, ": none of its processes has libktrace: annotate kernels, compile them with "
                                "KTRACE_ENABLE=1 and link them with -lktrace");
    else if (!has_reason)
        kt_string_append(&text, ": it has libktrace, but no annotated kernel became known: compile kernels with "
                                "KTRACE_ENABLE=1, and hand modules that are loaded at run time to "
                                "ktrace_attach_cuda_module or ktrace_attach_hip_module");
    say(&text, KT_STYLE_ERROR);
}
