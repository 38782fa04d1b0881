# Makes a manual page of a help text of the command:
#
#     ktrace summary --help | awk -v version=0.1.0 -v date=2026-11-30 -v others="doctor info" -f man_page.awk
#
# A help text is "ktrace NAME - BRIEF", a synopsis behind "Usage:", paragraphs, tables of terms that are indented by two or more
# columns, and sections whose titles end with a colon. `others`: commands to be named under SEE ALSO.

function escaped(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    if (text ~ /^\./)
        text = "\\\\\\&" text
    return text
}

function section(title) {
    if (title == "ENVIRONMENT VARIABLES")
        title = "ENVIRONMENT"
    print ".SH " (title ~ / / ? "\"" title "\"" : title)
    fresh = 1
    literal = 0
}

function end_literal() {
    if (literal)
        print ".fi\n.RE"
    literal = 0
}

function end_item() {
    if (in_item && !item_has_text)
        print "\\&"
    in_item = 0
}

NR == 1 {
    name = $0
    sub(/ - .*/, "", name)
    brief = $0
    sub(/^[^-]* - /, "", brief)
    gsub(/ /, "-", name)
    print ".TH " toupper(name) " 1 " date " \"ktrace " version "\" \"ktrace\""
    section("NAME")
    print name " \\- " escaped(brief)
    next
}

/^Usage: / {
    section("SYNOPSIS")
    print ".nf"
    in_usage = 1
    sub(/^Usage: /, "")
    print escaped($0)
    next
}

in_usage && /^       [^ ]/ {
    sub(/^ +/, "")
    print escaped($0)
    next
}

in_usage {
    print ".fi"
    in_usage = 0
    undescribed = 1
}

/^$/ {
    blank = 1
    next
}

undescribed && !/^(Options|Examples|Environment|Commands|Filters|Exit status)[:,]/ {
    section("DESCRIPTION")
}

{
    undescribed = 0
}

# "Options:", "Exit status:", and "Exit status: 0 ...", "Filters, of which ...:"
/^(Options|Examples|Environment|Commands|Filters|Exit status)[:,]/ {
    end_literal()
    end_item()
    title = $0
    sub(/[:,].*/, "", title)
    rest = $0
    section(toupper(title))
    in_examples = title == "Examples"
    exit_is_told = exit_is_told || title == "Exit status"
    blank = 0
    if (rest !~ /^(Options|Examples|Environment|Commands|Exit status):$/) {
        sub(/^(Exit status|Environment): /, "", rest)
        print escaped(rest)
        fresh = 0
    }
    next
}

# A table's line: a term and what it is, or an example.
/^ / {
    text = $0
    match(text, /^ +/)
    indent = RLENGTH
    sub(/^ +/, "", text)
    if (in_examples || indent == 4 && !in_item) {
        end_item()
        if (!literal)
            print ".RS 4\n.nf"
        literal = 1
        print escaped(text)
    } else if (in_item && indent > item_indent + 4 && text !~ /^--/) {
        print escaped(text)
        item_has_text = 1
    } else {
        end_literal()
        end_item()
        split_at = match(text, /[^ ]  +[^ ]/)
        print ".TP"
        in_item = 1
        item_indent = indent < 6 ? indent : 2
        item_has_text = 0
        if (split_at) {
            print ".B " escaped(substr(text, 1, split_at))
            rest = substr(text, split_at + 1)
            sub(/^ +/, "", rest)
            print escaped(rest)
            item_has_text = 1
        } else {
            print ".B " escaped(text)
        }
    }
    blank = fresh = 0
    next
}

{
    end_literal()
    if (in_item || (blank && !fresh))
        print ".PP"
    end_item()
    print escaped($0)
    blank = fresh = 0
}

END {
    end_literal()
    end_item()
    if (!exit_is_told) {
        section("EXIT STATUS")
        print "0: success. 1: failure: standard error says what, where and what to do. 2: wrong usage."
        print "141: nobody read standard output to its end."
    }
    section("SEE ALSO")
    count = split(others, names, " ")
    listed = name == "ktrace" ? "" : ".BR ktrace (1)"
    for (i = 1; i <= count; i++)
        if ("ktrace-" names[i] != name)
            listed = listed (listed == "" ? "" : ",\n") ".BR ktrace\\-" names[i] " (1)"
    print listed
}
