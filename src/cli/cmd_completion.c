#include "cli.h"

#include "../export/export.h"
#include "help_options.h"

#include <string.h>

typedef struct kt_string text;

/* ---- What can follow an option ----------------------------------------------------------------------------------- */

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

static bool takes_file(const struct help_option *option)
{
    static const char *const arguments[] = {"OUT", "OUT.html", "FILE", "DIR", "FOLDER"};
    return is_one_of(option->argument, arguments, sizeof arguments / sizeof *arguments);
}

/* Several words with commas between: "KEY,..." */
static bool takes_list(const struct help_option *option)
{
    return strstr(option->argument, ",...") != NULL;
}

#define COLOR_WORDS "auto always never"

/* Words with blanks between; false: any text may follow. */
static bool append_words(text *out, const struct cli_command *command, const struct help_option *option)
{
    static const struct {
        const char *command, *option, *words;
    } known[] = {{"summary", "by", "phase kernel launch device sm cu workgroup wave"},
                 {"events", "kind", "mark push pop start stop range token"},
                 {"demo", "on", "cuda hip replay"},
                 {"record", "backend", "cuda hip"},
                 {"merge", "align", "host start"},
                 {"diff", "over", "waves launches"}};
    if (strcmp(option->name, "color") == 0) {
        kt_string_append(out, COLOR_WORDS);
        return true;
    }
    if ((command == &cli_export && strcmp(option->name, "format") == 0) ||
        (command == &cli_record && strcmp(option->name, "export") == 0)) {
        for (const struct kt_exporter *const *exporter = kt_exporters; *exporter; exporter++)
            kt_string_printf(out, "%s%s", exporter == kt_exporters ? "" : " ", (*exporter)->name);
        return true;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].command, command->name) == 0 && strcmp(known[i].option, option->name) == 0) {
            kt_string_append(out, known[i].words);
            return true;
        }
    return false;
}

/* Words that are operands. */
static const char *operand_words(const struct cli_command *command)
{
    return command == &cli_completion ? "bash zsh fish" : NULL;
}

/* Another program and its arguments. */
static bool takes_program(const struct cli_command *command)
{
    return command == &cli_record;
}

/* ---- bash -------------------------------------------------------------------------------------------------------- */

static void append_bash_option_words(text *out, const struct cli_command *command)
{
    struct help_option option;
    for (const char *at = command->help; help_next_option(&option, &at);) {
        if (!*option.argument)
            continue;
        kt_string_append(out, "        ");
        if (option.letter)
            kt_string_printf(out, "-%c|", option.letter);
        kt_string_printf(out, "--%s) ", option.name);
        if (takes_file(&option)) {
            kt_string_append(out, "files=any");
        } else {
            kt_string_append(out, "words='");
            append_words(out, command, &option);
            kt_string_append(out, takes_list(&option) ? "' list=yes" : "'");
        }
        kt_string_append(out, " ;;\n");
    }
}

static void append_bash_command(text *out, const struct cli_command *command)
{
    struct help_option option;
    kt_string_printf(out, "    %s)\n        case $previous in\n", command->name);
    append_bash_option_words(out, command);
    kt_string_append(out, "        *) options='");
    for (const char *at = command->help; help_next_option(&option, &at);)
        kt_string_printf(out, "--%s ", option.name);
    kt_string_append(out, "'");
    if (operand_words(command))
        kt_string_printf(out, " words='%s'", operand_words(command));
    if (help_takes_trace(command))
        kt_string_append(out, " files=trace");
    if (takes_program(command))
        kt_string_append(out, " files=program");
    kt_string_append(out, " ;;\n        esac ;;\n");
}

static void append_bash(text *out)
{
    kt_string_append(out, "# Completion of ktrace for bash, made by 'ktrace completion bash'.\n"
                          "_ktrace()\n"
                          "{\n"
                          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                          "    local command options= words= files= list= first=1\n"
                          "    # --option=value is three words.\n"
                          "    if [[ $current == = ]]; then\n"
                          "        current=\n"
                          "    elif [[ $previous == = ]]; then\n"
                          "        previous=${COMP_WORDS[COMP_CWORD-2]}\n"
                          "    fi\n"
                          "    if [[ ${COMP_WORDS[1]} == --color ]]; then\n"
                          "        first=3\n"
                          "        [[ ${COMP_WORDS[2]} == = ]] && first=4\n"
                          "    fi\n"
                          "    ((COMP_CWORD == first)) && previous=\n"
                          "    ((COMP_CWORD > first)) && command=${COMP_WORDS[first]}\n"
                          "    case $command in\n"
                          "    '')\n"
                          "        case $previous in\n"
                          "        --color) words='" COLOR_WORDS "' ;;\n"
                          "        *) options='--color --help --version' words='help");
    for (const struct cli_command *const *command = cli_commands; *command; command++)
        kt_string_printf(out, " %s", (*command)->name);
    kt_string_append(out, "' ;;\n"
                          "        esac ;;\n"
                          "    help)\n"
                          "        words='");
    for (const struct cli_command *const *command = cli_commands; *command; command++)
        kt_string_printf(out, "%s ", (*command)->name);
    kt_string_append(out, "' ;;\n");
    for (const struct cli_command *const *command = cli_commands; *command; command++)
        append_bash_command(out, *command);
    kt_string_append(out, "    esac\n"
                          "    [[ $current == -* ]] && words=$options\n"
                          "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                          "    if [[ $list && $current == *,* ]]; then\n"
                          "        COMPREPLY=($(compgen -P \"${current%,*},\" -W \"$words\" -- \"${current##*,}\"))\n"
                          "    fi\n"
                          "    [[ $current == -* ]] && files=\n"
                          "    local IFS=$'\\n'\n"
                          "    case $files in\n"
                          "    any) COMPREPLY+=($(compgen -f -- \"$current\")) ;;\n"
                          "    program) COMPREPLY+=($(compgen -c -- \"$current\") $(compgen -f -- \"$current\")) ;;\n"
                          "    trace) COMPREPLY+=($(compgen -d -- \"$current\") "
                          "$(compgen -f -X '!*.ktrace' -- \"$current\")) ;;\n"
                          "    esac\n"
                          "    [[ $files ]] && compopt -o filenames 2> /dev/null\n"
                          "}\n"
                          "complete -F _ktrace ktrace\n");
}

/* ---- zsh --------------------------------------------------------------------------------------------------------- */

/* Within '...' of a specification of _arguments, or of _describe. */
static void append_zsh_quoted(text *out, const char *what)
{
    for (; *what; what++) {
        if (*what == '\'')
            kt_string_append(out, "'\\''");
        else if (strchr("[]:\\", *what))
            kt_string_printf(out, "\\%c", *what);
        else
            kt_string_append_char(out, *what);
    }
}

static void append_zsh_option(text *out, const struct cli_command *command, const struct help_option *option)
{
    if (option->letter)
        kt_string_printf(out, "            '(-%c --%s)'{-%c,--%s", option->letter, option->name, option->letter,
                         option->name);
    else
        kt_string_printf(out, "            '--%s", option->name);
    if (*option->argument)
        kt_string_append(out, "=");
    kt_string_append(out, option->letter ? "}'[" : "[");
    append_zsh_quoted(out, option->what);
    kt_string_append(out, "]");
    if (*option->argument) {
        kt_string_append(out, ":");
        append_zsh_quoted(out, option->argument);
        kt_string_append(out, ":");
        if (takes_file(option)) {
            kt_string_append(out, "_files");
        } else {
            text words = KT_STRING_INIT;
            if (append_words(&words, command, option))
                kt_string_printf(out, takes_list(option) ? "_values -s , word %s" : "(%s)", kt_string_text(&words));
            out->failed |= words.failed;
            kt_string_destroy(&words);
        }
    }
    kt_string_append(out, "' \\\n");
}

static void append_zsh(text *out)
{
    kt_string_append(out, "#compdef ktrace\n"
                          "# Completion of ktrace for zsh, made by 'ktrace completion zsh'.\n"
                          "_ktrace()\n"
                          "{\n"
                          "    local -a commands=(\n");
    for (const struct cli_command *const *command = cli_commands; *command; command++) {
        kt_string_printf(out, "        '%s:", (*command)->name);
        append_zsh_quoted(out, (*command)->brief);
        kt_string_append(out, "'\n");
    }
    kt_string_append(out, "    )\n"
                          "    case $words[2] in\n"
                          "    --color) if ((CURRENT == 3)); then\n"
                          "            _values when " COLOR_WORDS "\n"
                          "            return\n"
                          "        elif ((CURRENT > 3)); then\n"
                          "            shift 2 words\n"
                          "            ((CURRENT -= 2))\n"
                          "        fi ;;\n"
                          "    --color=*) if ((CURRENT > 2)); then\n"
                          "            shift words\n"
                          "            ((CURRENT--))\n"
                          "        fi ;;\n"
                          "    esac\n"
                          "    if ((CURRENT == 2)); then\n"
                          "        _describe command commands\n"
                          "        _values option --color --help --version\n"
                          "        return\n"
                          "    fi\n"
                          "    local command=$words[2]\n"
                          "    shift words\n"
                          "    ((CURRENT--))\n"
                          "    case $command in\n"
                          "    help) _describe command commands ;;\n");
    for (const struct cli_command *const *command = cli_commands; *command; command++) {
        struct help_option option;
        kt_string_printf(out, "    %s)\n        _arguments -s \\\n", (*command)->name);
        for (const char *at = (*command)->help; help_next_option(&option, &at);)
            append_zsh_option(out, *command, &option);
        if (operand_words(*command))
            kt_string_printf(out, "            '*:word:(%s)' ;;\n", operand_words(*command));
        else if (help_takes_trace(*command))
            kt_string_append(out, "            '*:trace:_files -g \"*.ktrace(-.)\"' ;;\n");
        else if (takes_program(*command))
            kt_string_append(out, "            '(-)1:program:_command_names -e' '*::argument:_normal' ;;\n");
        else
            kt_string_append(out, "            ;;\n");
    }
    kt_string_append(out, "    esac\n"
                          "}\n"
                          "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
                          "    _ktrace \"$@\"\n"
                          "else\n"
                          "    compdef _ktrace ktrace\n"
                          "fi\n");
}

/* ---- fish -------------------------------------------------------------------------------------------------------- */

static void append_fish_quoted(text *out, const char *what)
{
    kt_string_append_char(out, '\'');
    for (; *what; what++) {
        if (*what == '\'' || *what == '\\')
            kt_string_append_char(out, '\\');
        kt_string_append_char(out, *what);
    }
    kt_string_append_char(out, '\'');
}

static void append_fish_option(text *out, const struct cli_command *command, const struct help_option *option)
{
    kt_string_printf(out, "complete -c ktrace -n '__fish_seen_subcommand_from %s'", command->name);
    if (option->letter)
        kt_string_printf(out, " -s %c", option->letter);
    kt_string_printf(out, " -l %s -d ", option->name);
    append_fish_quoted(out, option->what);
    if (takes_file(option)) {
        kt_string_append(out, " -r -F");
    } else if (*option->argument) {
        kt_string_append(out, " -x -a '");
        append_words(out, command, option);
        kt_string_append(out, "'");
    }
    kt_string_append(out, "\n");
}

static void append_fish(text *out)
{
    kt_string_append(
        out, "# Completion of ktrace for fish, made by 'ktrace completion fish'.\n"
             "complete -c ktrace -f\n"
             "complete -c ktrace -n __fish_use_subcommand -l color -d 'auto, always or never' -x -a '" COLOR_WORDS "'\n"
             "complete -c ktrace -n __fish_use_subcommand -l help -d 'list the commands'\n"
             "complete -c ktrace -n __fish_use_subcommand -l version -d 'print the version'\n"
             "complete -c ktrace -n __fish_use_subcommand -a help -d 'print what a command does and takes'\n");
    for (const struct cli_command *const *command = cli_commands; *command; command++) {
        kt_string_printf(out,
                         "complete -c ktrace -n '__fish_use_subcommand; or __fish_seen_subcommand_from help' -a %s -d ",
                         (*command)->name);
        append_fish_quoted(out, (*command)->brief);
        kt_string_append(out, "\n");
    }
    for (const struct cli_command *const *command = cli_commands; *command; command++) {
        struct help_option option;
        for (const char *at = (*command)->help; help_next_option(&option, &at);)
            append_fish_option(out, *command, &option);
        if (operand_words(*command))
            kt_string_printf(out, "complete -c ktrace -n '__fish_seen_subcommand_from %s' -a '%s'\n", (*command)->name,
                             operand_words(*command));
        if (help_takes_trace(*command))
            kt_string_printf(out,
                             "complete -c ktrace -n '__fish_seen_subcommand_from %s' -k -a "
                             "'(__fish_complete_suffix .ktrace)'\n",
                             (*command)->name);
        if (takes_program(*command))
            kt_string_printf(out,
                             "complete -c ktrace -n '__fish_seen_subcommand_from %s' -F -a "
                             "'(__fish_complete_command)'\n",
                             (*command)->name);
    }
}

/* ---- The command ------------------------------------------------------------------------------------------------- */

static int run(int argc, char **argv)
{
    static const struct option options[] = {CLI_HELP_OPTION, {0}};
    static const struct {
        const char *name;
        void (*append)(text *out);
    } shells[] = {{"bash", append_bash}, {"zsh", append_zsh}, {"fish", append_fish}};
    for (int option; (option = cli_option(&cli_completion, argc, argv, ":h", options)) != -1;)
        return option == 'h' ? CLI_OK : CLI_USAGE;
    const char *shell = cli_operand(&cli_completion, argc, argv, "one shell: bash, zsh or fish");
    if (!shell)
        return CLI_USAGE;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].name, shell) == 0) {
            text out = KT_STRING_INIT;
            shells[i].append(&out);
            return cli_print_string(&out);
        }
    return cli_error_usage(&cli_completion, "there is no completion for '%s', only for bash, zsh and fish", shell);
}

const struct cli_command cli_completion = {
    .name = "completion",
    .brief = "print a script by which a shell completes this command",
    .help = "Usage: ktrace completion bash|zsh|fish\n"
            "\n"
            "Completes commands, options, their values, and names of trace files. An installation has the\n"
            "scripts where the shells look for them, if its prefix is one that they know. Otherwise:\n"
            "\n"
            "  bash  eval \"$(ktrace completion bash)\" in ~/.bashrc\n"
            "  zsh   ktrace completion zsh > DIR/_ktrace, with DIR in fpath before compinit is called\n"
            "  fish  ktrace completion fish > ~/.config/fish/completions/ktrace.fish\n"
            "\n"
            "Options:\n"
            "  -h, --help  print this\n",
    .run = run,
};
