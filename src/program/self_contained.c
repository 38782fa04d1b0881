#include "self_contained.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "headers.h"

/* ---- Options ---------------------------------------------------------------------------------------------------- */

/* Names of compilers' options that take no file. Those that end with '*' are beginnings. */
static const char *const plain_options[] = {
    /* both, and of hipRTC as of clang */
    "-D*", "-U*", "-O*", "-W*", "-w", "-g", "-mcumode", "-mno-*", "-munsafe-fp-atomics", "-mcode-object-version=*",
    "-std=*", "--std=*", "-ffast-math", "-fno-*", "-ffp-contract=*", "-funroll-loops", "-fgpu-flush-denormals-to-zero",
    "-fgpu-approx-transcendentals", "--offload-arch=*", "--gpu-architecture=*", "--gpu-max-threads-per-block=*",
    /* NVRTC */
    "-arch=*", "-G", "--device-debug", "-lineinfo", "--generate-line-info", "-ftz=*", "--ftz=*", "-prec-sqrt=*",
    "--prec-sqrt=*", "-prec-div=*", "--prec-div=*", "-fmad=*", "--fmad=*", "-use_fast_math", "--use_fast_math",
    "-extra-device-vectorization", "--extra-device-vectorization", "-maxrregcount=*", "--maxrregcount=*",
    "-default-device", "--device-as-default-execution-space", "-restrict", "--restrict", "-dc", "-rdc=*",
    "--relocatable-device-code=*", "--define-macro=*", "--undefine-macro=*", "--disable-warnings", "--diag-suppress=*",
    "-diag-suppress=*", "--diag-error=*", "-diag-error=*", "--diag-warn=*", "-diag-warn=*", "--builtin-move-forward=*",
    "--builtin-initializer-list=*", "-no-source-include", "--no-source-include", "-minimal", "--minimal",
    "--split-compile=*"};

static int is_plain(const char *option)
{
    for (size_t i = 0; i < sizeof plain_options / sizeof plain_options[0]; i++) {
        const char *known = plain_options[i];
        const size_t length = strlen(known) - (known[strlen(known) - 1] == '*');
        if (strncmp(option, known, length) == 0 && (known[length] == '*' || option[length] == 0))
            return strncmp(option, "-W", 2) != 0 || strchr(option, ',') == NULL; /* -Wp,-include,file */
    }
    return 0;
}

/* "-D" "NAME": the value is an option of its own. */
static int takes_plain_value(const char *option)
{
    return strcmp(option, "-D") == 0 || strcmp(option, "-U") == 0;
}

static int options_are_plain(const struct kt_program_texts *options, char reason[KT_NOT_SELF_CONTAINED_BYTES])
{
    for (size_t i = 0; i < options->count; i++) {
        if (takes_plain_value(options->texts[i]) && i + 1 < options->count) {
            i++;
        } else if (!is_plain(options->texts[i])) {
            snprintf(reason, KT_NOT_SELF_CONTAINED_BYTES, "the compiler option \"%.160s\" may read files",
                     options->texts[i]);
            return 0;
        }
    }
    return 1;
}

/* ---- Text ------------------------------------------------------------------------------------------------------- */

/* Length of a backslash, or of the trigraph of one, that hides a line break, with that; 0: there is none. Compilers allow blanks
 * between the two. */
static size_t hidden_break(const char *text)
{
    const size_t backslash = *text == '\\' ? 1 : strncmp(text, "?\?/", 3) == 0 ? 3 : 0;
    const size_t length = backslash + (backslash ? strspn(text + backslash, " \t\r\v\f") : 0);
    return backslash && text[length] == '\n' ? length + 1 : 0;
}

/* A copy without those. */
static char *spliced(const char *text)
{
    char *copy = malloc(strlen(text) + 1), *to = copy;
    while (copy && *text) {
        const size_t hidden = hidden_break(text);
        if (hidden)
            text += hidden;
        else
            *to++ = *text++;
    }
    if (copy)
        *to = 0;
    return copy;
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static const char *begin_of_line(const char *text, const char *place)
{
    while (place > text && place[-1] != '\n')
        place--;
    return place;
}

/* Can what begins at `word` be a directive's name? Before one there is a '#' in one of its spellings, and blanks and comments at
 * the most. */
static int may_be_directive(const char *text, const char *word)
{
    const char *line = begin_of_line(text, word), *end = word;
    const size_t length = (size_t)(word - line);
    while (end > line && strchr(" \t\r\v\f", end[-1]))
        end--;
    return memchr(line, '#', length) || memmem(line, length, "%:", 2) || memmem(line, length, "?\?=", 3) ||
           (end - line >= 2 && end[-2] == '*' && end[-1] == '/');
}

/* `#include "name"` or `#include <name>` and nothing else on the line before it, of a header in memory. */
static int includes_memory(const char *text, const char *word, const struct kt_program_texts *headers)
{
    const char *line = begin_of_line(text, word), *hash = line + strspn(line, " \t");
    if (*hash != '#' || hash + 1 + strspn(hash + 1, " \t") != word)
        return 0;
    const char *open = word + strlen("include");
    open += strspn(open, " \t");
    if (*open != '"' && *open != '<')
        return 0;
    const size_t length = strcspn(open + 1, *open == '"' ? "\"\n" : ">\n");
    if (open[1 + length] == '\n' || open[1 + length] == 0)
        return 0;
    for (size_t i = 0; i < headers->count; i++)
        if (strlen(headers->texts[i]) == length && memcmp(headers->texts[i], open + 1, length) == 0)
            return 1;
    return 0;
}

/* Is the word of `length` at `word` harmless? */
static int is_harmless(const char *text, const char *word, size_t length, const struct kt_program_texts *headers)
{
    static const char *const always[] = {"import",      "incbin",   "__has_include", "__has_include_next",
                                         "__has_embed", "__DATE__", "__TIME__",      "__TIMESTAMP__"};
    static const char *const directives[] = {"include_next", "embed"};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        if (strlen(always[i]) == length && memcmp(always[i], word, length) == 0)
            return 0;
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++)
        if (strlen(directives[i]) == length && memcmp(directives[i], word, length) == 0)
            return !may_be_directive(text, word);
    if (length != strlen("include") || memcmp("include", word, length) != 0)
        return 1;
    if (word > text && word[-1] == '.') /* of an assembler */
        return 0;
    return !may_be_directive(text, word) || includes_memory(text, word, headers);
}

static int text_is_closed(const char *original, const char *name, const struct kt_program_texts *headers,
                          char reason[KT_NOT_SELF_CONTAINED_BYTES])
{
    char *text = spliced(original);
    if (text == NULL) {
        snprintf(reason, KT_NOT_SELF_CONTAINED_BYTES, "out of memory");
        return 0;
    }
    int closed = 1;
    for (const char *word = text; *word && closed;) {
        size_t length = 0;
        while (is_word(word[length]))
            length++;
        if (length && !is_harmless(text, word, length, headers)) {
            const char *line = begin_of_line(text, word);
            const int bytes = (int)strcspn(line, "\r\n");
            snprintf(reason, KT_NOT_SELF_CONTAINED_BYTES,
                     "%.80s has the line \"%.*s\", which may read a file or the clock", name, bytes < 100 ? bytes : 100,
                     line);
            closed = 0;
        }
        word += length ? length : 1;
    }
    free(text);
    return closed;
}

int kt_is_self_contained(const struct kt_compilation *compilation, char reason[KT_NOT_SELF_CONTAINED_BYTES])
{
    const struct kt_program_texts *headers = &compilation->header_names;
    reason[0] = 0;
    if (!options_are_plain(&compilation->options, reason) ||
        !text_is_closed(compilation->text, compilation->name, headers, reason))
        return 0;
    for (size_t i = 0; i < headers->count; i++)
        if (!kt_program_header_is_own(headers->texts[i]) &&
            !text_is_closed(compilation->header_texts.texts[i], headers->texts[i], headers, reason))
            return 0;
    return 1;
}
